"""Issues the certificate of a release from its accounts and from what its mechanism hands back."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from importlib.metadata import version

from ...common.privacy.budget import Accountant
from ...common.privacy.conversion import gaussian_epsilon, zcdp_epsilon
from ...common.promises.dropout import Dropout
from ...common.version import __version__
from ..measurers.measurer import Observer
from ..mechanisms.parts.fitted import FittedModel
from .certificate import Certificate
from .checking import second_opinions
from .statements import (
    Observed,
    Promise,
    StatedCharge,
    StatedMeasurement,
    StatedModel,
    StatedPlan,
    Unstated,
)

NOT_PRIVATE = "NOT DIFFERENTIALLY PRIVATE as stated: "
SEEDED = (
    "NOT A RELEASE: made with a known seed, and whoever knows the seed can take the noise away; "
    "leave the seed out for a release"
)
_NAMES_LISTED = 5
"""At most so many attributes or files are named."""

_DEPENDENCIES = ("numpy", "cryptography", "dp-accounting")


def issue(
    plan: StatedPlan,
    accountant: Accountant,
    fitted: FittedModel,
    *,
    packages: Mapping[str, str] | None = None,
    not_private: str | None = None,
    cost_factor: int = 1,
    seeded: bool = False,
    observers: Sequence[Observer] = (),
    opinions: Mapping[float, float | None] | None = None,
    dropouts: tuple[Dropout, ...] = (),
) -> Certificate:
    """The certificate of a release, without signatures.

    Args:
        plan: what was asked for.
        accountant: what was charged.
        fitted: what came out.
        packages: versions of other packages that bring the mechanism or the protocol, by name.
        not_private: why the result is not differentially private at the stated cost; None where it is.
        cost_factor: what the parties were charged, as a multiple of the accounts (see `indicator-mle`).
        seeded: the noise came from a known seed.
        observers: what noise hides a record from whom (`Measurer.observers`).
        opinions: `second_opinions` on these accounts, where they are known; None computes them.
        dropouts: parties that dropped out.
    """
    domain = fitted.model.domain
    labels = [NOT_PRIVATE + not_private] if not_private else []
    labels += [unreviewed_label(plan.unreviewed)] if plan.unreviewed else []
    labels += [SEEDED] if seeded else []
    return Certificate(
        differentially_private=not labels,
        labels=tuple(labels),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=_versions() | dict(packages or {}),
        plan=plan,
        promise=promise_of(plan, accountant, not_private is None, cost_factor, observers, opinions),
        steps=costs_of_steps(accountant),
        charges=tuple(
            StatedCharge(c.step, c.clique, c.kind.value, float(c.zcdp_rho), c.sigmas, c.steps, c.groups)
            for c in accountant.charges
        ),
        measurements=tuple(
            StatedMeasurement(m.clique, m.view.interaction, m.sigma, m.zcdp_rho, m.view.group_counts(domain))
            for m in fitted.measurements
        ),
        selected_by=fitted.selection,
        rounds=fitted.rounds,
        error_bounds=fitted.bounds,
        model=StatedModel(fitted.model.cliques, fitted.model.size_mb),
        outputs={},
        dropouts=dropouts,
    )


def unreviewed_label(unreviewed: Sequence[str]) -> str:
    """The label of a release whose domain was read from private rows.

    Args:
        unreviewed: attributes whose entries nobody has reviewed.
    """
    return (
        f"{NOT_PRIVATE}bounds or categories of {some_of(unreviewed)} were read from private rows, and nobody "
        "has reviewed them; review the domain file"
    )


def some_of(names: Sequence[str]) -> str:
    """The first names of a list, and how many follow."""
    more = len(names) - _NAMES_LISTED
    return ", ".join(names[:_NAMES_LISTED]) + (f" and {more} more" if more > 0 else "")


@cache
def _versions() -> dict[str, str]:
    """Versions of what a release is computed with; reading them takes longer than a small release signs."""
    return {
        "dpmosaic": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _DEPENDENCIES},
    }


def promise_of(
    plan: StatedPlan,
    accountant: Accountant,
    private: bool = True,
    cost_factor: int = 1,
    observers: Sequence[Observer] = (),
    opinions: Mapping[float, float | None] | None = None,
) -> Promise:
    """What was promised and spent.

    Args:
        plan: what was asked for.
        accountant: what was charged.
        private: whether the result is differentially private at the stated cost.
        cost_factor: see `issue`.
        observers: see `issue`.
        opinions: see `issue`.
    """
    budget, really_spent = plan.spec.budget, float(accountant.spent * cost_factor)
    delta = plan.noise_budget.delta
    epsilon_really_spent = None
    if delta is not None and cost_factor > 1:
        epsilon_really_spent = zcdp_epsilon(really_spent, delta)
    checked: Mapping[float, float | None] = {}
    if private:
        checked = second_opinions(plan, accountant, observers) if opinions is None else opinions
    composed = None
    if private and budget.epsilon is not None and any(charge.steps for charge in accountant.charges):
        assert delta is not None
        # Late, since it imports dp-accounting, which takes most of a second.
        from .composition import composition

        composed = composition(accountant, budget.epsilon, delta)
    seen = [
        Observed(
            observer.who,
            observer.assumes,
            _rho_seen(accountant, observer.noise_factor),
            checked.get(observer.noise_factor),
        )
        for observer in observers
        if private
    ]
    with_alignment = epsilon_with_alignment = None
    if plan.alignment is not None:
        chosen = Fraction(0) if plan.bins is None else Fraction(plan.bins.zcdp_rho)
        with_alignment = float(accountant.spent + chosen + plan.alignment.zcdp_rho)
        if delta is not None:
            epsilon_with_alignment = zcdp_epsilon(with_alignment, delta)
    with_bins = epsilon_with_bins = None
    if plan.bins is not None:
        together = accountant.spent + Fraction(plan.bins.zcdp_rho)
        with_bins = float(together)
        if delta is not None and all(charge.sigmas for charge in accountant.charges):
            epsilon_with_bins = gaussian_epsilon(math.sqrt(2 * together), delta)
    return Promise(
        budget.epsilon,
        budget.delta,
        float(accountant.granted),
        float(accountant.spent),
        accountant.spent <= accountant.granted,
        really_spent,
        epsilon_really_spent,
        checked.get(1.0, Unstated.UNSTATED),
        composed,
        tuple(seen),
        with_alignment,
        epsilon_with_alignment,
        with_bins,
        epsilon_with_bins,
    )


def _rho_seen(accountant: Accountant, noise_factor: float) -> float:
    """What was spent, as a bound for somebody who sees noise_factor times the noise."""
    # A charge is sensitivity^2 / (2 (sigma^2 - 2.5 / g^2)); noise of scale f sigma on the same grid has
    # f^2 sigma^2 - 2.5 / g^2 in the denominator, at least f^2 times as much since f >= 1. Other steps cost
    # everybody the same, and so does the noise of labels, which one party draws alone.
    square = Fraction(noise_factor) ** 2
    costs = (
        charge.zcdp_rho / (square if charge.sigmas and not charge.labels else 1)
        for charge in accountant.charges
    )
    return float(sum(costs, Fraction(0)))


def costs_of_steps(accountant: Accountant) -> Mapping[str, float]:
    """Cost of each step, zCDP."""
    steps: dict[str, Fraction] = {}
    for charge in accountant.charges:
        steps[charge.step] = steps.get(charge.step, Fraction(0)) + charge.zcdp_rho
    return {step: float(rho) for step, rho in steps.items()}

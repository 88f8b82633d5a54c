"""The certificate of a release: what was promised, what was spent on what, and how far off the result may be.

Everything in it is public: plans, scales of noise, costs and bounds computed from noisy values.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from ...common.data.domain import Domain
from ...common.data.workload import Workload
from ...common.privacy.budget import Accountant, Budget
from ...common.privacy.conversion import zcdp_epsilon
from ...common.privacy.cost import Adjacency
from ...common.version import __version__
from ..measurers.measurer import Observer
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.parts.fitted import FittedModel
from .composition import composition
from .privacy_loss import checked_epsilon

FORMAT = "dpmosaic certificate 1"
NOT_PRIVATE = "NOT DIFFERENTIALLY PRIVATE as stated: "
SEEDED = (
    "NOT A RELEASE: made with a known seed, and whoever knows the seed can take the noise away; "
    "leave the seed out for a release"
)
_DEPENDENCIES = ("numpy", "cryptography", "dp-accounting")


@dataclass(frozen=True)
class Plan:
    """What was asked for, before any data was touched.

    Attributes:
        domain: of the table.
        record_counts: records of each slice; public.
        parties: attributes of each party, slice by slice.
        protocol: name of the measurement protocol.
        adjacency: which tables are neighbours.
        mechanism: how marginals are selected.
        workload: which marginals matter.
        budget: the promise.
    """

    domain: Domain
    record_counts: tuple[int, ...]
    parties: tuple[tuple[tuple[str, ...], ...], ...]
    protocol: str
    adjacency: Adjacency
    mechanism: Mechanism
    workload: Workload
    budget: Budget


def certificate(
    plan: Plan,
    accountant: Accountant,
    fitted: FittedModel,
    *,
    not_private: str | None = None,
    cost_factor: int = 1,
    seeded: bool = False,
    observers: Sequence[Observer] = (),
) -> dict[str, Any]:
    """The certificate as JSON values.

    Args:
        plan: what was asked for.
        accountant: what was charged.
        fitted: what came out.
        not_private: why the result is not differentially private at the stated cost; None where it is.
        cost_factor: what the parties were charged, as a multiple of the accounts (see `indicator-mle`).
        seeded: the noise came from a known seed.
        observers: what noise hides a record from whom (`Measurer.observers`).
    """
    labels = [NOT_PRIVATE + not_private] if not_private else []
    labels += [SEEDED] if seeded else []
    return {
        "format": FORMAT,
        "differentially_private": not labels,
        "labels": labels,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "plan": _plan(plan),
        "promise": _promise(plan, accountant, not_private is None, cost_factor, observers),
        "steps": _steps(accountant),
        "charges": [
            {
                "step": charge.step,
                "clique": list(charge.clique),
                "interaction": bool(charge.interaction),
                "zcdp_rho": float(charge.zcdp_rho),
                "noise_sigmas_by_slice": [list(sigmas) for sigmas in charge.sigmas],
                **({"steps": asdict(charge.steps)} if charge.steps else {}),
            }
            for charge in accountant.charges
        ],
        "measurements": [
            {
                "clique": list(m.clique),
                "interaction": m.interaction,
                "sigma": m.sigma,
                "zcdp_rho": m.zcdp_rho,
            }
            for m in fitted.measurements
        ],
        "selected_by": fitted.selection,
        "rounds": [asdict(done) for done in fitted.rounds],
        "error_bounds": [asdict(bound) for bound in fitted.bounds],
        "model": {
            "cliques": [list(clique) for clique in fitted.model.cliques],
            "size_mb": fitted.model.size_mb,
        },
    }


def _versions() -> dict[str, str]:
    return {
        "dpmosaic": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _DEPENDENCIES},
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "attributes": {name: plan.domain[name].size for name in plan.domain},
        "domain_digest": plan.domain.digest(),
        "record_counts": list(plan.record_counts),
        "parties": [[list(held) for held in parties] for parties in plan.parties],
        "protocol": plan.protocol,
        "adjacency": plan.adjacency.value,
        "mechanism": plan.mechanism.describe(),
        "workload": [
            {"clique": list(clique), "weight": weight}
            for clique, weight in zip(plan.workload.cliques, plan.workload.weights, strict=True)
        ],
        "budget": asdict(plan.budget),
    }


def _promise(
    plan: Plan, accountant: Accountant, private: bool, cost_factor: int, observers: Sequence[Observer]
) -> dict[str, Any]:
    budget = plan.budget
    promise: dict[str, Any] = {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "zcdp_rho_granted": float(accountant.granted),
        "zcdp_rho_spent": float(accountant.spent),
        "spent_within_grant": accountant.spent <= accountant.granted,
        "zcdp_rho_really_spent": float(accountant.spent * cost_factor),
    }
    if budget.delta is not None and cost_factor > 1:
        promise["epsilon_really_spent"] = zcdp_epsilon(float(accountant.spent * cost_factor), budget.delta)
    if not private:
        return promise

    checked: dict[float, float | None] = {}
    if budget.delta is not None:
        # A privacy loss distribution takes seconds: one for each factor.
        for factor in {1.0, *(observer.noise_factor for observer in observers)}:
            checked[factor] = checked_epsilon(accountant, budget.delta, plan.adjacency, factor)
        promise["epsilon_by_privacy_loss_distribution"] = checked[1.0]
        if budget.epsilon is not None and any(charge.steps for charge in accountant.charges):
            promise["composition"] = composition(accountant, budget.epsilon, budget.delta)
    if observers:
        promise["observers"] = [
            {
                "who": observer.who,
                "assumes": observer.assumes,
                "zcdp_rho": _rho_seen(accountant, observer.noise_factor),
                "epsilon": checked.get(observer.noise_factor),
            }
            for observer in observers
        ]
    return promise


def _rho_seen(accountant: Accountant, noise_factor: float) -> float:
    """What was spent, as a bound for somebody who sees noise_factor times the noise."""
    # A charge is sensitivity^2 / (2 (sigma^2 - 2.5 / g^2)); noise of scale f sigma on the same grid has
    # f^2 sigma^2 - 2.5 / g^2 in the denominator, at least f^2 times as much since f >= 1. Other steps cost
    # everybody the same.
    square = Fraction(noise_factor) ** 2
    costs = (charge.zcdp_rho / (square if charge.sigmas else 1) for charge in accountant.charges)
    return float(sum(costs, Fraction(0)))


def _steps(accountant: Accountant) -> Mapping[str, float]:
    steps: dict[str, Fraction] = {}
    for charge in accountant.charges:
        steps[charge.step] = steps.get(charge.step, Fraction(0)) + charge.zcdp_rho
    return {step: float(rho) for step, rho in steps.items()}

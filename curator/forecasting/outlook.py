"""The queries of a mechanism and the noise of each marginal, from its steps only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Protocol

from ...common.data.domain import Clique
from ...common.data.view import View
from ...common.data.workload import Workload
from ...common.errors import DataError
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.parts.allocation import EXPECTED_L1
from ..mechanisms.parts.steps import Asks, PublicFacts, Step, measurable_as_interaction


class PlannedNoise(PublicFacts, Protocol):
    """The noise of a planned release."""

    def expected_score_sigma(self, count: int, zcdp_rho: Fraction) -> float:
        """Standard deviation of the noise of each of `count` scores that together cost this, in records."""
        ...


@dataclass(frozen=True)
class StepOutlook:
    """One step of a mechanism.

    Attributes:
        name: name as in the certificate.
        title: description for people.
        asks: "marginals", "interactions", "scores", "choices" or "records".
        times: how often it runs, at most.
        marginals: how many it measures or scores each time, at most.
        zcdp_rho: its cost, all times together.
        query_zcdp_rho: cost of one query, on average over the most that it asks for at once.
        sigmas: least and largest standard deviation of one cell or score; None if it asks for neither.
    """

    name: str
    title: str
    asks: str
    times: int
    marginals: int
    zcdp_rho: float
    query_zcdp_rho: float
    sigmas: tuple[float, float] | None


@dataclass(frozen=True)
class MarginalOutlook:
    """A marginal of the workload, if it is measured.

    Attributes:
        clique: the marginal.
        cells: number of its cells.
        least_sigma: deviation of one cell if every step that may ask for it asks each time only for it and
            for the step's certain cliques; infinite if no step may ask for it.
        largest_sigma: deviation of one cell if all other possible cliques are measured too, by the steps that
            certainly ask for it, or else by the last one that may. Budgets are assumed to be split by size; a
            mechanism that splits by predicted error gives less to marginals with little expected gain.
        least_error: expected total variation distance from the least noise only, at most 1.
        largest_error: expected total variation distance from the largest noise only, at most 1.
    """

    clique: Clique
    cells: int
    least_sigma: float
    largest_sigma: float
    least_error: float
    largest_error: float


@dataclass(frozen=True)
class Outlook:
    """The forecast of a mechanism's run.

    Attributes:
        steps: steps in their order.
        marginals: marginals of the workload.
        planned: the steps, as the mechanism states them.
    """

    steps: tuple[StepOutlook, ...]
    marginals: tuple[MarginalOutlook, ...]
    planned: tuple[Step, ...]


@dataclass(frozen=True)
class _Sigmas:
    """Deviations of one cell of a marginal that a step may ask for.

    Attributes:
        least: each time, if the step otherwise asks only for its certain cliques.
        largest: each time, if it asks for as many of the largest others as it can.
        all_at_once: like `least`, if the step runs once with the budget of all times.
    """

    least: float
    largest: float
    all_at_once: float


def outlook(
    mechanism: Mechanism, noise: PlannedNoise, workload: Workload, records_at_hand: bool = False
) -> Outlook:
    """Forecasts a mechanism's run.

    Marginals of the workload are forecast from measurements of single codes.

    Args:
        mechanism: the mechanism.
        noise: noise of the planned release.
        workload: marginals to preserve.
        records_at_hand: whether the records are in one place, as in simulation.

    Raises:
        DataError: the mechanism reads records that are not in one place, or cannot run over the protocol.
    """
    steps = mechanism.steps(noise, workload)
    if not records_at_hand and any(step.asks is Asks.RECORDS for step in steps):
        raise DataError(
            f"mechanism {mechanism.name}: expected a mechanism that measures marginals, got one that reads "
            "records in one place; it runs only in simulation. Run `dpmosaic simulate --dry-run`, or choose "
            "another mechanism"
        )
    sigmas = {step.name: _sigmas(noise, step) for step in steps}
    found = tuple(_step(noise, step, sigmas[step.name]) for step in steps)
    marginals = tuple(_marginal(noise, steps, sigmas, clique) for clique in workload.cliques)
    return Outlook(found, marginals, steps)


def _step(noise: PlannedNoise, step: Step, sigmas: Mapping[Clique, _Sigmas]) -> StepOutlook:
    found: tuple[float, float] | None = None
    if sigmas:
        found = min(of.least for of in sigmas.values()), max(of.largest for of in sigmas.values())
    elif step.asks is Asks.SCORES:
        sigma = noise.expected_score_sigma(max(1, step.most), step.budget(noise.granted))
        found = sigma, sigma
    rho = float(noise.granted * step.share)
    each = rho / (step.times * max(1, step.most))
    return StepOutlook(step.name, step.title, step.asks.value, step.times, step.most, rho, each, found)


def _sigmas(noise: PlannedNoise, step: Step) -> dict[Clique, _Sigmas]:
    """Deviations of the noise of each clique that a step may measure.

    The budget is split like by `allocate`: over the certain cliques and this one, or over as many of the
    largest others as the step asks for at once.
    """
    budget = step.budget(noise.granted)
    if step.asks not in (Asks.MARGINALS, Asks.INTERACTIONS) or not budget:
        return {}
    certain = set(step.certain)
    weights = {c: size ** (2 / 3) for c, size in zip(step.cliques, step.sizes_in(noise.domain), strict=True)}
    always = sum(weights[clique] for clique in step.certain)
    others = sorted((clique for clique in weights if clique not in certain), key=lambda c: -weights[c])
    sums = list(accumulate((weights[clique] for clique in others), initial=0.0))
    beside = min(len(others), max(1, step.most - len(certain)))
    rank = {clique: place for place, clique in enumerate(others)}
    found = {}
    asked = {view.clique: view for view in step.asked}
    for clique, weight in weights.items():
        if clique in certain:
            wholes = always, always + sums[beside]
        else:
            heaviest = sums[beside] if rank[clique] < beside else sums[beside - 1] + weight
            wholes = always + weight, always + heaviest
        least, largest = (budget * Fraction(weight / whole) for whole in wholes)
        sigma = partial(noise.expected_sigma, _view_as_measured(noise, step, asked[clique]))
        found[clique] = _Sigmas(sigma(least), sigma(largest), sigma(step.times * least))
    return found


def _view_as_measured(noise: PlannedNoise, step: Step, view: View) -> View:
    alone = step.asks is Asks.INTERACTIONS and measurable_as_interaction(view.shape(noise.domain))
    return replace(view, interaction=alone)


def _marginal(
    noise: PlannedNoise,
    steps: Sequence[Step],
    sigmas: Mapping[str, Mapping[Clique, _Sigmas]],
    clique: Clique,
) -> MarginalOutlook:
    counted = [step for step in steps if clique in sigmas[step.name] and not step.groups]
    asking = [(step, sigmas[step.name][clique]) for step in counted]
    certain = [(of.largest, step.times) for step, of in asking if clique in step.certain]
    least = _combined_deviation([(of.all_at_once, 1) for _, of in asking])
    largest = _combined_deviation(certain or [(of.largest, 1) for _, of in asking[-1:]])
    cells = noise.domain.cells(clique)
    errors = [min(1.0, EXPECTED_L1 * sigma * cells / (2 * noise.record_count)) for sigma in (least, largest)]
    return MarginalOutlook(clique, cells, least, largest, errors[0], errors[1])


def _combined_deviation(measured: Sequence[tuple[float, int]]) -> float:
    """The deviation of the inverse-variance weighted average of measurements, each repeated."""
    precision = sum(times / sigma**2 for sigma, times in measured)
    return precision**-0.5 if precision else math.inf

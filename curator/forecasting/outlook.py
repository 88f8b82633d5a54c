"""What a mechanism will spend on what, and how noisy that makes each marginal: from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from ...common.data.domain import Clique
from ...common.data.workload import Workload
from ...common.errors import DataError
from ..mechanisms.independent import Independent
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.mosaic import mosaic
from ..mechanisms.mosaic.mosaic import Mosaic
from ..mechanisms.parts.allocation import EXPECTED_L1, ExpectedNoise, allocate, measurable
from ..mechanisms.randdpgen import by_scores as scored
from ..mechanisms.randdpgen.randdpgen import RandDPGen


class PlannedNoise(ExpectedNoise, Protocol):
    """The noise of a release that is only planned."""

    @property
    def scores_exactly(self) -> bool:
        """See `Measurer.scores_exactly`."""
        ...

    def expected_score_sigma(self, count: int, zcdp_rho: Fraction) -> float:
        """Standard deviation of the noise of each of so many scores that cost this together, in records."""
        ...


@dataclass(frozen=True)
class Step:
    """One step of a mechanism.

    Attributes:
        name: as in the certificate.
        times: how often it is taken at most.
        marginals: how many it measures or scores at most, each time.
        zcdp_rho: what it costs, all times together.
        sigmas: least and largest standard deviation of one cell or score; None where data decide.
    """

    name: str
    times: int
    marginals: int
    zcdp_rho: float
    sigmas: tuple[float, float] | None


@dataclass(frozen=True)
class MarginalOutlook:
    """A marginal of the workload, if it is measured.

    Attributes:
        clique: the marginal.
        cells: of it.
        least_sigma: of one cell, if nothing else but one-way marginals is measured; infinite if it never is.
        largest_sigma: of one cell, if every candidate is measured too.
        least_error: expected total variation distance that the least noise alone makes, at most 1.
        largest_error: the same of the largest noise.
    """

    clique: Clique
    cells: int
    least_sigma: float
    largest_sigma: float
    least_error: float
    largest_error: float


@dataclass(frozen=True)
class Outlook:
    """A mechanism's run.

    Attributes:
        steps: in their order.
        marginals: of the workload.
        candidates: what may be measured or scored, one-way marginals first.
        scorings: how often all candidates are scored.
    """

    steps: tuple[Step, ...]
    marginals: tuple[MarginalOutlook, ...]
    candidates: tuple[Clique, ...]
    scorings: int


def outlook(mechanism: Mechanism, noise: PlannedNoise, workload: Workload, granted: Fraction) -> Outlook:
    """What a mechanism does with a grant.

    Args:
        mechanism: one of the catalogue.
        noise: of the planned release.
        workload: the marginals that matter.
        granted: the whole budget, zCDP.

    Raises:
        DataError: the mechanism is unknown here.
    """
    singles = [(name,) for name in noise.domain]
    if isinstance(mechanism, Independent):
        parts = _split(noise, singles, granted)
        step = Step("one-way", 1, len(singles), float(granted), _range(list(parts.values())))
        known = {clique: (parts[clique],) * 2 for clique in workload.cliques if clique in parts}
        return Outlook((step,), _marginals(noise, workload.cliques, known), tuple(singles), 0)
    if isinstance(mechanism, Mosaic):
        return _by_interactions(mechanism, noise, workload, granted)
    if not isinstance(mechanism, RandDPGen):
        raise DataError(
            f"no forecast is known for the mechanism {mechanism.name!r}; release without --dry-run"
        )
    cliques = workload.refined(noise.domain, mechanism.maxsize).cliques
    if not mechanism.paper and mechanism.selection == "scores" and noise.scores_exactly:
        return _by_scores(mechanism, noise, cliques, granted)
    return _by_marginals(mechanism, noise, cliques, granted)


def _by_interactions(
    mechanism: Mosaic, noise: PlannedNoise, workload: Workload, granted: Fraction
) -> Outlook:
    """The steps of `Mosaic`; deviations are those of cells before the interaction is taken."""
    singles = [(name,) for name in noise.domain if noise.domain[name].size > 1]
    fitting = mosaic.candidates(noise.domain, workload, mechanism.model_limit_mb)
    kept = [clique for clique in fitting if math.isfinite(noise.expected_sigma(clique, granted))]
    by_scores = noise.scores_exactly
    first = granted * Fraction(mosaic.ONE_WAY)
    scores = granted * Fraction(mosaic.SCORES) if by_scores else Fraction(0)
    rounds = granted * Fraction(mosaic.ROUNDS * mosaic.ROUND if by_scores else mosaic.SURVEY)
    left = granted - first - scores - rounds
    times = mosaic.ROUNDS + 1
    pairs = [clique for clique in kept if len(clique) == 2]
    looked = kept if by_scores else [pairs[i] for i in measurable(noise, pairs, rounds)]
    everything = [*singles, *looked]
    worst = _split(noise, everything, left, interactions=True)
    known = {
        c: (_split(noise, [*singles, c], left, interactions=True)[c], worst[c])
        for c in workload.cliques
        if c in worst and len(c) > 1
    }
    ways = _split(noise, singles, first, interactions=True)
    steps = [Step("one-way", 1, len(singles), float(first), _range(list(ways.values())))]
    if by_scores:
        score = noise.expected_score_sigma(max(1, len(looked)), scores / times)
        steps.append(Step("scores", times, len(looked), float(scores), (score, score)))
        steps.append(Step("round", mosaic.ROUNDS, len(looked), float(rounds), None))
    else:
        surveyed = _split(noise, looked, rounds, interactions=True)
        steps.append(Step("survey", 1, len(looked), float(rounds), _range(list(surveyed.values()))))
    last = [sigma for pair in known.values() for sigma in pair]
    steps.append(Step("last round", 1, len(everything), float(left), _range(last)))
    marginals = _marginals(noise, workload.cliques, known)
    return Outlook(tuple(steps), marginals, tuple(everything), times if by_scores else 0)


def _by_scores(
    mechanism: RandDPGen, noise: PlannedNoise, cliques: Sequence[Clique], granted: Fraction
) -> Outlook:
    """The steps of `ScoredRun`."""
    singles = [(name,) for name in noise.domain]
    kept = [clique for clique in cliques if math.isfinite(noise.expected_sigma(clique, granted))]
    first = granted * Fraction(mechanism.one_way)
    scores = granted * Fraction(scored.SCORES)
    rounds = scored.ROUNDS * granted * Fraction(scored.ROUND)
    left = granted - first - scores - rounds
    times = scored.ROUNDS + 1
    score = noise.expected_score_sigma(len(kept), scores / times)
    everything = list(dict.fromkeys([*singles, *kept]))
    worst = _split(noise, everything, left)
    known = {c: (_split(noise, list(dict.fromkeys([*singles, c])), left)[c], worst[c]) for c in kept}
    steps = (
        Step("one-way", 1, len(singles), float(first), _range(list(_split(noise, singles, first).values()))),
        Step("scores", times, len(kept), float(scores), (score, score)),
        Step("round", scored.ROUNDS, len(kept), float(rounds), None),
        Step(
            "last round",
            1,
            len(everything),
            float(left),
            _range([s for pair in known.values() for s in pair]),
        ),
    )
    return Outlook(steps, _marginals(noise, cliques, known), tuple(everything), times)


def _by_marginals(
    mechanism: RandDPGen, noise: PlannedNoise, cliques: Sequence[Clique], granted: Fraction
) -> Outlook:
    """The steps of Algorithm 2, or of the default where nothing can be scored."""
    singles = [(name,) for name in noise.domain]
    first = Fraction(0) if mechanism.paper else granted * Fraction(mechanism.one_way)
    looked = granted * Fraction(mechanism.alpha)
    kept = list(cliques)
    if not mechanism.paper:
        kept = [cliques[i] for i in measurable(noise, cliques, looked)]
    by_cells = mechanism.allocation == "cells"
    sizes = [noise.domain.cells(c) if by_cells else len(c) for c in kept]
    seen = dict(zip(kept, _sigmas(noise, kept, allocate(looked, sizes) if kept else []), strict=True))
    left = granted - first - looked
    share = Fraction(mechanism.beta) / (1 - Fraction(mechanism.alpha)) if mechanism.paper else Fraction(1)
    known = {}
    for clique, sigma in seen.items():
        measured = [clique] if mechanism.paper else list(dict.fromkeys([*singles, clique]))
        again = _split(noise, measured, left * share)[clique]
        known[clique] = (1 / math.hypot(1 / sigma, 1 / again), sigma)
    ways = (
        []
        if mechanism.paper
        else [
            Step(
                "one-way", 1, len(singles), float(first), _range(list(_split(noise, singles, first).values()))
            )
        ]
    )
    steps = (
        *ways,
        Step("candidates", 1, len(kept), float(looked), _range(list(seen.values()))),
        Step("round", mechanism.rounds_per_attribute * len(singles), 1, float(left), None),
    )
    everything = tuple(dict.fromkeys([*singles, *kept]))
    return Outlook(steps, _marginals(noise, cliques, known), everything, 0)


def _split(
    noise: PlannedNoise, cliques: Sequence[Clique], budget: Fraction, interactions: bool = False
) -> dict[Clique, float]:
    """Sigma of each of these if the budget is split over them as mechanisms split it."""
    parts = allocate(budget, [noise.domain.cells(clique) for clique in cliques]) if cliques else []
    return dict(zip(cliques, _sigmas(noise, cliques, parts, interactions), strict=True))


def _sigmas(
    noise: PlannedNoise, cliques: Sequence[Clique], parts: Sequence[Fraction], interactions: bool = False
) -> list[float]:
    return [
        noise.expected_sigma(clique, rho, interactions and mosaic.alone(noise.domain.shape(clique)))
        for clique, rho in zip(cliques, parts, strict=True)
    ]


def _range(sigmas: Sequence[float]) -> tuple[float, float] | None:
    return (min(sigmas), max(sigmas)) if sigmas else None


def _marginals(
    noise: PlannedNoise, cliques: Sequence[Clique], known: dict[Clique, tuple[float, float]]
) -> tuple[MarginalOutlook, ...]:
    found = []
    for clique in cliques:
        cells = noise.domain.cells(clique)
        sigmas = known.get(clique, (math.inf, math.inf))
        errors = [min(1.0, EXPECTED_L1 * sigma * cells / (2 * noise.record_count)) for sigma in sigmas]
        found.append(MarginalOutlook(clique, cells, sigmas[0], sigmas[1], errors[0], errors[1]))
    return tuple(found)

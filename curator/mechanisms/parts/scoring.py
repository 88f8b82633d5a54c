"""How far each candidate's marginal is from the model's, by noisy scores: what selection runs on.

Source: AIM (McKenna et al. 2022), MST (McKenna, Miklau and Sheldon 2021) and MWEM+PGM score exact marginals
    in an exponential mechanism, which only a place that sees the whole table can do. Gaussian noise on all
    distances (`Measurer.score`) runs over parties too, keeps a release Gaussian and tells every distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.errors import DataError
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from .allocation import EXPECTED_L1
from .bounds import ScoredDistance
from .fitted import Round
from .released import ReleasedModel
from .steps import PublicFacts

SELECTED_BY = "exact L1 distances with noise"

DRAFT, FINAL = 1e-2, 1e-3
"""Tolerances of the fits that candidates are judged by, and of the last one."""


def check_scores(facts: PublicFacts, mechanism: str) -> None:
    """Refuses a protocol that gives no scores, before anything is charged.

    Raises:
        DataError: names the protocols that give scores, and the mechanisms that need none.
    """
    if not facts.scores_exactly:
        raise DataError(
            f"mechanism {mechanism}: expected a protocol that gives exact distances with noise, got one that "
            "gives marginals alone; use 'trusted', or 'masked' with at most one collusion, or choose "
            "'randdpgen' or 'independent', which run over every protocol"
        )


def measurable_cliques(facts: PublicFacts, cliques: Sequence[Clique]) -> list[Clique]:
    """The cliques that the protocol can measure at all."""
    return [clique for clique in cliques if math.isfinite(facts.expected_sigma(clique, facts.granted))]


def score_against(
    measurer: Measurer,
    model: ReleasedModel,
    cliques: Sequence[Clique],
    rho: Fraction,
    step: str = "scores",
) -> dict[Clique, ScoredDistance]:
    """Noisy distances between the table and the model, for every clique whose marginal the model can give.

    Guarantee: the zCDP that the measurer charges, at most rho; nothing where no clique can be scored.

    Args:
        measurer: one that scores exactly.
        model: public.
        cliques: that the protocol can measure.
        rho: what all scores together may cost.
        step: under which they are charged.
    """
    marginals = zip(cliques, model.marginals_within_limits(cliques), strict=True)
    references = {clique: np.rint(m).astype(np.int64) for clique, m in marginals if m is not None}
    if not references:
        return {}
    scores = measurer.score(list(references), references.values(), rho, step)
    return {
        clique: ScoredDistance(float(value), scores.sigma, reference)
        for (clique, reference), value in zip(references.items(), scores.values, strict=True)
    }


def expected_noise(measurer: Measurer, clique: Clique, rho: Fraction) -> float:
    """Expected L1 norm of the noise of a marginal at this cost, in records."""
    return EXPECTED_L1 * measurer.expected_sigma(clique, rho) * measurer.domain.cells(clique)


def rounds_of(found: Sequence[Measurement], before: ReleasedModel, after: ReleasedModel) -> list[Round]:
    """What a round that measured several marginals did, marginal by marginal."""
    cliques = [measurement.clique for measurement in found]
    marginals = (model.marginals_within_limits(cliques) for model in (before, after))
    return [
        Round(one.clique, one.sigma, one.zcdp_rho, _moved(old, new), False, after.size_mb)
        for one, old, new in zip(found, *marginals, strict=True)
    ]


def round_of(measurement: Measurement, before: ReleasedModel, after: ReleasedModel, cost: Fraction) -> Round:
    """What a round did; it learned little where the model moved no further than noise alone would move it.

    Source: AIM, Algorithm 4, line 11.
    """
    (old,), (new,) = (m.marginals_within_limits([measurement.clique]) for m in (before, after))
    learned = _moved(old, new)
    threshold = EXPECTED_L1 * measurement.sigma * measurement.values.size
    return Round(
        measurement.clique, measurement.sigma, float(cost), learned, learned <= threshold, after.size_mb
    )


def _moved(old: NDArray[np.float64] | None, new: NDArray[np.float64] | None) -> float:
    """The L1 distance between a marginal in two models; 0 where one of them cannot give it."""
    return 0.0 if old is None or new is None else float(np.abs(new - old).sum())

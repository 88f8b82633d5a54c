"""Noisy scores: the distance of each candidate's marginal from the model's.

Source: AIM (McKenna et al. 2022), MST (McKenna, Miklau and Sheldon 2021) and MWEM+PGM score exact marginals
    in an exponential mechanism, which needs the whole table in one place. Gaussian noise on all distances
    (`Measurer.score`) also runs over parties, keeps a release Gaussian and gives every distance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.view import View
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
"""Tolerances of the fits that candidates are compared with, and of the last fit."""


def check_scores(facts: PublicFacts, mechanism: str) -> None:
    """Refuses a protocol that gives no scores, before anything is charged.

    Raises:
        DataError: the protocol gives no scores.
    """
    if not facts.scores_exactly:
        raise DataError(
            f"mechanism {mechanism}: expected a protocol that gives exact distances with noise, got one that "
            "gives only marginals; use 'trusted', or 'masked' with at most one collusion, or choose "
            "'randdpgen' or 'independent', which run over every protocol"
        )


def measurable_cliques(facts: PublicFacts, cliques: Sequence[Clique]) -> list[Clique]:
    """The cliques that the protocol can measure."""
    return [clique for clique in cliques if math.isfinite(facts.expected_sigma(View(clique), facts.granted))]


def score_against(
    measurer: Measurer,
    model: ReleasedModel,
    cliques: Sequence[Clique],
    rho: Fraction,
    step: str = "scores",
) -> dict[Clique, ScoredDistance]:
    """Noisy distances between table and model, for every clique whose marginal the model can compute.

    Guarantee: the zCDP that the measurer charges, at most rho; nothing is charged without cliques to score.

    Args:
        measurer: a measurer with `scores_exactly`.
        model: model to compare with; public.
        cliques: cliques that the protocol can measure.
        rho: budget of all scores together, zCDP.
        step: name of the step that is charged.
    """
    marginals = zip(cliques, model.marginals_within_limits(cliques), strict=True)
    return score_cells(measurer, {clique: m for clique, m in marginals if m is not None}, rho, step)


def score_cells(
    measurer: Measurer, marginals: Mapping[Clique, NDArray[np.float64]], rho: Fraction, step: str
) -> dict[Clique, ScoredDistance]:
    """Noisy distances between table and public marginals; see `score_against`."""
    references = {clique: np.rint(m).astype(np.int64) for clique, m in marginals.items()}
    if not references:
        return {}
    scores = measurer.score([*map(View, references)], references.values(), rho, step)
    return {
        clique: ScoredDistance(float(value), scores.sigma, reference)
        for (clique, reference), value in zip(references.items(), scores.values, strict=True)
    }


def expected_noise(measurer: Measurer, clique: Clique, rho: Fraction) -> float:
    """Expected L1 norm of the noise of a marginal at this cost, in records."""
    return EXPECTED_L1 * measurer.expected_sigma(View(clique), rho) * measurer.domain.cells(clique)


def rounds_of(
    found: Sequence[Measurement], before: ReleasedModel, after: ReleasedModel, judged: bool = False
) -> list[Round]:
    """Report of a round that measured several marginals, one entry for each.

    Args:
        found: the marginals.
        before: the model before they were measured.
        after: the model that knows them.
        judged: whether to say which of them taught little; see `round_of`.
    """
    cliques = [measurement.clique for measurement in found]
    marginals = (model.marginals_within_limits(cliques) for model in (before, after))
    rounds = []
    for one, old, new in zip(found, *marginals, strict=True):
        learned = _distance_between(old, new)
        little = judged and learned <= EXPECTED_L1 * one.sigma * one.values.size
        rounds.append(Round(one.clique, one.sigma, one.zcdp_rho, learned, little, after.size_mb))
    return rounds


def round_of(measurement: Measurement, before: ReleasedModel, after: ReleasedModel, cost: Fraction) -> Round:
    """Report of a round; it learned little if the model moved at most as far as noise would move it.

    Source: AIM, Algorithm 4, line 11.
    """
    (old,), (new,) = (m.marginals_within_limits([measurement.clique]) for m in (before, after))
    learned = _distance_between(old, new)
    threshold = EXPECTED_L1 * measurement.sigma * measurement.values.size
    return Round(
        measurement.clique, measurement.sigma, float(cost), learned, learned <= threshold, after.size_mb
    )


def _distance_between(old: NDArray[np.float64] | None, new: NDArray[np.float64] | None) -> float:
    """The L1 distance between a marginal in two models; 0 if one of them cannot compute it."""
    return 0.0 if old is None or new is None else float(np.abs(new - old).sum())

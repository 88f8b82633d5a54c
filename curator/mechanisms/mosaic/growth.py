"""Which larger interactions are scored and measured, by public facts and noisy values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.interactions import freedom
from ....common.data.table import Table
from ....common.data.view import View
from ...measurers.measurer import Measurer
from ...pgm.supplemented import SupplementedModel
from ..parts.allocation import EXPECTED_L1
from ..parts.steps import PublicFacts
from .larger import LARGE, Larger

ORDERS = (3, 4, 5)
"""Numbers of attributes of larger interactions."""

PAIRS = 2
"""The order of pairs, which are counted in groups if they are too large to be measured otherwise."""

MOST_SCORED = 2000
"""Most cliques that are scored at once."""

_SHARE, _MULTIPLYING = 0.07, 0.07
"""Shares of a release's time for counting what a round scores, and for multiplying it among parties."""

_S_PER_CLIQUE, _S_PER_RECORD, _S_PER_WORD = 1.5e-3, 1e-8, 5e-8
"""Processor seconds of one core, as measured: for each scored clique, for each record that is counted in it,
and for each word that parties multiply for it."""

_DETECTABLE = 0.1
"""So many cliques are scored at once that the noise of each stays below this share of the records."""

_CELLS = 1 << 14
"""Largest number of cells of a grouped marginal."""

_NOISE, _PAID = 0.35, Fraction(1, 20)
"""Codes are grouped until the noise of a measurement for this share of the budget is below that share of the
records, in the L1 norm."""

_TESTED = Fraction(1, 50)
"""Share of the budget for which an interaction must tell much to be selected."""

_LEFT = 0.8
"""A measurement tells much if it takes the predicted error below this share of the interaction's size."""

_ADJUSTING = 0.2
"""Share of a release's time for adjusting rows to selected interactions."""

_S_PER_VALUE = 6e-8
"""Processor seconds of one core, as measured: for each row and each attribute of a selected clique, over all
sweeps."""

_ROWS = 1 << 14, 1 << 17
"""Fewest and most rows of an unfinished model."""


def orders_of(facts: PublicFacts) -> tuple[int, ...]:
    """The numbers of attributes that are counted in groups: pairs only if some are large."""
    sizes = sorted(facts.domain.sizes)[-2:]
    return (PAIRS, *ORDERS) if math.prod(sizes) > most_cells(facts) else ORDERS


def most_scored(records: int, rho: float, seconds: float) -> int:
    """How many cliques can be scored at once: a record changes all their distances.

    Args:
        records: number of records.
        rho: budget of all scores together, zCDP.
        seconds: time limit of the release.
    """
    detectable = 2 * rho * (_DETECTABLE * records) ** 2
    in_time = _SHARE * seconds / (_S_PER_CLIQUE + _S_PER_RECORD * records)
    return int(min(MOST_SCORED, detectable, in_time))


def most_cells(facts: PublicFacts) -> float:
    """How many cells a grouped marginal may have, so that a small share of the budget measures it well."""
    sigma = facts.expected_sigma(View(facts.domain.names[:1]), facts.granted * _PAID)
    return min(float(_CELLS), _NOISE * facts.record_count / (EXPECTED_L1 * sigma))


def candidates_within(
    measurer: Measurer, larger: Larger, order: int, rho: Fraction, seconds: float, without: Collection[Clique]
) -> list[Clique]:
    """The candidates of so many attributes that are scored: that can be grouped and measured in time.

    Args:
        measurer: measurer of the run.
        larger: larger interactions so far; gets the groups of the candidates.
        order: number of attributes.
        rho: budget of all scores together, zCDP.
        seconds: time limit of the release.
        without: cliques that are no candidates.
    """
    most = most_scored(measurer.record_count, float(rho), seconds)
    left, granted = _MULTIPLYING * seconds, measurer.granted
    found: list[Clique] = []
    multiplied: set[Hashable] = set()
    for clique in larger.find(order, most_cells(measurer), without):
        if len(found) == most:
            break
        groups = larger.groups[clique] = measurer.measurable_groups(larger.groups[clique])
        if math.isfinite(measurer.expected_sigma(View(clique, groups=groups, interaction=True), granted)):
            words = measurer.multiplied(View(clique, groups=groups))
            left -= _S_PER_WORD * sum(words[matrix] for matrix in words.keys() - multiplied)
            if left < 0:
                break
            multiplied |= words.keys()
            found.append(clique)
    return found


def worth_measuring(
    measurer: Measurer, larger: Larger, scored: Sequence[Clique], gains: NDArray[np.float64], seconds: float
) -> list[Clique]:
    """The scored interactions that a measurement would tell much about, those with the largest gains first.

    Of four and more attributes only large ones are worth it, since no marginal of triples needs them. None is
    worth it that is smaller than what is missing of the pairs inside it, which would lose their budget to it.

    Args:
        measurer: measurer of the run.
        larger: larger interactions so far.
        scored: cliques of one order.
        gains: of each of them.
        seconds: time limit of the release; rows must be adjusted in time.
    """
    least = 0.0 if len(scored[0]) == 3 else LARGE * measurer.record_count
    rho = measurer.granted * _TESTED
    ranked = (scored[place] for place in np.argsort(-gains, kind="stable").tolist())
    large = (c for c in ranked if larger.size(c) >= least and larger.stands_out(c))
    worth = (c for c in large if tells_much(measurer, larger, c, rho))
    values = _ADJUSTING * seconds / (_S_PER_VALUE * rows_drawn(measurer.record_count))
    left = values - sum(map(len, larger.chosen))
    return list(itertools.islice(worth, max(0, int(left / len(scored[0])))))


def tells_much(measurer: Measurer, larger: Larger, clique: Clique, rho: Fraction) -> bool:
    """Whether measuring a scored interaction for this cost takes its predicted error well below its size."""
    if rho <= 0:
        return False
    sigma = measurer.expected_sigma(View(clique, groups=larger.groups[clique], interaction=True), rho)
    variance = sigma**2 * freedom(larger.shape(clique))
    deviations = larger.effects[clique].deviations(measurer.record_count)
    left = deviations / np.sqrt(1 + deviations**2 / variance)
    return float(left.sum()) <= _LEFT * float(deviations.sum())


def rows_drawn(records: int) -> int:
    """Number of rows of an unfinished model: that of the records, if these are neither few nor very many."""
    fewest, most = _ROWS
    return min(most, max(fewest, records))


def drawn_rows(model: SupplementedModel, records: int, stream: RandomStream) -> Table:
    """Rows of an unfinished model."""
    return model.generate(rows_drawn(records), stream.child("larger").generator(), draft=True)

"""How many rows each parent has: adjusted to what the release of these rows says of their parents.

The release of the parents knows the pairs of numbers of rows with other columns, in which each parent counts
once. That of the rows knows the columns of their parents, in which parents count by their numbers of rows, up
to `Kin.evened`. So numbers are moved between parents, and their distribution stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.special import ndtri

from ....common.data.attributes.dates import bins_of
from ....common.data.related.rows import Rows
from ...analysis.release import Release
from ..kin import Kin
from ..rows import lineage
from ..shape import Family, number_name

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

_SCORE_ROUNDS = 15
"""Rounds in which scores of codes are adjusted."""

_STEP, _BACK = 0.5, 0.4
"""Part of the way to its target that a code goes in a round, and of its way so far that it goes back then: a
target that noise has put far away is not reached."""


_HELD = 0.75
"""Least share of the weight of all parents with rows that evened numbers may leave."""

_MOST_EVENED = 1 << 12

_EXPLAINED = 0.5
"""Share of the variance of spans that numbers of rows explain, from which on spans follow from them."""


def limit_of_equal_counts(numbers: Codes) -> int:
    """Up to how many rows all count the same (`Kin.evened`).

    Rows of a parent with fewer rows then weigh as much as those of others. But the weights of all rows add up
    to less, beside the same noise.

    Args:
        numbers: of rows of parents, drawn from their released distribution; 1 if none has any.
    """
    counts = np.bincount(np.minimum(numbers, _MOST_EVENED), minlength=_MOST_EVENED + 1)
    with_as_many = counts[:0:-1].cumsum()[::-1]
    # At most so many rows of each, which is that many times the weight that is left.
    rows = with_as_many.cumsum()
    limits = np.arange(1, _MOST_EVENED + 1)
    return 1 if not with_as_many[0] else int((rows >= _HELD * with_as_many[0] * limits).sum())


def shrink_tail(codes: Codes, column: str, release: Release, rng: np.random.Generator) -> Codes:
    """Codes of numbers of rows, with no more large ones than noise leaves evidence of.

    A few parents of very many rows, whom noise alone has made, would have most of all rows. How many parents
    have at least so many rows is shrunk by what noise explains of its square: it is zero where it is less
    than its noise, and hardly changes where it is much more. All counts add up to the number of parents, so
    that noise explains none of their sum, and of most of them as little as of the others. Those who lose rows
    have as many as the next smaller code says. One row is left where more than half of the parents seem to
    have some.

    Source: James and Stein (1961), the positive part.

    Args:
        codes: of the column, in the order of the numbers; drawn from the release.
        column: its name.
        release: of the parents.
        rng: draws who loses rows.
    """
    evidence = release.published.evidence
    known = None if evidence is None else evidence.known.get((column,))
    bins = None if evidence is None else bins_of(evidence.domain[column])
    if known is None or evidence is None or bins is None:
        return codes
    above = _from_each_on(known.values.ravel() + evidence.records / known.values.size)
    below = np.arange(len(above))
    variance = known.sigma**2 * (len(above) - below) * below / len(above)
    kept = np.maximum(1 - variance / np.maximum(above, 1e-9) ** 2, 0)
    kept[0] = 1
    if bins.ends[0] < 1:
        kept[1] = max(kept[1], above[1] > evidence.records / 2)
    drawn = np.append(_from_each_on(np.maximum(release.model.marginal((column,)), 0)), 0)
    wanted = np.minimum.accumulate(kept * drawn[:-1])
    # Each draws its place among all, the largest number first, and keeps it.
    place = drawn[codes] - rng.random(len(codes)) * (drawn[codes] - drawn[codes + 1])
    found: Codes = np.searchsorted(-wanted, -place, "right") - 1
    return found


def _from_each_on(counts: Numbers) -> Numbers:
    """The sum of each count and all after it."""
    found: Numbers = np.cumsum(counts[::-1])[::-1]
    return found


@dataclass(frozen=True, eq=False)
class Margin:
    """What the release of the rows says of a column above them.

    Attributes:
        codes: of the column, for each parent, shape (parents,).
        cells: sums of weights of its codes less their mean, with noise.
        noise: variance of the noise of a cell.
        total: the sum of all weights.
        ordered: whether its codes have an order.
    """

    codes: Codes
    cells: Numbers
    noise: float
    total: float
    ordered: bool


def move_numbers(
    numbers: Codes,
    weight: Numbers,
    most: int,
    margins: Sequence[Margin],
    rng: np.random.Generator,
    alike: Codes | None = None,
) -> Codes:
    """The numbers of rows, moved between parents.

    Each parent has a place in the order of numbers. Every code of a column shifts the places of all parents
    that have it, so that large numbers move as well as small ones. Shifts are ridge estimates: a margin says
    little of numbers beyond `most`, and what noise adds to it would move all of these.

    Args:
        numbers: of rows of each parent, shape (parents,).
        weight: of each parent, shape (parents,).
        most: up to how many rows all count the same.
        margins: of the columns above the rows.
        rng: breaks ties.
        alike: numbers move between parents of one code alone, shape (parents,); None for all.
    """
    size = len(numbers)
    alike = np.zeros(size, dtype=np.int64) if alike is None else alike
    in_order = numbers[np.lexsort((numbers, alike))]
    places = np.empty(size)
    places[np.lexsort((rng.random(size), numbers))] = ndtri((np.arange(size) + 0.5) / size)
    share = np.minimum(numbers / most, 1.0)
    counted = weight * share
    slope = float(np.cov(places, share)[0, 1]) if size > 1 else 0.0
    if slope <= 0 or counted.sum() <= 0:
        return numbers
    targets = [target_of(margin, counted) for margin in margins]
    scores = [np.zeros(len(target)) for target in targets]
    steep = [
        np.maximum(slope * np.bincount(margin.codes, weight, len(margin.cells)), 1e-9) for margin in margins
    ]
    found = numbers
    for _ in range(_SCORE_ROUNDS):
        shifted = places + sum(score[margin.codes] for score, margin in zip(scores, margins, strict=True))
        found = np.empty_like(numbers)
        found[np.lexsort((shifted, alike))] = in_order
        now = weight * np.minimum(found / most, 1.0)
        for score, margin, target, steepness in zip(scores, margins, targets, steep, strict=True):
            lacking = target - np.bincount(margin.codes, now, len(target))
            score += np.clip(_STEP * lacking / steepness, -0.5, 0.5)
            score *= 1 - _BACK
    return found


def spans_by_numbers(table: Kin, parents: Rows, numbers: Codes) -> Codes | None:
    """The spans of rows, shape (parents,), if they mostly follow from their numbers, as of monthly ones.

    Then a number that moved to another parent would contradict the span there.

    Args:
        table: of the rows.
        parents: the rows above them.
        numbers: of rows of each parent, shape (parents,).
    """
    if table.steps is None:
        return None
    span = table.places[1]
    codes = parents.codes[span.name]
    several = codes < span.size - 1
    if not several.any():
        return None
    held, place = np.unique(numbers[several], return_inverse=True)
    counts, found = np.bincount(place), codes[several].astype(np.float64)
    mean = np.bincount(place, found) / counts
    explained = float((counts * (mean - found.mean()) ** 2).sum())
    whole = float(((found - found.mean()) ** 2).sum())
    return codes if len(held) > 1 and explained >= _EXPLAINED * whole else None


def target_of(margin: Margin, counted: Numbers) -> Numbers:
    """Where the margin is to go: away from what it is as far as the difference is more than noise.

    Differences of ordered codes are taken as waves, each octave of which is shrunk alone.

    Source: James and Stein (1961), the positive part.
    """
    now = np.bincount(margin.codes, counted, len(margin.cells)).astype(np.float64)
    scale = margin.total / now.sum()
    away = margin.cells - scale * (now - now.mean())
    size = len(away)
    waves = dct(away, norm="ortho") if margin.ordered else away
    starts = [1, *(2**k + 1 for k in range(size.bit_length()) if 2**k + 1 < size)] if margin.ordered else [0]
    kept = np.zeros(size)
    for start, end in itertools.pairwise([*starts, size]):
        energy = float((waves[start:end] ** 2).sum())
        freedom = end - start - (not margin.ordered)
        if energy > 0:
            kept[start:end] = waves[start:end] * max(0.0, 1 - freedom * margin.noise / energy)
    further = idct(kept, norm="ortho") if margin.ordered else kept
    target: Numbers = np.maximum(now + further / scale, 0)
    return target


def margins_of(family: Family, name: str, rows: Mapping[str, Rows], release: Release) -> list[Margin]:
    """What the release of a table's rows says of the columns above them.

    Args:
        family: the tables.
        name: the table.
        rows: of the tables above it.
        release: of the table's records.
    """
    evidence = release.published.evidence
    parent = family[name].parent
    found = []
    for column in family.columns(name):
        own_number = column.table == parent and column.source == number_name(name)
        if column.before or column.table == name or own_number or evidence is None:
            continue
        clique = (column.attribute.name,)
        known = evidence.known.get(clique)
        if known is not None:
            at = lineage(family, parent, column.table, rows)
            codes = column.of(rows[column.table].codes[column.source])[at]
            source = next(one for one in family.own(column.table) if one.name == column.source)
            ordered = family.has_order(column.table, source)
            found.append(Margin(codes, known.values.ravel(), known.sigma**2, evidence.records, ordered))
    return found

"""Tests of two samples, and of independence of two columns.

Two groups with values x are compared by the sum of s(x) - m, once over n_1 and once over n_2: for the t test
s is the value, for that of Mann and Whitney its rank. m, the ranks and the sizes of the groups need not be
exact: if values do not depend on groups, the sum is zero in expectation for any m and any ranks.

Source: Welch, The generalization of Student's problem (1947); Mann and Whitney (1947); Pearson (1900).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..conditions import Where
from ..estimators.influence import RealTable
from ..estimators.places import Places
from ..estimators.selection import levels_of, numbers_of, rows_at, rows_where, rows_with
from ..estimators.unseen import withheld
from ..published import Published
from .result import TestResult, refusal, score_test

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAST_EXPECTED = 5.0
"""Records that a cell needs if columns are independent; rarer values are put together."""

_CONTINGENCY_VALUES = 100
"""Of a column of a chi-square test."""

SMALL_GROUP = "no test: with the noise, one of the groups may have no records at all"


class TwoGroups(NamedTuple):
    """Two groups of rows.

    Attributes:
        places: where functions are evaluated.
        masks: of the two groups, each of shape (places,).
        columns: on which groups and condition depend.
    """

    places: Places
    masks: tuple[Mask, Mask]
    columns: tuple[str, ...]


def two_groups(
    published: Published, columns: Sequence[str], between: tuple[str, Any, Any], where: Where | None
) -> TwoGroups:
    """The two groups of a test.

    Args:
        published: the release.
        columns: on which the test depends besides.
        between: a column, and the values of the two groups.
        where: which rows count, see `mean`.

    Raises:
        DataError: an argument does not fit, or a group has no rows in the release.
    """
    if isinstance(between, str) or len(between) != 3:
        raise DataError("between: expected a column and two values, as in ('sex', 'F', 'M'); give all three")
    group, first, second = between
    places = Places.of(published, (*columns, group), where)
    selected = rows_where(places, where)
    one, other = (rows_with(places, group, value) & selected.rows for value in (first, second))
    if not ((one & places.own).any() and (other & places.own).any()):
        raise DataError(
            f"between: expected two groups of column {group!r} that occur in the release, got one without "
            "rows; choose other groups"
        )
    if (one & other).any():
        raise DataError("between: expected two groups without common rows, got others; choose other groups")
    return TwoGroups(places, (one, other), (group, *selected.columns))


def t_test(
    published: Published, column: str, *, between: tuple[str, Any, Any], where: Where | None = None
) -> TestResult:
    """The two-sample t test: whether the means of a column differ between two groups.

    Args:
        published: the release.
        column: of numbers, or of true and false.
        between: a column, and the values of the two groups.
        where: which rows count, see `mean`.

    Raises:
        DataError: an argument does not fit the release.
    """
    return _compare(published, column, between, where, "two-sample t", ranks=False)


def mann_whitney(
    published: Published, column: str, *, between: tuple[str, Any, Any], where: Where | None = None
) -> TestResult:
    """The test of Mann and Whitney: whether values of one group tend to be larger than those of the other.

    The effect is the probability that a value of the first group is larger, with ties counted half, less 1/2.

    Args:
        published: the release.
        column: of numbers.
        between: see `t_test`.
        where: see `t_test`.

    Raises:
        DataError: an argument does not fit the release.
    """
    return _compare(published, column, between, where, "Mann-Whitney", ranks=True)


def _compare(
    published: Published,
    column: str,
    between: tuple[str, Any, Any],
    where: Where | None,
    test: str,
    *,
    ranks: bool,
) -> TestResult:
    places, masks, columns = two_groups(published, (column,), between, where)
    values = numbers_of(places, column)
    masks = (masks[0] & ~np.isnan(values), masks[1] & ~np.isnan(values))
    both, name = masks[0] | masks[1], f"{test}: {column} by {between[0]}"
    if note := "" if ranks else withheld(published, (column,)):
        return refusal(name, note.replace("no interval", "no test"))
    held = np.sort(values[both & places.own])
    filled = np.nan_to_num(values)
    if ranks:
        filled = (np.searchsorted(held, filled) + np.searchsorted(held, filled, side="right")) / (
            2 * len(held)
        )
    real = RealTable(places, (column, *columns))
    sums = real.totals(
        np.column_stack([filled * both, masks[0], masks[1]]).astype(np.float64), covariances=False
    )
    sizes = sums.values[1:]
    if (sizes <= 2 * np.sqrt(np.maximum(np.diag(sums.noise + sums.unexplained)[1:], 0))).any():
        return refusal(name, SMALL_GROUP)
    centred = filled - sums.values[0] / sizes.sum()
    found = real.totals((centred * (masks[0] / sizes[0] - masks[1] / sizes[1]))[:, None])
    return score_test(name, found, effect=float(found.values[0]))


def chi_square(published: Published, one: str, other: str, *, where: Where | None = None) -> TestResult:
    """Pearson's chi-square test: whether two columns are independent.

    Rare values are put together, until each cell has 5 records if columns are independent.

    Args:
        published: the release.
        one: a column of at most 100 values.
        other: another.
        where: which rows count, see `mean`.

    Raises:
        DataError: an argument does not fit the release, or a column has too many values, or one.
    """
    if one == other:
        raise DataError("expected two columns, got one twice; name another")
    places = Places.of(published, (one, other), where)
    selected = rows_where(places, where)
    used = selected.rows.copy()
    for name in (one, other):
        used &= ~places.frame[name].isna().to_numpy()
    real = RealTable(places, (one, other, *selected.columns))
    parts = [_levels(published, places, real, used, name) for name in (one, other)]
    name = f"chi-square: {one} and {other}"
    total = float(real.totals(used[:, None].astype(np.float64), covariances=False).values[0])
    if total <= 0:
        return refusal(name, SMALL_GROUP)
    merged = [
        _put_rare_together(levels, total, LEAST_EXPECTED / len(parts[1 - place]))
        for place, levels in enumerate(parts)
    ]
    if min(map(len, merged)) < 2:
        return refusal(name, "no test: but for the noise, a column may have one value only")
    shares, scores = [], []
    for levels in merged:
        counts = real.totals(np.column_stack(levels).astype(np.float64), covariances=False).values
        share = np.maximum(counts, 1.0) / np.maximum(counts, 1.0).sum()
        shares.append(share)
        scores.append(
            np.column_stack([(mask - p) * used for mask, p in zip(levels, share, strict=True)])[:, 1:]
        )
    functions = np.einsum("ni,nj->nij", *scores).reshape(len(used), -1)
    first, second = (np.diag(share) - np.outer(share, share) for share in shares)
    return score_test(name, real.totals(functions), sampling=total * np.kron(first[1:, 1:], second[1:, 1:]))


def _levels(
    published: Published, places: Places, real: RealTable, used: Mask, name: str
) -> list[tuple[Mask, float, float]]:
    """The places of each value of a column, its records, and twice their standard error."""
    values = levels_of(published, name)
    if not 2 <= len(values) <= _CONTINGENCY_VALUES:
        raise DataError(
            f"column {name!r}: expected 2 to {_CONTINGENCY_VALUES} values, got {len(values)}; use "
            "another test, such as Mann-Whitney"
        )
    masks = [rows_at(places, name, value) & used for value in values]
    found = real.totals(np.column_stack(masks).astype(np.float64), covariances=False)
    errors = 2 * np.sqrt(np.maximum(np.diag(found.noise + found.unexplained), 0))
    return list(zip(masks, found.values.tolist(), errors.tolist(), strict=True))


def _put_rare_together(levels: list[tuple[Mask, float, float]], total: float, least: float) -> list[Mask]:
    """The places of values, with those together that may be rare."""
    common = [mask for mask, count, error in levels if count - error >= max(least, 0.01 * total)]
    rest = [(mask, count, error) for mask, count, error in levels if count - error < max(least, 0.01 * total)]
    if not rest:
        return common
    together = np.logical_or.reduce([mask for mask, _, _ in rest])
    count = sum(count for _, count, _ in rest)
    error = float(np.sqrt(sum(error**2 for _, _, error in rest)))
    if count - error >= max(least, 0.01 * total) or not common:
        return [*common, together]
    return [*common[:-1], common[-1] | together]

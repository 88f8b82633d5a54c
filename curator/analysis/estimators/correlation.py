"""The correlation of two columns of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..conditions import Where
from ..intervals import INFERRED, MEASURED, NOTHING_KNOWN, quantile_of
from ..published import Published
from ..totals import Totals
from .draws import draw_sums, ends_of
from .estimates import Errors, Estimates, Target
from .influence import RealTable
from .places import Places
from .selection import numbers_of, rows_where
from .unseen import withheld

Array = NDArray[np.float64]

UNKNOWN_SPREAD = "no interval: the noise is too large for the spread of a column"

_MOST_SPREAD_NOISE = 0.5
"""Largest relative standard error of a column's variance at which there is an interval."""

_LEAST_POSSIBLE = 0.5
"""Least share of the draws that have to be possible for a table, or there is no interval."""

_NOTHING = 0.9
"""An interval that holds all correlations of up to this size says nothing."""


def correlation(
    published: Published,
    one: str,
    other: str,
    where: Where | None = None,
    *,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """The correlation of two columns over the rows in which both are known.

    From five sums over the real table: of both columns, of their squares and of their product. The interval
    is that of draws of these sums that a table may have, so it stays within -1 and 1.

    Args:
        published: the release.
        one: a column of numbers, or of true and false.
        other: another.
        where: which rows count, see `mean`.
        of: see `mean`.
        level: see `mean`.

    Raises:
        DataError: an argument does not fit the release, or a column has one value.
    """
    target = Target.parse(of)
    quantile_of(level)
    if one == other:
        raise DataError("expected two columns, got one twice; name another")
    places = Places.of(published, (one, other), where)
    selected = rows_where(places, where)
    columns = [numbers_of(places, name) for name in (one, other)]
    used = selected.rows & ~np.isnan(columns[0]) & ~np.isnan(columns[1])
    own = used & places.own
    scaled = []
    for name, values in zip((one, other), columns, strict=True):
        if own.sum() < 2 or np.ptp(values[own]) == 0:
            raise DataError(f"column {name!r}: expected two or more values among the rows, got one")
        scaled.append(np.where(used, (np.nan_to_num(values) - values[own].mean()) / values[own].std(), 0.0))
    u, v = scaled
    released = float((u * v)[own].mean())
    real = RealTable(places, (one, other, *selected.columns))
    found = real.totals(np.column_stack([used, u, v, u**2, v**2, u * v]).astype(np.float64))
    count, *sums = found.values
    mean_u, mean_v, square_u, square_v, product = (value / count for value in sums)
    spread_u, spread_v = square_u - mean_u**2, square_v - mean_v**2
    if count <= 0 or min(spread_u, spread_v) <= 0:
        return _unknown(f"{one}, {other}", released, target, level)
    root = np.sqrt(spread_u * spread_v)
    estimate = float((product - mean_u * mean_v) / root)
    # The influence of each sum on the correlation; the number of records counts with what is left of means.
    by = np.array(
        [
            0.0,
            -mean_v / root + estimate * mean_u / spread_u,
            -mean_u / root + estimate * mean_v / spread_v,
            -estimate / (2 * spread_u),
            -estimate / (2 * spread_v),
            1 / root,
        ]
    )
    by[0] = -by[1:] @ np.array([mean_u, mean_v, square_u, square_v, product])
    errors, reach = Errors.of(found, by[None] / count), found.reach_of(by[None])
    spreads = [
        np.array([mean**2 - spread, -2 * mean, 0, 1.0])
        for mean, spread in ((mean_u, spread_u), (mean_v, spread_v))
    ]
    about = found.noise + found.unexplained
    unsure = max(
        float(np.sqrt(by @ about[np.ix_(kept, kept)] @ by)) / (count * spread)
        for by, kept, spread in zip(spreads, ([0, 1, 2, 3], [0, 2, 1, 4]), (spread_u, spread_v), strict=True)
    )
    low, high, note = _interval(found, target, level)
    if unsure > _MOST_SPREAD_NOISE:
        note = UNKNOWN_SPREAD
    note = withheld(published, (one, other)) or note
    if note:
        low = high = np.nan
    elif reach[0] < MEASURED:
        note = INFERRED
    return Estimates(
        (f"{one}, {other}",),
        np.array([np.clip(estimate, -1, 1)]),
        np.array([low]),
        np.array([high]),
        np.array([released]),
        errors,
        reach,
        (note,),
        target,
        level,
    )


def _interval(found: Totals, target: Target, level: float) -> tuple[float, float, str]:
    """The interval of the correlation that six sums make, and what is to be said of it."""
    count, *sums = draw_sums(found.values, found.covariance(target is Target.POPULATION)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_u, mean_v, square_u, square_v, product = (value / count for value in sums)
        root = np.sqrt((square_u - mean_u**2) * (square_v - mean_v**2))
        drawn = (product - mean_u * mean_v) / root
    possible = np.isfinite(drawn) & (np.abs(drawn) <= 1)
    if possible.mean() < _LEAST_POSSIBLE:
        return np.nan, np.nan, UNKNOWN_SPREAD
    (low,), (high,) = ends_of(drawn[possible, None], level)
    return float(low), float(high), NOTHING_KNOWN if low < -_NOTHING and high > _NOTHING else ""


def _unknown(name: str, released: float, of: Target, level: float) -> Estimates:
    nothing = np.array([np.nan])
    return Estimates(
        (name,),
        nothing,
        nothing,
        nothing,
        np.array([released]),
        Errors.unknown(1),
        nothing,
        (UNKNOWN_SPREAD,),
        of,
        level,
    )

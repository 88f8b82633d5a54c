"""Any function of a table, as a sum over its records: by how much each group of rows changes it.

Source: Efron, The jackknife, the bootstrap and other resampling plans (1982), chapter 6, influence functions;
    deleted are groups of alike rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.errors import DataError
from ..intervals import MEASURED, quantile_of
from ..published import Published
from .estimates import Errors, Estimates, Target
from .grouping import Labels, groups_of, spread_over_rows
from .influence import RealTable
from .places import Places

Array = NDArray[np.float64]

Function = Callable[[pd.DataFrame], Any]
"""From a table to a number, a vector, or numbers by name (a dict or a Series)."""

LEAST_FIT = 0.8
"""Changes of a function have to follow from the changes of its groups to this share of their variance."""

ROUGH = "no interval: the function does not change evenly with its rows, or depends on too fine a detail"
UNMEASURED = (
    "no interval: the release measured too little of this, and a function is known at its rows alone; ask "
    "for a mean, a difference, a correlation or a regression"
)
UNDEFINED = "no interval: the function has no value without some of the rows"

_MOST_DELETED = 0.02
"""Largest share of rows that are deleted at a time, so that the change is close to linear."""

_CHECKS = 40
_CHECKED = 0.1
"""Share of rows that a check deletes at random."""


def infer(
    published: Published,
    fn: Function,
    columns: Sequence[str] | None = None,
    *,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """What a function would return for the real table, or the population, with an interval.

    The function runs up to about 1100 times on parts of the synthetic table. It has to change evenly with the
    rows, as means, coefficients, correlations and shares do; for others no interval is given. It should not
    depend on the number of rows.

    Args:
        published: the release.
        fn: from a DataFrame such as `published.frame` to a number, a vector, or numbers by name.
        columns: those that it reads; by default they are found by changing one after the other.
        of: "population" or "table", see `Target`.
        level: share of intervals that are to contain the value.

    Raises:
        DataError: the function fails, differs from run to run or returns something else; or the columns do
            not fit.
    """
    target, z = Target.parse(of), quantile_of(level)
    names, released = _repeatable_result(fn, published.frame)
    read = _read(published, fn, released) if columns is None else list(dict.fromkeys(columns))
    if not read:
        raise DataError(
            "fn: expected a function of the values, got one that depends on none; name the columns"
        )
    # The function is not known where the release has no rows.
    real = RealTable(Places.of(published, read, everywhere=False), read)
    frame = _without_unused_columns(fn, published.frame, read, released)
    labels = groups_of(published, read)
    changes = _Changes(fn, frame, released)
    values = changes.influence(labels)
    defined = np.asarray(np.isfinite(values).all(axis=0))
    rows = spread_over_rows(published, read, labels, np.where(defined, values, 0.0))
    rows -= rows.mean(axis=0)
    fits = changes.explained_by(rows)
    found = real.totals(rows)
    estimate = released + found.values / real.records
    errors = Errors.of(found, np.eye(len(released)) / real.records)
    half = z * errors.total(target)
    notes = tuple(
        UNDEFINED if not known else ROUGH if fit < LEAST_FIT else UNMEASURED if reach < MEASURED else ""
        for known, fit, reach in zip(defined.tolist(), fits, found.reach, strict=True)
    )
    half[[bool(note) for note in notes]] = np.nan
    estimate[~defined] = np.nan
    return Estimates(
        names,
        estimate,
        estimate - half,
        estimate + half,
        released,
        errors,
        found.reach,
        notes,
        target,
        level,
    )


@dataclass(frozen=True, eq=False)
class _Changes:
    """How a function changes when rows are deleted.

    Attributes:
        fn: the function.
        frame: the table.
        whole: the function's values for it, shape (q,).
    """

    fn: Function
    frame: pd.DataFrame
    whole: Array

    def influence(self, labels: Labels) -> Array:
        """The derivative of the function by the share of each group, shape (groups, q)."""
        order = np.argsort(labels, kind="stable")
        # Rows of a group are in random order, so that each part of it is like the others.
        order = order[np.lexsort((np.random.default_rng(0).permutation(len(order))[order], labels[order]))]
        ends = np.cumsum(np.bincount(labels))
        largest = max(1, int(_MOST_DELETED * len(labels)))
        found = np.empty((len(ends), len(self.whole)))
        for group, rows in enumerate(np.split(order, ends[:-1])):
            parts = np.array_split(rows, -(-len(rows) // largest))
            found[group] = sum(len(part) * self._by(part) for part in parts) / len(rows)
        return found

    def explained_by(self, rows: Array) -> Array:
        """The share of the variance of random changes that values of rows explain, shape (q,)."""
        rng, count = np.random.default_rng(0), len(rows)
        happened, expected = np.empty((_CHECKS, rows.shape[1])), np.empty((_CHECKS, rows.shape[1]))
        for check in range(_CHECKS):
            deleted = np.flatnonzero(rng.random(count) < _CHECKED)
            happened[check], expected[check] = self._by(deleted), rows[deleted].mean(axis=0)
        happened -= happened.mean(axis=0)
        left = happened - (expected - expected.mean(axis=0))
        varied = (happened**2).sum(axis=0)
        share = np.divide((left**2).sum(axis=0), varied, out=np.ones_like(varied), where=varied > 0)
        return np.where(np.isfinite(share), 1 - share, 0.0)

    def _by(self, deleted: NDArray[np.int64]) -> Array:
        """The derivative by the share of these rows, from the function's value without them."""
        kept = np.ones(len(self.frame), dtype=bool)
        kept[deleted] = False
        left = _values(self.fn, self.frame[kept])
        if left is None or left.shape != self.whole.shape:
            return np.full(len(self.whole), np.nan)
        return (self.whole - left) * (len(kept) - len(deleted)) / len(deleted)


def _repeatable_result(fn: Function, frame: pd.DataFrame) -> tuple[tuple[str, ...], Array]:
    """Names and values of the function, which has to return the same twice."""
    names, first = _evaluate(fn, frame)
    if not np.isfinite(first).all():
        raise DataError("fn: expected finite numbers, got others; leave out what has no value in the release")
    _, second = _evaluate(fn, frame)
    if not _same(first, second):
        raise DataError("fn: expected the same result from the same table, got two; give it a fixed seed")
    return names, first


def _read(published: Published, fn: Function, whole: Array) -> list[str]:
    """The columns that the function reads: those whose values change its result."""
    frame, rng, found = published.frame, np.random.default_rng(0), []
    for name in published.domain.names:
        codes = published.rows.column(name).astype(np.float64)
        if np.ptp(codes) == 0:
            continue
        # Larger codes are drawn more often: a permutation would leave a mean as it is.
        drawn = rng.choice(len(codes), len(codes), p=(1 + codes) / (1 + codes).sum())
        other = frame.assign(**{name: frame[name].take(drawn).set_axis(frame.index)})
        made = _values(fn, other)
        if made is None or not _same(made, whole):
            found.append(name)
    return found


def _without_unused_columns(
    fn: Function, frame: pd.DataFrame, columns: Sequence[str], whole: Array
) -> pd.DataFrame:
    """The table with only these columns, if that is enough for the function: it runs faster."""
    narrow = frame[list(columns)]
    made = _values(fn, narrow)
    return narrow if made is not None and _same(made, whole) else frame


def _values(fn: Function, frame: pd.DataFrame) -> Array | None:
    """The function's values; None if it fails for this table."""
    try:
        return _evaluate(fn, frame)[1]
    except DataError:
        return None


def _evaluate(fn: Function, frame: pd.DataFrame) -> tuple[tuple[str, ...], Array]:
    """Names and values."""
    try:
        found = fn(frame)
    except Exception as cause:
        raise DataError(
            f"fn: expected a result, got {type(cause).__name__}: {cause}; fix the function"
        ) from cause
    if isinstance(found, Mapping | pd.Series):
        named = dict(found.items())
        names, values = [str(name) for name in named], list(named.values())
    else:
        values = list(np.atleast_1d(np.asarray(found, dtype=object)))
        names = ["value"] if np.ndim(found) == 0 else [str(place) for place in range(len(values))]
    try:
        return tuple(names), np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise DataError(
            f"fn: expected a number, a vector, or numbers by name, got {type(found).__name__}; "
            "fix the function"
        ) from cause


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True)

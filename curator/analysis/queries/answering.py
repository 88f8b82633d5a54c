"""Answers queries on a release from its model and its measurements."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..intervals import quantile_of
from ..published import Published
from .answer import Answer, Row
from .axes import Axis, Truth
from .estimates import Estimate, Grouped, ratios, sums
from .joint import Joint, joint_of
from .language import Aggregate, Kind, Query
from .parsing import parsed
from .quantiles import quantiles

MOST_GROUPS = 10_000

LEAST_RECORDS = 0.5
"""A group is in the answer if the release has so many records of it."""


def answer(
    published: Published, text: str, level: float = 0.95, of: Literal["table", "population"] = "table"
) -> Answer:
    """The answer to a query in SQL (`parsing`), with an interval for each number.

    Args:
        published: the release.
        text: the query.
        level: probability that an interval covers the truth.
        of: whether intervals are for the numbers of the real table, or of the population of which its records
            are a random sample.

    Raises:
        DataError: the query cannot be read or answered, or the level is none.
    """
    quantile_of(level)
    if of not in ("table", "population"):
        raise DataError(f'expected "table" or "population", got {of!r}; say what intervals are for')
    query = parsed(text, published.domain.names)
    joint = joint_of(published, query)
    groups, keys = _groups(joint, query)
    grouped = Grouped(published.evidence, joint, groups, len(keys), level, of == "population")
    columns = [_estimates(grouped, query, aggregate) for aggregate in query.aggregates]
    return Answer(
        text,
        level,
        of,
        "model" if joint.from_model else "rows",
        query.groups,
        tuple(item if isinstance(item, str) else item.name for item in query.selected),
        tuple(Row(key, estimates) for key, *estimates in zip(keys, *columns, strict=True)),
    )


def _groups(joint: Joint, query: Query) -> tuple[NDArray[np.int64], list[tuple[object, ...]]]:
    """The group of each combination of codes, -1 for none, and the values of each group."""
    count = len(joint.support.weights)
    if not query.groups:
        return np.zeros(count, dtype=np.int64), [()]
    places = [joint.support.clique.index(name) for name in query.groups]
    combinations, groups = np.unique(joint.support.codes[:, places], axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    records = np.bincount(groups[joint.cells], joint.weights * joint.holds(query.where), len(combinations))
    kept = records >= LEAST_RECORDS
    if kept.sum() > MOST_GROUPS:
        raise DataError(f"the answer would have more than {MOST_GROUPS} groups; group by fewer columns")
    labels = [joint.axes[name].labels() for name in query.groups]
    keys = [tuple(names[code] for names, code in zip(labels, row, strict=True)) for row in combinations[kept]]
    return np.where(kept, np.cumsum(kept) - 1, -1)[groups], keys


def _estimates(grouped: Grouped, query: Query, aggregate: Aggregate) -> list[Estimate]:
    joint = grouped.joint
    rows = joint.holds(query.where)
    chosen = rows & joint.holds(aggregate.where)
    if isinstance(aggregate.of, str):
        axis, pieces = joint.axes[aggregate.of], joint.pieces[aggregate.of]
        chosen &= ~axis.missing[pieces]
        if aggregate.kind is not Kind.COUNT:
            return _of_numbers(grouped, aggregate, axis, chosen)
        counted = chosen
    else:
        true, false = joint.truth(aggregate.of) if aggregate.of is not None else (chosen, ~chosen)
        counted, chosen = chosen & true, chosen & (true | false)
    values, none = counted.astype(np.float64), np.zeros(len(counted))
    if aggregate.kind is Kind.COUNT:
        records = float(joint.support.weights.sum())
        return [each.clipped(0.0, records) for each in sums(grouped, values, none)]
    common = aggregate.kind is Kind.SHARE
    over = (rows if common else chosen).astype(np.float64)
    return [each.clipped(0.0, 1.0) for each in ratios(grouped, values, none, over, common=common)]


def _of_numbers(grouped: Grouped, aggregate: Aggregate, axis: Axis, chosen: Truth) -> list[Estimate]:
    """Sums, means and quantiles of a column over the rows that are chosen."""
    if aggregate.kind is Kind.QUANTILE:
        found = quantiles(grouped, axis, chosen, aggregate.probability)
        return [each.shown(axis) for each in found]
    pieces = grouped.joint.pieces[axis.name]
    values = np.where(chosen, axis.numbers[pieces], 0.0)
    variances = np.where(chosen, axis.variances[pieces], 0.0)
    if aggregate.kind is Kind.SUM:
        if axis.shown(0.0) != 0.0:
            raise DataError(f"the column {axis.name!r} holds dates, which have no sum; ask for AVG or MEDIAN")
        return sums(grouped, values, variances)
    least, most = float(np.nanmin(axis.numbers)), float(np.nanmax(axis.numbers))
    found = ratios(grouped, values, variances, chosen.astype(np.float64))
    return [each.clipped(least, most).shown(axis) for each in found]

"""Answers queries on a release from its model and its measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.dates import GapAttribute
from ....common.data.gaps import gaps_of
from ....common.errors import DataError
from ..intervals import quantile_of
from ..published import Published
from . import unseen
from .answer import Answer, Row
from .axes import Axis, Truth
from .estimates import Estimate, Grouped, ratios, sums
from .joint import Joint, axes_of, joint_of
from .language import Aggregate, Below, Equal, Kind, Missing, Query, comparisons
from .parsing import parsed
from .quantiles import quantiles

ANSWER_GROUPS = 10_000

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
    gaps = gaps_of(published.domain)
    query = parsed(text, published.domain.names, gaps)
    axes = axes_of(published, query)
    joints: dict[frozenset[str], Joint] = {}
    for columns in (query.selecting, *(query.selecting | item.columns for item in query.aggregates)):
        if columns not in joints:
            joints[columns] = joint_of(published, {name: axes[name] for name in axes if name in columns})
    groups = Groups.of(joints[query.selecting], query)
    found = []
    for item in query.aggregates:
        joint = joints[query.selecting | item.columns]
        grouped = Grouped(
            published.evidence, joint, groups.places(joint), len(groups.codes), level, of == "population"
        )
        found.append(_estimates(grouped, query, item))
    return Answer(
        text,
        level,
        of,
        "model" if all(joint.from_model for joint in joints.values()) else "rows",
        tuple(_heading(name, gaps) for name in query.groups),
        tuple(_heading(item, gaps) for item in query.selected),
        tuple(Row(key, estimates) for key, *estimates in zip(groups.keys(axes), *found, strict=True)),
    )


def _heading(item: str | Aggregate, gaps: Mapping[str, GapAttribute]) -> str:
    if isinstance(item, Aggregate):
        return item.name
    return gaps[item].difference if item in gaps else item


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of an answer.

    Attributes:
        names: columns by which rows are grouped.
        codes: shape (groups, columns), in lexical order.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, joint: Joint, query: Query) -> Groups:
        """The groups of which the release has records; without columns, one group.

        Raises:
            DataError: there are too many.
        """
        if not query.groups:
            return cls((), np.zeros((1, 0), dtype=np.int64))
        places = [joint.support.clique.index(name) for name in query.groups]
        codes, groups = np.unique(joint.support.codes[:, places], axis=0, return_inverse=True)
        weights = joint.weights * joint.holds(query.where)
        kept = np.bincount(groups.reshape(-1)[joint.cells], weights, len(codes)) >= LEAST_RECORDS
        if kept.sum() > ANSWER_GROUPS:
            raise DataError(f"the answer would have more than {ANSWER_GROUPS} groups; group by fewer columns")
        return cls(query.groups, codes[kept])

    def places(self, joint: Joint) -> NDArray[np.int64]:
        """The group of each combination of codes, shape (n,); -1 for none."""
        if not self.names:
            return np.zeros(len(joint.support.weights), dtype=np.int64)
        columns = [joint.support.clique.index(name) for name in self.names]
        both = np.concatenate([self.codes, joint.support.codes[:, columns]])
        known, place = np.unique(both, axis=0, return_inverse=True)
        group = np.full(len(known), -1)
        group[place.reshape(-1)[: len(self.codes)]] = np.arange(len(self.codes))
        found: NDArray[np.int64] = group[place.reshape(-1)[len(self.codes) :]]
        return found

    def keys(self, axes: Mapping[str, Axis]) -> list[tuple[object, ...]]:
        """The values of the columns in each group."""
        labels = [axes[name].labels() for name in self.names]
        return [tuple(names[code] for names, code in zip(labels, row, strict=True)) for row in self.codes]


def _estimates(grouped: Grouped, query: Query, aggregate: Aggregate) -> list[Estimate]:
    joint = grouped.joint
    rows = joint.holds(query.where)
    chosen = rows & joint.holds(aggregate.where)
    if isinstance(aggregate.of, str):
        axis, pieces = joint.axes[aggregate.of], joint.pieces[aggregate.of]
        chosen &= ~axis.missing[pieces]
        if aggregate.kind is not Kind.COUNT:
            return _of_numbers(grouped, query, aggregate, axis, chosen)
        counted = chosen
    else:
        true, false = joint.truth(aggregate.of) if aggregate.of is not None else (chosen, ~chosen)
        counted, chosen = chosen & true, chosen & (true | false)
    values, none = counted.astype(np.float64), np.zeros(len(counted))
    compared = _comparisons_of(query, aggregate)
    change = unseen.of_rows(grouped, counted, compared, query.groups)
    if aggregate.kind is Kind.COUNT:
        noisy = grouped.evidence is not None and grouped.evidence.records_sigma > 0
        most = math.inf if noisy else float(joint.support.weights.sum())
        return [each.clip(0.0, most) for each in unseen.of_counts(sums(grouped, values, none), change)]
    common = aggregate.kind is Kind.SHARE
    over = (rows if common else chosen).astype(np.float64)
    weights = np.full(grouped.size, over @ joint.weights) if common else grouped.sums(over)
    below = unseen.of_rows(grouped, over > 0, _selecting(query), () if common else query.groups)
    shares = unseen.of_shares(ratios(grouped, values, none, over, common=common), change, below, weights)
    return [each.clip(0.0, 1.0) for each in shares]


def _selecting(query: Query) -> tuple[Equal | Below | Missing, ...]:
    """The comparisons that select the rows of all aggregates."""
    return tuple(comparisons(query.where))


def _comparisons_of(query: Query, aggregate: Aggregate) -> tuple[Equal | Below | Missing, ...]:
    """The comparisons that select the rows of an aggregate."""
    known = (Missing(aggregate.of),) if isinstance(aggregate.of, str) else ()
    return (*_selecting(query), *aggregate.comparisons, *known)


def _of_numbers(
    grouped: Grouped, query: Query, aggregate: Aggregate, axis: Axis, chosen: Truth
) -> list[Estimate]:
    """Sums, means and quantiles of a column over the rows that are chosen."""
    selected = (*_selecting(query), *comparisons(aggregate.where))
    rows = unseen.of_rows(grouped, chosen, selected, query.groups)
    if aggregate.kind is Kind.QUANTILE:
        found = quantiles(grouped, axis, chosen, aggregate.probability)
        found = unseen.of_numbers(grouped, axis, chosen, aggregate, found, rows)
        return [each.as_values_of(axis) for each in found]
    pieces = grouped.joint.pieces[axis.name]
    values = np.where(chosen, axis.numbers[pieces], 0.0)
    variances = np.where(chosen, axis.variances[pieces], 0.0)
    if aggregate.kind is Kind.SUM:
        if axis.value_at(0.0) != 0.0:
            raise DataError(
                f"the column {axis.name!r} holds dates or times, which have no sum; ask for AVG or MEDIAN"
            )
        return unseen.of_numbers(grouped, axis, chosen, aggregate, sums(grouped, values, variances), rows)
    least, most = float(np.nanmin(axis.numbers)), float(np.nanmax(axis.numbers))
    found = ratios(grouped, values, variances, chosen.astype(np.float64))
    clipped = [each.clip(least, most) for each in found]
    return [
        each.as_values_of(axis) for each in unseen.of_numbers(grouped, axis, chosen, aggregate, clipped, rows)
    ]

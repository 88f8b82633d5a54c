"""The groups of an answer: by columns, by parts of dates and by conditions; and the order of its rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from .answer import Row
from .axes import Axis
from .joint import Joint
from .language import Aggregate, Both, Cases, Condition, DatePart, Equal, Missing, Order, Query

ANSWER_GROUPS = 10_000

LEAST_RECORDS = 0.5
"""A group is in the answer if the release has so many records of it."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of an answer by columns.

    Attributes:
        names: columns by which rows are grouped.
        codes: shape (groups, columns), in lexical order.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, joint: Joint, query: Query, case: Condition | None) -> Groups:
        """The groups of which the release has records; if nothing makes groups, one group.

        Args:
            joint: of the columns that select rows.
            query: what is asked.
            case: what is true of the rows of these groups; None for all rows.

        Raises:
            DataError: there are too many.
        """
        if not query.groups:
            return cls((), np.zeros((1, 0), dtype=np.int64))
        names = query.columns_of_groups
        places = [joint.support.clique.index(name) for name in names]
        if places:
            codes, groups = np.unique(joint.support.codes[:, places], axis=0, return_inverse=True)
        else:
            codes, groups = np.zeros((1, 0), dtype=np.int64), np.zeros(len(joint.support.codes), np.int64)
        weights = joint.weights * (joint.holds(query.where) & joint.holds(case))
        kept = np.bincount(groups.reshape(-1)[joint.cells], weights, len(codes)) >= LEAST_RECORDS
        check_number(int(kept.sum()))
        return cls(names, codes[kept])

    def places(self, joint: Joint) -> NDArray[np.int64]:
        """The group of each combination of codes, shape (n,); -1 for none."""
        if not self.names:
            return np.full(len(joint.support.weights), 0 if len(self.codes) else -1)
        columns = [joint.support.clique.index(name) for name in self.names]
        both = np.concatenate([self.codes, joint.support.codes[:, columns]])
        known, place = np.unique(both, axis=0, return_inverse=True)
        group = np.full(len(known), -1)
        group[place.reshape(-1)[: len(self.codes)]] = np.arange(len(self.codes))
        found: NDArray[np.int64] = group[place.reshape(-1)[len(self.codes) :]]
        return found


@dataclass(frozen=True)
class Case:
    """One group by all keys that are computed from columns.

    Attributes:
        labels: the value of each key.
        condition: what is true of its rows; None without such keys.
    """

    labels: tuple[Any, ...]
    condition: Condition | None

    def narrow(self, aggregate: Aggregate) -> Aggregate:
        """An aggregate of its rows alone."""
        if self.condition is None:
            return aggregate
        where = self.condition if aggregate.where is None else Both(aggregate.where, self.condition)
        return replace(aggregate, where=where)


def cases_of(query: Query, axes: Mapping[str, Axis]) -> Iterator[Case]:
    """The groups by keys that are computed from columns; one of all rows without such keys.

    Raises:
        DataError: there are too many.
    """
    choices = [_choices(key, axes) for key in query.computed_keys]
    check_number(math.prod(map(len, choices)))
    for chosen in itertools.product(*choices):
        condition: Condition | None = None
        for _, each in chosen:
            condition = each if condition is None else Both(condition, each)
        yield Case(tuple(label for label, _ in chosen), condition)


def _choices(key: DatePart | Cases, axes: Mapping[str, Axis]) -> list[tuple[Any, Condition]]:
    if isinstance(key, Cases):
        return list(key.cases)
    axis = axes[key.column]
    values = np.unique(axis.parts(key.part)[~axis.missing]).tolist()
    missing: list[tuple[Any, Condition]] = [(None, Missing(key.column))] if axis.missing.any() else []
    return [*((value, Equal(key.column, value, key.part)) for value in values), *missing]


@dataclass(frozen=True, eq=False)
class Entry:
    """A row of the answer, and where it is when rows are sorted by a key.

    Attributes:
        row: the row.
        codes: by its group, in the order of the keys.
        sorted_by: for each key what it is sorted by; None for a missing value.
    """

    row: Row
    codes: tuple[int, ...]
    sorted_by: tuple[Any, ...]


def entries_of(
    query: Query, axes: Mapping[str, Axis], groups: Groups, case: tuple[int, Case], found: list[list[Any]]
) -> Iterator[Entry]:
    """The rows of a case.

    Args:
        query: what is asked.
        axes: its columns.
        groups: by columns.
        case: the case, and its number.
        found: for each aggregate its estimates, by groups.
    """
    labels = {name: axes[name].labels() for name in groups.names}
    orders = {name: axes[name].order for name in groups.names}
    for codes, *estimates in zip(groups.codes.tolist(), *found, strict=True):
        code, label = dict(zip(groups.names, codes, strict=True)), iter(case[1].labels)
        keys = [labels[key][code[key]] if isinstance(key, str) else next(label) for key in query.groups]
        ranks = [
            value if value is None or not isinstance(key, str) else int(orders[key][code[key]])
            for key, value in zip(query.groups, keys, strict=True)
        ]
        places = tuple(code[key] if isinstance(key, str) else case[0] for key in query.groups)
        yield Entry(Row(tuple(keys), estimates), places, tuple(ranks))


def arranged_rows(query: Query, entries: list[Entry]) -> tuple[Row, ...]:
    """The rows of the answer, sorted and cut as asked."""
    entries = sorted(entries, key=lambda entry: entry.codes)
    for order in reversed(query.order):
        entries = _sort(entries, order, query)
    last = None if query.limit is None else query.skipped + query.limit
    return tuple(entry.row for entry in entries[query.skipped : last])


def _sort(entries: list[Entry], order: Order, query: Query) -> list[Entry]:
    if isinstance(order.by, Aggregate):
        place = query.aggregates.index(order.by)
        values = [entry.row.estimates[place].value for entry in entries]
        values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    else:
        place = query.groups.index(order.by)
        values = [entry.sorted_by[place] for entry in entries]
    pairs = list(zip(values, entries, strict=True))
    known = [pair for pair in pairs if pair[0] is not None]
    # Numbers and text may be values of one CASE.
    known.sort(key=lambda pair: (isinstance(pair[0], str), pair[0]), reverse=order.descending)
    missing = [entry for value, entry in pairs if value is None]
    found = [entry for _, entry in known]
    return [*missing, *found] if order.missing_first else [*found, *missing]


def check_number(groups: int) -> None:
    """Raises DataError if an answer would have too many groups."""
    if groups > ANSWER_GROUPS:
        raise DataError(f"the answer would have more than {ANSWER_GROUPS} groups; group by fewer columns")

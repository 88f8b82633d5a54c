"""What rows of a parent say of those below them, over parties: summaries that these compute from codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.dates import GapAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.errors import DataError
from ...common.protocols.related import KnownColumn, Way
from ..people.kin import Kin
from ..people.shape import Column
from ..people.summaries import Summary, TimeTo, end_summaries, none_of, summary_of
from ..releasing.planning.tables import PlannedTable

_WAYS = {
    "any": Way.ANY,
    "count": Way.COUNT,
    "time": Way.TIME,
    "first": Way.FIRST_ROW,
    "last": Way.LAST_ROW,
}
"""How parties compute what summaries say, by the words for it (`Summary.what`)."""


def summaries_of(table: PlannedTable) -> tuple[Summary, ...]:
    """The summaries of a table of a plan.

    Raises:
        DataError: one is none, or the table has no such column, value or order.
    """
    found = tuple(summary_of(name, stated) for name, stated in table.summaries.items())
    for summary in found:
        _check_summary(table, summary)
    return (*found, *end_summaries(table.name, table.domain)) if table.parent and table.order else found


def stated_summary(
    child: Kin, summary: Summary, said: Attribute, held: Attribute, column: Column, numbers: Sequence[int]
) -> KnownColumn:
    """What a row says of those of a table as terms state it, perhaps in groups of its codes.

    Args:
        child: the table.
        summary: what is said.
        said: the column of the parent.
        held: the column of the table, in its bins.
        column: the column of records.
        numbers: the smallest number of each bin of a number of rows of the table.
    """
    way, groups = _WAYS[summary.what], column.groups or tuple(range(said.size))
    stated = (column.attribute.name, child.name, way, summary.column, column.before)
    if not summary.of_values:
        # Parents without rows have the code of a missing value.
        return KnownColumn(*stated, tuple(groups[code] for code in (*range(held.size), none_of(said))))
    spoken = np.isin(np.arange(held.size), summary.codes(held)).astype(int)
    some = () if spoken.all() else tuple(spoken.tolist())
    if way is Way.ANY:
        return KnownColumn(*stated, some)
    starts = numbers
    if child.steps is not None and isinstance(said, NumericAttribute) and way is Way.TIME:
        starts = np.searchsorted(child.steps.firsts, said.cells[:, 0]).tolist()
    # Groups are of neighbouring bins; a missing time is a group of its own.
    first = (place for place in range(len(starts)) if not place or groups[place] != groups[place - 1])
    return KnownColumn(*stated, some, tuple(starts[place] for place in first))


def _check_summary(table: PlannedTable, summary: Summary) -> None:
    """Refuses a summary that parties cannot compute from codes.

    Raises:
        DataError: the table has no such column, value or order.
    """
    where, name = f"plan: [tables.{table.name}]: summary {summary.name!r}", summary.column
    domain = table.domain
    if not table.parent or domain is None or name not in domain.names or name == table.order:
        raise DataError(
            f"{where}: expected a column of a table that belongs to another, beside keys and order, got "
            f"{name!r}; fix it"
        )
    held = domain[name]
    if summary.of_values:
        listed = isinstance(held, CategoricalAttribute | BooleanAttribute | CodedAttribute)
        if not listed or not all(len(replace(summary, values=(one,)).codes(held)) for one in summary.values):
            raise DataError(
                f"{where}: expected values that the domain lists of {name!r}, got another; over parties, "
                "name categories"
            )
    elif isinstance(held, GapAttribute) or summary.attribute(held, None, None) is None:
        raise DataError(f"{where}: expected a column of categories, numbers or dates, got {name!r}; fix it")
    if (isinstance(summary, TimeTo) or not summary.of_values) and not table.order:
        raise DataError(f"{where}: expected an order of {table.name!r}, got none; name it in order")
    if isinstance(summary, TimeTo) and not isinstance(domain[table.order], NumericAttribute):
        raise DataError(
            f"{where}: expected an order of numbers, which count from the beginning of each person, got "
            "dates; over parties, order by days since then"
        )

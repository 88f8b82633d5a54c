"""Drafts of a table of several rows a person, of which the owner names the key. Not private."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace

from ....common.data.attributes.dates import GapAttribute
from ....common.errors import DataError
from ....common.forms.nearest import hint
from ...sources.source import Queried
from ..draft import Draft, attributes_of, unheld
from ..following import dates_of
from .courses import Related, courses_of, with_categories
from .formulas import computed_of_people
from .gaps import entries_with_gaps, gaps_of
from .implied import counts_of

_OF_PEOPLE_ALIKE = 0.999
"""Share of neighbouring rows of a key that are the same in a column that is one of people."""


def with_key(draft: Draft, source: Queried, key: str) -> Draft:
    """A draft of a table of which a column names the person of each row.

    The column is no attribute of it, and categories that rise from row to row are in their order. A remark
    says by which options a release knows of columns of people and of the course of their rows. These are in
    order by the first date that differs between them and comes after no other, or by what counts them.

    Args:
        draft: of the table.
        source: its rows.
        key: the column.

    Raises:
        DataError: there is no such column, or no other that a release can hold.
    """
    if key not in draft.entries:
        raise DataError(f"key: expected a column of the table, got {key!r}{hint(key, draft.entries)}; fix it")
    rest = draft.without({key})
    entries = rest.entries
    attributes = attributes_of(entries)
    if not attributes:
        raise DataError(f"key: expected columns beside {key!r} that a release can hold, got none; add some")
    rows = Related.of(source, key, [*attributes])
    own = {name: one for name, one in attributes.items() if rows.share_of_equals(name) < _OF_PEOPLE_ALIKE}
    dates = dates_of(own)
    order = next((one for one in dates.values() if not isinstance(one, GapAttribute)), None)
    counts = dict(counts_of(source, key, {name: entries[name] for name in own}, rows, order))
    kept = {name: one for name, one in own.items() if name not in counts and name not in dates}
    in_order = rows.in_order(order, next(iter(counts), ""))
    computed = computed_of_people(
        rest.without(counts),
        in_order,
        order.name if order else "",
    )
    gone = unheld(computed)
    attributes, own, kept = (
        {name: one for name, one in held.items() if name not in gone} for held in (attributes, own, kept)
    )
    found = courses_of(in_order, kept, bool(order or counts))
    options = [("key", key), *(("per-person", name) for name in attributes if name not in own)]
    options += [] if order is None else [("order", order.name)]
    options += [("counts", f"{name}={first}") for name, first in counts.items()]
    options += [("rising", name) for name in found.rising] + [("once", name) for name in found.once]
    said = " ".join(f"--{option} {shlex.quote(name)}" for option, name in options)
    rest, named = rest.without({*counts}).with_entries(computed), draft.entries[key]
    pattern = {key: named} if isinstance(named, Mapping) and named.get("type") == "identifier" else {}
    remark = (key, f"it names people: release the table by {said}")
    entries = {**pattern, **with_categories(rest.entries, found)}
    if order is not None:
        entries = entries_with_gaps(entries, order.name, gaps_of(in_order, order))
    return replace(rest, entries=entries, remarks=[*rest.remarks, remark])

"""What is said of related tables beside what they belong to: summaries, bounds of orders, series, pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ...common.bounded import json_of, read_bytes
from ...common.data.domain import Domain
from ...common.data.related.courses import CHECKS
from ...common.data.related.pairs import checked_pairs
from ...common.data.related.series import check_series
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.people.shape import names_above
from ...curator.people.summaries import FirstOf, LastOf, TimeTo, end_summaries, summary_of
from .frames import ROWS
from .keyed import PEOPLE
from .order import holds_numbers
from .tables import Implied, Pairs, Raw, Summaries


def with_summaries(tables: tuple[Raw, ...], summaries: Summaries) -> tuple[Raw, ...]:
    """The tables with what rows of parents are to say of theirs.

    Raises:
        DataError: a table, a column or a value is none that could be spoken of.
    """
    named = {raw.name: raw for raw in tables if raw.owner}
    for name, said in summaries.items():
        raw, found = _belonging("summaries", name, named), []
        for column_of_parent, stated in said.items():
            summary = summary_of(column_of_parent, stated)
            if summary.column not in raw.rows.columns or summary.column == raw.order:
                held = [str(one) for one in raw.rows.columns]
                raise DataError(
                    f"summaries of {name!r}: expected a column of it beside keys and order, got "
                    f"{summary.column!r}{hint(summary.column, held)}; fix it"
                )
            if raw.order is None and isinstance(summary, (FirstOf, LastOf)):
                raise DataError(
                    f"summary {column_of_parent!r}: expected an order of the rows of {name!r}, got none; "
                    "name it in order"
                )
            if not raw.order and isinstance(summary, TimeTo):
                raise DataError(
                    f"summary {column_of_parent!r}: expected a column of the order of {name!r}, got none; "
                    "name it in order"
                )
            found.append(summary)
        named[name] = replace(raw, summaries=tuple(found))
    return tuple(named.get(raw.name, raw) for raw in tables)


def with_end_summaries(tables: tuple[Raw, ...], domains: Mapping[str, Domain]) -> tuple[Raw, ...]:
    """The tables with what parents know of the first and last of their rows (`summaries.end_summaries`)."""
    return tuple(
        raw
        if not raw.owner or raw.order is None
        else replace(raw, end_summaries=end_summaries(raw.name, domains.get(raw.name)))
        for raw in tables
    )


def with_bounds(
    tables: tuple[Raw, ...],
    within: Mapping[str, tuple[str | None, str | None]],
    near: Mapping[str, str],
    domains: Mapping[str, Domain],
) -> tuple[Raw, ...]:
    """The tables with the columns of their parents by which their order lies.

    Raises:
        DataError: a table has no column of an order, or its parent no such column; or both say when.
    """
    named = {raw.name: raw for raw in tables}
    for name, stated in within.items():
        if isinstance(stated, str) or len(stated) != 2:
            raise DataError(
                f"within of {name!r}: expected two columns or None, such as ('born', 'died'), got another; "
                "name both"
            )
        low, high = _of_parent("within", name, stated, named)
        named[name] = replace(named[name], within=(low, high))
    for name, column in near.items():
        if name in named and named[name].within[0]:
            raise DataError(
                f"near of {name!r}: expected no column beside the first one in within, before which no row "
                "lies, got one; leave one of the two out"
            )
        (begun,) = _of_parent("near", name, (column,), named)
        named[name] = replace(named[name], near=begun)
    for raw in named.values():
        times = [one.name for one in raw.summaries if isinstance(one, TimeTo)]
        if times and not raw.within[0] and not _in_order_of_numbers(raw, domains):
            raise DataError(
                f"summary {times[0]!r}: expected the beginning of each row of {raw.owner!r}, from which "
                f"times of {raw.name!r} count, got none; name a column of it in within, or describe an order "
                "of numbers in a domain"
            )
    return tuple(named.values())


def _of_parent(what: str, name: str, columns: Sequence[str | None], named: Mapping[str, Raw]) -> list[str]:
    """Columns of the parent of a table that has a column of its order; empty for None.

    Raises:
        DataError: the table has no such order, or its parent no such column.
    """
    if name not in named or not named[name].order:
        raise DataError(
            f"{what}: expected tables with a column of their order, got {name!r}{hint(name, named)}; "
            "name the order, or leave it out"
        )
    held = list(map(str, named[named[name].owner].rows.columns))
    for column in filter(None, columns):
        if column not in held:
            raise DataError(
                f"{what} of {name!r}: expected a column of {named[name].owner!r}, got "
                f"{column!r}{hint(column, held)}; fix it"
            )
    return [column or "" for column in columns]


def notes_on_bounds(
    tables: tuple[Raw, ...], stated: Collection[str], domains: Mapping[str, Domain]
) -> Iterator[str]:
    """What to ask of tables in order of time whose parents are so, too, and of which nothing says when.

    Args:
        tables: the tables.
        stated: names of those of which bounds are stated.
        domains: of those that have one.
    """
    timed = {one.name: one for one in tables if one.order and not _in_order_of_numbers(one, domains)}
    for raw in timed.values():
        if raw.owner in timed and raw.name not in stated:
            above = timed[raw.owner].order
            yield (
                f"{raw.name}: its rows are in order by {raw.order!r}, those of {raw.owner!r} by {above!r}, "
                "but nothing says that they lie in their time, so a synthetic row may be years from its row "
                f"of {raw.owner!r}; name in within the columns between which they lie, such as "
                f"({above!r}, None), or (None, None) if they may lie anywhere"
            )


def with_courses(tables: tuple[Raw, ...], implied: Implied, domains: Mapping[str, Domain]) -> tuple[Raw, ...]:
    """The tables with the columns that are the same in all rows of a parent, rise, or have each value once.

    Raises:
        DataError: a table is none that belongs to another, or has no such column or no order; or nobody says
            in which order the categories of one are.
    """
    named = {raw.name: raw for raw in tables if raw.owner}

    def check(where: str, what: str, raw: Raw, column: str) -> None:
        own = [*map(str, raw.rows.columns)]
        # Keys of a public table are categories that no domain has to list.
        listed = any(one.name == column for one in raw.references)
        CHECKS[what](where, column, raw.order, own, None if listed else domains.get(raw.name))

    for what in CHECKS:
        for name, columns in getattr(implied, what).items():
            for column in columns:
                check(f"{what} of {name!r}", what, _belonging(what, name, named), column)

    def of(name: str, stated: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        return tuple(stated.get(name, ()))

    found = []
    for raw in tables:
        once = of(raw.name, implied.once)
        for column in _naming(raw):
            check(f"key of {raw.name!r}", "once", raw, column)
            once = once if column in once else (*once, column)
        same, rising = of(raw.name, implied.same), of(raw.name, implied.rising)
        found.append(replace(raw, same=same, rising=rising, once=once))
    return tuple(found)


def _naming(raw: Raw) -> tuple[str, ...]:
    """The column that tells the rows of one parent apart, where several name a row; empty for none.

    Raises:
        DataError: there are several.
    """
    if not raw.owner:
        return ()
    found = tuple(one for one in raw.joins if one not in (raw.foreign, *raw.repeats, *raw.counts))
    if len(found) > 1:
        raise DataError(
            f"key of {raw.name!r}: expected one column by which rows of one of {raw.owner!r} differ, got "
            f"{found[0]!r} and {found[1]!r}; make one column of both, in all tables"
        )
    return found


def _in_order_of_numbers(raw: Raw, domains: Mapping[str, Domain]) -> bool:
    """Whether rows are in order by numbers, as far as is declared; texts may be dates."""
    return holds_numbers(raw.rows[str(raw.order)], str(raw.order), domains.get(raw.name))


def with_series(
    tables: tuple[Raw, ...], series: Mapping[str, str], domains: Mapping[str, Domain]
) -> tuple[Raw, ...]:
    """The tables with the columns that say which rows of a parent are one series.

    Raises:
        DataError: a table is none that belongs to another, or has no domain and a column of numbers; or see
            `check_series`.
    """
    named = {raw.name: raw for raw in tables if raw.owner}
    for name, column in series.items():
        raw = _belonging("series", name, named)
        held = [*map(str, raw.rows.columns)]
        check_series(f"series of {name!r}", column, raw.order, held, domains.get(name))
        kind = raw.rows[column].dtype
        if name not in domains and (kind.kind in "iufcmM" or isinstance(kind, pd.DatetimeTZDtype)):
            raise DataError(
                f"series of {name!r}: expected a column of texts or a domain that lists categories, got "
                f"numbers or dates in {column!r}; describe it in a domain"
            )
        named[name] = replace(raw, series=column)
    return tuple(named.get(raw.name, raw) for raw in tables)


def pairs_stated(workload: object, key: str | None, per_person: Sequence[str]) -> Pairs:
    """The pairs of each table, of a workload as it was given to `synthesize`.

    Raises:
        DataError: it is another workload than one of pairs.
    """
    if workload is None:
        return {}
    if key is not None and isinstance(workload, str):
        try:
            workload = json_of(read_bytes(Path(workload)))
        except (OSError, ValueError):
            raise DataError(
                "workload: expected a JSON file of pairs of columns beside a key, got none that can be read; "
                "fix the path or the file"
            ) from None
    if key is None and isinstance(workload, Mapping):
        return workload
    if key is not None and isinstance(workload, Sequence) and not isinstance(workload, str):
        names = {one: f"{PEOPLE}.{one}" for one in per_person}
        return {ROWS: [[names.get(one, one) for one in pair] for pair in workload]}
    form = '{"stays": [("ward", "days")]}' if key is None else '[("ward", "days")]'
    raise DataError(f"workload: expected pairs of columns, such as {form}, got another; state pairs")


def with_pairs(tables: tuple[Raw, ...], stated: Pairs) -> tuple[Raw, ...]:
    """The tables with the pairs that their releases are asked for.

    Raises:
        DataError: a table is none that belongs to another; or see `checked_pairs`.
    """
    named, owners = {raw.name: raw for raw in tables if raw.owner}, {raw.name: raw.owner for raw in tables}

    def columns(above: str) -> list[str]:
        held = next(raw.rows.columns for raw in tables if raw.name == above)
        said = (one.name for raw in tables if raw.owner == above for one in raw.summaries)
        return [*held, *said]

    for name, pairs in stated.items():
        raw = _belonging("workload", name, named)
        own = [*map(str, raw.rows.columns)]
        above = names_above(name, owners, columns)
        named[name] = replace(raw, pairs=checked_pairs(name, pairs, own, raw.order is not None, above))
    return tuple(named.get(raw.name, raw) for raw in tables)


def _belonging(what: str, name: str, named: Mapping[str, Raw]) -> Raw:
    """The table of which something is stated, of those that belong to another."""
    if name not in named:
        raise DataError(
            f"{what}: expected tables that belong to another, got {name!r}{hint(name, named)}; fix it"
        )
    return named[name]

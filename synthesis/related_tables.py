"""Related tables as they are: read, checked, and put into the order of their people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..common.bounded import json_of, read_bytes
from ..common.data.domain import Domain
from ..common.data.values import read_numbers, text_of
from ..common.errors import DataError
from ..common.forms.nearest import hint
from ..curator.people.files import file_name
from ..curator.people.shape import number_name
from ..curator.people.summaries import FirstOf, LastOf, Summary, TimeTo, summary_of
from ..curator.results.keys import keys_as_texts
from ..curator.results.storage import Storage
from ..simulations.tables.frames import Source
from .related_frames import ROWS, frame_of

Summaries = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""For a table that belongs to another, names of new columns of the other -> what they say (`summary_of`)."""

Relations = Mapping[str, Mapping[str, str]]
"""For each child, the column that holds the key of its parent -> the parent, or "parent.column"."""

Pairs = Mapping[str, Sequence[Sequence[str]]]
"""For a table that belongs to another, the pairs of columns that matter."""

PEOPLE = "people"
"""Name of the people whose rows the only table of a release with a key has."""


@dataclass(frozen=True, eq=False)
class Raw:
    """A table with the keys that bind it to others.

    Attributes:
        name: of the table.
        rows: its columns without keys, shape (N, columns); those of one parent beside each other, in order.
        parent: row of the parent of each row, never decreasing, shape (N,); of the root the row itself.
        columns: all its columns, in order.
        storage: how the columns of a data frame are stored.
        key: column that names its rows; empty if it has none.
        owner: name of the parent; empty for the root.
        foreign: its column that holds the parent's key; empty for the root.
        order: column by which rows of a parent are in order; empty for the order of the table, and None if
            their order means nothing.
        summaries: what a row of the parent says of its rows.
        within: columns of the parent between which the order lies; empty for no bound.
        pairs: the pairs of columns that its release is asked for; empty for all.
    """

    name: str
    rows: pd.DataFrame
    parent: NDArray[np.int64]
    columns: tuple[str, ...]
    storage: Mapping[str, Storage]
    key: str = ""
    owner: str = ""
    foreign: str = ""
    order: str | None = None
    summaries: tuple[Summary, ...] = ()
    within: tuple[str, str] = ("", "")
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Link:
    """What a table belongs to, as it was stated."""

    foreign: str
    parent: str
    key: str


def read_tables(
    data: Mapping[str, Source],
    relations: Relations,
    order: Mapping[str, str | None],
    rng: np.random.Generator,
) -> tuple[Raw, ...]:
    """The tables, each after its parent.

    Args:
        data: the tables by name.
        relations: which belong to which.
        order: for a table whose rows have an order, the column that says it, or None for that of its rows.
        rng: puts rows without an order into one.

    Raises:
        DataError: a name is unknown, the tables are no tree, or a key is missing, stands twice or is unknown.
    """
    for name in data:
        if not isinstance(name, str) or not name.strip():
            raise DataError("expected texts as names of tables, got another; name them")
    files: dict[str, str] = {}
    for name in data:
        if (other := files.setdefault(file_name(name).casefold(), name)) != name:
            raise DataError(
                f"expected names of tables that differ as those of files, got {other!r} and {name!r}; rename "
                "one"
            )
    links = _links(data, relations)
    if unknown := [name for name in order if name not in links]:
        raise DataError(
            f"order: expected tables that belong to another, got {unknown[0]!r}{hint(unknown[0], links)}; "
            "order these alone"
        )
    named = _in_order(data, links)
    frames = {name: frame_of(name, data[name]) for name in named}
    keys: dict[str, str] = {}
    for stated in links.values():
        if keys.setdefault(stated.parent, stated.key) != stated.key:
            raise DataError(
                f"relations: expected one key of the table {stated.parent!r}, got several; name one"
            )
    found: dict[str, tuple[Raw, pd.Index]] = {}
    for name in named:
        rows, storage = frames[name]
        held = tuple(map(str, rows.columns))
        key, link = keys.get(name, ""), links.get(name)
        if key and link is not None and key == link.foreign:
            raise DataError(
                f"{name}: expected {key!r} to name rows of one table, got it as its own key and that of "
                f"{link.parent!r}; relate the tables below it to {link.parent!r}"
            )
        if order.get(name) in (*filter(None, (key, link.foreign if link else "")),):
            raise DataError(
                f"{name}: expected an order by a column that is no key, got {order[name]!r}; name another"
            )
        for column in filter(None, (key, link.foreign if link else "", order.get(name))):
            if column not in held:
                raise DataError(
                    f"{name}: expected the column {column!r}, found none{hint(column, held)}; fix the "
                    "relations or the order"
                )
        places, parent = np.arange(len(rows)), np.arange(len(rows))
        if link is not None:
            parent = _parents(name, rows[link.foreign], link, found[link.parent][1])
            places = _places_in_order(
                name, rows, parent, order[name] if name in order else None, name in order, rng
            )
            parent = parent[places]
        rows = rows.iloc[places].reset_index(drop=True)
        index = _index(name, key, rows[key]) if key else pd.Index([])
        given = {key, link.foreign if link else ""}
        raw = Raw(
            name,
            rows[[column for column in held if column not in given]],
            parent.astype(np.int64),
            held,
            storage,
            key,
            "" if link is None else link.parent,
            "" if link is None else link.foreign,
            (order[name] or "") if name in order else None,
        )
        found[name] = raw, index
    return tuple(raw for raw, _ in found.values())


def read_keyed(
    data: Source,
    key: str,
    per_person: tuple[str, ...],
    column: str | None,
    ordered: bool,
    rng: np.random.Generator,
) -> tuple[Raw, ...]:
    """One table of several rows a person, as people and their rows.

    Args:
        data: the table.
        key: column that names the person of each row.
        per_person: columns that are the same in all rows of a person; people have the first one.
        column: by which rows of a person are in order; None for the order of the table.
        ordered: whether their order means something.
        rng: see `read_tables`.
    """
    rows, storage = frame_of(ROWS, data)
    columns = rows.columns
    for named in (key, *per_person):
        if named not in rows.columns:
            raise DataError(
                f"expected the column {named!r}, found none{hint(named, map(str, rows.columns))}; fix "
                "the name"
            )
    if column is not None and column in per_person:
        raise DataError(
            f"order: expected a column that differs between rows of a person, got {column!r}; name another"
        )
    if key in per_person:
        raise DataError(f"per_person: expected columns beside the key, got {key!r}; leave it out")
    people = rows[[key, *per_person]][~keys_as_texts(rows[key]).duplicated()]
    held = rows.drop(columns=list(per_person))
    tables = read_tables(
        {PEOPLE: people, ROWS: held}, {ROWS: {key: PEOPLE}}, {ROWS: column} if ordered else {}, rng
    )
    # They come back as the one table that they are.
    whose, those = tables
    return replace(whose, columns=()), replace(those, storage=storage, columns=tuple(map(str, columns)))


def keyed_domains(domain: Domain, key: str, per_person: tuple[str, ...]) -> dict[str, Domain]:
    """The domains of people and of their rows, from that of the table with a key."""
    if key in domain.names:
        raise DataError(
            f"key: expected a column that is no attribute, got {key!r}, which would be released; take it out "
            "of the domain"
        )
    named = {one.name: one for one in domain.attributes}
    if lacking := [name for name in per_person if name not in named]:
        raise DataError(f"per_person: expected attributes of the domain, got {lacking[0]!r}; add it")
    own = tuple(one for one in domain.attributes if one.name not in per_person)
    if not own:
        raise DataError(
            "per_person: expected a column that differs between rows of a person, got none; leave one out"
        )
    found = {ROWS: Domain(own, domain.unmodelled, domain.rules)}
    if per_person:
        found[PEOPLE] = Domain(tuple(named[name] for name in per_person))
    return found


def with_summaries(tables: tuple[Raw, ...], summaries: Summaries) -> tuple[Raw, ...]:
    """The tables with what rows of parents are to say of theirs.

    Raises:
        DataError: a table, a column or a value is none that could be spoken of.
    """
    named = {raw.name: raw for raw in tables if raw.owner}
    for name, said in summaries.items():
        if name not in named:
            raise DataError(
                f"summaries: expected tables that belong to another, got {name!r}{hint(name, named)}; fix it"
            )
        found = []
        raw = named[name]
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


def with_bounds(
    tables: tuple[Raw, ...], within: Mapping[str, tuple[str | None, str | None]]
) -> tuple[Raw, ...]:
    """The tables with the columns of their parents between which their order lies.

    Raises:
        DataError: a table has no column of an order, or its parent no such column.
    """
    named = {raw.name: raw for raw in tables}
    for name, stated in within.items():
        if isinstance(stated, str) or len(stated) != 2:
            raise DataError(
                f"within of {name!r}: expected two columns or None, such as ('born', 'died'), got another; "
                "name both"
            )
        low, high = stated
        if name not in named or not named[name].order:
            raise DataError(
                f"within: expected tables with a column of their order, got {name!r}{hint(name, named)}; "
                "name the order, or leave it out"
            )
        held = list(map(str, named[named[name].owner].rows.columns))
        for column in filter(None, (low, high)):
            if column not in held:
                raise DataError(
                    f"within of {name!r}: expected a column of {named[name].owner!r}, got "
                    f"{column!r}{hint(column, held)}; fix it"
                )
        named[name] = replace(named[name], within=(low or "", high or ""))
    for raw in named.values():
        times = [one.name for one in raw.summaries if isinstance(one, TimeTo)]
        if times and not raw.within[0] and not _holds_numbers(raw.rows[str(raw.order)]):
            raise DataError(
                f"summary {times[0]!r}: expected the beginning of each row of {raw.owner!r}, from which "
                f"times of {raw.name!r} count, got none; name a column of it in within"
            )
    return tuple(named.values())


def _holds_numbers(column: pd.Series) -> bool:
    """Whether the column of an order holds numbers, and no dates."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype):
        return bool(np.isfinite(_numbers_in(_texts(column))).all())
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _links(data: Mapping[str, Source], relations: Relations) -> dict[str, Link]:
    found = {}
    for name, stated in relations.items():
        if name not in data:
            raise DataError(f"relations: expected names of tables, got {name!r}{hint(name, data)}; fix it")
        if len(stated) != 1:
            raise DataError(
                f"relations of {name!r}: expected one column that holds the key of one parent, got "
                f"{len(stated)}; a table belongs to one other"
            )
        ((foreign, other),) = stated.items()
        parent = max((one for one in data if f"{other}.".startswith(f"{one}.")), key=len, default="")
        key = other[len(parent) + 1 :]
        if not parent:
            raise DataError(
                f"relations of {name!r}: expected the name of a table, got {other!r}{hint(other, data)}; "
                "fix it"
            )
        found[name] = Link(foreign, parent, key or foreign)
    return found


def _in_order(data: Mapping[str, Source], links: Mapping[str, Link]) -> list[str]:
    """The names of the tables, each after its parent."""
    roots = [name for name in data if name not in links]
    if len(roots) != 1:
        what = ", ".join(map(repr, roots)) or "none, so that relations go in a circle"
        raise DataError(
            f"relations: expected one table that belongs to no other, that of people, got {what}; fix them"
        )
    found = roots
    while len(found) < len(data):
        below = [name for name in data if name not in found and links[name].parent in found]
        if not below:
            raise DataError("relations: expected a tree, got a circle; fix them")
        found += below
    return found


def _index(name: str, key: str, column: pd.Series) -> pd.Index:
    """The keys of a table, by which its children find its rows.

    Raises:
        DataError: one is missing, or stands twice.
    """
    texts = keys_as_texts(column)
    if texts.isna().any():
        raise DataError(
            f"{name}: expected a key {key!r} in every row, found a row without; give it one, or drop it"
        )
    index = pd.Index(texts)
    if not index.is_unique:
        raise DataError(
            f"{name}: expected each key {key!r} once, found one in several rows; make the table one of one "
            "row a key, or relate it to a table of people"
        )
    return index


def _parents(name: str, column: pd.Series, link: Link, index: pd.Index) -> NDArray[np.int64]:
    """The row of the parent of each row.

    Raises:
        DataError: a row belongs to no row of the parent.
    """
    texts = keys_as_texts(column)
    found: NDArray[np.int64] = index.get_indexer(pd.Index(texts)).astype(np.int64)
    if texts.isna().any() or (found < 0).any():
        raise DataError(
            f"{name}: expected in {link.foreign!r} a key of {link.parent!r} in every row, found a row "
            "without one; drop such rows, or add their parents"
        )
    return found


def _places_in_order(
    name: str,
    rows: pd.DataFrame,
    parent: NDArray[np.int64],
    column: str | None,
    ordered: bool,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Places of the rows, those of one parent beside each other in their order, or in a random one."""
    if not ordered:
        return np.lexsort((rng.permutation(len(rows)), parent))
    if column is None:
        return np.argsort(parent, kind="stable")
    values = rows[column]
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    written = pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)
    texts = _texts(values) if written else []
    if "" in texts or (not written and values.isna().any()):
        raise DataError(
            f"{name}: expected a value of the order {column!r} in every row, found a row without; drop such "
            "rows, or order by another column"
        )
    if written:
        numbers = _numbers_in(texts)
        none = np.isnan(numbers)
        # Not what most cells are: a single one may not decide how others are read.
        mixed = none.any() and not none.all()
        values = pd.Series(numbers)
        if none.all():
            values = pd.Series(pd.to_datetime(texts, errors="coerce", format="mixed", utc=True))
        if mixed or values.isna().any():
            raise DataError(
                f"{name}: expected numbers, dates or timestamps in the order {column!r}, found others; order "
                "by another column"
            )
    return np.lexsort((values.to_numpy(), parent))


def _texts(column: pd.Series) -> list[str]:
    """The cells as texts that UTF-8 can hold; "" for a missing value."""
    return [text_of(cell).strip().encode(errors="replace").decode() for cell in column.tolist()]


def _numbers_in(texts: list[str]) -> NDArray[np.float64]:
    """The numbers that texts are, NaN where one is none."""
    return read_numbers("order", np.array(texts, dtype=object))[0]


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

    A column is named `value`; that of the row before `previous value`; one of a table above `patients.sex`.

    Raises:
        DataError: a table or a column is none, or an entry is no pair.
    """
    named = {raw.name: raw for raw in tables if raw.owner}
    for name, pairs in stated.items():
        if name not in named:
            raise DataError(
                f"workload: expected tables that belong to another, got {name!r}{hint(name, named)}; fix it"
            )
        raw = named[name]
        own = [*map(str, raw.rows.columns)]
        held = {*own, *(f"previous {column}" for column in own if raw.order is not None)}
        above = raw
        while above.owner:
            below, above = above.name, next(one for one in tables if one.name == above.owner)
            said = (one.name for child in tables if child.owner == above.name for one in child.summaries)
            held |= {f"{above.name}.{one}" for one in (*above.rows.columns, number_name(below), *said)}
        if isinstance(pairs, str) or not pairs:
            raise DataError(
                f"workload of {name!r}: expected pairs of columns, got none; name some, or no workload"
            )
        for pair in pairs:
            if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
                raise DataError(
                    f"workload of {name!r}: expected pairs of two columns, got another; such as "
                    f"[{own[0]!r}, {max(held - {own[0]}, default='sex')!r}]"
                )
            for column in pair:
                if column not in held:
                    raise DataError(
                        f"workload of {name!r}: expected a column of it, 'previous COLUMN' if it has an "
                        f"order, or 'TABLE.COLUMN' of one above, got {column!r}{hint(column, held)}; fix it"
                    )
            if not {*pair} & {*own}:
                raise DataError(
                    f"workload of {name!r}: expected a column of its rows in each pair, got {pair[0]!r} and "
                    f"{pair[1]!r}; leave it out"
                )
        named[name] = replace(raw, pairs=tuple((str(one), str(other)) for one, other in pairs))
    return tuple(named.get(raw.name, raw) for raw in tables)

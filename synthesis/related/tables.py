"""Related tables as they are: read, checked, and put into the order of their people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import check_name
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.related.repeats import Above, repeated_columns
from ...common.data.values import compose_texts
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.people.files import check_file_names
from ...curator.people.summaries import Summary
from ...curator.results.storage import Storage
from ...simulations.tables.frames import Source
from .complete import with_keys_read, without_incomplete
from .frames import ROWS, frame_of
from .links import Link, Relations, in_order_of_links, keys_of, links_of, with_keys_made
from .order import Ordered, in_counted_order, places_in_order

Summaries = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""For a table that belongs to another, names of new columns of the other -> what they say (`summary_of`)."""

Pairs = Mapping[str, Sequence[Sequence[str]]]
"""For a table that belongs to another, the pairs of columns that matter."""


@dataclass(frozen=True)
class Implied:
    """What columns have to do with other rows.

    Attributes:
        repeats: for some tables, columns that repeat what the row above is = the table above, or
            "table.column" where the column has another name there.
        counts: for some tables, columns that count the rows of each parent = the first number.
        same: for some tables, columns that are the same in all rows of a parent.
        rising: for some tables, columns of which no row of a parent has less than the one before.
        once: for some tables, columns of which no two rows of a parent have the same value.
    """

    repeats: Relations = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    same: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rising: Mapping[str, Sequence[str]] = field(default_factory=dict)
    once: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def as_given(cls, several: bool, **found: object) -> Self:
        """What was given to `synthesize`, of several tables or of one with a key.

        Args:
            several: whether it was given for several tables.
            found: each of the attributes.

        Raises:
            DataError: it is stated for the other kind.
        """
        for name in ("repeats", "same"):
            if not several and found[name] is not None:
                raise DataError(
                    f"{name}: expected relations beside it, got a key; leave it out, and name columns that "
                    "are the same in all rows of a person in per_person"
                )
        for name, said in found.items():
            held = said.values() if isinstance(said, Mapping) else [said]
            by_table = isinstance(said, Mapping) and not any(isinstance(one, int) for one in held)
            if said is not None and by_table is not several:
                what = "one for each table" if several else "columns alone"
                raise DataError(f"{name}: expected {what}, got another form; state it so")
        given = {name: said if several else {ROWS: said} for name, said in found.items() if said}
        return cls(**compose_texts(given))


_NO_REFERENCES: Mapping[str, Sequence[CategoricalAttribute]] = MappingProxyType({})
_NO_DOMAINS: Mapping[str, Domain] = MappingProxyType({})
NOTHING_IMPLIED = Implied()


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
        joins: the columns of which the key was made, which name rows together; empty if one does.
        pattern: how new keys look, as it was stated; empty where nobody said it.
        keys: of each row, as texts; let go when they are not needed.
        owner: name of the parent; empty for the root.
        foreign: its column that holds the parent's key; empty for the root.
        order: column by which rows of a parent are in order; empty for the order of the table, and None if
            their order means nothing.
        summaries: what a row of the parent says of its rows.
        end_summaries: what it knows of the first or last one, and does not show.
        within: columns of the parent between which the order lies; empty for no bound.
        near: column of the parent from which first rows are counted, before or after it; empty for none.
        series: column that says which rows of a parent are one series; empty for all of them.
        pairs: the pairs of columns that its release is asked for; empty for all.
        references: its columns that hold keys of public tables.
        everybody: whether each row of the parent has one at least, as its parent was made of its rows.
        same: columns that are the same in all rows of a parent.
        rising: columns of which no row of a parent has less than the one before.
        once: columns of which no two rows of a parent have the same value.
        repeats: columns that repeat what the row above is = the table above, and its column.
        counts: columns that count the rows of each parent = the first number.
    """

    name: str
    rows: pd.DataFrame
    parent: NDArray[np.int64]
    columns: tuple[str, ...]
    storage: Mapping[str, Storage]
    key: str = ""
    joins: tuple[str, ...] = ()
    pattern: str = ""
    keys: pd.Index = field(default_factory=lambda: pd.Index([]))
    owner: str = ""
    foreign: str = ""
    order: str | None = None
    summaries: tuple[Summary, ...] = ()
    end_summaries: tuple[Summary, ...] = ()
    within: tuple[str, str] = ("", "")
    near: str = ""
    series: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    references: tuple[CategoricalAttribute, ...] = ()
    everybody: bool = False
    same: tuple[str, ...] = ()
    rising: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    repeats: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def open_columns(self) -> list[str]:
        """The columns of which it has to be found out what they hold."""
        known = {one.name for one in self.references}
        return [column for column in self.rows.columns if column not in known]


def read_tables(
    data: Mapping[str, Source],
    relations: Relations,
    order: Mapping[str, Ordered],
    rng: np.random.Generator,
    drop_incomplete: Collection[str] = (),
    references: Mapping[str, Sequence[CategoricalAttribute]] = _NO_REFERENCES,
    domains: Mapping[str, Domain] = _NO_DOMAINS,
    implied: Implied = NOTHING_IMPLIED,
) -> tuple[Raw, ...]:
    """The tables, each after its parent.

    Args:
        data: the tables by name.
        relations: which belong to which.
        order: of the rows of each table that have one.
        rng: puts rows without an order into one.
        drop_incomplete: the tables whose rows without a key, a parent or a value of the order are left out.
        references: for some tables, their columns that hold keys of public ones.
        domains: what columns hold, of tables of which it is known; orders are read so.
        implied: what columns have to do with other rows; those that follow from them are left out.

    Raises:
        DataError: a name is unknown, the tables are no tree, or a key is missing, stands twice or is unknown.
    """
    check_table_names(data)
    links = links_of(data, relations)
    if unknown := [name for name in drop_incomplete if name not in data]:
        raise DataError(
            f"drop_incomplete: expected names of tables, got {unknown[0]!r}{hint(unknown[0], data)}; fix it"
        )
    for what, of_some in (("order", order), ("repeats", implied.repeats), ("counts", implied.counts)):
        if unknown := [name for name in of_some if name not in links]:
            raise DataError(
                f"{what}: expected tables that belong to another, got {unknown[0]!r}"
                f"{hint(unknown[0], links)}; state it of these alone"
            )
    named, keys = in_order_of_links(data, links), keys_of(links)
    read = {name: frame_of(name, data[name]) for name in named}
    frames = with_keys_made({name: rows for name, (rows, _) in read.items()}, links)
    found: dict[str, Raw] = {}
    for name in named:
        rows, (key, joins), link = frames[name], keys.get(name, ("", ())), links.get(name)
        foreign = link.foreign if link else ""
        listed = references.get(name, ())
        public = [one.name for one in listed]
        ordered, counts = order.get(name), implied.counts.get(name, {})
        stated = {**implied.repeats.get(name, {}), **(link.repeats if link else {})}
        repeats = repeated_columns(f"repeats of {name!r}", stated, _line(found, link)) if stated else {}
        follow = [*repeats, *counts]
        _check_columns(name, rows, key, link, ordered, public)
        _check_following(name, rows, follow, [key, foreign, *public], domains.get(name))
        for column in counts:
            rows, ordered = in_counted_order(rows, column), ordered or True
        rows = with_keys_read(rows, key, foreign, found[link.parent].keys if link else pd.Index([]), listed)
        if name in drop_incomplete:
            rows = without_incomplete(
                name, rows, [*filter(None, (key, foreign)), *public], ordered, domains.get(name)
            )
        for referring in public:
            if rows[referring].isna().any():
                raise DataError(
                    f"{name}: expected in {referring!r} a key of the public table in every row, found a row "
                    "without; add it there, or leave such rows out by drop_incomplete"
                )
        places, parent = np.arange(len(rows)), np.arange(len(rows))
        if link is not None:
            if rows[foreign].isna().any():
                raise DataError(
                    f"{name}: expected in {foreign!r} a key of {link.parent!r} in every row, found a row "
                    "without one; add their parents, or leave such rows out by drop_incomplete"
                )
            parent = rows[foreign].to_numpy(np.int64)
            places = places_in_order(name, rows, parent, ordered, rng, domains.get(name))
            parent = parent[places]
        rows = rows.iloc[places].reset_index(drop=True)
        found[name] = Raw(
            name,
            rows[[column for column in rows.columns if column not in (key, foreign, *follow)]],
            parent,
            tuple(map(str, rows.columns)),
            read[name][1],
            key=key,
            joins=joins,
            keys=index_of_keys(name, ", ".join(joins) or key, rows[key]) if key else pd.Index([]),
            owner=link.parent if link else "",
            foreign=foreign,
            order="" if ordered is True else ordered,
            references=tuple(listed),
            repeats=repeats,
            counts=counts,
        )
    return tuple(found.values())


def _line(above: Mapping[str, Raw], link: Link | None) -> list[Above]:
    """The tables to which the rows of a table belong, the nearest first."""
    found, name = list[Above](), link.parent if link else ""
    while name:
        held = above[name]
        found.append(Above(name, held.key, held.foreign, held.columns, held.repeats))
        name = held.owner
    return found


def _check_following(
    name: str, rows: pd.DataFrame, follow: Sequence[str], bound: Sequence[str], domain: Domain | None
) -> None:
    """Refuses columns that repeat or count where there are none, or that are something else, too."""
    for column in follow:
        if column not in rows.columns:
            raise DataError(
                f"repeats and counts of {name!r}: expected columns of it, got "
                f"{column!r}{hint(column, map(str, rows.columns))}; fix it"
            )
        if column in bound or follow.count(column) > 1:
            raise DataError(
                f"repeats and counts of {name!r}: expected a column that is nothing else, got {column!r}; "
                "leave it out"
            )
        if domain is not None and column in domain.columns:
            raise DataError(
                f"repeats and counts of {name!r}: expected no attribute {column!r} in its domain, since it "
                "follows from other columns, found it; take it out of the domain"
            )


def check_table_names(data: Mapping[str, Source]) -> None:
    """Refuses names that are no texts, or the same as names of files."""
    for name in data:
        if not isinstance(name, str) or not name.strip():
            raise DataError("expected texts as names of tables, got another; name them")
    check_file_names(data)


def _check_columns(
    name: str,
    rows: pd.DataFrame,
    key: str,
    link: Link | None,
    order: Ordered | None,
    references: Sequence[str],
) -> None:
    """Refuses a table in which a column that binds it is missing, or serves twice."""
    foreign = link.foreign if link else ""
    if link is not None and key and key == foreign:
        raise DataError(
            f"{name}: expected {key!r} to name rows of one table, got it as its own key and that of "
            f"{link.parent!r}; relate the tables below it to {link.parent!r}"
        )
    if key in references:
        raise DataError(
            f"{name}: expected {key!r} to name rows of one table, got it as its own key and that of a public "
            f"table; take that out of the relations of {name!r}"
        )
    bound = [*filter(None, (key, foreign)), *references]
    if order in bound:
        raise DataError(f"{name}: expected an order by a column that is no key, got {order!r}; name another")
    if key:
        check_name(key)
    held = list(map(str, rows.columns))
    for column in bound if order is None or order is True else [*bound, order]:
        if column not in held:
            raise DataError(
                f"{name}: expected the column {column!r}, found none{hint(column, held)}; fix the "
                "relations or the order"
            )


def index_of_keys(name: str, key: str, texts: pd.Series) -> pd.Index:
    """The keys of a table, read as texts, by which its children find its rows.

    Raises:
        DataError: one is missing, or stands twice.
    """
    if texts.isna().any():
        raise DataError(
            f"{name}: expected a key {key!r} in every row, found a row without; give it one, or leave such "
            "rows out by drop_incomplete"
        )
    index = pd.Index(texts)
    if not index.is_unique:
        raise DataError(
            f"{name}: expected each key {key!r} once, found one in several rows; make the table one of one "
            "row a key, or relate it to a table of people"
        )
    return index

"""Drafts of relations: which tables of a folder belong to which, from names and keys. Not private."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, permutations, product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import BinnedTimes
from ....common.data.attributes.unmodelled import UUID, UUIDS, WHOLE_NUMBERS
from ....common.data.domain_files.reading import read_entry
from ....common.errors import DataError
from ....common.files.writing import write_text
from ....common.forms.toml_file import as_toml, section_of, toml_key
from ...sources.source import SUFFIXES, FileSource, suffix_of
from ..draft import Draft, names_in
from ..following import NOWHERE, Around, columns_around, dates_of
from ..inference import draft_rows
from ..profile import Rows
from .courses import Courses, Related, courses_of, with_categories
from .gaps import entries_with_gaps, gaps_of
from .implied import counts_of, repeats_of
from .keys_of_files import JoinedSource, counts_its_rows, names_rows, number_of_rows, strays_of

_HEAD = (
    "# Drafted from private rows: which column is whose key, by which one rows are in order, by which of\n"
    "# the table above they lie, and which columns follow from it. Review it: a release is marked as not\n"
    "# private until `reviewed = false` is taken out of each table.\n"
    "# A table belongs to the one nearest to it; one table, that of people, belongs to none.\n"
)


_IS_NAMED_A_KEY = re.compile(r"[\W_][iI][dD]$|[a-z]I[dD]$")
"""manager_id and managerID, but not paid."""

_BOUNDS_SAMPLE = 50_000
"""Columns between which rows lie are looked for in so many rows."""

_NONE: Mapping[str, Any] = MappingProxyType({})

_MOST_STRAYS, _MOST_STRAYS_OF_BOTH = 0.5, 0.01
"""Share of rows without a key of the other table up to which one belongs to it, by a column or by two."""


@dataclass(frozen=True)
class Link:
    """A column that holds keys of another table.

    Attributes:
        foreign: the column.
        parent: the other table.
        key: its column that names its rows.
        strays: number of rows that hold no such key.
        parts: the columns of which the key is made, if there are several, each with that of the other table.
    """

    foreign: str
    parent: str
    key: str
    strays: int
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The columns that hold keys, each with that of the other table."""
        return self.parts or ((self.foreign, self.key),)


@dataclass(frozen=True, eq=False)
class Drafted:
    """A table of a folder.

    Attributes:
        name: of the table.
        file: that holds it.
        rows: number of its rows.
        draft: of its columns; None if others refer to it, and none belongs to it.
        links: to the table to which it belongs, and then to those that it refers to beside.
        inward: columns that hold keys of other rows of the table, such as those of managers.
        around: columns of the table to which it belongs by which its order lies.
        same: columns that are the same in all rows of a row above.
        rising: columns of which no row has less than the one before.
        once: columns of which no two rows of a row above have the same.
        repeats: columns that repeat what the row above is = its table.
        counts: columns that count the rows of each row above = the first number.
    """

    name: str
    file: str
    rows: int
    draft: Draft | None
    links: tuple[Link, ...] = ()
    inward: tuple[str, ...] = ()
    around: Around = NOWHERE
    same: tuple[str, ...] = ()
    rising: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    repeats: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def parent(self) -> str:
        """The table to which it belongs; empty for none."""
        return self.links[0].parent if self.links else ""

    @property
    def has_domain(self) -> bool:
        """Whether it has columns beside keys that a release can hold."""
        return any(
            not isinstance(entry, Mapping) or entry.get("type") not in ("identifier", "text")
            for entry in self._entries.values()
        )

    @property
    def order(self) -> str:
        """The first column of dates that comes after no other, by which its rows are in order; or empty."""
        return self._first("date", "datetime", "timestamp") if self.links else ""

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """Its columns as drafted."""
        read = (read_entry(name, entry) for name, entry in self._entries.items())
        return {one.name: one for one in read if isinstance(one, Attribute)}

    @cached_property
    def dates(self) -> Mapping[str, BinnedTimes]:
        """Its columns of dates and timestamps that can be a bound."""
        return dates_of(self.attributes)

    @property
    def _entries(self) -> Mapping[str, Any]:
        return {} if self.draft is None else self.draft.entries

    def section(self) -> str:
        """Its entry in a file of relations; dates are its order, and numbers may be."""
        stated = {
            "file": self.file,
            "domain": f"{self.name}.json" if self.has_domain else "",
            "belongs_to": {
                own: one.parent if key == own else f"{one.parent}.{key}"
                for one in self.links
                for own, key in one.columns
            },
            "drop_incomplete": any(one.strays for one in self.links),
            "order": self.order,
            "within": [self.around.low, self.around.high] if any(self.around[:2]) else [],
            "near": self.around.near,
            "same": list(self.same),
            "rising": list(self.rising),
            "once": list(self.once),
            "repeats": self.repeats,
            "counts": self.counts,
        }
        written = section_of(toml_key(self.name), stated)
        if self.draft is None:
            return f"{written.rstrip()}\n# public = true  # if everybody may see its rows as they are\n"
        written = f"{written.rstrip()}\nreviewed = false\n" if self.links else written
        if self.links and not (stated["order"] or self.counts) and (number := self._first("numeric")):
            return f"{written.rstrip()}\n# order = {as_toml(number)}  # if rows are in order by it\n"
        return written

    def without(self, repeats: Mapping[str, str] = _NONE, counts: Mapping[str, int] = _NONE) -> Drafted:
        """The table whose relations state these columns, in place of its domain."""
        assert self.draft is not None
        draft = self.draft.without({*repeats, *counts})
        return replace(self, draft=draft, repeats={**self.repeats, **repeats}, counts={**counts})

    def with_gaps(self, gaps: Mapping[str, float]) -> Drafted:
        """The table whose domain says which gaps of the order are exact."""
        assert self.draft is not None
        return replace(
            self, draft=replace(self.draft, entries=entries_with_gaps(self.draft.entries, self.order, gaps))
        )

    def with_courses(self, found: Courses) -> Drafted:
        """The table whose relations state these courses, and whose domain lists categories in their order."""
        assert self.draft is not None
        draft = replace(self.draft, entries=with_categories(self.draft.entries, found))
        return replace(self, draft=draft, same=found.same, rising=tuple(found.rising), once=found.once)

    def notes(self) -> Iterator[str]:
        """What its owner should know before a release, who alone may see it."""
        for one in self.links:
            if one.strays:
                named = " and ".join(repr(own) for own, _ in one.columns)
                yield (
                    f"{self.name}: {one.strays:,} of {self.rows:,} rows have in {named} no "
                    f"key of {one.parent!r}; drop_incomplete leaves them out; without it they are refused"
                )
        for name in self.inward:
            yield (
                f"{self.name}: {name!r} holds keys of other rows of this table, which no release keeps; it "
                "is left out of the domain"
            )
        if self.draft is None:
            yield (
                f"{self.name}: others refer to it, and no people: say in the relations that it is public, or "
                "take it out with the columns that refer to it"
            )

    def _first(self, *kinds: str) -> str:
        """Its first column of one of these types; empty if there is none."""
        found = {
            name: entry["type"]
            for name, entry in self._entries.items()
            if isinstance(entry, Mapping) and "type" in entry and "after" not in entry
        }
        return next((name for name, kind in found.items() if kind in kinds), "")


def draft_folder(folder: Path, blanks: Collection[str] = ()) -> tuple[Drafted, ...]:
    """Drafts relations and domains of the tables of a folder.

    A column may hold a table's keys if it is named as that or its key, or as both together, and holds such
    keys in most rows. Numbers 1, 2, 3, ... of the rows of two tables, each its own, are no keys of each
    other. Of several such tables, one belongs to that which is furthest from people, and of these to the one
    of most rows; to others, if no table belongs to them, it refers. Of tables of one parent, one belongs to
    another if both have a column more that the other has once for each row of the parent, such as a visit.

    Args:
        folder: with a CSV or Parquet file for each table.
        blanks: see `draft_file`.

    Raises:
        DataError: there are no files, two of one table, or one cannot be read.
    """
    sources: dict[str, FileSource] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and (suffix := suffix_of(path)):
            source = sources.setdefault(path.name[: -len(suffix)], FileSource(path))
            if source.path != path:
                raise DataError(
                    f"expected one file of each table, got {source.name} and {path.name}; move one"
                )
    if not sources:
        raise DataError(f"expected tables in {folder}, files that end in {', '.join(SUFFIXES)}, found none")
    rows = {name: number_of_rows(source) for name, source in sources.items()}
    links, references = _links(sources, rows)
    parents, referred = (
        {one.parent for one in found} for found in (links.values(), chain(*references.values()))
    )
    drafts, unimplied = dict[str, Drafted](), dict[str, Drafted]()
    for name, source in sources.items():
        if name in referred - parents:
            drafts[name] = Drafted(name, source.name, rows[name], None)
            continue
        own = (*([links[name]] if name in links else []), *references.get(name, ()))
        keys = {one.key for one in links.values() if one.parent == name}
        others = {one.foreign for one in own} - keys
        inward = tuple(_inward(source, keys, others, rows[name] * _MOST_STRAYS))
        draft = draft_rows(source, blanks).without({*others, *inward})
        entries = {
            column: _names(name, entry) if column in keys else entry
            for column, entry in draft.entries.items()
        }
        rules = [rule for rule in draft.suggested_rules if not names_in(rule) & keys]
        draft = replace(draft, entries=entries, suggested_rules=rules)
        unimplied[name] = table = Drafted(name, source.name, rows[name], draft, own, inward)
        drafts[name] = _with_implied(table, sources, links) if own else table
    drafts |= _with_joint_keys(drafts, unimplied, sources, links)
    bound = [
        replace(one, around=_around(one, drafts[one.parent], sources)) if one.order in one.dates else one
        for one in drafts.values()
    ]
    return tuple(sorted(bound, key=lambda one: len(_above(links, one.name))))


def _with_implied(table: Drafted, sources: Mapping[str, FileSource], links: Mapping[str, Link]) -> Drafted:
    """A table without the columns that follow from the rows above and the order; its relations state them."""
    source, line, name = sources[table.name], list[tuple[str, FileSource, str, str]](), table.name
    while name in links:
        link = links[name]
        name = link.parent
        line.append((name, sources[name], link.key, links[name].foreign if name in links else ""))
    foreign = table.links[0].foreign
    bound = {*(own for one in table.links for own, _ in one.columns), foreign, *table.inward}
    columns = [one for one in source.columns() if one not in bound]
    table = table.without(repeats=dict(repeats_of(source, foreign, line, columns)))
    assert table.draft is not None
    if not table.attributes:
        return table
    order, rows = table.dates.get(table.order), Related.of(source, foreign, [*table.attributes])
    table = table.without(counts=dict(counts_of(source, foreign, table.draft.entries, rows, order)))
    attributes = {one: table.attributes[one] for one in table.attributes if one != table.order}
    found = rows.in_order(order, next(iter(table.counts), ""))
    if order is not None:
        table = table.with_gaps(gaps_of(found, order))
    return table.with_courses(courses_of(found, attributes, bool(order or table.counts)))


def _with_joint_keys(
    drafts: Mapping[str, Drafted],
    unimplied: Mapping[str, Drafted],
    sources: dict[str, FileSource],
    links: dict[str, Link],
) -> dict[str, Drafted]:
    """The tables, some of which belong to another one of their parent by two columns.

    Args:
        drafts: the tables.
        unimplied: they, with the columns that follow from rows above.
        sources: of each; those that belong together so get the key.
        links: of each; those that belong to others by two columns are changed.
    """
    found = dict(drafts)
    pairs = permutations(sorted(drafts, key=lambda name: drafts[name].rows), 2)
    for child, other in sorted(pairs, key=lambda pair: -drafts[pair[1]].rows):
        table, above = found[child], found[other]
        if not table.parent or table.parent != above.parent or isinstance(sources[child], JoinedSource):
            continue
        for column in {*above.counts, *above.once, above.order}.intersection(sources[child].columns()):
            link, joined = _joint_link(table, above, column, sources)
            if link is not None:
                sources |= joined
                links[child] = link
                rest = unimplied[child]
                assert rest.draft is not None
                draft = rest.draft.without({own for own, _ in link.parts})
                rest = replace(rest, draft=draft, links=(link, *rest.links[1:]))
                found[child] = _with_implied(rest, sources, links)
                if column == above.order:
                    found[other] = replace(above, once=tuple(dict.fromkeys((*above.once, column))))
                break
    return found


def _joint_link(
    table: Drafted, above: Drafted, column: str, sources: Mapping[str, FileSource]
) -> tuple[Link | None, dict[str, FileSource]]:
    """What binds a table to another one by the key of their parent and a column of both, and both with it."""
    made = f"{above.name}_key"
    parts = ((table.links[0].foreign, above.links[0].foreign), (column, column))
    names = zip(*parts, strict=True)
    own, other = (
        JoinedSource.with_key(sources[one.name], made, held)
        for one, held in zip((table, above), names, strict=True)
    )
    held = sources[above.name]
    free = held == other or not (isinstance(held, JoinedSource) or made in held.columns())
    if not free or made in sources[table.name].columns() or not names_rows(other, made):
        return None, {}
    strays = strays_of(own, made, other, made)
    if strays > table.rows * _MOST_STRAYS_OF_BOTH:
        return None, {}
    return Link(made, above.name, made, strays, parts), {table.name: own, above.name: other}


def _around(table: Drafted, parent: Drafted, sources: Mapping[str, FileSource]) -> Around:
    """Columns of the table above by which the order of a table lies."""
    link, order, above = table.links[0], table.dates[table.order], parent.dates
    if not above:
        return NOWHERE
    child = Rows.of(sources[table.name], {link.foreign, order.name})
    with child.connection:
        cells = child.sample(_BOUNDS_SAMPLE, link.foreign)
    rows = Rows.of(sources[parent.name], {link.key, *above})
    with rows.connection:
        others = rows.cells_of_keys(link.key, cells[link.foreign])
    return columns_around(order, cells[order.name], cells[link.foreign], above, others)


def _links(
    sources: Mapping[str, FileSource], rows: Mapping[str, int]
) -> tuple[dict[str, Link], dict[str, list[Link]]]:
    """What each table belongs to, and what it refers to beside; see `draft_folder`."""
    is_key = cache(names_rows)
    links: dict[str, Link] = {}
    others: dict[str, list[Link]] = {}
    for child in sorted(sources, key=lambda name: rows[name]):
        parents = sorted(sources, key=lambda name: (-len(_above(links, name)), -rows[name]))
        held = [
            link
            for parent in parents
            if parent != child and child not in _above(links, parent)
            for link in _keys_held(child, parent, sources, rows[child] * _MOST_STRAYS, is_key)
        ]
        if held:
            links[child], others[child] = held[0], held[1:]
    parents_of_some = {one.parent for one in links.values()}
    references = {
        name: [one for one in held if one.parent not in links and one.parent not in parents_of_some]
        for name, held in others.items()
    }
    return links, references


def _keys_held(
    child: str,
    parent: str,
    sources: Mapping[str, FileSource],
    most: float,
    is_key: Callable[[FileSource, str], bool],
) -> list[Link]:
    """The first column of a table that holds keys of another, with at most so many strays; empty if none."""
    source, other = sources[child], sources[parent]
    for foreign, key, named in _named_alike(parent, source.columns(), other.columns()):
        if is_key(other, key) and (named or not counts_its_rows(source, foreign)):
            strays = strays_of(source, foreign, other, key)
            if strays <= most:
                return [Link(foreign, parent, key, strays)]
    return []


def _inward(source: FileSource, keys: set[str], others: set[str], most: float) -> Iterator[str]:
    """Columns that are named as keys and hold those of the same table, with at most so many strays."""
    for column in source.columns():
        if column not in keys | others and _IS_NAMED_A_KEY.search(column):
            if any(strays_of(source, column, source, key) <= most for key in keys):
                yield column


def save_folder(tables: Sequence[Drafted], out: Path) -> Path:
    """Writes a draft of relations, and a domain file for each table of more than keys.

    Returns:
        The path of the relations.

    Raises:
        DataError: the folder cannot be written.
    """
    path = out / "relations.toml"
    write_text(path, _HEAD + "".join(table.section() for table in tables))
    for table in tables:
        if table.draft is not None and table.has_domain:
            table.draft.save(out / f"{table.name}.json")
    return path


def _names(table: str, entry: Any) -> Any:
    """The entry of the key of a table, which names its rows however few they are."""
    known = entry if isinstance(entry, Mapping) else {"type": "categorical", "categories": entry}
    if known.get("type") == "identifier":
        return entry
    listed = known.get("categories", ())
    if known.get("type") == "numeric" or (listed and all(isinstance(one, int) for one in listed)):
        pattern = WHOLE_NUMBERS
    elif listed and all(UUID.fullmatch(str(one)) for one in listed):
        pattern = UUIDS
    else:
        pattern = f"{re.sub('[{}]', '', table)}-{{:06d}}"
    return {"type": "identifier", "pattern": pattern}


def _named_alike(parent: str, columns: Sequence[str], keys: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Columns that may hold keys of a table, these, and whether they name the table; such come first."""
    endings = (("", ""), ("s", ""), ("es", ""), ("ies", "y"))
    names = {_plain(parent.removesuffix(many) + one) for many, one in endings if parent.endswith(many)}
    for key, column in product(keys, columns):
        if _plain(column) in {name + more for name in names for more in ("", _plain(key))}:
            yield column, key, True
    for key in keys:
        if key in columns:
            yield key, key, _plain(key).startswith(tuple(names))


def _plain(name: str) -> str:
    """A name without what is written between words, and without capitals: customer_id is CustomerID."""
    return re.sub(r"[\W_]", "", name).casefold()


def _above(links: Mapping[str, Link], name: str) -> list[str]:
    found = []
    while name in links:
        name = links[name].parent
        found.append(name)
    return found

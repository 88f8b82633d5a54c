"""A table of a folder as it is drafted: its columns, what it belongs to, and what its owner should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import BinnedTimes
from ....common.data.attributes.numeric import NumericAttribute
from ....common.forms.toml_file import as_toml, section_of, toml_key
from ..draft import Draft, attributes_of, unheld
from ..following import NOWHERE, Around, dates_of
from ..inference import CONSTANT
from ..known import are_times
from .courses import Courses, with_categories
from .gaps import entries_with_gaps
from .links import Link
from .names import is_of_people

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Drafted:
    """A table of a folder.

    Attributes:
        name: of the table.
        file: that holds it.
        rows: number of its rows.
        draft: of its columns; None if it belongs to no people.
        belongs: to which table; None if to none.
        refers: to the tables beside it to which it refers, and which may be public.
        aside: columns that hold keys of tables that are neither.
        doubts: why columns that are named as keys of other tables hold none.
        inward: columns that hold keys of other rows of the table, such as those of managers.
        around: columns of the table to which it belongs by which its order lies.
        same: columns that are the same in all rows of a row above.
        rising: columns of which no row has less than the one before.
        once: columns of which no two rows of a row above have the same.
        repeats: columns that repeat what the row above is = its table, or "table.column".
        counts: columns that count the rows of each row above = the first number.
    """

    name: str
    file: str
    rows: int
    draft: Draft | None
    belongs: Link | None = None
    refers: tuple[Link, ...] = ()
    aside: tuple[Link, ...] = ()
    doubts: tuple[str, ...] = ()
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
        return self.belongs.parent if self.belongs else ""

    @property
    def links(self) -> tuple[Link, ...]:
        """To the table to which it belongs, and to those to which it refers."""
        return (*filter(None, [self.belongs]), *self.refers)

    @property
    def has_domain(self) -> bool:
        """Whether it has columns beside keys that a release can hold."""
        return self.draft is not None and self.draft.is_held

    @property
    def order(self) -> str:
        """The first column of dates that comes after no other, by which its rows are in order; or empty.

        Where there is none, one that is named as times and holds seconds since 1970.
        """
        if not self.belongs:
            return ""
        return self._first("date", "datetime", "timestamp") or next(
            (
                name
                for name, one in self.attributes.items()
                if isinstance(one, NumericAttribute) and are_times(name, *one.ends)
            ),
            "",
        )

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """Its columns as drafted."""
        return attributes_of(self._entries)

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
            "drop_incomplete": any(self._lacking(one) for one in self.links),
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
            people = "its rows are people, by its name: only " if is_of_people(self.name) else ""
            return (
                f"{written.rstrip()}\n# public = true  # {people}if everybody may see its rows as they are\n"
            )
        written = f"{written.rstrip()}\nreviewed = false\n" if self.links else written
        if self.belongs and not (stated["order"] or self.counts) and (number := self._first("numeric")):
            return f"{written.rstrip()}\n# order = {as_toml(number)}  # if rows are in order by it\n"
        return written

    def without(self, repeats: Mapping[str, str] = _NONE, counts: Mapping[str, int] = _NONE) -> Drafted:
        """The table whose relations state these columns, in place of its domain."""
        assert self.draft is not None
        draft = self.draft.without({*repeats, *counts})
        return replace(self, draft=draft, repeats={**self.repeats, **repeats}, counts={**counts})

    def with_entries(self, entries: Mapping[str, Any]) -> Drafted:
        """The table whose domain says of these columns that they are computed, and nothing else."""
        if not entries:
            return self
        assert self.draft is not None
        draft = self.draft.with_entries(entries)
        gone = unheld(entries)
        same, rising, once = (
            tuple(one for one in named if one not in gone) for named in (self.same, self.rising, self.once)
        )
        return replace(self, draft=draft, same=same, rising=rising, once=once)

    def with_gaps(self, gaps: Mapping[str, float]) -> Drafted:
        """The table whose domain says which gaps of the order are exact."""
        assert self.draft is not None
        entries = entries_with_gaps(self.draft.entries, self.order, gaps)
        return replace(self, draft=replace(self.draft, entries=entries))

    def with_courses(self, found: Courses) -> Drafted:
        """The table whose relations state these courses, and whose domain lists categories in their order."""
        assert self.draft is not None
        draft = replace(self.draft, entries=with_categories(self.draft.entries, found))
        return replace(self, draft=draft, same=found.same, rising=tuple(found.rising), once=found.once)

    def notes(self) -> Iterator[str]:
        """What its owner should know before a release, who alone may see it."""
        for one in self.links:
            if lacking := self._lacking(one):
                named = " and ".join(repr(own) for own, _ in one.columns)
                yield (
                    f"{self.name}: {lacking:,} of {self.rows:,} rows have in {named} no "
                    f"key of {one.parent!r}; drop_incomplete leaves them out; without it they are refused"
                )
        for one in self.aside:
            yield (
                f"{self.name}: {one.foreign!r} holds keys of {one.parent!r}, to which the table does not "
                "belong; it is left out of the domain"
            )
        for name in self.inward:
            yield (
                f"{self.name}: {name!r} holds keys of other rows of this table, which no release keeps; it "
                "is left out of the domain"
            )

    def _lacking(self, link: Link) -> int:
        """Number of rows that a release leaves out: without a key, but for blanks that the domain lists."""
        return link.strays - link.blanks * (link.foreign in self._entries)

    def _first(self, *kinds: str) -> str:
        """Its first column of one of these types; empty if there is none."""
        found = {
            name: entry["type"]
            for name, entry in self._entries.items()
            if isinstance(entry, Mapping)
            and "type" in entry
            and not {"after", "computed"}.intersection(entry)
        }
        remarks = () if self.draft is None else self.draft.remarks
        found = {name: kind for name, kind in found.items() if (name, CONSTANT) not in remarks}
        return next((name for name, kind in found.items() if kind in kinds), "")

"""The sections `[tables.NAME]` of a plan: related tables, and which party holds which of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....common.data.attributes.unmodelled import WHOLE_NUMBERS, Identifier
from ....common.data.domain import Domain
from ....common.data.related.courses import CHECKS
from ....common.data.related.joint import joint_name
from ....common.data.related.keys import without_keys
from ....common.data.related.repeats import Above, repeated_columns
from ....common.data.related.series import check_series
from ....common.data.related.stated import StatedTable, without_public
from ....common.data.rules.follows import Follows
from ....common.errors import DataError
from ....common.protocols.registry import INDICATOR, MASKED, TRUSTED
from ....common.protocols.related import Relation

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PlannedTable(StatedTable):
    """A table of a plan; its key is that of the synthetic table.

    Attributes:
        summaries: columns of the parent, by name, that say something of its rows of this table, as stated.
        pairs: the pairs of columns that its release is asked for, as stated; None for all.
        series: column that says which rows of a parent are one series; empty for all of them.
        same: columns that are the same in all rows of a parent.
        rising: columns of which no row of a parent has less than the one before.
        once: columns of which no two rows of a parent have the same value.
        repeats: columns that repeat what the row above is = its table, or "table.column".
        counts: columns that count the rows of each parent = the first number.
    """

    summaries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pairs: Sequence[Sequence[str]] | None = None
    series: str = ""
    same: Sequence[str] = ()
    rising: Sequence[str] = ()
    once: Sequence[str] = ()
    repeats: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def check(self, file: str = "plan") -> None:
        """Refuses what cannot be released over parties.

        Raises:
            DataError: see `StatedTable.check` and `check_series`; or a rule is about the order, or the domain
                states the keys of the parent.
        """
        super().check(file)
        if self.domain is not None:
            without_keys(self.domain, self.key, self.foreign)
        held = () if self.domain is None else self.domain.names
        for what, check in CHECKS.items():
            for column in getattr(self, what):
                where = f"{file}: {what} of [tables.{self.name}]"
                check(where, column, self.order or None, held, self.domain)
        if self.series:
            where = f"{file}: series of [tables.{self.name}]"
            if not self.parent:
                raise DataError(
                    f"{where}: expected a table that belongs to another, got that of people; take it out"
                )
            check_series(where, self.series, self.order or None, held, self.domain)
        rules = () if self.domain is None or not self.order else self.domain.rules
        if any(self.order in rule.columns for rule in rules if not isinstance(rule, Follows)):
            raise DataError(
                f"{file}: [tables.{self.name}]: expected no rule about the order {self.order!r} over "
                'parties but on what follows from it; describe a later date with "after", or take it out'
            )

    @property
    def pattern(self) -> str:
        """How the new keys look, as the domain says; see `Identifier`."""
        return WHOLE_NUMBERS if self.domain is None else without_keys(self.domain, self.key)[1]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the synthetic table, keys first."""
        follow = () if self.domain is None else (one.name for one in self.domain.followers)
        return tuple(dict.fromkeys((*self.columns_of_parties, *self.repeats, *self.counts, *follow)))

    @property
    def columns_of_parties(self) -> tuple[str, ...]:
        """The columns that a party has to hold, keys first."""
        named = () if self.domain is None else (one.name for one in self.domain.identifiers)
        own = () if self.domain is None else self.domain.names
        return tuple(dict.fromkeys((*self.keys, *named, *own)))


@dataclass(frozen=True)
class PlannedTables:
    """The tables of a plan, and who holds them.

    Attributes:
        tables: that of people first, each after the one that it belongs to.
        holds: party -> names of its tables.
        public: the tables that everybody may see, whose keys others refer to; they are in the release.
    """

    tables: tuple[PlannedTable, ...]
    holds: Mapping[str, tuple[str, ...]]
    public: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def parse(
        cls, sections: Mapping[str, Mapping[str, Any]], slices: Sequence[Mapping[str, Any]], folder: Path
    ) -> PlannedTables:
        """The tables, from the sections of a plan.

        Args:
            sections: [tables.NAME], by name.
            slices: the sections [[slice]].
            folder: where paths of domain files start.

        Raises:
            DataError: the tables are no tree, or the parties of a slice do not hold each of them once; or a
                domain lists other keys than those of a public table.
        """
        of_people, public = without_public("plan", sections, ("file", "key"))
        tables = _in_order(
            [
                PlannedTable.read(
                    *("plan", name, one, folder, public),
                    summaries=one.get("summaries", {}),
                    pairs=one.get("workload"),
                    series=one.get("series", ""),
                    same=one.get("same", ()),
                    rising=one.get("rising", ()),
                    once=one.get("once", ()),
                    repeats=one.get("repeats", {}),
                    counts=one.get("counts", {}),
                )
                for name, one in of_people.items()
            ]
        )
        if kept := [name for name, one in of_people.items() if "file" in one]:
            raise DataError(
                f"plan: [tables.{kept[0]}]: expected no file of a table that parties hold, got one; take it "
                "out, or set public = true if everybody may see its rows"
            )
        names = [one.name for one in tables]
        holds: dict[str, tuple[str, ...]] = {}
        for number, piece in enumerate(slices, start=1):
            parties, stated = piece["parties"], piece.get("holds", {})
            whole = {parties[0]: names} if len(parties) == 1 else {}
            held = {party: tuple(stated.get(party, whole.get(party, ()))) for party in parties}
            if sorted(name for one in held.values() for name in one) != sorted(names) or not all(
                held.values()
            ):
                raise DataError(
                    f"plan: slice {number}: expected parties that hold each of {', '.join(names)} once, and "
                    "one at least, got others; state them in holds"
                )
            if unknown := sorted(set(stated) - set(parties)):
                raise DataError(f"plan: slice {number}: holds names {unknown[0]!r}, which is no party of it")
            for table in tables:
                party = next(one for one, had in held.items() if table.name in had)
                if table.parent not in ("", names[0]) and table.parent not in held[party]:
                    raise DataError(
                        f"plan: slice {number}: expected {table.name!r} at the party of {table.parent!r}, to "
                        "which its rows belong, got another; keep a branch below the people at one party"
                    )
            holds |= held
        return cls(tables, holds, _public_tables(public, tables, folder))

    def check_held(self, answers: Mapping[str, Sequence[str]]) -> None:
        """Refuses parties with other tables than the plan says.

        Args:
            answers: party -> its columns, by joint names.

        Raises:
            DataError: names the first party.
        """
        for party, columns in answers.items():
            stated = {joint_name(table, one) for table in self.holds[party] for one in self._columns(table)}
            if stated != set(columns):
                raise DataError(
                    f"party {party!r}: expected the columns of {', '.join(self.holds[party])}, as holds in "
                    "the plan says, got those of other tables; fix the plan"
                )

    def repeats_of(self, table: str) -> dict[str, tuple[str, str]]:
        """The columns of a table that repeat what the row above is = the table above, and its column.

        Raises:
            DataError: there is none such above.
        """
        named = {one.name: one for one in self.tables}
        line, name = list[Above](), named[table].parent
        while name:
            one = named[name]
            line.append(Above(name, one.key, one.foreign, one.columns_of_parties, self.repeats_of(name)))
            name = one.parent
        where = f"plan: repeats of [tables.{table}]"
        return repeated_columns(where, named[table].repeats, line) if named[table].repeats else {}

    def said_of(self, table: str) -> tuple[str, ...]:
        """The columns of a table that say something of its rows below."""
        return tuple(said for one in self.tables if one.parent == table for said in one.summaries)

    def facts(self) -> dict[str, str]:
        """What the release has that no term of a party states: new keys, what follows, and public tables."""
        found = {}
        for table in self.tables:
            if table.key:
                first = Identifier(table.key, table.pattern).draw(1)[0]
                found[f"new keys of {table.name}"] = f"{table.key!r}, the first one is {first}"
            follow = [
                f"{one!r} repeats {joint_name(*above)}" for one, above in self.repeats_of(table.name).items()
            ]
            follow += [f"{one!r} counts from {first}" for one, first in table.counts.items()]
            held = () if table.domain is None else table.domain.followers
            follow += [f"{one.name!r} is {one.formula}" for one in held]
            follow += [f"{one!r} is the same" for one in table.same]
            follow += [f"{one!r} rises" for one in table.rising] + [f"{one!r} is once" for one in table.once]
            if follow:
                found[f"what follows in {table.name}"] = ", ".join(follow)
        for name in self.public:
            columns = [
                joint_name(table.name, column)
                for table in self.tables
                for column, other in table.references.items()
                if other == name
            ]
            whose = ", ".join(columns) or "no column"
            found[f"public table {name}"] = f"in the release as it is, and {whose} refers to it"
        return found

    def _columns(self, table: str) -> tuple[str, ...]:
        return self.domains[table].names if table in self.domains else ()

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of each table that has columns beside keys, without these."""
        return {
            one.name: without_keys(one.domain, one.key)[0] for one in self.tables if one.domain is not None
        }

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What each table belongs to."""
        return tuple(Relation(one.name, one.parent, one.order) for one in self.tables)


def _public_tables(
    sections: Mapping[str, Mapping[str, Any]], tables: Sequence[PlannedTable], folder: Path
) -> dict[str, pd.DataFrame]:
    """The tables that everybody may see, to whose keys columns of others refer.

    Raises:
        DataError: one has no file or key, or a domain lists what is no key of it.
    """
    if not sections:
        return {}
    from ...results.keys import check_keys, check_listed, reference_to
    from ...results.other_files import read_public

    found = {}
    referred = {other for table in tables for other in table.references.values()}
    for name, section in sections.items():
        if "file" not in section or (name in referred and "key" not in section):
            raise DataError(
                f"plan: [tables.{name}]: expected the file of a public table, and its key if others refer to "
                "it, got less; name both"
            )
        found[name] = read_public(folder / section["file"], exactly=True)
        if "key" in section:
            check_keys(name, section["key"], found[name])
    for table in tables:
        for column, other in table.references.items():
            assert table.domain is not None, "it lists them"
            keys = reference_to(column, other, sections[other]["key"], found[other])
            check_listed(f"plan: [tables.{table.name}]", table.domain[column], keys)
    return found


def check_protocol(protocol: str, parties: Sequence[int]) -> None:
    """Refuses a protocol that does not count the people of related tables.

    Args:
        protocol: its name.
        parties: number of parties of each slice.

    Raises:
        DataError: it does not count them over these parties.
    """
    whole = protocol in (TRUSTED.name, INDICATOR.name) and max(parties) == 1
    if protocol != MASKED.name and not whole:
        raise DataError(
            f"plan: related tables are released with {MASKED.name!r}, or with {INDICATOR.name!r} or "
            f"{TRUSTED.name!r} where one party of each slice holds all of them, got {protocol!r}; choose "
            f"{MASKED.name!r}"
        )


def _in_order(tables: Sequence[PlannedTable]) -> tuple[PlannedTable, ...]:
    """The tables, each after the one that it belongs to."""
    named = {one.name: one for one in tables}
    roots = [one for one in tables if not one.parent]
    if len(roots) != 1 or roots[0].domain is None:
        raise DataError(
            "plan: expected one of [tables] that belongs to no other, that of people, with a domain, got "
            f"{len(roots)}; fix belongs_to"
        )
    found = roots
    while len(found) < len(tables):
        ready = [one for one in tables if one not in found and named.get(one.parent) in found]
        if not ready:
            raise DataError(
                "plan: expected [tables] that are a tree, got a circle or an unknown one; fix them"
            )
        found += ready
    for one in found[1:]:
        if not named[one.parent].key:
            raise DataError(
                f"plan: [tables.{one.parent}]: expected a key, to which {one.name!r} belongs; add it"
            )
    return tuple(found)

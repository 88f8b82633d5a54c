"""Who holds what of related tables: the tables of each party of each slice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.related.joint import joint_name
from ...common.data.table import Table
from ...common.errors import DataError
from ...curator.releasing.planning.alignment_order import AlignmentOrder
from ...curator.releasing.planning.tables import PlannedTable, PlannedTables
from ...curator.results.raw_frames import encode_frame
from ...party.counting.identifiers import Identifiers
from ...party.institution.reading import read_related
from ...party.institution.related import RelatedRows
from ...party.policies.tables import TableSettings
from ...simulations.parties.network import party_names
from ..related.tables import Pairs, Raw, Summaries
from .held import Held


@dataclass(frozen=True)
class Holders:
    """Who holds what of each person.

    Attributes:
        tables: for each party of a slice, the tables that it holds; together all of them, each once.
        slices: number of slices, each of other people.
        collusions: tolerated collusions; None for the protocol's default.
        dealers: number of dealers; if zero, the curator deals.
        listed: whether each party lists all people of its slice; else those of whom a party has no row are
            not counted.
        alignment_rho: what the alignment of people may cost where a slice has several parties, zCDP; None for
            the default.
    """

    tables: tuple[tuple[str, ...], ...]
    slices: int = 1
    collusions: int | None = None
    dealers: int = 0
    listed: bool = True
    alignment_rho: float | None = None

    @classmethod
    def parse(cls, grid: str, raw: Sequence[Raw]) -> Holders:
        """Who holds what, by a grid KxS: K slices of other people, over S parties each.

        With one party, it holds all tables; with several, the first holds the table of people, and the others
        what belongs to it, branch by branch.

        Raises:
            DataError: it is no grid, or has more parties than there are branches.
        """
        root, branches = raw[0].name, {raw[0].name: [raw[0].name]}
        for table in raw[1:]:
            above = (one for one, names in branches.items() if one != root and table.owner in names)
            branches.setdefault(next(above, table.name), []).append(table.name)
        match = re.fullmatch(r"([1-9]\d*)\s*[xX]\s*([1-9]\d*)", grid.strip())
        if match is None or int(match[2]) > len(branches):
            raise DataError(
                f"grid: expected KxS with at most {len(branches)} parties in a slice, one for the people and "
                f"one for each table that belongs to them, got {grid!r}; fix it"
            )
        slices, parties = int(match[1]), int(match[2])
        if parties == 1:
            return cls((tuple(table.name for table in raw),), slices)
        people, *others = branches.values()
        shares = np.array_split(np.arange(len(others)), parties - 1)
        rest = (tuple(name for place in share for name in others[place]) for share in shares)
        return cls((tuple(people), *rest), slices)

    def check(self, names: Sequence[str]) -> None:
        """Refuses parties that do not hold each of these tables once.

        Raises:
            DataError: they do not, or there is no slice.
        """
        if sorted(name for held in self.tables for name in held) != sorted(names) or self.slices < 1:
            raise DataError(
                f"parties: expected slices of parties that hold each of {', '.join(names)} once, got "
                "others; name each table at one party"
            )

    @property
    def aligning(self) -> AlignmentOrder | None:
        """How people are aligned; None if each party holds whole people."""
        stated = {} if self.alignment_rho is None else {"rho": self.alignment_rho}
        return AlignmentOrder.parse(stated) if len(self.tables) > 1 else None


def planned_tables(
    held: Held,
    holders: Holders,
    summaries: Summaries | None = None,
    workload: Pairs | None = None,
    series: Mapping[str, str] | None = None,
) -> PlannedTables:
    """The tables as a plan would name them.

    Raises:
        DataError: see `PlannedTable.check`; or summaries, pairs or a series are of a table that there is not.
    """
    said, asked, series = summaries or {}, workload or {}, series or {}
    for what, stated in (("summaries", said), ("workload", asked), ("series", series)):
        if unknown := sorted({*stated} - {table.name for table in held.raw}):
            raise DataError(f"{what}: expected tables that belong to another, got {unknown[0]!r}; fix it")

    def planned(table: Raw) -> PlannedTable:
        stated = (table.key, table.owner, table.foreign, table.order or "")
        references = held.public.targets.get(table.name, {})
        more = (said.get(table.name, {}), asked.get(table.name), series.get(table.name, ""))
        repeats = {column: joint_name(*above) for column, above in table.repeats.items()}
        domain = held.domains.get(table.name)
        made = PlannedTable(
            table.name,
            domain,
            *stated,
            references,
            *more,
            table.same,
            table.rising,
            table.once,
            repeats,
            table.counts,
        )
        made.check()
        return made

    return PlannedTables(tuple(map(planned, held.raw)), _holds(holders), held.public.frames)


def _holds(holders: Holders) -> dict[str, tuple[str, ...]]:
    """The tables of each party, by the names that parties in one process have."""
    rows = party_names([len(holders.tables)] * holders.slices)
    return {name: held for row in rows for name, held in zip(row, holders.tables, strict=True)}


def tables_at(tables: PlannedTables, held: Sequence[str], holders: Holders) -> list[PlannedTable]:
    """The tables of one party that holds these; one without that of people may list them, by keys alone."""
    root = tables.tables[0]
    keys_alone = replace(root, domain=None, summaries={}, references={})
    listed = [keys_alone] if holders.listed and root.name not in held else []
    return [*listed, *(one for one in tables.tables if one.name in held)]


def slices_of(raw: Sequence[Raw], holders: Holders) -> list[dict[str, pd.DataFrame]]:
    """The tables of each slice by name, each of other people, with numbers of rows as keys.

    Raises:
        DataError: there are more slices than people.
    """
    people = len(raw[0].parent)
    if people < holders.slices:
        raise DataError("slices: expected at most one for each person, got more; take fewer")
    bounds = np.linspace(0, people, holders.slices + 1).astype(int).tolist()
    return [_cut(raw, low, high) for low, high in itertools.pairwise(bounds)]


def _cut(raw: Sequence[Raw], low: int, high: int) -> dict[str, pd.DataFrame]:
    """The tables of the people low to high - 1, with numbers of rows as keys."""
    kept: dict[str, NDArray[np.intp]] = {}
    found = {}
    for table in raw:
        if table.owner:
            above = kept[table.owner]
            first, last = np.searchsorted(table.parent, (above[0], above[-1] + 1)) if len(above) else (0, 0)
            kept[table.name] = np.arange(first, last)
        else:
            kept[table.name] = np.arange(low, high)
        rows = table.rows.iloc[kept[table.name]].reset_index(drop=True)
        if table.key:
            rows = rows.assign(**{table.key: kept[table.name]})
        if table.owner:
            rows = rows.assign(**{table.foreign: table.parent[kept[table.name]]})
        found[table.name] = rows
    return found


def parties_of(
    raw: Sequence[Raw], tables: PlannedTables, holders: Holders
) -> list[list[tuple[RelatedRows, Identifiers]]]:
    """For each slice, what each party holds of its people, and what names these.

    Raises:
        DataError: see `slices_of`.
    """
    return [
        [read_related(_settings(tables, frames, held, holders)) for held in holders.tables]
        for frames in slices_of(raw, holders)
    ]


def _settings(
    tables: PlannedTables, frames: Mapping[str, pd.DataFrame], held: Sequence[str], holders: Holders
) -> list[_Settings]:
    return [
        _Settings(
            *(one.name, one.domain, one.key, one.parent, one.foreign, one.order, one.references),
            {},
            Path(),
            _Frame(frames[one.name]),
        )
        for one in tables_at(tables, held, holders)
    ]


@dataclass(frozen=True, eq=False)
class _Frame:
    """A data frame as a source of a party; see `party.sources.source.Source`."""

    rows: pd.DataFrame

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(map(str, self.rows.columns))

    def read(self, domain: Domain) -> Table:
        """The columns of the domain, encoded."""
        return encode_frame(domain, self.rows)

    def read_with_texts(
        self, domain: Domain, columns: Sequence[str]
    ) -> tuple[Table, Mapping[str, Sequence[str]]]:
        """The columns of the domain, encoded, and the cells of others as texts."""
        return self.read(domain), {name: self.rows[name].astype(str).tolist() for name in columns}


@dataclass(frozen=True)
class _Settings(TableSettings):
    """A table of a party in this process."""

    frame: _Frame = _Frame(pd.DataFrame())

    def source(self) -> _Frame:
        """See `TableSettings.source`."""
        return self.frame

"""Related tables over parties in this process, as institutions release them: `curator/related`."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..common.crypto.randomness import RandomStream
from ..common.data.domain import Domain
from ..common.data.related.joint import joint_domain
from ..common.data.table import Table
from ..common.errors import DataError
from ..common.privacy.budget import Budget
from ..common.privacy.cost import ALL_ROWS, Adjacency
from ..common.protocols.registry import MASKED
from ..common.protocols.related import RelatedPart
from ..common.release_spec import ReleaseSpec
from ..curator.measurers.size import NoisySize
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.parts.fitted import Report, ignore
from ..curator.parties.alignments import Aligned
from ..curator.parties.client import Connection
from ..curator.parties.federation import PartOfTables
from ..curator.people.release import PeopleRelease
from ..curator.related.making import Making, RelatedOrder
from ..curator.releasing.agreement import agree
from ..curator.releasing.planning.alignment_order import AlignmentOrder
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE
from ..curator.releasing.planning.tables import PlannedTable, PlannedTables, check_protocol
from ..curator.releasing.progress import progress_bar
from ..curator.releasing.release import Released, ReleaseOrder, make_release
from ..curator.results.raw_frames import encode_frame
from ..party.counting.identifiers import Identifiers
from ..party.institution.related import RelatedRows, read_related
from ..party.policies.domain import KEY
from ..party.policies.tables import TableSettings
from ..simulations.parties.alignment import align
from ..simulations.parties.network import InProcessConnection, policy_for, start_dealers, start_parties
from ..simulations.tables.frames import DomainLike, Source, read_domain
from .bar import console_for
from .related_tables import Raw, Relations, Summaries, read_tables
from .unfinished import Forgotten


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


def simulate_people(
    data: Mapping[str, Source],
    epsilon: float,
    *,
    holders: Holders,
    relations: Relations,
    domain: Mapping[str, DomainLike],
    order: Mapping[str, str | Literal[True]] | None = None,
    summaries: Summaries | None = None,
    delta: float = 1e-9,
    mechanism: Mechanism | str = "mosaic",
    protocol: str = MASKED.name,
    seed: int | None = None,
    progress: bool | None = None,
) -> PeopleRelease:
    """As `synthesize` of related tables, with parties in this process.

    A person is a row of the table of people. If several parties hold tables, they align people once, within
    the promise. With one party in each slice, the number of its people is public.

    Args:
        data: the tables by name.
        epsilon: privacy budget, with delta.
        holders: who holds what.
        relations: see `synthesize`.
        domain: one for each table but those of keys alone, on which parties agreed.
        order: see `synthesize`.
        summaries: see `synthesize`.
        delta: privacy budget, with epsilon.
        mechanism: see `synthesize`.
        protocol: by which parties count people; others than "masked" where no slice has several parties.
        seed: see `synthesize`.
        progress: see `synthesize`.

    Raises:
        DataError: see `synthesize`; or a domain is missing, or the parties do not hold the tables.
        BudgetError: a privacy parameter is out of range.
    """
    stream = Forgotten().stream(seed)
    rng = stream.child("order of rows").generator()
    ordered = {name: None if one is True else one for name, one in (order or {}).items()}
    raw = read_tables(data, relations, ordered, rng)
    holders.check([table.name for table in raw])
    domains = {name: read_domain(one) for name, one in domain.items()}
    for table in raw:
        if len(table.rows.columns) and table.name not in domains:
            raise DataError(
                f"{table.name}: expected a domain that parties agreed on, got none; describe the table"
            )
    chosen = mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism
    spec = ReleaseSpec(
        Budget(epsilon, delta),
        # Without an alignment the number of people is public.
        Adjacency.ZERO_OUT if holders.aligning is None else Adjacency.ADD_REMOVE,
        protocol,
        collusions=holders.collusions,
    ).covering(ALL_ROWS)
    check_protocol(spec.protocol, [len(holders.tables)])
    tables = planned_tables(raw, domains, holders, summaries)
    aligning = holders.aligning
    rho = Fraction(0) if aligning is None else Fraction(aligning.rho)
    wanted = RelatedOrder(tables, spec, chosen, DEFAULT_SHARE, rho, secrets.token_hex(16))
    with progress_bar(console_for(progress)) as report:
        parts = _Parts.start(raw, wanted, holders, stream.child("parties"), seed is not None)
        parts = replace(parts, report=report)
        return Making(wanted, parts, stream.child("making")).release()


def parties_of(
    raw: Sequence[Raw], tables: PlannedTables, holders: Holders
) -> list[list[tuple[RelatedRows, Identifiers]]]:
    """For each slice, what each party holds of its people, and what names these.

    Raises:
        DataError: there are more slices than people.
    """
    people = len(raw[0].parent)
    if people < holders.slices:
        raise DataError("slices: expected at most one for each person, got more; take fewer")
    found = []
    for low, high in itertools.pairwise(np.linspace(0, people, holders.slices + 1).astype(int).tolist()):
        frames = _cut(raw, low, high)
        found.append([read_related(_settings(tables, frames, held, holders)) for held in holders.tables])
    return found


@dataclass(frozen=True)
class _Parts:
    """The parts of a release among parties in this process; see `Parts`."""

    links: Sequence[Sequence[InProcessConnection]]
    dealing: Sequence[str | Connection]
    aligned: Aligned | None
    holds: Mapping[str, tuple[str, ...]]
    stream: RandomStream
    seeded: bool
    report: Report = ignore

    @classmethod
    def start(
        cls, raw: Sequence[Raw], order: RelatedOrder, holders: Holders, stream: RandomStream, seeded: bool
    ) -> _Parts:
        """Starts the parties, and aligns their people."""
        read = parties_of(raw, order.tables, holders)
        pieces = [[rows for rows, _ in row] for row in read]
        identifiers = [[list(named.columns[KEY]) for _, named in row] for row in read]
        aligning, spec = holders.aligning, order.spec
        policy = policy_for(
            spec.protocol,
            spec.unit,
            float(order.granted) * (1 + 2.0**-40),
            order.alignment_rho,
            holders.dealers,
        )
        policy = replace(policy, tables=frozenset(one.name for one in order.tables.tables))
        keys = stream.child("keys")
        named = None if aligning is None else identifiers
        links = start_parties(pieces, policy, keys, named, holders.dealers)
        dealing = start_dealers(holders.dealers, keys, links)
        aligned = None
        if aligning is not None:
            joint = joint_domain(order.tables.domains)
            aligned = align(links, joint, aligning, spec, stream.child("alignment"))
        return cls(links, dealing, aligned, order.tables.holds, stream, seeded)

    def make(self, name: str, order: ReleaseOrder, part: RelatedPart, supposed: NoisySize | None) -> Released:
        """See `Parts.make`."""
        agreement = agree(
            order.domain,
            self.links,
            order.proposal(secrets.token_hex(16)),
            dealers=self.dealing,
            aligned=self.aligned,
            part=PartOfTables(part, self.holds),
        )
        measurer = agreement.measurer()
        if supposed is not None:
            measurer.suppose(supposed)
        stream = self.stream.child("part", name)
        return make_release(
            order,
            agreement.terms.plan,
            measurer,
            stream,
            seeded=self.seeded,
            report=self.report,
            named=False,
        )


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


def planned_tables(
    raw: Sequence[Raw], domains: Mapping[str, Domain], holders: Holders, summaries: Summaries | None = None
) -> PlannedTables:
    """The tables as a plan would name them.

    Raises:
        DataError: see `PlannedTable.checked`; or summaries are of a table that there is not.
    """
    said = summaries or {}
    if unknown := sorted({*said} - {table.name for table in raw}):
        raise DataError(f"summaries: expected tables that belong to another, got {unknown[0]!r}; fix it")

    def planned(table: Raw) -> PlannedTable:
        stated = (table.key, table.owner, table.foreign, table.order or "", said.get(table.name, {}))
        return PlannedTable(table.name, domains.get(table.name), *stated).checked()

    return PlannedTables(tuple(map(planned, raw)), _holds(holders))


def _holds(holders: Holders) -> dict[str, tuple[str, ...]]:
    """The tables of each party, by the names that parties in one process have."""
    return {
        f"party-{number}-{place}": held
        for number in range(1, holders.slices + 1)
        for place, held in enumerate(holders.tables, start=1)
    }


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


def _settings(
    tables: PlannedTables, frames: Mapping[str, pd.DataFrame], held: Sequence[str], holders: Holders
) -> list[_Settings]:
    """The tables of one party; one without that of people may list them."""
    root = tables.tables[0].name
    found = []
    for one in tables.tables:
        if one.name in held or (one.name == root and holders.listed):
            domain = one.domain if one.name in held else None
            source = (one.name, domain, one.key, one.parent, one.foreign, one.order)
            found.append(_Settings(*source, {}, Path(), _Frame(frames[one.name])))
    return found

"""From related tables to a private release of them in one call, by somebody who holds them all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.table import Table, encode_table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.labels import DELTA_SHARE
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from ...common.protocols.registry import TRUSTED
from ...curator.analysis.published import Drawn
from ...curator.analysis.release import Release
from ...curator.mechanisms.mechanism import Mechanism
from ...curator.parties.asking import Asking
from ...curator.people.certificate import Part, PeopleCertificate, part_of
from ...curator.people.release import PeopleRelease, drawn_rows, frames
from ...curator.people.rows import Rows, records
from ...curator.people.shape import Family, Kin, number_name, open_number
from ...curator.people.steps import Steps
from ...curator.pgm.rows.counting import keep_pairs
from ...curator.releasing.planning.bins_share import DEFAULT_SHARE
from ...curator.releasing.progress import progress_bar
from ...curator.releasing.release import ReleaseOrder
from ...curator.results.raw_frames import cells_of, encoded
from ..learning.cells import Cells
from ..learning.first_step import Begun, begun_with, begun_without
from ..parties.participants import Participants
from ..parties.partition import Grid
from ..parties.releasing import release_among
from ..stopping import count_part
from ..tables.frames import raw_table
from .bar import console_for
from .related_tables import Raw
from .unfinished import Forgotten, Unfinished


@dataclass(frozen=True, eq=False)
class Asked:
    """What a release of related tables is asked to be.

    Attributes:
        budget: the whole promise.
        mechanism: mechanism of every release of records.
        domains: for each table that has one, the domain of its columns but keys.
        anyway: see `synthesize`.
        seed: see `synthesize`.
        progress: see `synthesize`.
        kept: what keeps the answers.
    """

    budget: Budget
    mechanism: Mechanism
    domains: Mapping[str, Domain]
    anyway: bool
    seed: int | None
    progress: bool | None
    kept: Unfinished | Forgotten


def release_tables(raw: Sequence[Raw], asked: Asked) -> PeopleRelease:
    """Releases related tables, of which each person counts as one record in each table.

    1. For a table without a domain, a first step learns what its columns hold from one row of each person,
       which is drawn at random. Numbers of rows get their bounds in it, too.
    2. The records of each table are released, the root's first: what a row says with what is above it and
       before it. A row has the weight of its parent divided by the number of rows of this parent.
    3. Rows are drawn for the released people, table by table (`people.drawing`).

    Args:
        raw: the tables, each after its parent.
        asked: the release.

    Raises:
        DataError: a table does not fit its domain; nothing has been spent.
    """
    return _Making(raw, asked).release()


class _Making:
    """A release in the making; arguments as of `release_tables`."""

    def __init__(self, raw: Sequence[Raw], asked: Asked) -> None:
        self._raw = {table.name: table for table in raw}
        self._asked = asked
        kept = asked.kept
        self._stream, self._noise = kept.stream(asked.seed), kept.noise(asked.seed)
        self._kept = {table.name: kept.part(f"{place}-") for place, table in enumerate(raw)}
        self._family = Family(tuple(_kin(table, raw) for table in raw))
        self._numbers = {
            child.name: np.bincount(child.parent, minlength=len(self._raw[child.owner].parent)).astype(
                np.int64
            )
            for child in raw
            if child.owner
        }
        # Each domain is tried before anything is spent.
        self._given = {name: self._encoded(name, domain) for name, domain in asked.domains.items()}
        for table in raw:
            clash = {*map(number_name, (child.name for child in self._family.children(table.name)))}
            clash |= {one.name for child in raw if child.owner == table.name for one in child.summaries}
            if clash := clash.intersection(map(str, table.rows.columns)):
                raise DataError(
                    f"{table.name}: expected no column {min(clash)!r}, which the release makes; rename it"
                )
        self._parts: list[Part] = []
        self._rows: dict[str, Rows] = {}
        self._releases: dict[str, Release] = {}

    def release(self) -> PeopleRelease:
        """The release."""
        shares = self._shares()
        delta = self._asked.budget.delta
        labels = DELTA_SHARE * delta if delta is not None else 0.0
        # What labels take of delta, they share.
        whole = self._asked.mechanism.granted(self._asked.budget.without_delta(labels))
        self._whole = float(whole)
        each = None if delta is None else delta / len(self._raw)
        for name, share in shares.items():
            self._release_table(name, Budget(zcdp_rho=float(whole) * share * (1 - 1e-12), delta=each))
        root = self._releases[self._family.root.name].rows
        models = {name: release.model for name, release in self._releases.items()}
        drawn = drawn_rows(self._family, root, models, self._stream.child("people"))
        certificates = {name: release.certificate for name, release in self._releases.items()}
        unit = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS).in_words
        certificate = PeopleCertificate.of(certificates, self._asked.budget, unit, tuple(self._parts))
        tables = frames(self._family, drawn, self._stream.child("people"))
        return PeopleRelease(self._family, self._releases, certificate, tables)

    def _shares(self) -> dict[str, float]:
        """The part of the budget of each table: as the number of pairs that say something of its rows."""
        pairs = {}
        for name in self._raw:
            own = len(self._columns(name))
            above = sum(len(self._columns(one.name)) for one in self._family.above(name))
            before = own if self._raw[name].owner else 0
            pairs[name] = own * (own - 1) / 2 + own * (above + before) + own
        return {name: number / sum(pairs.values()) for name, number in pairs.items()}

    def _columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table's records that are its own."""
        children = tuple(number_name(child.name) for child in self._family.children(name))
        return (*map(str, self._raw[name].rows.columns), *children)

    def _encoded(self, name: str, domain: Domain) -> Table:
        """The rows of a table in a domain of its columns."""
        order = self._raw[name].order
        if order and order not in domain.names:
            raise DataError(
                f"{name}: expected the order {order!r} among the attributes of its domain, "
                "found it missing; add it"
            )
        if domain.rules and self._raw[name].owner:
            raise DataError(
                f"{name}: expected no rules in the domain of a table of several rows a person, "
                "found some; take them out"
            )
        return encoded(domain, self._raw[name].rows)

    def _release_table(self, name: str, budget: Budget) -> None:
        """Releases the records of one table."""
        left = self._described(name, budget)
        if not self._family.own(name):
            return
        is_root = name == self._family.root.name
        held = self._rows[name]
        if is_root:
            domain = self._family.record(name)
            table = Table.from_codes(domain, held.codes)
            wanted = Workload.all_kway(domain, min(2, len(domain.varied)))
        else:
            table = records(self._family, name, self._rows)
            wanted = _workload(self._family, name)
        order = ReleaseOrder(
            table.domain,
            TRUSTED,
            Adjacency.ADD_REMOVE,
            self._asked.mechanism,
            wanted,
            left,
            rows_per_person=1 if is_root else ALL_ROWS,
        )
        kept = self._kept[name]
        count_part((left.zcdp_rho or 0.0) / self._whole)
        begun = begun_with(table, order, self._noise.child("first", name), kept)
        order = begun.order
        keep_pairs(begun.table, order.workload.cliques)
        grid = Grid.even(begun.table.domain, begun.records, 1, 1)
        among = Participants.in_order(
            begun.table, order, grid, self._noise.child("parties", name), 0, False, kept.fresh
        )
        among = replace(among, asking=Asking(kept))
        stream = self._stream.child("release", name)
        with progress_bar(console_for(self._asked.progress)) as report:
            made = release_among(
                among,
                order,
                DEFAULT_SHARE,
                stream,
                self._asked.seed is not None,
                report,
                release_id=kept.release_id,
            )
        drawn = Drawn(made.released, table.domain.names, stream.child("values"), begun.certificate)
        self._releases[name] = Release.of(drawn)

    def _described(self, name: str, budget: Budget) -> Budget:
        """Finds out what the columns of a table hold, and sets its rows; what is left of its budget."""
        raw, held = self._raw[name], self._given.get(name)
        tables: list[Table] = []
        if held is None and len(raw.rows.columns):
            held, budget = self._described_by(partial(self._learned, name), name, "columns", budget)
        elif held is not None and held.domain.open:
            held, budget = self._described_by(partial(self._chosen, name, held), name, "columns", budget)
        if held is not None:
            tables.append(held)
        if children := self._family.children(name):
            numbers = Domain(tuple(open_number(child.name) for child in children))
            counted = {number_name(child.name): self._numbers[child.name] for child in children}
            table, budget = self._described_by(
                partial(self._chosen, name, encode_table(numbers, counted)), name, "numbers", budget
            )
            tables.append(table)
        said = {
            one.name: one.of(self._raw[child.name].rows, self._raw[child.name].parent, len(raw.parent))
            for child in children
            for one in self._raw[child.name].summaries
        }
        if said:
            attributes = tuple(one.attribute for child in children for one in self._raw[child.name].summaries)
            tables.append(encode_table(Domain(attributes), said))
        if raw.order and not (held is not None and raw.order in held.domain.names):
            raise DataError(
                f"{name}: too few rows to learn what {raw.order!r} holds; give a domain of the table"
            )
        self._set(name, tables)
        return budget

    def _described_by(
        self, begin: Callable[[ReleaseOrder, str], Begun], name: str, step: str, budget: Budget
    ) -> tuple[Table, Budget]:
        """The rows of a table in a domain that a first step of a release chose, and what is left."""
        columns = Domain.coded({step: 2})
        order = ReleaseOrder(
            columns,
            TRUSTED,
            Adjacency.ADD_REMOVE,
            self._asked.mechanism,
            Workload.wanted(columns, None, None),
            budget,
        )
        count_part((budget.zcdp_rho or 0.0) / self._whole)
        begun = begin(order, step)
        assert begun.certificate is not None
        self._parts.append(part_of(name, begun.certificate))
        spent = begun.order.chosen
        assert spent is not None
        assert budget.zcdp_rho is not None
        assert begun.coded is not None
        rows = self._raw[name].rows
        held = begun.coded(lambda domain: self._further(name, domain, rows))
        return held, replace(budget, zcdp_rho=budget.zcdp_rho - spent.zcdp_rho)

    def _further(self, name: str, domain: Domain, rows: pd.DataFrame) -> Table:
        """All rows of a table in the domain from which codes were chosen."""
        numbers = {
            number_name(child.name): self._numbers[child.name] for child in self._family.children(name)
        }
        return encoded(domain, rows) if not {*domain.names} & {*numbers} else encode_table(domain, numbers)

    def _chosen(self, name: str, held: Table, order: ReleaseOrder, step: str) -> Begun:
        """Codes of a domain that leaves some open, chosen from one row of each person."""
        wanted = Workload.wanted(held.domain, None, None)
        order = replace(order, domain=held.domain, workload=wanted)
        noise, kept = self._noise.child(step, name), self._kept[name].part(f"{step} ")
        return begun_with(held.take(self._one_row_of_each(name)), order, noise, kept)

    def _learned(self, name: str, order: ReleaseOrder, step: str) -> Begun:
        """What columns hold, learned from one row of each person."""
        some = self._raw[name].rows.iloc[self._one_row_of_each(name)].reset_index(drop=True)
        table = raw_table(some)

        def ordered(known: Domain) -> ReleaseOrder:
            return replace(order, domain=known, workload=Workload.wanted(known, None, None))

        noise, kept = self._noise.child(step, name), self._kept[name].part(f"{step} ")
        with closing(Cells.of(table.source, table.timezones)) as cells:
            return begun_without(
                cells,
                table.read,
                ordered,
                self._asked.mechanism.granted,
                Adjacency.ADD_REMOVE,
                order.budget,
                self._asked.anyway,
                noise,
                kept,
            )

    def _one_row_of_each(self, name: str) -> NDArray[np.intp]:
        """Places of one row of each person, drawn at random, in random order."""
        rows = self._raw
        person = np.arange(len(rows[name].parent))
        table = name
        while rows[table].owner:
            person = rows[table].parent[person]
            table = rows[table].owner
        shuffled = self._stream.child("sample", name).generator().permutation(len(person))
        _, first = np.unique(person[shuffled], return_index=True)
        return shuffled[np.sort(first)]

    def _set(self, name: str, tables: Sequence[Table]) -> None:
        """Takes over the rows of a table, in domains of its columns and numbers that leave nothing open."""
        raw, kin = self._raw[name], self._family[name]
        attributes = tuple(one for table in tables for one in table.domain.attributes)
        unmodelled = tuple(one for table in tables for one in table.domain.unmodelled)
        rules = tuple(rule for table in tables for rule in table.domain.rules)
        codes = {one: table.column(one).astype(np.int64) for table in tables for one in table.domain}
        if raw.order:
            steps = Steps(next(one for one in attributes if one.name == raw.order))
            values = steps.when.within(cells_of(tables[0].domain, raw.rows, raw.order))
            assert values is not None
            values = np.where(np.isnan(values), steps.units.ends[0], values)
            codes[steps.attribute.name] = steps.codes(values, Rows({}, raw.parent, 0).first)
            attributes = tuple(one for one in attributes if one.name != raw.order)
            kin = replace(kin, steps=steps)
        domain = Domain(attributes, unmodelled, rules) if attributes else None
        self._family = self._family.with_table(replace(kin, domain=domain))
        size = len(self._raw[raw.owner].parent) if raw.owner else len(raw.parent)
        own = {attribute.name: codes[attribute.name] for attribute in self._family.own(name)}
        self._rows[name] = Rows(own, raw.parent, size)


def _kin(raw: Raw, tables: Sequence[Raw]) -> Kin:
    said = (one.name for child in tables if child.owner == raw.name for one in child.summaries)
    return Kin(
        name=raw.name,
        domain=None,
        key=raw.key,
        parent=raw.owner,
        foreign=raw.foreign,
        ordered=raw.order is not None,
        columns=(*raw.columns, *said),
        whole=raw.whole,
        storage=raw.storage,
        summaries=raw.summaries,
    )


def _workload(family: Family, name: str) -> Workload:
    """The pairs of which one column at least is drawn."""
    columns = family.columns(name)
    own = {column.attribute.name for column in columns if column.own and column.table == name}
    names = [column.attribute.name for column in columns if column.attribute.size > 1]
    cliques = tuple(pair for pair in itertools.combinations(names, 2) if own.intersection(pair))
    asked: tuple[Clique, ...] = cliques or tuple((one,) for one in names)
    return Workload(asked, (1.0,) * len(asked))

"""From related tables to a private release of them in one call, by somebody who holds them all."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.dates import bins_of
from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
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
from ...curator.people.groups import groups_by_mass
from ...curator.people.numbers import evened, seen
from ...curator.people.release import PeopleRelease, drawn_rows, frames, numbers_of
from ...curator.people.rows import Rows, records
from ...curator.people.shape import Family, Kin, number_name, open_number
from ...curator.people.steps import Steps
from ...curator.pgm.rows.counting import keep_pairs
from ...curator.releasing.planning.bins_share import DEFAULT_SHARE
from ...curator.releasing.progress import progress_bar
from ...curator.releasing.release import ReleaseOrder
from ...curator.results.raw_frames import cells_of, encoded
from ..learning.cells import Cells
from ..learning.first_step import begun_with, begun_without
from ..parties.participants import Participants
from ..parties.partition import Grid
from ..parties.releasing import release_among
from ..tables.frames import raw_table
from .bar import console_for
from .related_tables import Raw
from .unfinished import Forgotten

_DRAWN = 20_000
"""Numbers of rows that are drawn from their distribution."""

_OF_NUMBERS = 3.0
"""Weight of pairs with a number of rows, by which all people count in tables below."""


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
    """

    budget: Budget
    mechanism: Mechanism
    domains: Mapping[str, Domain]
    anyway: bool
    seed: int | None
    progress: bool | None


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
        self._kept = Forgotten()
        self._stream, self._noise = self._kept.stream(asked.seed), self._kept.noise(asked.seed)
        self._family = Family(tuple(_kin(table) for table in raw))
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
            if table.name not in asked.domains and not self._columns(table.name):
                raise DataError(
                    f"{table.name}: expected a column beside keys, found none; leave the table out"
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
        each = None if delta is None else delta / len(self._raw)
        left = {
            name: self._described(name, Budget(zcdp_rho=float(whole) * share * (1 - 1e-12), delta=each))
            for name, share in shares.items()
        }
        for name, budget in left.items():
            self._release_table(name, budget)
        root = self._releases[self._family.root.name].rows
        drawn = drawn_rows(self._family, root, self._releases, self._stream.child("people"))
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

    def _frame(self, name: str) -> pd.DataFrame:
        """The rows of a table with the numbers of rows of its children."""
        rows = self._raw[name].rows
        children = self._family.children(name)
        for child in children:
            if number_name(child.name) in rows.columns:
                raise DataError(
                    f"{name}: expected no column {number_name(child.name)!r}, which the release "
                    "makes; rename it"
                )
        return rows.assign(**{number_name(child.name): self._numbers[child.name] for child in children})

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
        numbers = tuple(open_number(child.name) for child in self._family.children(name))
        return encoded(replace(domain, attributes=(*domain.attributes, *numbers)), self._frame(name))

    def _release_table(self, name: str, budget: Budget) -> None:
        """Releases the records of one table."""
        is_root = name == self._family.root.name
        held = self._rows[name]
        if is_root:
            domain = self._family.record(name)
            table = Table.from_codes(domain, held.codes)
            numbers = {*self._family.numbers(name)}
            cliques = Workload.all_kway(domain, min(2, len(domain.varied))).cliques
            wanted = Workload(
                cliques, tuple(_OF_NUMBERS if numbers.intersection(pair) else 1.0 for pair in cliques)
            )
        else:
            self._family = self._family.with_table(replace(self._family[name], evened=self._evened(name)))
            table = records(self._family, name, self._rows)
            wanted = _workload(self._family, name)
        order = ReleaseOrder(
            table.domain,
            TRUSTED,
            Adjacency.ADD_REMOVE,
            self._asked.mechanism,
            wanted,
            budget,
            rows_per_person=1 if is_root else ALL_ROWS,
        )
        begun = begun_with(table, order, self._noise.child("first", name), self._kept)
        order = begun.order
        keep_pairs(begun.table, order.workload.cliques)
        grid = Grid.even(begun.table.domain, begun.records, 1, 1)
        among = Participants.in_order(
            begun.table, order, grid, self._noise.child("parties", name), 0, False, self._kept.fresh
        )
        among = replace(among, asking=Asking(self._kept))
        stream = self._stream.child("release", name)
        with progress_bar(console_for(self._asked.progress)) as report:
            made = release_among(among, order, DEFAULT_SHARE, stream, self._asked.seed is not None, report)
        drawn = Drawn(made.released, table.domain.names, stream.child("values"), begun.certificate)
        self._releases[name] = Release.of(drawn)
        self._family = self._family.with_table(replace(self._family[name], groups=self._groups(name)))

    def _evened(self, name: str) -> int:
        """See `evened`: from the released distribution of numbers of rows."""
        parent, column = self._family[name].parent, number_name(name)
        mass = np.maximum(self._releases[parent].model.marginal((column,)), 0)
        rng = self._stream.child("evened", name).generator()
        codes = rng.choice(len(mass), _DRAWN, p=mass / mass.sum())
        codes = seen(codes, column, self._releases[parent])
        return evened(numbers_of(self._family, name, codes, rng))

    def _groups(self, name: str) -> dict[str, tuple[int, ...]]:
        """The groups of its columns as the tables below know them: public, by the model of its records."""
        model, found = self._releases[name].model, {}
        for attribute in self._family.own(name):
            if self._family.children(name) and attribute.name not in self._family.numbers(name):
                ordered, bins = self._family.ordered(name, attribute), bins_of(attribute)
                mass = np.maximum(model.marginal((attribute.name,)), 0)
                groups = groups_by_mass(mass, ordered, bins.nullable if bins else ordered)
                if groups is not None:
                    found[attribute.name] = groups
        return found

    def _described(self, name: str, budget: Budget) -> Budget:
        """Finds out what the columns of a table hold, and sets its rows; what is left of its budget."""
        raw, held = self._raw[name], self._given.get(name)
        if held is None and not len(raw.rows.columns):
            # Numbers of rows have public bins.
            numbers = tuple(open_number(child.name) for child in self._family.children(name))
            held = encoded(Domain(numbers), self._frame(name))
        if held is not None and not held.domain.open:
            self._set(name, held)
            return budget
        sampled = self._one_row_of_each(name)
        order = ReleaseOrder(
            Domain.coded(dict.fromkeys(self._columns(name), 2)),
            TRUSTED,
            Adjacency.ADD_REMOVE,
            self._asked.mechanism,
            Workload.wanted(Domain.coded(dict.fromkeys(self._columns(name), 2)), None, None),
            budget,
        )
        noise = self._noise.child("columns", name)
        if held is not None:
            order = replace(order, domain=held.domain, workload=Workload.wanted(held.domain, None, None))
            begun = begun_with(held.take(sampled), order, noise, self._kept)
        else:
            some = self._frame(name).iloc[sampled].reset_index(drop=True)
            table = raw_table(some)

            def ordered(known: Domain) -> ReleaseOrder:
                return replace(order, domain=known, workload=Workload.wanted(known, None, None))

            with closing(Cells.of(table.source, table.timezones)) as cells:
                begun = begun_without(
                    cells,
                    table.read,
                    ordered,
                    self._asked.mechanism.granted,
                    Adjacency.ADD_REMOVE,
                    budget,
                    self._asked.anyway,
                    noise,
                    self._kept,
                )
        assert begun.certificate is not None
        assert begun.coded is not None
        self._parts.append(part_of(name, begun.certificate))
        found = begun.table.domain
        lacking = [
            column
            for column in (raw.order or "", *self._family.numbers(name))
            if column and column not in found.names
        ]
        if lacking:
            raise DataError(
                f"{name}: too few rows to learn what {lacking[0]!r} holds; give a domain of the table"
            )
        self._set(name, begun.coded(lambda domain: encoded(domain, self._frame(name))))
        spent = begun.order.chosen
        assert spent is not None
        assert budget.zcdp_rho is not None
        return replace(budget, zcdp_rho=budget.zcdp_rho - spent.zcdp_rho)

    def _one_row_of_each(self, name: str) -> NDArray[np.intp]:
        """Places of one row of each person, drawn at random, in random order."""
        rows = self._raw
        person = np.arange(len(rows[name].parent))
        table = name
        while rows[table].owner:
            person = rows[table].parent[person]
            table = rows[table].owner
        shuffled = self._noise.child("sample", name).generator().permutation(len(person))
        _, first = np.unique(person[shuffled], return_index=True)
        return shuffled[np.sort(first)]

    def _set(self, name: str, table: Table) -> None:
        """Takes over the rows of a table in a domain that leaves nothing open."""
        raw = self._raw[name]
        codes = {column: table.column(column).astype(np.int64) for column in table.domain}
        kin, domain = self._family[name], table.domain
        if raw.order:
            steps = Steps(domain[raw.order])
            values = steps.when.within(cells_of(domain, raw.rows, raw.order))
            assert values is not None
            values = np.where(np.isnan(values), steps.units.ends[0], values)
            rest = tuple(one for one in domain.attributes if one.name != raw.order)
            first = Rows({}, raw.parent, 0).first
            codes[steps.attribute.name] = steps.codes(values, first)
            above = self._rows[raw.owner]
            places = zip(
                steps.places(name), steps.codes_of_places(values, raw.parent, len(above)), strict=True
            )
            more = {attribute.name: found for attribute, found in places}
            self._rows[raw.owner] = replace(above, codes={**above.codes, **more})
            kin = replace(
                kin, steps=steps, domain=Domain(rest, domain.unmodelled, domain.rules) if rest else None
            )
        else:
            kin = replace(kin, domain=domain)
        self._family = self._family.with_table(kin)
        size = len(self._raw[raw.owner].parent) if raw.owner else len(raw.parent)
        held = {attribute.name for attribute in self._family.own(name)}
        self._rows[name] = Rows(
            {column: one for column, one in codes.items() if column in held}, raw.parent, size
        )


def _kin(raw: Raw) -> Kin:
    return Kin(
        name=raw.name,
        domain=None,
        key=raw.key,
        parent=raw.owner,
        foreign=raw.foreign,
        ordered=raw.order is not None,
        columns=raw.columns,
        whole=raw.whole,
        storage=raw.storage,
    )


def _workload(family: Family, name: str) -> Workload:
    """The pairs of which one column at least is drawn."""
    columns = family.columns(name)
    own = family.drawn(name)
    names = [column.attribute.name for column in columns if column.attribute.size > 1]
    cliques = tuple(pair for pair in itertools.combinations(names, 2) if own.intersection(pair))
    asked: tuple[Clique, ...] = cliques or tuple((one,) for one in names)
    return Workload(asked, (1.0,) * len(asked))

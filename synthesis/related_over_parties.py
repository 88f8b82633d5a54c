"""Related tables over parties in this process: hospitals of whole people, or tables at several parties."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..common.crypto.randomness import RandomStream
from ..common.data.attributes.categorical import CategoricalAttribute
from ..common.data.domain import Domain
from ..common.data.people import PeopleRows
from ..common.data.table import Table
from ..common.data.view import View
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.privacy.budget import Accountant, Budget
from ..common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency
from ..common.protocols.registry import MASKED
from ..common.release_spec import ReleaseSpec
from ..curator.analysis.published import Drawn
from ..curator.measurers.measurer import Query
from ..curator.measurers.size import NoisySize
from ..curator.mechanisms.bins import Bins
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.parts.fitted import ignore
from ..curator.people.release import PeopleRelease
from ..curator.people.rows import known_columns, lineage, with_columns
from ..curator.people.shape import Column, number_name
from ..curator.releasing.planning.alignment_order import AlignmentOrder
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE
from ..curator.releasing.progress import progress_bar
from ..curator.releasing.release import ReleaseOrder
from ..simulations.parties.participants import Participants
from ..simulations.parties.partition import Grid
from ..simulations.parties.people import row_numbers
from ..simulations.parties.releasing import after_choice, release_among
from ..simulations.tables.frames import DomainLike, Source, read_domain
from .bar import console_for
from .learning.first_step import Begun
from .learning.private_counts import Count, Noisy
from .numbers_of_rows import ROW_CLASSES, Counts, classes_of
from .related import Asked, Making
from .related_tables import Raw, Relations, read_tables
from .unfinished import Forgotten

_GUESS = 0.2
"""Relative deviation of a number of records that follows from released numbers of rows."""


@dataclass(frozen=True)
class Holders:
    """Who holds what of each person.

    Attributes:
        tables: for each party of a slice, the tables that it holds; together all of them, each once.
        slices: number of slices, each of other people.
        collusions: tolerated collusions; None for the protocol's default.
        dealers: number of dealers; if zero, the curator deals.
    """

    tables: tuple[tuple[str, ...], ...]
    slices: int = 1
    collusions: int | None = None
    dealers: int = 0

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

    def of(self, table: str) -> int:
        """The party of a slice that holds a table."""
        return next(place for place, held in enumerate(self.tables) if table in held)


def simulate_people(
    data: Mapping[str, Source],
    epsilon: float,
    *,
    holders: Holders,
    relations: Relations,
    domain: Mapping[str, DomainLike],
    order: Mapping[str, str | Literal[True]] | None = None,
    delta: float = 1e-9,
    mechanism: Mechanism | str = "mosaic",
    seed: int | None = None,
    progress: bool | None = None,
) -> PeopleRelease:
    """As `synthesize` of related tables, with parties in this process that count people by `masked`.

    A person is a row of the table of people. If several parties hold tables, they align people, anew for the
    release of each table; what this costs is not part of the promise. With one party in each slice, the
    number of its people is public.

    Args:
        data: the tables by name.
        epsilon: privacy budget, with delta.
        holders: who holds what.
        relations: see `synthesize`.
        domain: one for each table but those of keys alone, on which parties agreed.
        order: see `synthesize`.
        delta: privacy budget, with epsilon.
        mechanism: see `synthesize`.
        seed: see `synthesize`.
        progress: see `synthesize`.

    Raises:
        DataError: see `synthesize`; or a domain is missing, or the parties do not hold the tables.
        BudgetError: a privacy parameter is out of range.
    """
    kept = Forgotten()
    rng = kept.stream(seed).child("order of rows").generator()
    ordered = {name: None if one is True else one for name, one in (order or {}).items()}
    raw = read_tables(data, relations, ordered, rng)
    chosen = mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism
    domains = {name: read_domain(one) for name, one in domain.items()}
    asked = Asked(Budget(epsilon, delta), chosen, domains, False, seed, progress, kept)
    holders.check([table.name for table in raw])
    for table in raw:
        if len(table.rows.columns) and table.name not in domains:
            raise DataError(
                f"{table.name}: expected a domain that parties agreed on, got none; describe the table"
            )
    return _Over(raw, asked, holders).release()[0]


class _Over(Making):
    """A release in the making, over parties."""

    def __init__(self, raw: Sequence[Raw], asked: Asked, holders: Holders) -> None:
        super().__init__(raw, asked)
        self._holders = holders
        self._total: dict[str, float] = {}
        """Expected weight of all records of each table, in people."""

    def _counts(self, name: str, child: str, rho: float) -> Counts:
        """Counts the classes of one row of each person, at the parties that hold the table below."""
        sampled = self._one_row_of_each(name)
        numbers = self._numbers[child][sampled]
        domain = Domain((CategoricalAttribute("class", tuple(map(str, range(ROW_CLASSES)))),))
        table = Table.from_codes(domain, {"class": classes_of(numbers)})
        person = self._person_of(name)[sampled]
        rows = PeopleRows.evenly(table, person, self._people, WEIGHT_PARTS)
        order = self._order(domain, Bins(), Budget(zcdp_rho=rho))
        return _PartyCounts(rows, order, self._holders.slices, self._noise.child("number", name, child))

    def _columns_learned(
        self, name: str, held: Table | None, sampled: NDArray[np.intp], budget: Budget
    ) -> Begun:
        """Chooses bins, by a release of the columns of a table at the parties that hold it."""
        assert held is not None, "every table has a domain"
        rows = PeopleRows.evenly(held, self._person_of(name), self._people, WEIGHT_PARTS)
        order = self._order(held.domain, self._asked.mechanism, budget)
        noise = self._noise.child("columns", name)
        grid = Grid.even(held.domain, self._people, self._holders.slices, 1)
        among = Participants.in_order(rows, order, grid, noise, 0, False)
        seeded = self._asked.seed is not None
        made, certificate = after_choice(order, among, DEFAULT_SHARE, noise, seeded, ignore, None)
        assert made.chosen is not None, "it chose bins"
        coding = made.chosen.coding
        return Begun(
            coding.table(held),
            self._people,
            made,
            certificate,
            coded=lambda read: coding.table(read(held.domain)),
        )

    def _order(self, domain: Domain, mechanism: Mechanism, budget: Budget) -> ReleaseOrder:
        """A release of one-way marginals by parties of which each is alone in its slice."""
        spec = ReleaseSpec(budget, collusions=self._holders.collusions, rows_per_person=ALL_ROWS)
        singles = tuple((one,) for one in domain.names)
        return ReleaseOrder(domain, spec, mechanism, Workload(singles, (1.0,) * len(singles)))

    def _release_records(self, name: str, table: Table, order: ReleaseOrder, stream: RandomStream) -> Drawn:
        parties = self._parties(name)
        alone = len(parties) == 1
        order = order.with_spec(
            protocol=MASKED.name,
            # Without an alignment the number of people is public.
            adjacency=Adjacency.ZERO_OUT if alone else Adjacency.ADD_REMOVE,
            collusions=self._holders.collusions,
        )
        people, noise = self._people, self._noise.child("parties", name)
        groups = [tuple(column.attribute.name for column in columns) for columns in parties.values()]
        grid = Grid.by_attributes(table.domain, people, self._holders.slices, groups)
        rows = [self._rows_of_party(name, columns) for columns in parties.values()]
        ends = np.cumsum([0, *(cut.rows for cut in grid.slices)]).tolist()
        if alone:
            among = Participants.in_order(rows[0], order, grid, noise, self._holders.dealers, False)
        else:
            names = row_numbers(people)
            pieces = [[one.rows(a, b) for one in rows] for a, b in itertools.pairwise(ends)]
            texts = [[names[a:b]] * len(rows) for a, b in itertools.pairwise(ends)]
            aligning = AlignmentOrder.parse({})
            among = Participants.place(
                table, table.domain, pieces, texts, order, grid, noise, aligning, self._holders.dealers
            )
        if parent := self._family[name].parent:
            drawn = np.minimum(1, self._released_numbers(name) / self._family[name].evened)
            self._total[name] = self._total[parent] * float(drawn.mean())
            supposed = self._total[name]
            among = replace(among, supposed=NoisySize(supposed, (_GUESS * supposed) ** 2))
        else:
            self._total[name] = people
        with progress_bar(console_for(self._asked.progress)) as report:
            made = release_among(among, order, DEFAULT_SHARE, stream, self._asked.seed is not None, report)
        released, columns = made.released, table.domain.names
        # A person without rows is no record, so the number of people is not that of records.
        records = float(released.fitted.model.marginal(columns[:1]).sum())
        return Drawn(released, columns, stream.child("values").child_key("inside bins"), records=records)

    @property
    def _people(self) -> int:
        return len(self._raw[self._family.root.name].parent)

    def _person_of(self, name: str) -> NDArray[np.int64]:
        """The person of each row of a table."""
        person = np.arange(len(self._raw[name].parent))
        while self._raw[name].owner:
            person = self._raw[name].parent[person]
            name = self._raw[name].owner
        return person

    def _parties(self, name: str) -> dict[int, list[Column]]:
        """The columns of a table's records that each party holds."""
        found: dict[int, list[Column]] = {}
        for column in known_columns(self._family, name):
            found.setdefault(self._holder(column), []).append(column)
        return dict(sorted(found.items()))

    def _holder(self, column: Column) -> int:
        """The party that knows a column; what is said of rows below, the one that holds these."""
        for child in self._family.children(column.table):
            places, summaries = (one.name for one in child.places), (one.name for one in child.summaries)
            if column.source in (number_name(child.name), *places, *summaries):
                return self._holders.of(child.name)
        return self._holders.of(column.table)

    def _rows_of_party(self, name: str, columns: Sequence[Column]) -> PeopleRows:
        """What a party holds of the columns of records: the rows of the lowest table that it knows."""
        order = [*(table.name for table in self._family.above(name)), name]
        lowest = max((column.table for column in columns), key=order.index)
        table = with_columns(self._family, lowest, columns, self._rows)
        person = lineage(self._family, lowest, self._family.root.name, self._rows)
        return PeopleRows(table, person, self._people, WEIGHT_PARTS)


class _PartyCounts:
    """Counts the classes of people over parties, each alone in its slice.

    Args:
        rows: the class of each person.
        order: the release that counts them.
        slices: number of slices.
        noise: randomness of the parties.
    """

    def __init__(self, rows: PeopleRows, order: ReleaseOrder, slices: int, noise: RandomStream) -> None:
        self.accountant = Accountant(order.granted)
        self._rows, self._order, self._slices, self._noise = rows, order, slices, noise

    def histograms(self, step: str, asked: Mapping[str, Count], rho: float) -> dict[str, Noisy]:
        """The classes of people; see `PrivateCounts.histograms`."""
        order, domain = self._order, self._order.domain
        grid = Grid.even(domain, self._rows.record_count, self._slices, 1)
        among = Participants.in_order(self._rows, order, grid, self._noise, 0, False)
        measurer = among.start(order, "0" * 32, self._noise.generator()).measurer
        (found,) = measurer.measure([Query(View(domain.names), Fraction(rho), step)])
        self.accountant = measurer.accountant
        return dict.fromkeys(asked, Noisy(found.values, found.sigma))

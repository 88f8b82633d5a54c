"""From related tables to a private release of them in one call, by somebody who holds them all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...common.crypto.randomness import RandomStream
from ...common.data.people import PeopleRows
from ...common.data.table import Table
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency
from ...common.protocols.registry import TRUSTED
from ...common.release_spec import ReleaseSpec
from ...curator.analysis.published import Drawn
from ...curator.analysis.release import Release
from ...curator.measurers.size import NoisySize, Supposed
from ...curator.mechanisms.catalogue import check_counting
from ...curator.parties.asking import Asking
from ...curator.people.certificate import PeopleCertificate
from ...curator.people.drawn import drawn_rows
from ...curator.people.modelling import (
    LEAST_RHO,
    check_noise_is_small,
    shares_of,
    with_even_numbers,
    with_groups,
    workload_of,
)
from ...curator.people.release import PeopleRelease
from ...curator.people.rows import lengths_rule, lineage, records
from ...curator.people.tables import frames
from ...curator.pgm.rows.counting import keep_pairs
from ...curator.releasing.planning.bins_share import DEFAULT_SHARE
from ...curator.releasing.progress import progress_bar
from ...curator.releasing.release import ReleaseOrder
from ...simulations.parties.participants import Participants
from ...simulations.parties.partition import Grid
from ...simulations.parties.releasing import release_among
from ...simulations.stopping import running
from ..bar import console_for
from ..learning.first_step import begun_with
from .asked import Asked, labels_delta
from .describing import Described, Describing
from .people_counted import MOST_COUNTING
from .tables import Raw

_LEARNING, _MOST_LEARNING = 0.3, 0.5
"""Share of the budgets of tables without a domain by which columns are learned, and the most of one's."""


def release_tables(raw: Sequence[Raw], asked: Asked) -> tuple[PeopleRelease, tuple[str, ...]]:
    """Releases related tables, of which each person counts as one record in each table.

    1. People are counted. Numbers of rows get bins, and a first step learns what the columns of a table
       without a domain hold, both from one row of each person, which is drawn at random.
    2. The records of each table are released, the root's first: what a row says with what is above it and
       before it. A row has the weight of its parent divided by the number of rows of this parent.
    3. Rows are drawn for the released people, table by table (`people.drawing`).

    Guarantee: the budget, for a person with all rows in all tables, added or removed (`docs/adr/0112`).

    Args:
        raw: the tables, each after its parent.
        asked: the release.

    Returns:
        The release, and what its user should know of it.

    Raises:
        DataError: a table does not fit its domain, or the mechanism or the budget does not fit; nothing has
            been spent. Or there are too few people to learn what their table holds.
    """
    making = Making(raw, asked)
    # The making lets rows go as soon as it can.
    del raw
    return making.release()


class Making:
    """A release in the making, from one place; arguments as of `release_tables`."""

    def __init__(self, raw: Sequence[Raw], asked: Asked) -> None:
        self._asked = asked
        kept = asked.kept
        self._stream, self._noise = kept.stream(asked.seed), kept.noise(asked.seed)
        self._kept = {table.name: kept.part(f"{place}-") for place, table in enumerate(raw)}
        self._pairs = {table.name: table.pairs for table in raw}
        # What can be refused is refused before anything is spent.
        self._describing = Describing(raw, asked, self._stream, self._noise)
        self._family = self._describing.family
        self._budgets = self._split()
        self._releases: dict[str, Release] = {}

    def release(self) -> tuple[PeopleRelease, tuple[str, ...]]:
        """The release, and what its user should know of it."""
        described = self._describe()
        self._family, self._rows, self._number_of_people = described.family, described.rows, described.people
        for name, budget in self._budgets.items():
            if self._family.own(name):
                self._release_table(name, budget)
        self._rows.clear()
        stream = self._stream.child("people")
        self._family, drawn = drawn_rows(self._family, self._people(), self._releases, stream)
        certificates = {name: release.certificate for name, release in self._releases.items()}
        certificate = PeopleCertificate.of(certificates, self._asked.budget, described.parts)
        tables = frames(self._family, drawn, stream)
        people = PeopleRelease(self._family, self._releases, certificate, tables, described.choices)
        return people, described.told(drawn)

    def _describe(self) -> Described:
        """How many people there are, and what the columns of all tables hold, one after the other."""
        for spending in running():
            spending.go_to(MOST_COUNTING)
        left = 1 - float(self._describing.count_people(self._whole)) / self._whole
        self._budgets = {
            name: replace(budget, zcdp_rho=left * (budget.zcdp_rho or 0.0))
            for name, budget in self._budgets.items()
        }
        for name, budget in self._budgets.items():
            for spending in running():
                spending.go_to((budget.zcdp_rho or 0.0) / self._whole)
            learning = self._learning.get(name, 0.0)
            self._budgets[name] = self._describing.describe(name, budget, self._whole, learning)
        # From here on codes are enough, which take a tenth of the memory.
        described = self._describing.description
        del self._describing
        return described

    def _of_people(self, name: str, table: Table) -> PeopleRows:
        """The records of a table as those of its people."""
        root = self._family.root.name
        person, people = lineage(self._family, name, root, self._rows), len(self._rows[root])
        return PeopleRows(table, person, people, WEIGHT_PARTS, lengths_rule(self._family, name))

    def _expectation(self, name: str) -> Table | None:
        """What was published at the same budget leads to expect these records; None if nothing does.

        Args:
            name: of the table.
        """
        return None

    def _people(self) -> Table:
        """The people whose rows are drawn."""
        return self._releases[self._family.root.name].rows

    def _split(self) -> dict[str, Budget]:
        """The budget of each table.

        Raises:
            DataError: the mechanism does not take part, or the budget is too small.
        """
        budget, mechanism = self._asked.budget, self._asked.mechanism
        labels = labels_delta(budget)
        # What labels take of delta, they share.
        left = budget.without_delta(labels)
        check_counting(mechanism, left)
        self._whole = whole = float(mechanism.granted(left)) / self._asked.releases
        delta = None if budget.delta is None else budget.delta / len(self._pairs)
        shares = shares_of(self._family, self._describing.columns, len(self._pairs[self._family.root.name]))
        # All columns are learned alike, whichever table they stand in.
        unknown = self._describing.unknown
        each = _LEARNING * sum(shares[name] for name in unknown) / max(1, sum(unknown.values()))
        learning = {name: each * columns for name, columns in unknown.items()}
        shares |= {name: shares[name] * (1 - _LEARNING) + one for name, one in learning.items()}
        self._learning = {name: min(_MOST_LEARNING, one / shares[name]) for name, one in learning.items()}
        rho = {name: whole * share * (1 - 1e-12) for name, share in shares.items()}
        check_noise_is_small(min(one for one in rho.values() if one) * (1 - MOST_COUNTING))
        return {name: Budget(zcdp_rho=one or LEAST_RHO, delta=delta) for name, one in rho.items()}

    def _release_table(self, name: str, budget: Budget) -> None:
        """Releases the records of one table."""
        expected = None
        if self._family[name].parent:
            self._family, expected = with_even_numbers(self._family, name, self._releases, self._stream)
        table = records(self._family, name, self._rows)
        order = ReleaseOrder(
            table.domain,
            ReleaseSpec(budget, Adjacency.ADD_REMOVE, TRUSTED.name).covering(ALL_ROWS),
            self._asked.mechanism,
            workload_of(self._family, name, self._pairs[name]),
        )
        for spending in running():
            spending.go_to((budget.zcdp_rho or 0.0) / self._whole)
        stream = self._stream.child("release", name)
        self._releases[name] = Release.of(self._release_records(name, table, order, stream, expected))
        self._family = with_groups(self._family, name, self._releases[name])

    def _release_records(
        self, name: str, table: Table, order: ReleaseOrder, stream: RandomStream, expected: Supposed | None
    ) -> Drawn:
        """The release of the records of a table.

        Args:
            name: the table.
            table: its records.
            order: the release.
            stream: randomness of choices and rows.
            expected: of them, by what was released of the rows of the parent; None of people.
        """
        kept = self._kept[name]
        people = None if self._family[name].parent else self._number_of_people
        begun = begun_with(table, order, self._noise.child("first", name), kept, people)
        size = NoisySize(begun.rows.records, begun.rows.variance)
        supposed = Supposed(size)
        if expected is not None:
            size = size.combine_with(expected.size.value, expected.size.variance)
            supposed = replace(expected, size=size)
        order, prior = begun.order, self._expectation(name)
        if prior is not None:
            order = replace(order, prior=prior, prior_sigma=_even_sigma(order))
        keep_pairs(begun.table, order.workload.cliques)
        grid = Grid.even(begun.table.domain, begun.records, 1, 1)
        among = Participants.in_order(
            self._of_people(name, begun.table),
            order,
            grid,
            self._noise.child("parties", name),
            0,
            False,
            kept.fresh,
        )
        among = replace(among, asking=Asking(kept))
        with progress_bar(console_for(self._asked.progress)) as report:
            made = release_among(
                among,
                order,
                DEFAULT_SHARE,
                stream,
                self._asked.seed is not None,
                report,
                release_id=kept.release_id,
                supposed=supposed,
            )
        names = table.domain.names
        return Drawn(made.released, names, stream.child("values").child_key("inside bins"), begun.certificate)


def _even_sigma(order: ReleaseOrder) -> float:
    """Standard deviation of the noise of a pair's cells, if all pairs have an even share of the budget."""
    assert order.spec.budget.zcdp_rho is not None
    pairs = sum(len(clique) == 2 for clique in order.workload.cliques)
    return math.sqrt(pairs / (2 * order.spec.budget.zcdp_rho))

"""From related tables to a private release of them in one call, by somebody who holds them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.crypto.randomness import RandomStream
from ..common.data.attributes.dates import GapAttribute
from ..common.data.attributes.numeric import NumericAttribute
from ..common.data.domain import Domain
from ..common.data.related.rows import Rows
from ..common.data.related.steps import Steps, check_order, orders, place_names
from ..common.data.table import Table, encode_table
from ..common.data.workload import Workload
from ..common.errors import BudgetError, DataError
from ..common.labels import DELTA_SHARE
from ..common.privacy.budget import Budget
from ..common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from ..common.protocols.registry import TRUSTED
from ..common.release_spec import ReleaseSpec
from ..curator.analysis.published import Drawn
from ..curator.analysis.release import Release
from ..curator.certificates.certificate import Certificate
from ..curator.mechanisms.catalogue import check_counting
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.parties.asking import Asking
from ..curator.people.certificate import OF_COLUMNS, PeopleCertificate, Spent, of_people, part_of
from ..curator.people.drawing.numbers import limit_of_equal_counts
from ..curator.people.modelling import (
    LEAST_RHO,
    NUMBERS,
    NUMBERS_OF_TABLE,
    groups_of,
    released_numbers,
    shares_of,
    timed,
    workload_of,
)
from ..curator.people.numbers_of_rows import ROW_CLASSES, classes_of, number_of_rows
from ..curator.people.release import PeopleRelease, drawn_rows
from ..curator.people.rows import records
from ..curator.people.shape import Family, Kin, bounds_of, number_name
from ..curator.people.summaries import FirstOf, Summary
from ..curator.people.tables import frames
from ..curator.pgm.rows.counting import keep_pairs
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE
from ..curator.releasing.progress import progress_bar
from ..curator.releasing.release import ReleaseOrder
from ..curator.results.raw_frames import cells_of, encode_frame
from ..simulations.parties.participants import Participants
from ..simulations.parties.partition import Grid
from ..simulations.parties.releasing import release_among
from ..simulations.stopping import running
from ..simulations.tables.frames import raw_table
from .bar import console_for
from .ends import ends_of, with_ends
from .learning.cells import Cells
from .learning.first_step import Begun, begun_with, begun_without
from .learning.private_counts import PrivateCounts
from .related_frames import with_texts
from .related_tables import Raw
from .remarks import remarks
from .unfinished import Forgotten, Unfinished

A_PERSON = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS)
"""What differs between neighbouring tables."""


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
        releases: number of releases that share the promise evenly.
    """

    budget: Budget
    mechanism: Mechanism
    domains: Mapping[str, Domain]
    anyway: bool
    seed: int | None
    progress: bool | None
    kept: Unfinished | Forgotten
    releases: int = 1


def release_tables(raw: Sequence[Raw], asked: Asked) -> tuple[PeopleRelease, tuple[str, ...]]:
    """Releases related tables, of which each person counts as one record in each table.

    1. Numbers of rows get bins, and a first step learns what the columns of a table without a domain hold,
       both from one row of each person, which is drawn at random.
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
        self._ends: dict[str, tuple[NumericAttribute, ...]] = {}
        self._coding = {table.name: table.rows for table in raw}
        # What can be refused is refused before anything is spent.
        for table in raw:
            self._check_names(table)
        self._given = {name: self._encode(name, domain) for name, domain in asked.domains.items()}
        self._budgets = self._split()
        self._parts: list[Spent] = []
        self._choices: dict[str, Certificate] = {}
        self._rows: dict[str, Rows] = {}
        self._releases: dict[str, Release] = {}
        self._remarks: list[str] = []
        self._learned: dict[str, Begun] = {}

    def release(self) -> tuple[PeopleRelease, tuple[str, ...]]:
        """The release, and what its user should know of it."""
        for name, budget in self._budgets.items():
            self._budgets[name] = self._learn_columns(name, budget)
        # From here on codes are enough, which take a tenth of the memory.
        self._raw = {name: replace(raw, rows=raw.rows.iloc[:0].copy()) for name, raw in self._raw.items()}
        self._coding.clear()
        self._given.clear()
        for name, budget in self._budgets.items():
            if self._family.own(name):
                self._release_table(name, budget)
        self._rows.clear()
        drawn = drawn_rows(self._family, self._people(), self._releases, self._stream.child("people"))
        self._family = timed(self._family, drawn, self._releases, self._stream)
        certificates = {name: release.certificate for name, release in self._releases.items()}
        certificate = PeopleCertificate.of(certificates, self._asked.budget, tuple(self._parts))
        tables = frames(self._family, drawn, self._stream.child("people"))
        for name, begun in self._learned.items():
            self._remark(name, begun, drawn[name])
        people = PeopleRelease(self._family, self._releases, certificate, tables, self._choices)
        return people, tuple(self._remarks)

    def _expectation(self, name: str) -> Table | None:
        """What was published leads to expect these records of a table; None if nothing does."""
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
        delta = None if budget.delta is None else budget.delta / len(self._raw)
        shares = shares_of(self._family, self._columns, len(self._raw[self._family.root.name].pairs))
        rho = {name: whole * share * (1 - 1e-12) for name, share in shares.items()}
        if min(one for one in rho.values() if one) < LEAST_RHO:
            raise BudgetError(
                "expected a budget under which single people are not all that noise hides, got less than "
                "2^-28 zCDP for a table; raise epsilon"
            )
        return {name: Budget(zcdp_rho=one or LEAST_RHO, delta=delta) for name, one in rho.items()}

    def _columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table's records that are its own."""
        return (*map(str, self._raw[name].rows.columns), *self._family.numbers(name))

    def _check_names(self, raw: Raw) -> None:
        """Refuses columns that the release makes itself."""
        made = [*self._family.numbers(raw.name), *(one.name for one in self._summaries(raw.name))]
        for child in (self._raw[one.name] for one in self._family.children(raw.name)):
            if child.order:
                made += place_names(child.order, child.name)
        if raw.order:
            made.append(f"step_of_{raw.order}")
        if twice := [name for place, name in enumerate(made) if name in made[:place]]:
            raise DataError(
                f"{raw.name}: expected names of new columns that differ, got {twice[0]!r} twice; rename a "
                "summary"
            )
        if taken := sorted({*made}.intersection(raw.columns)):
            raise DataError(
                f"{raw.name}: expected no column {taken[0]!r}, which the release makes; rename it"
            )
        # Names and types of columns that no release holds.
        table = raw_table(with_texts(raw.rows.iloc[:0], raw.storage))
        if len(raw.rows.columns):
            Cells.of(table.source, table.timezones).close()

    def _summaries(self, name: str) -> tuple[Summary, ...]:
        """What rows of a table say of those of its children."""
        children = self._family.children(name)
        return tuple(one for child in children for one in self._raw[child.name].summaries)

    def _encode(self, name: str, domain: Domain) -> Table:
        """The rows of a table in a domain of its columns."""
        order = self._raw[name].order
        if order and order not in domain.names:
            raise DataError(
                f"{name}: expected the order {order!r} among the attributes of its domain, "
                "found it missing; add it"
            )
        if order:
            check_order(domain[order])
            domain, self._ends[name], self._coding[name] = with_ends(self._raw[name], domain)
        return encode_frame(domain, self._coding[name])

    def _release_table(self, name: str, budget: Budget) -> None:
        """Releases the records of one table."""
        if self._family[name].parent:
            numbers = released_numbers(self._family, name, self._releases, self._stream)
            self._family = self._family.with_table(
                replace(self._family[name], evened=limit_of_equal_counts(numbers))
            )
        table = records(self._family, name, self._rows)
        order = ReleaseOrder(
            table.domain,
            ReleaseSpec(budget, Adjacency.ADD_REMOVE, TRUSTED.name).covering(ALL_ROWS),
            self._asked.mechanism,
            workload_of(self._family, name, self._raw[name].pairs),
        )
        for spending in running():
            spending.go_to((budget.zcdp_rho or 0.0) / self._whole)
        stream = self._stream.child("release", name)
        self._releases[name] = Release.of(self._release_records(name, table, order, stream))
        groups = groups_of(self._family, name, self._releases[name])
        self._family = self._family.with_table(replace(self._family[name], groups=groups))

    def _release_records(self, name: str, table: Table, order: ReleaseOrder, stream: RandomStream) -> Drawn:
        """The release of the records of a table.

        Args:
            name: the table.
            table: its records.
            order: the release.
            stream: randomness of choices and rows.
        """
        kept = self._kept[name]
        begun = begun_with(table, order, self._noise.child("first", name), kept)
        order, expected = begun.order, self._expectation(name)
        if expected is not None and begun.coded is not None:
            order = replace(order, prior=begun.coded(lambda _: expected))
        keep_pairs(begun.table, order.workload.cliques)
        grid = Grid.even(begun.table.domain, begun.records, 1, 1)
        among = Participants.in_order(
            begun.table, order, grid, self._noise.child("parties", name), 0, False, kept.fresh
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
            )
        names = table.domain.names
        return Drawn(made.released, names, stream.child("values").child_key("inside bins"), begun.certificate)

    def _learn_columns(self, name: str, budget: Budget) -> Budget:
        """Finds out what the columns of a table hold, and sets its rows; what is left of its budget."""
        assert budget.zcdp_rho is not None
        raw, table, left = self._raw[name], self._given.get(name), budget.zcdp_rho
        for spending in running():
            spending.go_to(left / self._whole)
        sampled = self._one_row_of_each(name)
        found = [self._number(name, child.name, sampled, left) for child in self._family.children(name)]
        left -= sum(float(spent) for _, spent in found)
        if len(raw.rows.columns) and (table is None or table.domain.open):
            begun = self._columns_learned(name, table, sampled, replace(budget, zcdp_rho=left))
            assert begun.certificate is not None
            assert begun.coded is not None
            chosen = begun.order.chosen
            assert chosen is not None
            certificate = of_people(begun.certificate)
            self._parts.append(part_of(name, OF_COLUMNS, certificate, chosen))
            self._choices[name] = certificate
            table = begun.coded(lambda domain: encode_frame(domain, self._coding[name]))
            left -= chosen.zcdp_rho
        known = None if table is None else table.domain
        attributes = () if known is None else known.attributes
        codes: dict[str, NDArray[Any]] = {}
        codes |= {} if table is None else {one: table.column(one).astype(np.int32) for one in table.domain}
        for (attribute, _), child in zip(found, self._family.children(name), strict=True):
            self._family = self._family.with_table(
                replace(self._family[child.name], alone=attribute.maximum == 1)
            )
            number = encode_table(Domain((attribute,)), {attribute.name: self._numbers[child.name]})
            codes[attribute.name] = number.column(attribute.name).astype(np.int64)
            attributes = (*attributes, attribute)
        times = None
        if attributes:
            domain = replace(known, attributes=attributes) if known else Domain(attributes)
            times = self._set(name, domain, codes)
        if raw.owner:
            self._say(name, times)
        return replace(budget, zcdp_rho=left)

    def _number(
        self, name: str, child: str, sampled: NDArray[np.intp], rho: float
    ) -> tuple[NumericAttribute, Fraction]:
        """The bins of a number of rows, and what they cost."""
        rho = min(NUMBERS * self._whole, NUMBERS_OF_TABLE * rho)
        held = np.bincount(classes_of(self._numbers[child][sampled]), minlength=ROW_CLASSES)
        counts = self._counts(name, child, rho)
        noisy = counts.histograms("numbers of rows", {child: lambda: held}, rho)[child]
        found, spent = number_of_rows(number_name(child), noisy.values, noisy.sigma), counts.accountant.spent
        self._parts.append(Spent(name, f"numbers of rows of {child}", "", spent, 0.0))
        return found, spent

    def _counts(self, name: str, child: str, rho: float) -> PrivateCounts:
        """What counts numbers of rows of a table that belong to those of another."""
        return PrivateCounts(
            Fraction(rho),
            PrivacyUnit(Adjacency.ADD_REMOVE),
            self._noise.child("number", name, child),
            self._kept[name].part(f"number {child} "),
        )

    def _columns_learned(
        self, name: str, held: Table | None, sampled: NDArray[np.intp], budget: Budget
    ) -> Begun:
        """What the columns of a table hold, from one row of each person."""
        order = ReleaseOrder(
            Domain.coded(dict.fromkeys(self._raw[name].rows.columns, 2)),
            ReleaseSpec(budget, Adjacency.ADD_REMOVE, TRUSTED.name),
            self._asked.mechanism,
            Workload.wanted(Domain.coded(dict.fromkeys(self._raw[name].rows.columns, 2)), None, None),
        )
        noise, kept = self._noise.child("columns", name), self._kept[name].part("columns ")

        def order_for(known: Domain) -> ReleaseOrder:
            return replace(order, domain=known, workload=Workload.wanted(known, None, None))

        if held is not None:
            return begun_with(held.take(sampled), order_for(held.domain), noise, kept)
        raw = self._raw[name]
        table = raw_table(with_texts(raw.rows.iloc[sampled].reset_index(drop=True), raw.storage))
        # Whether there are too few people is asked of the table of people, before anything else. A table to
        # which few of them have rows is released with what is seen of it.
        anyway = self._asked.anyway or name != self._family.root.name
        with closing(Cells.of(table.source, table.timezones)) as cells:
            begun = begun_without(
                cells,
                table.read,
                order_for,
                self._asked.mechanism.granted,
                Adjacency.ADD_REMOVE,
                budget,
                anyway,
                noise,
                kept,
            )
        self._learned[name] = begun
        return begun

    def _one_row_of_each(self, name: str) -> NDArray[np.intp]:
        """Places of one row of each person, drawn at random, in random order."""
        rows = self._raw
        person = np.arange(len(rows[name].parent))
        table = name
        while rows[table].owner:
            person = rows[table].parent[person]
            table = rows[table].owner
        rng = self._stream.child("sample", name).generator()
        # Rows of one person stand beside each other.
        first = FirstOf.rows(person)
        numbers = np.diff(np.append(first, len(person)))
        return rng.permutation(first + (rng.random(len(first)) * numbers).astype(np.intp))

    def _say(self, name: str, times: NDArray[np.float64] | None) -> None:
        """Puts what the rows of a parent say of those of a table into the parent's."""
        raw = self._raw[name]
        above = self._rows[raw.owner]
        said = {}
        for summary, attribute in self._family.summaries_in_release(name):
            cells = summary.of(raw.rows, raw.parent, len(above), times).rename(attribute.name)
            codes = encode_frame(Domain((attribute,)), cells.to_frame()).column(attribute.name)
            said[attribute.name] = codes.astype(np.int64)
        self._rows[raw.owner] = replace(above, codes={**above.codes, **said})
        held = {one.name for one, _ in self._family.summaries_in_release(name)}
        self._remarks += (
            f"{name}: too few rows agreed on what {one.column!r} or the order holds, so that the summary "
            f"{one.name!r} is left out; describe it in a domain"
            for one in raw.summaries
            if one.name not in held
        )

    def _set(self, name: str, domain: Domain, codes: dict[str, NDArray[Any]]) -> NDArray[np.float64] | None:
        """Takes over the rows of a table in a domain that leaves nothing open.

        Returns:
            Where the rows are on the scale of their order, from the beginning of their parent, shape (N,).
        """
        raw, kin = self._raw[name], self._family[name]
        times = None
        if raw.order and raw.order in domain.names and orders(domain[raw.order]):
            # A column of the parent that no release holds bounds nothing.
            known = {one.name for one in self._family.shown_attributes(raw.owner)}
            low, high = (one if one in known else "" for one in raw.within)
            steps = Steps(domain[raw.order], bool(low))
            kin = replace(kin, steps=steps, within=(low, high))
            begun, _ = bounds_of(kin, self._raw[raw.owner].rows, raw.parent)
            values = steps.when.within(cells_of(domain, raw.rows, raw.order))
            assert values is not None
            values = np.where(np.isnan(values), steps.units.ends[0], values)
            ends = ends_of(raw.order, self._ends.get(name, ()), domain)
            gaps = (one for one in ends if isinstance(one, GapAttribute))
            far = {one.name: replace(one.units, name=one.name) for one in gaps}
            rest = tuple(far.get(one.name, one) for one in domain.attributes if one.name != raw.order)
            first = Rows({}, raw.parent, 0).first
            codes[steps.attribute.name] = steps.codes(values, first)
            above = self._rows[raw.owner]
            places = zip(
                steps.places(name),
                steps.codes_of_places(values, raw.parent, len(above), begun),
                strict=True,
            )
            more = {attribute.name: found for attribute, found in places}
            self._rows[raw.owner] = replace(above, codes={**above.codes, **more})
            known_ones = Domain(rest, domain.unmodelled, domain.rules) if rest else None
            kin = replace(kin, domain=known_ones, ends=ends)
            times = values - begun if begun is not None else values
        else:
            kin = replace(kin, domain=domain)
        self._family = self._family.with_table(kin)
        size = len(self._raw[raw.owner].parent) if raw.owner else len(raw.parent)
        held = {one.name for one in (*self._family.own(name), *self._family.counted_attributes(name))}
        self._rows[name] = Rows(
            {column: one.astype(np.int32) for column, one in codes.items() if column in held},
            raw.parent,
            size,
        )
        return times

    def _remark(self, name: str, begun: Begun, drawn: Rows) -> None:
        """What a user should know of a table whose columns were learned."""
        found = self._family[name].domain
        if self._raw[name].order and self._family[name].steps is None:
            self._remarks.append(
                f"{name}: too few rows agreed on what {self._raw[name].order!r} holds, so its rows are in "
                "order without it; describe it in a domain"
            )
        if found is not None and len(drawn):
            table = Table.from_codes(found, drawn.codes)
            unseen = tuple(one for one in begun.order.unseen if one.name in table.domain.names)
            begun = replace(begun, order=replace(begun.order, unseen=unseen))
            self._remarks += (f"{name}: {one}" for one in remarks(table, begun))


def labels_delta(budget: Budget) -> float:
    """What texts may take of delta, in all tables together."""
    return DELTA_SHARE * budget.delta if budget.delta is not None else 0.0


def _kin(raw: Raw, tables: Sequence[Raw]) -> Kin:
    said = (one.name for child in tables if child.owner == raw.name for one in child.summaries)
    return Kin(
        name=raw.name,
        domain=None,
        key=raw.key,
        parent=raw.owner,
        foreign=raw.foreign,
        ordered=raw.order is not None,
        columns=(*raw.columns, *said) if raw.columns else (),
        storage=raw.storage,
        summaries=raw.summaries,
        within=raw.within,
    )

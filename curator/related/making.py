"""Makes a release of related tables from parts, wherever the parts are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.coding import Coding
from ...common.data.domain import Domain
from ...common.data.gaps import gaps_after
from ...common.data.related.joint import joint_domain
from ...common.data.related.steps import Steps, orders
from ...common.data.rules.follows import following_from
from ...common.data.view import View
from ...common.data.workload import Workload
from ...common.errors import BudgetError
from ...common.measurement import Measurement
from ...common.privacy.budget import Budget
from ...common.privacy.conversion import zcdp_rho
from ...common.privacy.rounding import float_above, float_below
from ...common.protocols.related import KnownColumn, RelatedPart
from ...common.release_spec import ReleaseSpec
from ..analysis.published import Drawn
from ..analysis.release import Release
from ..measurers.size import Supposed
from ..mechanisms.bins import Bins
from ..mechanisms.catalogue import check_counting
from ..mechanisms.mechanism import Mechanism
from ..people.certificate import OF_ALIGNMENT, OF_CHOICE, PeopleCertificate, Spent, part_of
from ..people.drawing.following import check_following
from ..people.drawn import drawn_rows
from ..people.kin import Kin
from ..people.modelling import (
    check_noise_is_small,
    numbers_rho,
    shares_of,
    with_even_numbers,
    with_groups,
    workload_of,
)
from ..people.numbers_of_rows import number_of_rows
from ..people.release import PeopleRelease
from ..people.shape import Family, number_name
from ..people.tables import frames
from ..releasing.bins.choosing import chosen_coding
from ..releasing.planning.tables import PlannedTable, PlannedTables
from ..releasing.release import Released, ReleaseOrder
from .columns import asked_pairs, check_names, choice_columns, stated_columns
from .summaries import summaries_of


class Parts(Protocol):
    """Where the parts of a release are made: over daemons, or in this process."""

    def make(self, name: str, order: ReleaseOrder, part: RelatedPart, supposed: Supposed | None) -> Released:
        """Makes a part, or recalls it.

        Args:
            name: of the part, unique among them.
            order: of its records.
            part: what its terms state.
            supposed: of its records, if they are not people.
        """
        ...


class _NoParts:
    """Makes none: for what is known before the first."""

    def make(self, name: str, order: ReleaseOrder, part: RelatedPart, supposed: Supposed | None) -> Released:
        """Refuses."""
        raise ValueError(f"the part {name!r} is made nowhere")


no_parts = _NoParts()


@dataclass(frozen=True)
class RelatedOrder:
    """A release of related tables.

    Attributes:
        tables: the tables, and who holds them.
        spec: the promise, the protocol and what else is the same in all parts; `rows` are people.
        mechanism: mechanism of every part of records.
        bins_share: share of a table's budget by which its bins are chosen.
        alignment_rho: what the alignment of people cost, zCDP; a part of the promise.
        whole: id of the release.
    """

    tables: PlannedTables
    spec: ReleaseSpec
    mechanism: Mechanism
    bins_share: float
    alignment_rho: Fraction
    whole: str

    def __post_init__(self) -> None:
        check_counting(self.mechanism, self.spec.budget)
        check_names(self.tables, self.family)
        check_following(self.family, self.tables.domains)
        for table in self.tables.tables:
            asked_pairs(self.tables, table.name)
        check_noise_is_small(min(float(self.granted) * share for share in self.shares.values() if share))

    @property
    def granted(self) -> Fraction:
        """What all parts together may cost, zCDP.

        With an alignment, whose noise is not Gaussian, the promise is that of zCDP for the sum.

        Raises:
            BudgetError: the alignment leaves nothing.
        """
        budget = self.spec.budget
        if not self.alignment_rho:
            return Fraction(self.mechanism.granted(budget))
        if budget.epsilon is None or budget.delta is None:
            whole = Fraction(budget.zcdp_rho or 0)
        else:
            whole = Fraction(zcdp_rho(budget.epsilon, budget.delta))
        if whole <= self.alignment_rho:
            raise BudgetError(
                "expected a promise that leaves something beside the alignment, got one that does not; raise "
                "epsilon, or lower rho in [alignment]"
            )
        return whole - self.alignment_rho

    @property
    def family(self) -> Family:
        """The tables as they are described before anything is known of them."""
        return Family(
            tuple(
                Kin(
                    one.name,
                    None,
                    key=one.key,
                    pattern=one.pattern,
                    parent=one.parent,
                    foreign=one.foreign,
                    ordered=bool(one.order),
                    series=one.series,
                    same=tuple(one.same),
                    rising=tuple(one.rising),
                    once=tuple(one.once),
                    repeats=self.tables.repeats_of(one.name),
                    counts=one.counts,
                    summaries=summaries_of(one),
                    columns=(*one.columns, *self.tables.said_of(one.name)),
                )
                for one in self.tables.tables
            )
        )

    @property
    def shares(self) -> dict[str, float]:
        """The part of the budget of each table."""
        domains, family = self.tables.domains, self.family

        def columns(name: str) -> tuple[str, ...]:
            own = domains[name].names if name in domains else ()
            return (*own, *family.numbers(name), *family.said_of(name))

        return shares_of(family, columns)

    def budget_of(self, rho: Fraction) -> ReleaseSpec:
        """The description of a part of this cost."""
        delta = self.spec.budget.delta
        parts = Budget(zcdp_rho=float(rho), delta=None if delta is None else delta / len(self.tables.tables))
        return replace(self.spec, budget=parts)


class Making:
    """A release in the making.

    1. For each table, a part chooses the bins of its open columns and of numbers of rows.
    2. For each table, that of people first, a part releases its records: a row with what is above and
       before it, of which those of a person count as one together.
    3. Rows are drawn for the released people, table by table (`people.drawing`).

    Guarantee: the promise, for a person with all rows in all tables; each part is charged as an ordinary
    release (`docs/adr/0122`).

    Args:
        order: the release.
        parts: makes its parts.
        stream: randomness of what is drawn.
    """

    def __init__(self, order: RelatedOrder, parts: Parts, stream: RandomStream) -> None:
        self._order, self._parts, self._stream = order, parts, stream
        self._family = order.family
        granted = order.granted
        self._rho = {
            name: granted * Fraction(share) * (1 - Fraction(1, 1 << 40))
            for name, share in order.shares.items()
        }
        self._granted = self._left = sum(self._rho.values(), Fraction(0))
        self._codings: dict[str, Coding] = {}
        self._spent: list[Spent] = []
        self._choices: dict[str, Released] = {}
        self._releases: dict[str, Release] = {}

    def release(self) -> PeopleRelease:
        """The release."""
        order = self._order
        if order.alignment_rho:
            self._spent.append(Spent("", OF_ALIGNMENT, "", order.alignment_rho, 0.0))
        for table in order.tables.tables:
            self._describe(table)
        for table in order.tables.tables:
            if self._family.own(table.name):
                self._release_table(table.name)
        root = self._releases[self._family.root.name].rows
        stream = self._stream.child("people")
        family, drawn = drawn_rows(self._family, root, self._releases, stream)
        certificates = {name: release.certificate for name, release in self._releases.items()}
        certificate = PeopleCertificate.of(certificates, order.spec.budget, tuple(self._spent))
        tables = frames(family, drawn, stream)
        choices = {name: made.certificate for name, made in self._choices.items()}
        public = order.tables.public
        return PeopleRelease(family, self._releases, certificate, tables, choices, public=public)

    def first(self) -> tuple[str, ReleaseOrder, RelatedPart]:
        """The part that is made first: its name, order and statement."""
        root = self._order.tables.tables[0]
        rho = self._choice_rho(root)
        return self._choice(root, rho) if rho else self._records(root.name)

    def costs(self) -> list[tuple[str, Fraction]]:
        """The parts and their costs, zCDP, in order."""
        tables = self._order.tables.tables
        choices = {one.name: self._choice_rho(one) for one in tables}
        held = {one.name for one in tables if one.domain is not None or self._family.children(one.name)}
        return [
            *((f"bins {name}", rho) for name, rho in choices.items() if rho),
            *(
                (f"records {one.name}", self._rho[one.name] - choices[one.name])
                for one in tables
                if one.name in held
            ),
        ]

    def _describe(self, table: PlannedTable) -> None:
        """Chooses bins of a table, and describes it."""
        rho, domain = self._choice_rho(table), self._order.tables.domains.get(table.name)
        children = self._family.children(table.name)
        attributes = () if domain is None else domain.attributes
        if rho:
            made = self._made(*self._choice(table, rho), rho, None)
            self._choices[table.name] = made
            self._spent.append(part_of(table.name, OF_CHOICE, made.certificate))
            self._rho[table.name] -= rho
            measured = made.fitted.measurements
            if domain is not None and domain.open:
                left, records = float(self._rho[table.name]), _records(measured, domain.open)
                self._codings[table.name] = chosen_coding(domain, measured, records, left)
                attributes = self._codings[table.name].domain(domain).attributes
            for child in children:
                counts = next(one for one in measured if one.view == View((number_name(child.name),)))
                found = number_of_rows(number_name(child.name), counts.values, counts.sigma)
                attributes = (*attributes, found)
        if attributes:
            known = Domain(attributes) if domain is None else replace(domain, attributes=attributes)
            self._family = self._family.with_table(_described(self._family[table.name], table.order, known))

    def _choice_rho(self, table: PlannedTable) -> Fraction:
        """What the choice of bins of a table may cost; nothing if there is none to choose."""
        return Fraction(float_below(sum(self._choice_costs(table).values(), Fraction(0))))

    def _choice_costs(self, table: PlannedTable) -> dict[str, Fraction]:
        """What it may cost by columns: numbers of rows as from one place, open ones a share."""
        rho, children = self._rho[table.name], self._family.children(table.name)
        each = Fraction(numbers_rho(float(self._granted), float(rho), len(children)))
        found = {number_name(child.name): each for child in children}
        opened = () if table.domain is None else table.domain.open
        left = Fraction(self._order.bins_share) * (rho - len(children) * each)
        return found | {name: left / len(opened) for name in opened}

    def _choice(self, table: PlannedTable, rho: Fraction) -> tuple[str, ReleaseOrder, RelatedPart]:
        columns, asked = choice_columns(self._order.tables, table.name)
        domain = Domain(tuple(attribute for attribute, _ in columns))
        costs = self._choice_costs(table)
        singles = tuple((name,) for name in domain.names if name in asked)
        weights = tuple(float(costs[name] / rho) for (name,) in singles)
        spec = replace(self._order.budget_of(rho), rows=1)
        part = self._stated(table.name, tuple(column for _, column in columns))
        workload = Workload(singles, weights)
        order = ReleaseOrder(self._with_reviews(domain, part), spec, Bins(), workload)
        # Bins are chosen of the codes that the parties' domain files say.
        return f"bins {table.name}", order, replace(part, codings={})

    def _release_table(self, name: str) -> None:
        """Releases the records of one table."""
        supposed = None
        if self._family[name].parent:
            self._family, supposed = with_even_numbers(self._family, name, self._releases, self._stream)
        made = self._made(*self._records(name), self._rho[name], supposed)
        columns = made.synthetic.domain.names
        # A person without rows is no record, so the number of people is not that of records.
        records = float(made.fitted.model.marginal(columns[:1]).sum())
        values = self._stream.child("values", name).child_key("inside bins")
        drawn = Drawn(made, columns, values, records=records)
        self._releases[name] = Release.of(drawn)
        self._family = with_groups(self._family, name, self._releases[name])

    def _records(self, name: str) -> tuple[str, ReleaseOrder, RelatedPart]:
        spec = self._order.budget_of(Fraction(float_below(self._rho[name])))
        if self._family[name].parent:
            spec = replace(spec, rows=None)
        workload = workload_of(self._family, name, asked_pairs(self._order.tables, name))
        part = self._stated(name, stated_columns(self._family, name))
        domain = self._with_reviews(self._family.record(name), part)
        return f"records {name}", ReleaseOrder(domain, spec, self._order.mechanism, workload), part

    def _with_reviews(self, domain: Domain, part: RelatedPart) -> Domain:
        """The domain of a part, whose columns are unreviewed if those are from which they follow."""
        held = joint_domain(self._order.tables.domains)
        return domain.with_unreviewed(part.following_from(held.unreviewed))

    def _stated(self, name: str, columns: tuple[KnownColumn, ...]) -> RelatedPart:
        relations = tuple(
            replace(one, evened=self._family[one.table].evened) for one in self._order.tables.relations
        )
        whole, left = float_above(self._granted), float_above(min(self._left, self._granted))
        return RelatedPart(self._order.whole, whole, left, name, relations, columns, dict(self._codings))

    def _made(
        self, name: str, order: ReleaseOrder, part: RelatedPart, rho: Fraction, supposed: Supposed | None
    ) -> Released:
        made = self._parts.make(name, order, part, supposed)
        self._left -= rho
        return made


def _described(kin: Kin, order: str, domain: Domain) -> Kin:
    """A table whose columns are known: the order apart, and what comes after it as how far after."""
    if not order or not orders(domain[order]):
        return replace(kin, domain=domain)
    gaps = gaps_after(order, domain)
    far = {one.name: replace(one.units, name=one.name) for one in gaps}
    rest = tuple(far.get(one.name, one) for one in domain.attributes if one.name != order)
    follows = following_from({order, *far}, domain)
    rules = tuple(rule for rule in domain.rules if rule not in follows)
    known = Domain(rest, domain.unmodelled, rules) if rest or domain.unmodelled else None
    return replace(kin, domain=known, steps=Steps(domain[order]), ends=gaps, follows=follows)


def _records(measured: tuple[Measurement, ...], columns: tuple[str, ...]) -> float:
    """The number of records of a table, from the noisy sums of its columns."""
    sums = [float(one.values.sum()) for one in measured if one.clique[0] in columns]
    return max(1.0, float(np.mean(sums)))

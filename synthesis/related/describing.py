"""What the columns of related tables hold, found out from one row of each person; and their rows in codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.dates import GapAttribute, bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.related.courses import can_be_once, can_rise
from ...common.data.related.rows import Rows
from ...common.data.related.steps import Steps, check_order, orders
from ...common.data.rules.follows import Follows
from ...common.data.table import Table, encode_table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.privacy.budget import Budget
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...common.protocols.registry import TRUSTED
from ...common.release_spec import ReleaseSpec
from ...curator.certificates.certificate import Certificate
from ...curator.people.certificate import OF_COLUMNS, Spent, of_people, part_of
from ...curator.people.modelling import numbers_rho
from ...curator.people.numbers_of_rows import ROW_CLASSES, classes_of, number_of_rows
from ...curator.people.shape import Family, beginnings_of, number_name
from ...curator.people.summaries import EndOf
from ...curator.releasing.release import ReleaseOrder
from ...curator.results.raw_frames import cells_of, encode_frame
from ...simulations.stopping import running
from ...simulations.tables.frames import raw_table
from ..learning.asking import Rows as NumberOfRows
from ..learning.cells import Cells
from ..learning.first_step import Begun, begun_with, begun_without
from ..learning.limits import can_be_learned, check_learnable
from ..learning.private_counts import Count, Noisy, PrivateCounts
from ..remarks import remarks
from .asked import Asked
from .ends import ends_of, with_ends
from .family import family_of, one_row_of_each
from .frames import with_texts
from .keys import OF_KEYS, count_forms, pattern_voted
from .people_counted import FIRST_COUNT, MOST_COUNTING, second_rho
from .tables import Raw

_OF_PEOPLE = "the number of people"


@dataclass(frozen=True, eq=False)
class Described:
    """Related tables whose columns are described.

    Attributes:
        family: the tables.
        rows: of each table, in codes.
        parts: what was spent.
        choices: certificates of what columns hold, by table.
        learned: what was learned of tables without a domain.
        people: number of people, from all noisy counts of them.
        remarks: what a user should know already.
    """

    family: Family
    rows: dict[str, Rows]
    parts: tuple[Spent, ...]
    choices: Mapping[str, Certificate]
    learned: Mapping[str, Begun]
    people: NumberOfRows
    remarks: tuple[str, ...]

    def told(self, drawn: Mapping[str, Rows]) -> tuple[str, ...]:
        """What a user should know, with these synthetic rows."""
        found = list(self.remarks)
        for name, begun in self.learned.items():
            domain = self.family[name].domain
            if domain is not None and len(drawn[name]):
                table = Table.from_codes(domain, drawn[name].codes)
                unseen = tuple(one for one in begun.order.unseen if one.name in table.domain.names)
                begun = replace(begun, order=replace(begun.order, unseen=unseen))
                found += (f"{name}: {one}" for one in remarks(table, begun))
        return tuple(found)


class Describing:
    """Related tables whose people are counted, and whose columns are described, the root first.

    Args:
        raw: the tables, each after its parent.
        asked: the release.
        stream: randomness of choices.
        noise: randomness of noise.

    Raises:
        DataError: a table does not fit its domain, or has a column that the release makes.
    """

    def __init__(self, raw: Sequence[Raw], asked: Asked, stream: RandomStream, noise: RandomStream) -> None:
        self._raw = {table.name: table for table in raw}
        self._asked, self._stream, self._noise = asked, stream, noise
        self._kept = {table.name: asked.kept.part(f"{place}-") for place, table in enumerate(raw)}
        self._family = family_of(raw, asked.domains)
        self._numbers = {
            child.name: np.bincount(child.parent, minlength=len(self._raw[child.owner].parent))
            for child in raw
            if child.owner
        }
        self._ends: dict[str, tuple[NumericAttribute, ...]] = {}
        self._follows: dict[str, tuple[Follows, ...]] = {}
        self._coding = {table.name: table.rows for table in raw}
        self._given = {name: self._encode(name, domain) for name, domain in asked.domains.items()}
        self._rows: dict[str, Rows] = {}
        self._parts: list[Spent] = []
        self._choices: dict[str, Certificate] = {}
        self._learned: dict[str, Begun] = {}
        self._remarks: list[str] = []
        self._whole = math.inf

    @property
    def description(self) -> Described:
        """What was found out."""
        return Described(
            self._family,
            self._rows,
            tuple(self._parts),
            self._choices,
            self._learned,
            self._people,
            tuple(self._remarks),
        )

    @property
    def family(self) -> Family:
        """The tables, as far as they are described."""
        return self._family

    @property
    def unknown(self) -> dict[str, int]:
        """The number of columns of each table of which it has to be learned what they hold."""
        tables = (one for one in self._raw.values() if one.name not in self._given and one.open_columns)
        return {table.name: len(table.open_columns) for table in tables}

    def columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table's records that are its own."""
        return (*map(str, self._raw[name].rows.columns), *self._family.numbers(name))

    def count_people(self, whole: float) -> Fraction:
        """Counts the people, before anything else; what it costs, zCDP.

        Args:
            whole: budget of all tables, zCDP.

        Raises:
            DataError: they are too few for the columns of all tables.
        """
        root, self._whole = self._family.root.name, whole
        granted, people = Fraction(MOST_COUNTING * whole), len(self._raw[root].parent)
        kept, unit = self._kept[root].part("people "), PrivacyUnit(Adjacency.ADD_REMOVE)
        counts = PrivateCounts(granted, unit, self._noise.child("people"), kept)
        first = NumberOfRows(*counts.total(_OF_PEOPLE, people, FIRST_COUNT * whole))
        self._people = first
        self._check_people(whole)
        if rho := second_rho(first, whole):
            self._people = NumberOfRows(*counts.total(_OF_PEOPLE, people, rho)).average_with(first)
        spent = counts.accountant.spent
        self._parts.append(Spent(root, _OF_PEOPLE, "", spent, 0.0))
        return spent

    def describe(self, name: str, budget: Budget, whole: float, learning: float) -> Budget:
        """Finds out what the columns of a table hold, and sets its rows; what is left of its budget.

        Args:
            name: the table; its parent is described.
            budget: of the table.
            whole: that of all tables, zCDP.
            learning: the share of the table's budget by which its columns are learned, if they are.
        """
        assert budget.zcdp_rho is not None
        raw, table, left = self._raw[name], self._given.get(name), budget.zcdp_rho
        sampled = one_row_of_each(self._raw, name, self._stream.child("sample", name).generator())
        children = self._family.children(name)
        share = numbers_rho(whole, left, len(children))
        found = [self._number(name, child.name, sampled, share) for child in children]
        left -= sum(float(spent) for _, spent in found)
        if raw.key and not raw.pattern:
            left -= float(self._vote_on_keys(raw, sampled, left))
        if raw.open_columns and (table is None or table.domain.open):
            rest = replace(budget, zcdp_rho=left)
            begun = self._columns_learned(name, table, sampled, rest, learning * budget.zcdp_rho / left)
            assert begun.certificate is not None
            assert begun.coded is not None
            chosen = begun.order.chosen
            assert chosen is not None
            if self._are_people(name):
                self._people = begun.rows
            self._remark_on_few(name, begun.rows.records, whole)
            certificate = of_people(begun.certificate)
            self._parts.append(part_of(name, OF_COLUMNS, certificate, chosen))
            self._choices[name] = certificate
            table = begun.coded(lambda domain: encode_frame(domain, self._coding[name]))
            left -= chosen.zcdp_rho
        known = None if table is None else table.domain
        attributes = () if known is None else known.attributes
        codes: dict[str, NDArray[Any]] = {}
        codes |= {} if table is None else {one: table.column(one).astype(np.int32) for one in table.domain}
        for reference in raw.references:
            codes[reference.name] = encode_frame(Domain((reference,)), raw.rows).column(reference.name)
        attributes = (*attributes, *raw.references)
        for (attribute, _), child in zip(found, children, strict=True):
            kin = replace(self._family[child.name], alone=attribute.maximum == 1)
            self._family = self._family.with_table(kin)
            number = encode_table(Domain((attribute,)), {attribute.name: self._numbers[child.name]})
            codes[attribute.name] = number.column(attribute.name).astype(np.int64)
            attributes = (*attributes, attribute)
        times = None
        if attributes:
            domain = replace(known, attributes=attributes) if known else Domain(attributes)
            times = self._set(name, domain, codes)
        if raw.owner:
            self._say(name, times)
        if name in self._learned and raw.order and self._family[name].steps is None:
            self._remarks.append(
                f"{name}: too few rows agreed on what {raw.order!r} holds, so its rows are in order without "
                "it; describe it in a domain"
            )
        return replace(budget, zcdp_rho=left)

    def _number(
        self, name: str, child: str, sampled: NDArray[np.intp], rho: float
    ) -> tuple[NumericAttribute, Fraction]:
        """The bins of a number of rows, and what they cost."""
        least = int(self._raw[child].everybody)

        def count() -> NDArray[np.int64]:
            return np.bincount(classes_of(self._numbers[child][sampled]), minlength=ROW_CLASSES)[least:]

        noisy, spent = self._noisy_counts(name, "number", child, "numbers of rows", count, rho)
        self._parts.append(Spent(name, f"numbers of rows of {child}", "", spent, 0.0))
        classes = np.append(np.zeros(least), noisy.values)
        return number_of_rows(number_name(child), classes, noisy.sigma, least), spent

    def _vote_on_keys(self, raw: Raw, sampled: NDArray[np.intp], rho: float) -> Fraction:
        """Finds out how the keys of a table look; what it costs."""
        step, count = "the form of keys", lambda: count_forms(raw.keys[sampled])
        votes, spent = self._noisy_counts(raw.name, "form", raw.key, step, count, OF_KEYS * rho)
        pattern = pattern_voted(votes, raw.name if raw.columns else raw.key)
        self._family = self._family.with_table(replace(self._family[raw.name], pattern=pattern))
        self._parts.append(Spent(raw.name, step, "", spent, 0.0))
        return spent

    def _are_people(self, name: str) -> bool:
        """Whether all people have a row of a table."""
        raw = self._raw[name]
        return not raw.owner or (raw.everybody and raw.owner == self._family.root.name)

    def _noisy_counts(
        self, name: str, what: str, of: str, step: str, count: Count, rho: float
    ) -> tuple[Noisy, Fraction]:
        """One noisy histogram of rows of a table, and what it cost."""
        parts = [(spending, spending.go_to(rho / self._whole)) for spending in running()]
        counts = PrivateCounts(
            Fraction(rho),
            PrivacyUnit(Adjacency.ADD_REMOVE),
            self._noise.child(what, name, of),
            self._kept[name].part(f"{what} {of} "),
        )
        for spending, before in parts:
            spending.go_to(before)
        noisy = counts.histograms(step, {of: count}, rho)[of]
        if self._are_people(name):
            self._people = NumberOfRows.of_all(noisy).average_with(self._people)
        return noisy, counts.accountant.spent

    def _remark_on_few(self, name: str, people: float, whole: float) -> None:
        """Says that few people have rows of a table below, if what it holds was learned from too few."""
        columns = sum(self.unknown.values())
        asked = self._raw[name].owner and name in self.unknown and not self._asked.anyway
        if asked and not can_be_learned(people, whole, columns):
            self._remarks.append(
                f"{name}: about {max(people, 0.0):,.0f} people have rows of it, too few to learn what its "
                "columns hold: ranges and categories are mostly noise; describe them in a domain"
            )

    def _check_people(self, whole: float) -> None:
        """Refuses to learn columns from too few people, before anything but these is counted."""
        columns = sum(self.unknown.values())
        if columns and not self._asked.anyway:
            spent = f"{FIRST_COUNT:.1%} of the budget went into the number of people."
            check_learnable(self._people.records, whole, columns, spent, of_people=True)

    def _columns_learned(
        self, name: str, held: Table | None, sampled: NDArray[np.intp], budget: Budget, learning: float
    ) -> Begun:
        """What the columns of a table hold, from one row of each person."""
        spec = ReleaseSpec(budget, Adjacency.ADD_REMOVE, TRUSTED.name)
        coded = Domain.coded(dict.fromkeys(self._raw[name].open_columns, 2))
        order = ReleaseOrder(coded, spec, self._asked.mechanism, Workload.wanted(coded, None, None))
        noise, kept = self._noise.child("columns", name), self._kept[name].part("columns ")
        known = self._people if self._are_people(name) else None

        def order_for(found: Domain) -> ReleaseOrder:
            return replace(order, domain=found, workload=Workload.wanted(found, None, None))

        if held is not None:
            return begun_with(held.take(sampled), order_for(held.domain), noise, kept, known)
        raw = self._raw[name]
        rows = raw.rows.iloc[sampled][raw.open_columns].reset_index(drop=True)
        table = raw_table(with_texts(rows, raw.storage))
        with closing(Cells.of(table.source, table.timezones, order=raw.order or "")) as cells:
            begun = begun_without(
                cells,
                table.read,
                order_for,
                self._asked.mechanism.granted,
                Adjacency.ADD_REMOVE,
                budget,
                True,
                noise,
                kept,
                learning,
                known,
            )
        self._learned[name] = begun
        return begun

    def _say(self, name: str, times: NDArray[np.float64] | None) -> None:
        """Puts what the rows of a parent say of those of a table into the parent's."""
        raw = self._raw[name]
        above = self._rows[raw.owner]
        said = {}
        for summary, attribute in self._family.summaries_in_release(name):
            if isinstance(summary, EndOf):
                held = self._rows[name].codes[summary.column]
                said[attribute.name] = summary.codes_from(held, raw.parent, len(above), attribute)
                continue
            cells = summary.of(raw.rows, raw.parent, len(above), times).rename(attribute.name)
            codes = encode_frame(Domain((attribute,)), cells.to_frame()).column(attribute.name)
            said[attribute.name] = codes.astype(np.int64)
        self._rows[raw.owner] = replace(above, codes={**above.codes, **said})
        known = {one.name for one, _ in self._family.summaries_in_release(name)}
        self._remarks += (
            f"{name}: too few rows agreed on what {one.column!r} or the order holds, so that the summary "
            f"{one.name!r} is left out; describe it in a domain"
            for one in raw.summaries
            if one.name not in known
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
            low, high, near = (one if one in known else "" for one in (*raw.within, raw.near))
            steps = Steps(domain[raw.order], bool(low or near), bool(near))
            kin = replace(kin, steps=steps, within=(low, high), near=near)
            begun = beginnings_of(kin, self._raw[raw.owner].rows, raw.parent)
            values = steps.when.within(cells_of(domain, raw.rows, raw.order))
            assert values is not None
            values = np.where(np.isnan(values), steps.units.ends[0], values)
            order = np.lexsort((values, raw.parent))
            values, codes = values[order], {one: held[order] for one, held in codes.items()}
            self._put_in_order(name, order)
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
            left = Domain(rest, domain.unmodelled, domain.rules) if rest or domain.unmodelled else None
            kin = replace(kin, domain=left, ends=ends, follows=self._follows.get(name, ()))
            times = values - begun if begun is not None else values
        else:
            kin = replace(kin, domain=domain)
        kin = replace(kin, series=self._series(raw, domain), **self._courses(raw, domain))
        self._family = self._family.with_table(kin)
        size = len(self._raw[raw.owner].parent) if raw.owner else len(raw.parent)
        held = {one.name for one in (*self._family.own(name), *self._family.counted_attributes(name))}
        self._rows[name] = Rows(
            {column: one.astype(np.int32) for column, one in codes.items() if column in held},
            raw.parent,
            size,
        )
        return times

    def _put_in_order(self, name: str, places: NDArray[np.intp]) -> None:
        """Puts the rows of a table at these places, and those of the tables below with their parents.

        Before columns are learned, dates that may be meant in several ways are in an order that is none.
        """
        if np.array_equal(places, np.arange(len(places))):
            return
        raw = self._raw[name]
        rows, keys = raw.rows.iloc[places].reset_index(drop=True), raw.keys
        keys = keys[places] if len(keys) else keys
        self._raw[name] = replace(raw, rows=rows, parent=raw.parent[places], keys=keys)
        self._coding[name] = self._coding[name].iloc[places].reset_index(drop=True)
        if name in self._given:
            self._given[name] = self._given[name].take(places)
        position = np.argsort(places)
        for child in (one.name for one in self._family.children(name)):
            self._numbers[child] = self._numbers[child][places]
            parent = position[self._raw[child].parent]
            self._raw[child] = replace(self._raw[child], parent=parent)
            self._put_in_order(child, np.argsort(parent, kind="stable"))

    def _series(self, raw: Raw, domain: Domain) -> str:
        """The column that says which rows are one series; empty if no release holds one of categories."""
        if not raw.series or (raw.series in domain.names and bins_of(domain[raw.series]) is None):
            return raw.series
        self._remarks.append(
            f"{raw.name}: too few rows agreed on categories of {raw.series!r}, so that a row knows the one "
            "before it whatever its series; describe it in a domain"
        )
        return ""

    def _courses(self, raw: Raw, domain: Domain) -> dict[str, Any]:
        """The columns that rise or have each value once; of learned ones those of which that can be said.

        Nobody knows the order of categories that are learned.
        """
        held = {one.name: one for one in domain.attributes}
        known = raw.name in self._asked.domains
        once = [one for one in raw.once if known or one == raw.order or can_be_once(held.get(one))]
        rising = [
            one for one in raw.rising if known or (can_rise(held.get(one)) and not can_be_once(held.get(one)))
        ]
        same = [one for one in raw.same if known or can_rise(held.get(one))]
        self._remarks += (
            f"{raw.name}: too few rows agreed on what {one!r} holds, so that it need not {said}; describe it "
            "in a domain"
            for said, stated, kept in (
                ("be the same", raw.same, same),
                ("rise", raw.rising, rising),
                ("be there once", raw.once, once),
            )
            for one in stated
            if one not in kept
        )
        return {"same": tuple(same), "rising": tuple(rising), "once": tuple(once)}

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
            domain, self._ends[name], self._follows[name], self._coding[name] = with_ends(
                self._raw[name], domain
            )
        return encode_frame(domain, self._coding[name])

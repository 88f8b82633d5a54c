"""The rows of one period of people who are released again and again, and what is known of them before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute, Category
from ...common.data.attributes.dates import BinnedTimes, bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.binning.scale import Scale
from ...common.data.domain import Domain
from ...common.data.related.steps import NONE, Steps, place_names
from ...common.errors import DataError
from ...curator.people.groups import column_of_groups, groups_by_mass
from ...curator.people.shape import number_name, numbers_on, together
from ...curator.results.raw_frames import encode_frame
from ..related.frames import ROWS
from ..related.keyed import PEOPLE
from ..related.tables import Raw

NEW = "new"
_KNOWN = (NEW, "in the period before", "one period earlier", "longer ago")


@dataclass(frozen=True)
class Period:
    """The time whose rows a release has.

    Attributes:
        steps: the scale of the order, over all periods.
        start: rows after this are in it; -inf of the first release.
        end: rows up to this are in it.
    """

    steps: Steps
    start: float
    end: float

    def of(self, order: pd.Series) -> NDArray[np.float64]:
        """Rows on the scale of the order, shape (N,).

        Raises:
            DataError: a row has no number or date there.
        """
        found = numbers_on(self.steps, order, np.nan)
        if np.isnan(found).any():
            raise DataError(
                f"order {str(order.name)!r}: expected what its domain says in every row, found another; fix "
                "the rows or the domain"
            )
        return found

    @property
    def low(self) -> float:
        """The least value that a row can have."""
        return max(self.start + self.steps.unit, self.steps.units.ends[0])

    @property
    def order(self) -> Attribute | None:
        """The column of the order within the period; None if it can have one value alone."""
        if self.low >= self.end:
            return None
        units = self.steps.units
        bins = min(int((self.end - self.low) / self.steps.unit) + 1, len(units.cells))
        inside: NumericAttribute = replace(
            units, minimum=self.low, maximum=self.end, bins=bins, edges=(), atoms=(), scale=Scale.LINEAR
        )
        when = self.steps.when
        return replace(when, units=inside) if isinstance(when, BinnedTimes) else inside

    def long_before(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """How long before the period rows are, as the code of `known`, shape (N,)."""
        periods = np.floor((self.start - values) / (self.end - self.start))
        return np.clip(periods, 0, len(_KNOWN) - 2).astype(np.int64) + 1


@dataclass(frozen=True, eq=False)
class Before:
    """What is known of people before a period.

    Attributes:
        attributes: how long ago their last row is, and what it holds.
        names: of the columns of rows -> those of what the last one holds.
        groups: of these columns, the group of each code.
    """

    attributes: tuple[CategoricalAttribute, ...]
    names: dict[str, str]
    groups: dict[str, NDArray[np.int64]]

    @classmethod
    def of(cls, rows: Domain, taken: Sequence[str], past: pd.DataFrame) -> Before:
        """What rows know of the last one before the period.

        Args:
            rows: domain of the columns of rows.
            taken: names of other columns of people.
            past: the last published row of each synthetic person, whose codes make the groups.
        """
        used = {*taken, *rows.names}
        codes = encode_frame(rows, past)
        known = CategoricalAttribute(_free("known", used), _KNOWN)
        attributes, names, groups = [known], {}, {}
        for one in rows.attributes:
            bins = bins_of(one)
            mass = np.bincount(codes.column(one.name), minlength=one.size).astype(np.float64)
            ordered = bins is not None
            found = groups_by_mass(mass, ordered, bins.nullable if bins else False)
            held = tuple(range(one.size)) if found is None else found
            names[one.name] = _free(f"last_{one.name}", used)
            groups[one.name] = np.array(held)
            attributes.append(column_of_groups(one, held, names[one.name], NONE))
        return cls(tuple(attributes), names, groups)

    @property
    def domain(self) -> Domain:
        """The columns, with the rule that new people alone have no row before."""
        listed: list[tuple[Attribute, list[Category]]] = [
            (one, [NEW if place == 0 else NONE]) for place, one in enumerate(self.attributes)
        ]
        return Domain(self.attributes, rules=tuple(together(listed)))

    def codes(
        self, rows: Domain, last: pd.DataFrame, places: NDArray[np.intp], known: NDArray[np.int64]
    ) -> dict[str, NDArray[np.int64]]:
        """The codes of people.

        Args:
            rows: domain of the columns of rows.
            last: the last rows before the period.
            places: the person of each of them.
            known: code of how long ago, of each person; 0 if there is no row.
        """
        found = {self.attributes[0].name: known}
        held = encode_frame(rows, last)
        for (source, name), one in zip(self.names.items(), self.attributes[1:], strict=True):
            found[name] = np.full(len(known), one.size - 1, dtype=np.int64)
            found[name][places] = self.groups[source][held.column(source)]
        return found

    def texts(self, codes: dict[str, NDArray[np.int64]]) -> dict[str, pd.Categorical]:
        """The same as cells of a table."""
        return {
            one.name: pd.Categorical.from_codes(codes[one.name], list(one.categories))
            for one in self.attributes
        }


def rows_in(tables: Sequence[Raw], period: Period) -> tuple[Raw, ...]:
    """The people who have rows up to the end of a first period, and these rows."""
    people, rows = tables
    kept = period.of(rows.rows[rows.order]) <= period.end
    return _take(people, rows, kept, np.unique(rows.parent[kept]), period)


def rows_after(tables: Sequence[Raw], period: Period, domain: Domain, before: Before) -> tuple[Raw, ...]:
    """All people who have rows up to the end of a period, and their rows in it.

    Of earlier rows the last one of each person is looked at, for what people are before the period.

    Args:
        tables: people and their rows.
        period: the period.
        domain: of the columns of rows but the order.
        before: what is known of people.
    """
    people, rows = tables
    values = period.of(rows.rows[rows.order])
    earlier = np.flatnonzero(values <= period.start)
    kept = (values > period.start) & (values <= period.end)
    who = np.union1d(rows.parent[earlier], rows.parent[kept])
    last = earlier[np.append(rows.parent[earlier][1:] != rows.parent[earlier][:-1], True)[: len(earlier)]]
    places = np.searchsorted(who, rows.parent[last])
    known = np.zeros(len(who), dtype=np.int64)
    known[places] = period.long_before(values[last])
    codes = before.codes(domain, rows.rows.iloc[last], places, known)
    people, rows = _take(people, rows, kept, who, period)
    more = pd.DataFrame(before.texts(codes))
    people = replace(people, rows=pd.concat([people.rows, more], axis=1), pairs=_pairs(people, rows, before))
    transitions = [(one, f"{PEOPLE}.{before.names[two[len('previous ') :]]}") for one, two in _previous(rows)]
    pairs = (*rows.pairs, *transitions) if rows.pairs else ()
    return people, replace(rows, pairs=pairs, everybody=False)


def domains_in(domains: dict[str, Domain], period: Period, before: Before | None) -> dict[str, Domain]:
    """The domains of people and of their rows in a period.

    Args:
        domains: those over all periods.
        period: the period.
        before: what is known of people before it; None in the first release.
    """
    rows, people = domains[ROWS], domains.get(PEOPLE)
    when = period.order
    attributes = [when if one.name == period.steps.when.name else one for one in rows.attributes]
    found = {ROWS: replace(rows, attributes=tuple(one for one in attributes if one is not None))}
    if people is not None:
        found[PEOPLE] = people
    if before is not None:
        own = () if people is None else people.attributes
        found[PEOPLE] = Domain((*own, *before.attributes), rules=before.domain.rules)
    return found


def _take(
    people: Raw, rows: Raw, kept: NDArray[np.bool_], who: NDArray[np.int64], period: Period
) -> tuple[Raw, Raw]:
    """Some people, and some of their rows, without an order that has one value."""
    order = str(rows.order)
    held = rows.rows[kept].reset_index(drop=True)
    one_value = period.order is None
    some = replace(
        rows,
        rows=held.drop(columns=order) if one_value else held,
        parent=np.searchsorted(who, rows.parent[kept]).astype(np.int64),
        order="" if one_value else order,
    )
    return replace(
        people, rows=people.rows.iloc[who].reset_index(drop=True), parent=np.arange(len(who))
    ), some


def _pairs(people: Raw, rows: Raw, before: Before) -> tuple[tuple[str, str], ...]:
    """The pairs of people that are not known from earlier releases."""
    own, known = list(map(str, people.rows.columns)), before.attributes[0].name
    below = [number_name(rows.name), *(place_names(rows.order, rows.name) if rows.order else ())]
    drawn = [(one, other) for one in below for other in (*own, *(x.name for x in before.attributes))]
    inside = [(one, other) for place, one in enumerate(own) for other in own[:place]]
    between = [(one, other) for place, one in enumerate(below) for other in below[:place]]
    return (*drawn, *between, *inside, *((one, known) for one in own))


def _previous(rows: Raw) -> list[tuple[str, str]]:
    """The pairs that were asked for of a column with one of the row before, the latter last."""
    both = [(one, two) for pair in rows.pairs for one, two in (pair, pair[::-1])]
    return [(one, two) for one, two in both if two.startswith("previous ")]


def _free(wanted: str, used: set[str]) -> str:
    while wanted in used:
        wanted += "_"
    used.add(wanted)
    return wanted


def domain_of_rows(rows: Domain, order: str) -> Domain:
    """The columns of rows but the order.

    Raises:
        DataError: the domain does not say what periods need.
    """
    own: tuple[Any, ...] = tuple(one for one in rows.attributes if one.name != order)
    if not own:
        raise DataError(
            "expected a column beside key, order and those of per_person, got none; a release that others "
            "continue needs one"
        )
    if rows.open:
        raise DataError(
            f"domain: expected no open attribute in releases that share a promise, got {rows.open[0]!r}; "
            "name its bins or categories"
        )
    about = [rule for rule in rows.rules if order in rule.columns]
    if about:
        raise DataError(
            f"domain: expected no rule about the order {order!r} in releases that share a promise, got one; "
            "take it out"
        )
    return Domain(own, rules=rows.rules)

"""How far a release of related tables is from the real ones, in everything that binds rows together.

It reads the real rows: not for publication.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.rules.breaking import broken
from ...common.data.values import text_of
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.people.release import PeopleRelease
from ...curator.people.shape import Family, Kin, bounds_of, numbers_on
from ...curator.people.summaries import Summary, TimeTo
from ...curator.results.keys import keys_as_texts
from ...curator.results.raw_frames import cells_of
from .metrics import PRIVATE
from .related import ChildEvaluation, PairDistance, evaluate, pairs_within
from .survival import Curve, curve, distance

_EVENTS = 10
"""Values of a column, the most frequent ones, of which the time to the first is compared."""

_NOT_SEEN = ("", "0", "false", "no")
"""Of a status: nothing has happened."""

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Survival:
    """A time to an event.

    Attributes:
        table: whose rows are followed.
        event: what happens, in words.
        events: to how many real and synthetic rows it happened.
        distance: of the curves of Kaplan and Meier (`survival.distance`).
        curves: the real one and the synthetic one.
    """

    table: str
    event: str
    events: tuple[int, int]
    distance: float
    curves: tuple[Curve, Curve] = field(repr=False)


@dataclass(frozen=True)
class RuleShares:
    """A rule, and the shares of rows that break it.

    Attributes:
        table: the table.
        rule: in words.
        real: share of the real rows, in 0..1.
        synthetic: share of the synthetic ones.
    """

    table: str
    rule: str
    real: float
    synthetic: float


@dataclass(frozen=True)
class PeopleEvaluation:
    """A release of related tables compared with the real ones.

    Attributes:
        rows: for each table, numbers of rows of the real and of the synthetic one.
        people: pairs of columns of the table of people.
        children: the distances of each table that belongs to another one.
        survival: times to events.
        rules: what rows should keep to.
    """

    rows: Mapping[str, tuple[int, int]]
    people: tuple[PairDistance, ...]
    children: Mapping[str, ChildEvaluation]
    survival: tuple[Survival, ...]
    rules: tuple[RuleShares, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "private": PRIVATE,
            "rows": {name: {"real": one, "synthetic": other} for name, (one, other) in self.rows.items()},
            "people": [asdict(pair) for pair in self.people],
            "children": {name: asdict(found) for name, found in self.children.items()},
            "survival": [
                {
                    "table": one.table,
                    "event": one.event,
                    "events": {"real": one.events[0], "synthetic": one.events[1]},
                    "distance": one.distance,
                }
                for one in self.survival
            ],
            "rules": [asdict(one) for one in self.rules],
        }


def evaluate_people(
    real: Mapping[str, pd.DataFrame],
    release: PeopleRelease,
    follow: tuple[str, str, str] | None = None,
) -> PeopleEvaluation:
    """Compares a release of related tables with the real ones.

    Args:
        real: the tables, by name.
        release: a release of them.
        follow: columns of the table of people: up to when each was followed, whether it happened then, and
            one by whose values curves are apart, or "" for none.

    Raises:
        DataError: a table or a column is missing, or a real value has no code in the release's domain.
    """
    family = release.family
    names = [table.name for table in family.tables if table.columns]
    if lacking := [name for name in names if name not in real]:
        raise DataError(f"expected the table {lacking[0]!r} among the real ones, found none; add it")
    sides = Side.of(family, real), Side.of(family, release.frames)
    root = family.root.name
    followed = () if follow is None else tuple(_curves_of_people(root, sides, follow))
    return PeopleEvaluation(
        {name: (len(sides[0].frames[name]), len(sides[1].frames[name])) for name in names},
        pairs_within(sides[0].compared(root), sides[1].compared(root)),
        _children(family, sides),
        (*followed, *_survival(family, sides)),
        tuple(_rules(family, sides)),
    )


def _children(family: Family, sides: tuple[Side, Side]) -> dict[str, ChildEvaluation]:
    below = family.tables[1:]
    relations = {one.name: {one.foreign: f"{one.parent}.{family[one.parent].key}"} for one in below}
    order = {one.name: one.steps.when.name if one.steps else True for one in below if one.ordered}
    real, synthetic = (side.with_keys for side in sides)
    return evaluate(real, synthetic, relations, order)


@dataclass(frozen=True, eq=False)
class Side:
    """The real tables, or the synthetic ones.

    Attributes:
        family: what they are.
        frames: by name, with texts as keys; people that are not released stand apart from their rows.
    """

    family: Family
    frames: Mapping[str, pd.DataFrame]

    @classmethod
    def of(cls, family: Family, tables: Mapping[str, pd.DataFrame]) -> Side:
        """Tables, of which parents need not say anything of their rows yet.

        Raises:
            DataError: a column is missing, or a key of a parent stands twice.
        """
        found: dict[str, pd.DataFrame] = {}
        for table in reversed(family.tables):
            rows = tables[table.name] if table.columns else found.pop(table.name)
            said = {
                one.name
                for child in family.children(table.name)
                for one, _ in family.summaries_in_release(child.name)
            }
            names = [one.name for one in family.shown_attributes(table.name) if one.name not in said]
            keys = [key for key in (table.key, table.foreign) if key]
            if lacking := [name for name in (*keys, *names) if name not in rows.columns]:
                raise DataError(
                    f"{table.name}: expected the column {lacking[0]!r}, found none"
                    f"{hint(lacking[0], map(str, rows.columns))}; fix the table"
                )
            if table.parent and not family[table.parent].columns:
                people = rows.drop_duplicates(table.foreign)
                found[table.parent] = people.rename(columns={table.foreign: family[table.parent].key})
            rows = rows[[*keys, *names, *(one for one in said if one in rows.columns)]].reset_index(drop=True)
            found[table.name] = rows.assign(**{key: keys_as_texts(rows[key]) for key in keys})
            if table.key and not found[table.name][table.key].is_unique:
                raise DataError(f"{table.name}: expected each key once, found one twice; drop such rows")
        side = cls(family, found)
        for table in family.tables[1:]:
            for summary, _ in family.summaries_in_release(table.name):
                if summary.name not in found[table.parent].columns and family[table.parent].columns:
                    said_of = side.says(table, summary).to_numpy()
                    found[table.parent] = found[table.parent].assign(**{summary.name: said_of})
        return side

    def line(self, table: Kin) -> Line:
        """The rows of a table, those of one parent beside each other."""
        rows, parents = self.frames[table.name], self.frames[table.parent]
        parent = pd.Index(parents[self.family[table.parent].key]).get_indexer(pd.Index(rows[table.foreign]))
        values = (
            np.zeros(len(rows)) if table.steps is None else self._values(table.name, table.steps.when.name)
        )
        at = np.flatnonzero(parent >= 0)
        at = at[np.lexsort((values[at], parent[at]))]
        parent, values = parent[at].astype(np.int64), values[at]
        low, high = bounds_of(table, parents, parent)
        return Line(rows.iloc[at], parent, values, low, high)

    def says(self, table: Kin, summary: Summary) -> pd.Series:
        """What the rows of a table are, as their parents say it."""
        line = self.line(table)
        return summary.of(line.rows, line.parent, len(self.frames[table.parent]), line.times)

    def compared(self, name: str) -> pd.DataFrame:
        """The columns of a table but keys: numbers on the scale of their column, others as texts."""
        rows, shown = self.frames[name], self.family.shown_attributes(name)
        if not shown:
            return pd.DataFrame(index=rows.index)
        domain = Domain(shown)
        return pd.DataFrame({one: _comparable(rows, domain, one) for one in domain}, index=rows.index)

    @cached_property
    def with_keys(self) -> dict[str, pd.DataFrame]:
        """All tables with keys, and columns as `compared`."""
        found = {}
        for table in self.family.tables:
            keys = [key for key in (table.key, table.foreign) if key]
            found[table.name] = self.frames[table.name][keys].join(self.compared(table.name))
        return found

    def _values(self, name: str, order: str) -> Numbers:
        """Where the rows of a table are on the scale of their order, shape (N,)."""
        domain = Domain(self.family.shown_attributes(name))
        found = domain[order].within(cells_of(domain, self.frames[name], order))
        assert found is not None
        return np.where(np.isfinite(found), found, np.nanmin(found, initial=np.inf))


@dataclass(frozen=True, eq=False)
class Line:
    """Rows of a table that have a parent, those of one parent beside each other, in order.

    Attributes:
        rows: the rows.
        parent: row of the parent of each, never decreasing, shape (N,).
        values: where they are on the scale of their order, shape (N,).
        low: the beginning of their parent, if it is known, shape (N,).
        high: its end, if it is known, shape (N,).
    """

    rows: pd.DataFrame
    parent: Places
    values: Numbers
    low: Numbers | None
    high: Numbers | None

    @property
    def times(self) -> Numbers:
        """Where they are from the beginning of their parent on, shape (N,)."""
        return self.values if self.low is None else self.values - self.low


def _comparable(rows: pd.DataFrame, domain: Domain, name: str) -> NDArray[Any]:
    attribute, cells = domain[name], cells_of(domain, rows, name)
    numbers = attribute.within(cells)
    if numbers is not None:
        return numbers
    values = attribute.decode(np.arange(attribute.size), np.random.default_rng(0))
    texts = np.array([text_of(value) or None for value in values.tolist()], dtype=object)
    return texts[attribute.encode(cells)]


def _survival(family: Family, sides: tuple[Side, Side]) -> Iterator[Survival]:
    """The times to the first row with a value, from the beginning of the parent on."""
    for table in family.tables[1:]:
        if table.steps is None:
            continue
        lines = [side.line(table) for side in sides]
        sizes = [len(side.frames[table.parent]) for side in sides]
        ends = [_ends(line, size) for line, size in zip(lines, sizes, strict=True)]
        for event in _events(family, table, lines[0]):
            curves = []
            for line, size, end in zip(lines, sizes, ends, strict=True):
                first = event.of(line.rows, line.parent, size, line.times).to_numpy()
                seen = first <= end
                curves.append(curve(np.where(seen, first, end), seen))
            yield _between(table.parent, f"{table.name}: {event.name}", curves)


def _ends(line: Line, parents: int) -> Numbers:
    """Up to when each parent is followed: to its end, or its last row; NaN without a row."""
    found = np.full(parents, np.nan)
    if len(line.parent):
        last = line.values if line.high is None else line.high
        found[line.parent] = last if line.low is None else last - line.low
    return found


def _events(family: Family, table: Kin, real: Line) -> Iterator[TimeTo]:
    """What is waited for: what a parent says of its rows, and each frequent value of a column."""
    yield from (one for one, _ in family.summaries_in_release(table.name) if isinstance(one, TimeTo))
    for attribute in family.shown_attributes(table.name):
        if isinstance(attribute, CategoricalAttribute):
            cells = _comparable(real.rows, Domain((attribute,)), attribute.name)
            counts = pd.Series(cells).value_counts()
            for value in counts.index[:_EVENTS]:
                yield TimeTo(f"{attribute.name} {value}", attribute.name, (str(value),))


def _curves_of_people(
    root: str, sides: tuple[Side, Side], follow: tuple[str, str, str]
) -> Iterator[Survival]:
    """Times and states that people have themselves."""
    until, state, by = follow
    frames = [side.compared(root) for side in sides]
    for name in filter(None, follow):
        if name not in frames[0]:
            known = list(map(str, frames[0].columns))
            raise DataError(f"follow: expected a column of {root!r}, got {name!r}{hint(name, known)}; fix it")
    if not pd.api.types.is_numeric_dtype(frames[0][until]):
        raise DataError(f"follow: expected a column of numbers or dates, got {until!r}; name another")
    groups = [None] if not by else frames[0][by].value_counts().index[:_EVENTS].tolist()
    for group in groups:
        curves = []
        for rows in frames:
            some = rows if group is None else rows[rows[by] == group]
            seen = ~some[state].map(text_of).str.casefold().isin(_NOT_SEEN).to_numpy()
            curves.append(curve(some[until].to_numpy(np.float64), seen))
        apart = "" if group is None else f", {by} {text_of(group)}"
        yield _between(root, f"{state} by {until}{apart}", curves)


def _between(table: str, event: str, curves: list[Curve]) -> Survival:
    real, synthetic = curves
    return Survival(
        table, event, (real.events, synthetic.events), distance(real, synthetic), (real, synthetic)
    )


def _rules(family: Family, sides: tuple[Side, Side]) -> Iterator[RuleShares]:
    for table in family.tables:
        if table.domain is not None:
            for place, rule in enumerate(table.domain.rules):
                shares = [_share(_broken(table.domain, side.frames[table.name])[place]) for side in sides]
                yield RuleShares(table.name, json.dumps(rule.to_json()), *shares)
    for table in family.tables[1:]:
        lines = [side.line(table) for side in sides]
        for name, outside in zip(table.within, ("before", "after"), strict=True):
            if name and table.steps is not None:
                shares = [_share(_outside(line, outside)) for line in lines]
                yield RuleShares(table.name, f"{table.steps.when.name} {outside} {name}", *shares)
        for end in table.ends:
            for bound in filter(None, (table.steps and table.steps.when.name, table.within[1])):
                where = "after" if bound == table.within[1] else "before"
                shares = [_share(_ends_outside(side, table, end, where)) for side in sides]
                yield RuleShares(table.name, f"{end.name} {where} {bound}", *shares)
        for summary, attribute in family.summaries_in_release(table.name):
            if family[table.parent].columns:
                shares = [_share(_differ(side, table, summary, attribute)) for side in sides]
                yield RuleShares(table.parent, f"{summary.name} is not what {table.name} say", *shares)


def _broken(domain: Domain, rows: pd.DataFrame) -> tuple[NDArray[np.bool_], ...]:
    names = {name for rule in domain.rules for name in rule.columns}
    return broken(domain, {name: cells_of(domain, rows, name) for name in names})


def _outside(line: Line, where: str) -> NDArray[np.bool_]:
    bound = line.low if where == "before" else line.high
    if bound is None:
        return np.zeros(len(line.values), dtype=np.bool_)
    return line.values < bound if where == "before" else line.values > bound


def _ends_outside(side: Side, table: Kin, end: Attribute, where: str) -> NDArray[np.bool_]:
    """Which rows end before they begin, or after their parent does."""
    assert table.steps is not None
    line = side.line(table)
    ends = numbers_on(table.steps, line.rows[end.name], np.nan)
    if where == "before":
        return ends < line.values
    return np.zeros(len(ends), dtype=np.bool_) if line.high is None else ends > line.high


def _differ(side: Side, table: Kin, summary: Summary, attribute: Attribute) -> NDArray[np.bool_]:
    domain, named = Domain((attribute,)), pd.DataFrame({attribute.name: side.says(table, summary)})
    held = _comparable(side.frames[table.parent], domain, attribute.name)
    found = _comparable(named, domain, attribute.name)
    same: NDArray[np.bool_] = pd.Series(held).eq(pd.Series(found)).to_numpy() | (
        pd.isna(held) & pd.isna(found)
    )
    return ~same


def _share(rows: NDArray[np.bool_]) -> float:
    return float(rows.mean()) if len(rows) else 0.0

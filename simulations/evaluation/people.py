"""How far a release of related tables is from the real ones, in everything that binds rows together.

It reads the real rows: not for publication.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.rules.breaking import broken
from ...common.data.rules.follows import Follows
from ...common.data.rules.plain import plain
from ...common.data.values import text_of
from ...common.errors import DataError
from ...curator.people.kin import Kin
from ...curator.people.release import PeopleRelease
from ...curator.people.shape import Family, numbers_on
from ...curator.people.summaries import Summary
from ...curator.results.raw_frames import cells_of
from .metrics import PRIVATE
from .people_sides import Line, Side, compared_values
from .people_survival import Survival, times_of_people, times_to_rows
from .related import ChildEvaluation, PairDistance, evaluate, pairs_within


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
                    "in_band": one.in_band,
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
    followed = () if follow is None else tuple(times_of_people(release, sides, follow))
    return PeopleEvaluation(
        {name: (len(sides[0].frames[name]), len(sides[1].frames[name])) for name in names},
        pairs_within(sides[0].compared(root), sides[1].compared(root)),
        _children(family, sides),
        (*followed, *times_to_rows(release, sides)),
        tuple(_rules(family, sides)),
    )


def _children(family: Family, sides: tuple[Side, Side]) -> dict[str, ChildEvaluation]:
    below = family.tables[1:]
    relations = {one.name: {one.foreign: f"{one.parent}.{family[one.parent].key}"} for one in below}
    order = {one.name: one.steps.when.name if one.steps else True for one in below if one.ordered}
    series = {one.name: one.series for one in below if one.series}
    real, synthetic = (side.with_keys for side in sides)
    return evaluate(real, synthetic, relations, order, series)


def _rules(family: Family, sides: tuple[Side, Side]) -> Iterator[RuleShares]:
    for table in family.tables:
        if table.domain is not None:
            for place, rule in enumerate(table.domain.rules):
                shares = [_share(_broken(table, table.domain, side)[place]) for side in sides]
                yield RuleShares(table.name, json.dumps(rule.to_json()), *shares)
        for rule in table.follows:
            shares = [_share(_rows_that_do_not_follow(table, rule, side)) for side in sides]
            yield RuleShares(table.name, json.dumps(rule.to_json()), *shares)
    for table in family.tables[1:]:
        lines = [side.line(table) for side in sides]
        for name, outside in zip(table.within, ("before", "after"), strict=True):
            if name and table.steps is not None:
                shares = [_share(_outside(line, outside)) for line in lines]
                yield RuleShares(table.name, f"{table.steps.when.name} {outside} {name}", *shares)
        for name in table.same:
            shares = [_share(_rows_that_differ(line, table, name)) for line in lines]
            yield RuleShares(table.name, f"{name} is not the same as in the row before", *shares)
        for name in table.rising:
            shares = [_share(_rows_that_fall(line, table, name)) for line in lines]
            yield RuleShares(table.name, f"{name} is less than in the row before", *shares)
        for name in table.once:
            shares = [_share(_rows_that_repeat(line, table, name)) for line in lines]
            yield RuleShares(table.name, f"{name} is in two rows of one of {table.parent!r}", *shares)
        for end in table.ends:
            for bound in filter(None, (table.steps and table.steps.when.name, table.within[1])):
                where = "after" if bound == table.within[1] else "before"
                shares = [_share(_ends_outside(side, table, end, where)) for side in sides]
                yield RuleShares(table.name, f"{end.name} {where} {bound}", *shares)
        for summary, attribute in family.summaries_in_release(table.name):
            if family[table.parent].columns:
                shares = [_share(_differ(side, table, summary, attribute)) for side in sides]
                yield RuleShares(table.parent, f"{summary.name} is not what {table.name} say", *shares)


def _broken(table: Kin, domain: Domain, side: Side) -> tuple[NDArray[np.bool_], ...]:
    """For each rule, which rows of a table break it; of an end rules ask only whether it is missing."""
    rows, ends = side.frames[table.name], {one.name for one in table.ends}
    names = {name for rule in domain.rules for name in rule.columns}
    cells = {name: cells_of(domain, rows, name) for name in names - ends}
    if table.steps is not None:
        cells |= {name: numbers_on(table.steps, rows[name], np.nan) for name in names & ends}
    return broken(domain, cells)


def _rows_that_do_not_follow(table: Kin, rule: Follows, side: Side) -> NDArray[np.bool_]:
    """Which rows have something else in a column than what follows from the order, or what is after it."""
    assert table.domain is not None
    assert table.steps is not None
    known = {one.name: one for one in (*table.domain.attributes, table.steps.when, *table.ends)}
    domain, rows = Domain(tuple(known[name] for name in rule.columns)), side.frames[table.name]
    cells = {name: rows[name].to_numpy(object, na_value=None) for name in rule.columns}
    found, wanted = (
        plain(known[rule.column], one) for one in (cells[rule.column], rule.compute(domain, cells))
    )
    # A missing number is no other than itself.
    differ: NDArray[np.bool_] = (found != wanted) & (found == found)
    return differ


def _outside(line: Line, where: str) -> NDArray[np.bool_]:
    bound = line.low if where == "before" else line.high
    if bound is None:
        return np.zeros(len(line.values), dtype=np.bool_)
    return line.values < bound if where == "before" else line.values > bound


def _rows_that_fall(line: Line, table: Kin, name: str) -> NDArray[np.bool_]:
    """Which rows have less in a column than the row before of their parent."""
    assert table.domain is not None
    held = compared_values(line.rows, (table.domain[name],), name)
    if isinstance(attribute := table.domain[name], CategoricalAttribute):
        places = {text_of(one): place for place, one in enumerate(attribute.categories)}
        held = np.array([places.get(text_of(one), np.nan) for one in held])
    return _after_another(line, np.diff(held.astype(np.float64)) < 0)


def _rows_that_differ(line: Line, table: Kin, name: str) -> NDArray[np.bool_]:
    """Which rows have something else in a column than the row before of their parent."""
    assert table.domain is not None
    held = pd.Series(compared_values(line.rows, (table.domain[name],), name)).astype(str).to_numpy()
    return _after_another(line, held[1:] != held[:-1])


def _after_another(line: Line, later: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows are marked, of those after the first, and have one of their parent before them."""
    return np.append(np.zeros(min(len(line.parent), 1), dtype=np.bool_), later & (np.diff(line.parent) == 0))


def _rows_that_repeat(line: Line, table: Kin, name: str) -> NDArray[np.bool_]:
    """Which rows have in a column what an earlier row of their parent has."""
    held = line.values if table.domain is None or name not in table.domain else line.rows[name].to_numpy()
    found: NDArray[np.bool_] = pd.DataFrame({"parent": line.parent, "held": held}).duplicated().to_numpy()
    return found


def _ends_outside(side: Side, table: Kin, end: Attribute, where: str) -> NDArray[np.bool_]:
    """Which rows end before they begin, or after their parent does."""
    assert table.steps is not None
    line = side.line(table)
    ends = numbers_on(table.steps, line.rows[end.name], np.nan)
    if where == "before":
        return ends < line.values
    return np.zeros(len(ends), dtype=np.bool_) if line.high is None else ends > line.high


def _differ(side: Side, table: Kin, summary: Summary, attribute: Attribute) -> NDArray[np.bool_]:
    named = pd.DataFrame({attribute.name: side.says(table, summary)})
    held = compared_values(side.frames[table.parent], (attribute,), attribute.name)
    found = compared_values(named, (attribute,), attribute.name)
    same: NDArray[np.bool_] = pd.Series(held).eq(pd.Series(found)).to_numpy() | (
        pd.isna(held) & pd.isna(found)
    )
    return ~same


def _share(rows: NDArray[np.bool_]) -> float:
    return float(rows.mean()) if len(rows) else 0.0

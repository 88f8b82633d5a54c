"""What a release of related tables models of each table, from public facts and earlier releases alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.dates import bins_of
from ...common.data.domain import Clique
from ...common.data.workload import Workload
from ...common.errors import BudgetError
from ..analysis.release import Release
from ..measurers.lengths import Lengths
from ..measurers.size import NoisySize, Supposed
from .drawing.numbers import limit_of_equal_counts, shrink_tail
from .drawn import numbers_of
from .groups import groups_by_mass
from .rows import codes_of_first_rows, evened_rows, lengths_rule
from .shape import Column, Family, number_name

_NUMBERS, _NUMBERS_OF_TABLE = 0.02, 0.2
"""Share of the whole budget for the bins of each number of rows, and most of a table's for all of these."""

LEAST_RHO = 2.0**-28
"""Least budget of a table; with less, noise would have a scale that its grid of parts cannot hold."""

_DRAWN = 20_000
"""Numbers of rows that are drawn from their distribution."""

_PEOPLE_DRAWN = 4_000
"""People whose rows further below are drawn so."""

_GUESS = 0.2
"""Relative deviation of a number of records that follows from released numbers of rows."""

_OF_PARENTS = 0.1
"""Least share of the budget of the tables that others belong to, all of them together."""

_ALONE_WEIGHT = 0.5
"""Weight of a column that is counted alone, for each column that it would make a pair with."""

_ASKED_OF_PEOPLE = 0.5
"""Weight in the division of the budget of a pair of people, if theirs are named: they have few cells."""

_OF_BELOW = 3.0
"""Weight of pairs with what a row says of those below it: their number, and summaries."""

_FOLLOWING = 3.0
"""Weight of the pair of a column with that of the row before, if no pairs were named."""


def check_noise_is_small(zcdp_rho: float) -> None:
    """Refuses a budget of a table under which noise is all that there is.

    Raises:
        BudgetError: it is below `LEAST_RHO`.
    """
    if zcdp_rho < LEAST_RHO:
        raise BudgetError(
            "expected a budget under which single people are not all that noise hides, got less than 2^-28 "
            "zCDP for a table; raise epsilon"
        )


def numbers_rho(whole: float, of_table: float, children: int) -> float:
    """What the bins of each number of rows of a table may cost, zCDP.

    Args:
        whole: budget of all tables.
        of_table: budget of the table.
        children: number of tables that belong to it.
    """
    return min(_NUMBERS * whole, _NUMBERS_OF_TABLE * of_table / max(1, children))


def shares_of(
    family: Family, columns: Callable[[str], Sequence[str]], of_people: int = 0
) -> dict[str, float]:
    """The part of the budget of each table: as the number of pairs that say something of its rows.

    Tables that others belong to have a least share each, however many columns those have: how many people
    there are, how many rows each has and when follows from their few pairs alone.

    Args:
        family: the tables.
        columns: the columns of a table's records that are its own.
        of_people: number of pairs that the release of people is asked for; 0 for all of them.
    """
    pairs = {}
    for table in family.tables:
        own = len(columns(table.name))
        above = sum(len(columns(one.name)) for one in family.above(table.name))
        before = own if table.parent else 0
        pairs[table.name] = own * (own - 1) / 2 + own * (above + before) + own
    if of_people:
        pairs[family.root.name] = _ASKED_OF_PEOPLE * of_people
    shares = {name: number / sum(pairs.values()) for name, number in pairs.items()}
    parents = [table.name for table in family.tables if family.children(table.name)]
    short = [name for name in parents if shares[name] < _OF_PARENTS / len(parents)]
    least = dict.fromkeys(short, _OF_PARENTS / max(len(parents), 1))
    others = sum(share for name, share in shares.items() if name not in least)
    rest = 1 - sum(least.values())
    return {name: least.get(name, share / others * rest) for name, share in shares.items()}


def workload_of(family: Family, name: str, pairs: Sequence[tuple[str, str]] = ()) -> Workload:
    """The pairs that were asked for, or all of which one column at least is drawn.

    Args:
        family: the tables.
        name: the table.
        pairs: see `with_pairs`; those of columns that the release does not hold are left out.
    """
    columns = [column for column in family.columns(name) if column.attribute.size > 1]
    own = family.drawn_columns(name)
    names = [column.attribute.name for column in columns]
    said = (one.name for child in family.children(name) for _, one in family.summaries_in_release(child.name))
    below = {*family.numbers(name), *said}
    cliques: tuple[Clique, ...] = tuple(
        pair for pair in itertools.combinations(names, 2) if own.intersection(pair)
    )
    if pairs:
        called = [(_called(family, column, name), column.attribute.name) for column in columns]
        called += [(one.name, one.name) for one in family.counted_attributes(name)]
        asked = [{one for user, one in called if user in pair} for pair in pairs]
        # What a row says of those below binds tables, whatever was asked for.
        cliques = tuple(
            pair
            for pair in (*cliques, *_pairs_with_times(family, name))
            if below.intersection(pair) or any(one.issuperset(pair) for one in asked)
        )
    marginals: tuple[Clique, ...] = cliques or tuple((one,) for one in sorted(own))
    following = frozenset() if pairs else _following(family, name, columns)
    weighted = [
        _OF_BELOW if below.intersection(one) else _FOLLOWING if one in following else 1.0 for one in marginals
    ]
    # What is counted alone is as important as a column that is in pairs.
    alone = tuple((one.name,) for one in family.counted_attributes(name))
    number = len(names) * len(cliques) / max(math.comb(len(names), 2), 1) if pairs else len(names)
    return Workload((*marginals, *alone), (*weighted, *(_ALONE_WEIGHT * number for _ in alone)))


def _following(family: Family, name: str, columns: Sequence[Column]) -> frozenset[Clique]:
    """The pairs of a column of a table with that of the row before; not of the order."""
    shown = {one.name for one in family.shown_attributes(name)}
    rows = [column for column in columns if column.table == name and column.source in shown]
    own = {column.source: column.attribute.name for column in rows if not column.before}
    before = {column.source: column.attribute.name for column in rows if column.before}
    return frozenset((before[source], own[source]) for source in before.keys() & own.keys())


def _pairs_with_times(family: Family, name: str) -> tuple[Clique, ...]:
    """The pairs of the value of the order and each column of a table: only for those who name them."""
    table = family[name]
    if table.steps is None or table.domain is None:
        return ()
    own = (one.name for one in table.domain.attributes if one.size > 1)
    return tuple((one, table.steps.when.name) for one in own if one not in family.numbers(name))


def _called(family: Family, column: Column, name: str) -> str:
    """The name of a column of records as users call it; see `with_pairs`."""
    steps = family[column.table].steps
    of_order = steps is not None and column.source == steps.attribute.name
    source = steps.when.name if steps is not None and of_order else column.source
    if column.before:
        return f"previous {source}"
    return source if column.table == name else f"{column.table}.{source}"


def with_even_numbers(
    family: Family, name: str, releases: Mapping[str, Release], stream: RandomStream
) -> tuple[Family, Supposed]:
    """The tables with how many rows of a parent count evenly in one, and what records that makes.

    Both follow from the released distributions of numbers of rows.
    """
    rng = stream.child("evened", name).generator()
    numbers = _numbers_drawn(family, name, releases, _DRAWN, rng)
    known = family.with_table(replace(family[name], evened=limit_of_equal_counts(numbers)))
    root, rule = family.root.name, lengths_rule(known, name)
    of_people = numbers if family[name].parent == root else _of_people(family, name, releases, rng)
    people = float(np.maximum(releases[root].model.marginal(()), 0).sum())
    records = max(1.0, people * float(np.minimum(1, of_people / evened_rows(known, name)).mean()))
    size = NoisySize(records, (_GUESS * records) ** 2)
    lengths = None if rule is None else Lengths(rule, of_people, codes_of_first_rows(known, name))
    return known, Supposed(size, lengths)


def _numbers_drawn(
    family: Family, name: str, releases: Mapping[str, Release], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many rows of a table so many parents have, drawn from the released distribution."""
    parent, column = family[name].parent, number_name(name)
    mass = np.maximum(releases[parent].model.marginal((column,)), 0)
    codes = rng.choice(len(mass), size, p=mass / mass.sum())
    return numbers_of(family, name, shrink_tail(codes, column, releases[parent], rng), rng)


def _of_people(
    family: Family, name: str, releases: Mapping[str, Release], rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many rows of a table people have, as if rows of a person were of people drawn at random."""
    path = [*(one.name for one in family.above(name)[1:]), name]
    found = np.ones(_PEOPLE_DRAWN, dtype=np.int64)
    for table in path:
        person = np.repeat(np.arange(_PEOPLE_DRAWN), found)
        numbers = _numbers_drawn(family, table, releases, len(person), rng)
        found = np.bincount(person, numbers, _PEOPLE_DRAWN).astype(np.int64)
    return found


def with_groups(family: Family, name: str, release: Release) -> Family:
    """The tables with groups of a table's columns as those below know them: public, by its released model."""
    found = {}
    for attribute in family.own(name):
        if family.children(name) and attribute.name not in family.numbers(name):
            ordered, bins = family.has_order(name, attribute), bins_of(attribute)
            mass = np.maximum(release.model.marginal((attribute.name,)), 0)
            groups = groups_by_mass(mass, ordered, bins.others if bins else int(ordered))
            if groups is not None:
                found[attribute.name] = groups
    return family.with_table(replace(family[name], groups=found))

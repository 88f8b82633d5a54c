"""What a release of related tables models of each table, from public facts and earlier releases alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.dates import bins_of
from ...common.data.domain import Clique
from ...common.data.related.rows import Rows
from ...common.data.workload import Workload
from ...common.privacy.cost import PARTS
from ..analysis.release import Release
from .groups import groups_by_mass
from .numbers import seen
from .quantiles import with_quantiles
from .release import numbers_of
from .rows import weights
from .shape import Family, number_name, numbers_on
from .tables import frames

NUMBERS, NUMBERS_OF_TABLE = 0.02, 0.2
"""Share of the whole budget for the bins of each number of rows, and at most so much of the table's."""

LEAST_RHO = 2.0**-28
"""Least budget of a table; with less, noise would have a scale that its grid of parts cannot hold."""

_DRAWN = 20_000
"""Numbers of rows that are drawn from their distribution."""

_COUNTED = 0.5
"""Weight of a column that is counted alone, for each column that it would make a pair with."""

_OF_BELOW = 3.0
"""Weight of pairs with what a row says of those below it: their number, and summaries."""


def shares_of(family: Family, columns: Callable[[str], Sequence[str]]) -> dict[str, float]:
    """The part of the budget of each table: as the number of pairs that say something of its rows.

    Args:
        family: the tables.
        columns: the columns of a table's records that are its own.
    """
    pairs = {}
    for table in family.tables:
        own = len(columns(table.name))
        above = sum(len(columns(one.name)) for one in family.above(table.name))
        before = own if table.parent else 0
        pairs[table.name] = own * (own - 1) / 2 + own * (above + before) + own
    return {name: number / sum(pairs.values()) for name, number in pairs.items()}


def workload_of(family: Family, name: str) -> Workload:
    """The pairs of which one column at least is drawn."""
    columns = family.columns(name)
    own = family.drawn(name)
    names = [column.attribute.name for column in columns if column.attribute.size > 1]
    cliques = tuple(pair for pair in itertools.combinations(names, 2) if own.intersection(pair))
    asked: tuple[Clique, ...] = cliques or tuple((one,) for one in sorted(own))
    said = (one.name for child in family.children(name) for _, one in family.said(child.name))
    below = {*family.numbers(name), *said}
    weighted = [_OF_BELOW if below.intersection(one) else 1.0 for one in asked]
    # What is counted alone is as important as a column that is in pairs.
    alone = tuple((one.name,) for one in family.counted(name))
    return Workload((*asked, *alone), (*weighted, *(_COUNTED * len(names) for _ in alone)))


def released_numbers(
    family: Family, name: str, releases: Mapping[str, Release], stream: RandomStream
) -> NDArray[np.int64]:
    """Numbers of rows of parents, drawn from their released distribution."""
    parent, column = family[name].parent, number_name(name)
    mass = np.maximum(releases[parent].model.marginal((column,)), 0)
    rng = stream.child("evened", name).generator()
    codes = rng.choice(len(mass), _DRAWN, p=mass / mass.sum())
    return numbers_of(family, name, seen(codes, column, releases[parent]), rng)


def groups_of(family: Family, name: str, release: Release) -> dict[str, tuple[int, ...]]:
    """The groups of a table's columns as the tables below know them: public, by the model of its records."""
    found = {}
    for attribute in family.own(name):
        if family.children(name) and attribute.name not in family.numbers(name):
            ordered, bins = family.ordered(name, attribute), bins_of(attribute)
            mass = np.maximum(release.model.marginal((attribute.name,)), 0)
            groups = groups_by_mass(mass, ordered, bins.nullable if bins else ordered)
            if groups is not None:
                found[attribute.name] = groups
    return found


def timed(
    family: Family, drawn: Mapping[str, Rows], releases: Mapping[str, Release], stream: RandomStream
) -> Family:
    """The tables that know where drawn values of the order move to (`quantiles`)."""
    orders = [(one, one.steps) for one in family.tables if one.steps is not None and len(drawn[one.name])]
    tables = frames(family, drawn, stream.child("people")) if orders else {}
    for table, steps in orders:
        values = numbers_on(steps, tables[table.name][steps.when.name], steps.units.ends[0])
        counted = weights(family, table.name, drawn) / PARTS
        family = family.with_table(with_quantiles(table, values, counted, releases[table.name]))
    return family

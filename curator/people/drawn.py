"""Rows of all tables for people that were drawn, table by table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.related.rows import Rows
from ...common.data.table import Table, encode_table
from ...common.privacy.cost import WEIGHT_PARTS
from ..analysis.release import Release
from ..mechanisms.parts.fitted import FittedModel
from .drawing.children import Model, draw, draw_given_times
from .drawing.keeping import least_numbers, rules_kept, summaries_kept
from .drawing.numbers import cap_by_noise, margins_of, move_numbers
from .drawing.quantiles import with_quantiles
from .rows import lineage, of_people, weights
from .shape import Family, Kin, number_name
from .tables import times_of

_DRAWN_AT_ONCE = 1 << 20
"""Rows of a table that are drawn at once."""


def drawn_rows(
    family: Family, root: Table, releases: Mapping[str, Release], stream: RandomStream
) -> tuple[Family, dict[str, Rows]]:
    """Rows of all tables for people that were drawn.

    Args:
        family: the tables.
        root: the people.
        releases: for each table with columns beside keys, that of its records.
        stream: draws rows.

    Returns:
        The tables, which know where drawn values of their orders move to (`Kin.quantiles`), and their rows.
    """
    size = root.record_count
    codes = {name: root.column(name).astype(np.int64) for name in root.domain}
    rows = {family.root.name: Rows(codes, np.arange(size), size)}
    for table in family.tables[1:]:
        rng = stream.child("rows", table.name).generator()
        parents, release = rows[table.parent], releases.get(table.name)
        column = number_name(table.name)
        counted = cap_by_noise(parents.codes[column], column, releases[table.parent])
        numbers = numbers_of(family, table.name, counted, rng)
        if release is None:
            rows[table.name] = Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))
            continue
        above = weights(family, table.parent, rows) / WEIGHT_PARTS
        numbers = move_numbers(
            numbers, above, table.evened, margins_of(family, table.name, rows, release), rng
        )
        numbers = np.maximum(numbers, least_numbers(family, table.name, parents))
        rows[table.parent] = parents = _with_numbers(family, table, parents, numbers)
        rows[table.name] = draw_table(family, table.name, rows, release.model, numbers, rng)
        if table.steps is not None:
            family, rows[table.name] = _settle_in_time(family, table.name, rows, release, stream, rng)
        drawn = summaries_kept(family, table.name, rows[table.name], parents, rng)
        if table.domain is not None:
            drawn = rules_kept(table.domain, drawn, FittedModel(release.model, (), (), ()), rng)
        rows[table.name] = drawn
    return family, rows


def draw_table(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    model: Model,
    numbers: NDArray[np.int64],
    rng: np.random.Generator,
) -> Rows:
    """Rows of a table, some people at a time, so that memory holds the records of these alone; see `draw`."""
    blank = Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))
    if len(blank) <= _DRAWN_AT_ONCE:
        return draw(family, name, rows, model, numbers, rng)
    drawn = [
        draw(family, name, some, model, numbers[parents], rng)
        for some, parents in _parts(family, name, rows, numbers)
    ]
    return _joined(blank, drawn)


def _settle_in_time(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    release: Release,
    stream: RandomStream,
    rng: np.random.Generator,
) -> tuple[Family, Rows]:
    """Rows whose columns are as frequent at each time as the release says, where it says it.

    Args:
        family: the tables.
        name: a table with a column of the order.
        rows: of it and of the tables above it.
        release: of the table's records.
        stream: the one that `frames` draws values from.
        rng: draws rows.
    """
    table, drawn = family[name], rows[name]
    if not table.quantiles:
        counted = weights(family, name, rows) / WEIGHT_PARTS
        table = with_quantiles(table, times_of(family, name, rows, stream), counted, release)
        family = family.with_table(table)
    assert table.steps is not None
    evidence, when = release.published.evidence, table.steps.when.name
    measured = () if evidence is None else dict.fromkeys(view.clique for view in evidence.views)
    pairs = [clique for clique in measured if len(clique) == 2 and when in clique]
    if not pairs or not len(drawn):
        return family, drawn
    starts = table.steps.units.cells[:, 0].astype(np.float64)
    codes = np.searchsorted(starts[1:], times_of(family, name, rows, stream), "right")
    rows = {**rows, name: replace(drawn, codes={**drawn.codes, when: codes})}
    if len(drawn) <= _DRAWN_AT_ONCE:
        return family, draw_given_times(family, name, rows, release.model, pairs, rng)
    parts = _parts(family, name, rows, drawn.numbers)
    return family, _joined(
        drawn, [draw_given_times(family, name, some, release.model, pairs, rng) for some, _ in parts]
    )


def _parts(
    family: Family, name: str, rows: Mapping[str, Rows], numbers: NDArray[np.int64]
) -> Iterator[tuple[dict[str, Rows], slice]]:
    """The rows of some people at a time, and which rows of the parent these are.

    Args:
        family: the tables.
        name: a table.
        rows: of the tables above it, and of itself if it has any.
        numbers: of its rows of each row of the parent.
    """
    above = family[name].parent
    person = lineage(family, above, family.root.name, rows)
    total = np.bincount(person, numbers, len(rows[family.root.name])).astype(np.int64)
    # The first person of each part.
    parts = np.cumsum(total) // _DRAWN_AT_ONCE
    edges = [*np.flatnonzero(np.diff(parts, prepend=-1)).tolist(), len(total)]
    for first, last in itertools.pairwise(edges):
        lowest = name if name in rows else above
        some = of_people(family, lowest, rows, slice(first, last))
        yield some, slice(*np.searchsorted(person, (first, last)).tolist())


def _joined(blank: Rows, parts: list[Rows]) -> Rows:
    """The rows of all parts."""
    codes = {
        one: np.concatenate([part.codes[one].astype(np.int32) for part in parts]) for one in parts[0].codes
    }
    return replace(blank, codes=codes)


def numbers_of(
    family: Family, child: str, codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of rows of a table for each code of the parent's column of it, drawn from its bin."""
    domain = family[family[child].parent].domain
    assert domain is not None
    found: NDArray[np.int64] = domain[number_name(child)].decode(codes, rng)
    return found


def _with_numbers(family: Family, child: Kin, parents: Rows, numbers: NDArray[np.int64]) -> Rows:
    """Parents whose column of the number of rows of a table says how many they have."""
    domain, column = family[child.parent].domain, number_name(child.name)
    assert domain is not None
    coded = encode_table(Domain((domain[column],)), {column: numbers}).column(column)
    return replace(parents, codes={**parents.codes, column: coded.astype(np.int64)})

"""Rows of all tables for people that were drawn, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.related.rows import Rows
from ...common.data.table import Table, encode_table
from ...common.privacy.cost import WEIGHT_PARTS
from ...common.processes.blocks import made_in_order
from ..analysis.release import Release
from ..mechanisms.parts.fitted import FittedModel
from .drawing.between import kept_between
from .drawing.children import Model, begin, begin_given_times
from .drawing.keeping import least_numbers, rules_kept, summaries_kept
from .drawing.numbers import margins_of, move_numbers, shrink_tail, spans_by_numbers
from .drawing.quantiles import with_quantiles
from .kin import Kin
from .rows import drawn_weights, lineage, of_people, people_in_parts, weights
from .shape import Family, number_name
from .tables import times_of


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
        The tables, which know where drawn values of their orders move to (`Kin.moves`), and their rows.
    """
    size = root.record_count
    codes = {name: root.column(name).astype(np.int64) for name in root.domain}
    rows = {family.root.name: Rows(codes, np.arange(size), size)}
    for table in family.tables[1:]:
        rng = stream.child("rows", table.name).generator()
        parents, release = rows[table.parent], releases.get(table.name)
        column = number_name(table.name)
        counted = shrink_tail(parents.codes[column], column, releases[table.parent], rng)
        numbers = numbers_of(family, table.name, counted, rng)
        if release is None:
            rows[table.name] = Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))
            continue
        above = weights(family, table.parent, rows) / WEIGHT_PARTS
        alike = spans_by_numbers(table, parents, numbers)
        margins = margins_of(family, table.name, rows, release)
        numbers = move_numbers(numbers, above, table.evened, margins, rng, alike)
        numbers = np.maximum(numbers, least_numbers(family, table.name, parents))
        numbers = np.minimum(numbers, _most_rows(table))
        rows[table.parent] = parents = _with_numbers(family, table, parents, numbers)
        rows[table.name] = draw_table(family, table.name, rows, release.model, numbers, rng)
        if table.steps is not None:
            family, rows[table.name] = _settle_in_time(family, table.name, rows, release, stream, rng)
        drawn = kept_between(table, rows[table.name], rng)
        drawn = summaries_kept(family, table.name, drawn, parents, rng)
        if table.domain is not None:
            drawn = rules_kept(table.domain, drawn, FittedModel(release.model, (), (), ()), rng)
        rows[table.name] = kept_between(table, drawn, rng)
    return family, rows


def draw_table(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    model: Model,
    numbers: NDArray[np.int64],
    rng: np.random.Generator,
) -> Rows:
    """Rows of a table, for the rows of the tables above it; arguments as of `begin`."""

    def begin_part(some: Mapping[str, Rows], theirs: NDArray[np.int64]) -> Callable[[], Rows]:
        return begin(family, name, some, model, theirs, rng)

    above = {one.name: rows[one.name] for one in family.above(name)}
    return _draw_in_parts(family, name, above, numbers, begin_part)


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
    if not len(drawn):
        return family, drawn
    if table.steps is not None and not table.moves:
        times, bounds = times_of(family, name, rows, stream)
        counted = drawn_weights(family, name, rows, table.steps.codes_of_times(times)) / WEIGHT_PARTS
        table = with_quantiles(table, times, drawn, bounds, counted, release)
        family = family.with_table(table)
    assert table.steps is not None
    evidence, when = release.published.evidence, table.steps.when.name
    measured = () if evidence is None else dict.fromkeys(view.clique for view in evidence.views)
    pairs = [clique for clique in measured if len(clique) == 2 and when in clique]
    if not pairs:
        return family, drawn
    codes = table.steps.codes_of_times(times_of(family, name, rows, stream)[0])
    rows = {**rows, name: replace(drawn, codes={**drawn.codes, when: codes})}

    def begin_part(some: Mapping[str, Rows], _: NDArray[np.int64]) -> Callable[[], Rows]:
        return begin_given_times(family, name, some, release.model, pairs, rng)

    held = {one.name: rows[one.name] for one in (*family.above(name), table)}
    return family, _draw_in_parts(family, name, held, drawn.numbers, begin_part)


def _draw_in_parts(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    numbers: NDArray[np.int64],
    begin_part: Callable[[Mapping[str, Rows], NDArray[np.int64]], Callable[[], Rows]],
) -> Rows:
    """Rows of a table, drawn some people at a time, so that memory holds the records of a few parts.

    The next part is begun while the ones before it are finished.

    Args:
        family: the tables.
        name: the table.
        rows: of what a part needs, each table after its parent.
        numbers: number of rows of each row of the parent.
        begin_part: begins the rows of some people, given theirs of `rows` and of `numbers`.
    """
    person = lineage(family, family[name].parent, family.root.name, rows)
    total = np.bincount(person, numbers, len(rows[family.root.name])).astype(np.int64)
    parts = people_in_parts(total)
    if len(parts) == 1:
        return begin_part(rows, numbers)()

    def begin_parts() -> Iterator[Callable[[], Rows]]:
        for people in parts:
            theirs = numbers[slice(*np.searchsorted(person, (people.start, people.stop)).tolist())]
            yield begin_part(of_people(family, rows, rows, people), theirs)

    drawn: dict[str, NDArray[Any]] = {}
    parent, start = np.repeat(np.arange(len(numbers)), numbers), 0
    for part in made_in_order(lambda finish: finish(), begin_parts()):
        for one, codes in part.codes.items():
            drawn.setdefault(one, np.empty(len(parent), dtype=np.int32))[start : start + len(part)] = codes
        start += len(part)
    return Rows(drawn, parent, len(numbers))


def numbers_of(
    family: Family, child: str, codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of rows of a table for each code of the parent's column of it, drawn from its bin."""
    domain = family[family[child].parent].domain
    assert domain is not None
    found: NDArray[np.int64] = domain[number_name(child)].decode(codes, rng)
    return found


def _most_rows(table: Kin) -> int:
    """How many rows a parent can have at most, if each has another value of some column."""
    domain, steps = table.domain, table.steps
    most = [domain[one].size for one in table.once if domain is not None and one in domain]
    if steps is not None and steps.when.name in table.once:
        low, high = steps.units.ends
        most.append(int((high - low) / steps.unit) + 1)
    return min(most, default=np.iinfo(np.int64).max)


def _with_numbers(family: Family, child: Kin, parents: Rows, numbers: NDArray[np.int64]) -> Rows:
    """Parents whose column of the number of rows of a table says how many they have."""
    domain, column = family[child.parent].domain, number_name(child.name)
    assert domain is not None
    coded = encode_table(Domain((domain[column],)), {column: numbers}).column(column)
    return replace(parents, codes={**parents.codes, column: coded.astype(np.int64)})

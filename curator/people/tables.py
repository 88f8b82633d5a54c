"""Drawn rows as tables: with keys, values, and what parents say of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import GapAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.attributes.unmodelled import Unmodelled
from ...common.data.domain import Domain
from ...common.data.related.rows import Rows
from ...common.data.rules.rule import in_order
from ...common.data.table import Table
from ..results.columns.typed import typed_column, typed_values
from ..results.frames import typed_frame
from ..results.raw_frames import values_in
from ..results.storage import shown_frame
from .drawing.between import apart, of_first_rows
from .drawing.following import with_followers
from .drawing.keeping import rows_exchanged, rules_kept, times_kept
from .drawing.quantiles import Bounds, map_to_quantiles
from .drawing.rhythms import in_rhythm
from .kin import Kin
from .rows import lineage, of_people, people_in_parts
from .shape import Family, beginnings_of, bounds_of


class Part(NamedTuple):
    """Some people with all their rows.

    Attributes:
        rows: of each table.
        stream: randomness of their values.
    """

    rows: dict[str, Rows]
    stream: RandomStream


def parts_of(family: Family, rows: Mapping[str, Rows], stream: RandomStream) -> Iterator[Part]:
    """People in parts of which memory holds the values of one; all in one part if they have few rows.

    Args:
        family: the tables.
        rows: of some of them, and of the tables above these.
        stream: of all values.
    """
    root, names = family.root.name, [table.name for table in family.tables if table.name in rows]
    total = np.zeros(len(rows[root]), dtype=np.int64)
    for name in names:
        total += np.bincount(lineage(family, name, root, rows), minlength=len(total))
    parts = people_in_parts(total)
    if len(parts) == 1:
        yield Part(dict(rows), stream)
        return
    for number, people in enumerate(parts):
        yield Part(of_people(family, names, rows, people), stream.child("part", str(number)))


def frames(family: Family, rows: Mapping[str, Rows], stream: RandomStream) -> dict[str, pd.DataFrame]:
    """The tables that rows stand for, with new keys in the form that was stated (`Kin.pattern`).

    Args:
        family: the tables.
        rows: of each.
        stream: draws values inside bins.
    """
    found: dict[str, dict[str, list[pd.Series]]] = {}
    before = dict.fromkeys((table.name for table in family.tables), 0)
    for part in parts_of(family, rows, stream):
        values = with_followers(family, part.rows, _columns(family, part, before))
        for name, cells_of_table in values.items():
            cells_of_table |= _repeats_above(family, family[name], part.rows, values)
        for name in [*values]:
            frame = shown_as_real(family, family[name], values.pop(name))
            columns = found.setdefault(name, {str(one): [] for one in frame.columns})
            for one, cells in frame.items():
                columns[str(one)].append(cells)
        before = {name: number + len(part.rows[name]) for name, number in before.items()}
    # Column by column, so that no more than one is in memory twice.
    return {
        name: pd.DataFrame({one: _join(columns.pop(one)) for one in [*columns]}, copy=False)
        for name, columns in found.items()
    }


def _join(cells: list[pd.Series]) -> pd.Series:
    return cells[0] if len(cells) == 1 else pd.concat(cells, ignore_index=True)


def times_of(
    family: Family, name: str, rows: Mapping[str, Rows], stream: RandomStream
) -> tuple[NDArray[np.float64], Bounds]:
    """The values of the order as `frames` draws them, before summaries move any, and their bounds.

    Those of people in several parts (`parts_of`) are drawn anew by `frames`, from the same codes.

    Args:
        family: the tables.
        name: a table with a column of the order.
        rows: of it and of the tables above it.
        stream: that of `frames`.
    """
    table = family[name]
    needed = {one.name: rows[one.name] for one in (*family.above(name), table)}
    found = []
    for part in parts_of(family, needed, stream):
        above = None
        if any((*table.within, table.near)):
            held = {one: of for one, of in part.rows.items() if one != name}
            above = _columns(family, Part(held, part.stream), dict.fromkeys(held, 0))[table.parent]
        found.append(_times(family, table, part.rows, above, part.stream.child("values", name).generator()))
    values, bounds = zip(*found, strict=True)
    low, high = (None if side[0] is None else np.concatenate(side) for side in zip(*bounds, strict=True))
    return np.concatenate(values), (low, high)


def _columns(family: Family, part: Part, before: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """The columns of the tables of which some people have rows.

    Args:
        family: the tables.
        part: the people.
        before: number of rows of each table that other people have before them.
    """
    rows, stream = part
    found: dict[str, dict[str, Any]] = {}
    for table in family.tables:
        if not table.columns or table.name not in rows:
            continue
        held = rows[table.name]
        parts = _values(family, table, rows, found.get(table.parent), stream)
        for parent in _unreleased_parent(family, table):
            of_parents = _values(family, parent, rows, None, stream)
            parts |= {
                name: cells.take(held.parent).reset_index(drop=True) for name, cells in of_parents.items()
            }
        if table.key:
            parts[table.key] = table.names.draw(len(held), 1 + before[table.name])
        if table.foreign:
            names = family[table.parent].names.draw(held.parents, 1 + before[table.parent])
            parts[table.foreign] = names[held.parent]
        parts |= {column: held.places + start for column, start in table.counts.items()}
        parts |= _repeats_above(family, table, rows, found)
        found[table.name] = parts
    return found


def _repeats_above(
    family: Family, table: Kin, rows: Mapping[str, Rows], found: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Any]]:
    """The columns of a table, not yet there, that repeat what the row above is, if the release holds it.

    Args:
        family: the tables.
        table: the table.
        rows: of it and of the tables above it.
        found: the columns of the tables above it.
    """
    for column, (above, of) in table.repeats.items():
        if of in found.get(above, {}) and column not in found.get(table.name, {}):
            at = lineage(family, table.name, above, rows)
            yield column, pd.Series(found[above][of]).take(at).reset_index(drop=True)


def _values(
    family: Family,
    table: Kin,
    rows: Mapping[str, Rows],
    above: dict[str, Any] | None,
    stream: RandomStream,
) -> dict[str, Any]:
    """The values of a table's own columns but keys; what parents say of them is put into `above`."""
    rng, numbers = stream.child("values", table.name).generator(), family.numbers(table.name)
    held = rows[table.name]
    parts: dict[str, Any] = {}
    following: dict[str, Any] = {}
    times = None
    if table.steps is not None:
        when = table.steps.when
        values, bounds = _times(family, table, rows, above, rng)
        held, values = times_kept(family, table.name, held, values, bounds, rows[table.parent], rng)
        decoded = when.of_numbers(values, np.zeros(len(values), dtype=np.bool_))  # type: ignore[attr-defined]
        parts[when.name] = typed_column(Domain((when,)), when.name, decoded)
        times = values if bounds[0] is None else values - bounds[0]
        if table.domain is not None:
            held = rules_kept(table.domain, held, None, rng)
            parts |= _ends(table, held, values, bounds[1], rng)
            held, following = _following(family, table, held, parts, rng)
    if table.domain is not None:
        hidden = {*numbers, *(one.name for one in table.ends)}
        kept = [name for name in table.domain.names if name not in hidden]
        if kept:
            domain = replace(table.domain.project(kept), unmodelled=table.domain.identifiers)
            made = typed_frame(Table.from_codes(domain, held.codes), domain.columns, rng)
            parts |= {str(name): cells for name, cells in made.items()}
            for name in {*table.rising}.intersection(kept):
                parts[name] = _rising(parts[name], held)
            for name in {*table.same}.intersection(kept):
                firsts = of_first_rows(np.arange(len(held)), held)
                parts[name] = parts[name].take(firsts).reset_index(drop=True)
        else:
            named = table.domain.identifiers
            parts |= {one.name: typed_column(table.domain, one.name, one.draw(len(held))) for one in named}
        parts |= following
    if above is not None:
        above |= _summary_columns(family, table, pd.DataFrame(parts), held, rows[table.parent], times, rng)
    return parts


def _following(
    family: Family, table: Kin, held: Rows, parts: Mapping[str, Any], rng: np.random.Generator
) -> tuple[Rows, dict[str, pd.Series]]:
    """The columns that follow from the order of rows, or from what comes after it; and rows that agree.

    Args:
        family: the tables.
        table: the table.
        held: its rows, of which the columns get other codes, and others where a rule is broken then.
        parts: the order, and the columns that come after it.
        rng: draws values, and chooses rows.
    """
    found: dict[str, pd.Series] = {}
    if not table.follows:
        return held, found
    assert table.steps is not None
    assert table.domain is not None
    known = {one.name: one for one in (*table.domain.attributes, table.steps.when, *table.ends)}
    codes = dict(held.codes)
    for rule in in_order(table.follows):
        (other,) = rule.sources
        attribute = known[rule.result]
        cells = found[other] if other in found else parts[other]
        values = {rule.result: attribute.decode(codes[rule.result], rng), other: cells.to_numpy(object)}
        made = rule.compute(Domain((attribute, known[other])), values)
        codes[rule.result] = attribute.read(made).codes
        found[rule.result] = typed_column(Domain((attribute,)), rule.result, made)
    ends = {one.name for one in table.ends}
    if not table.series and not family.children(table.name):
        # What parents say of a column, and what rises, is of this row and no other.
        said = {summary.column for summary, _ in family.summaries_in_release(table.name)}
        own = {*table.domain.names} - {*found, *ends, *said, *table.same, *table.rising, *table.once}
        held = rows_exchanged(held, {name: codes[name] for name in found}, own)
    held = Rows({**held.codes, **{name: codes[name] for name in found}}, held.parent, held.parents)
    return rules_kept(table.domain, held, None, rng, {*found, *ends}), found


def _rising(cells: pd.Series, held: Rows) -> pd.Series:
    """Numbers that do not fall from row to row of a parent, also within a bin; missing ones stay."""
    if not pd.api.types.is_numeric_dtype(cells.dtype):
        return cells
    known = np.flatnonzero(cells.notna())
    order = np.lexsort((cells.iloc[known].to_numpy(np.float64), held.parent[known]))
    found = cells.copy()
    found.iloc[known] = cells.iloc[known[order]].to_numpy()
    return found


def _times(
    family: Family,
    table: Kin,
    rows: Mapping[str, Rows],
    above: dict[str, Any] | None,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], Bounds]:
    """The values of the order of a table's rows, and between what they lie; see `_values`."""
    assert table.steps is not None
    held = rows[table.name]
    named = filter(None, {*table.within, table.near})
    parents = None if above is None else pd.DataFrame({name: above[name] for name in named})
    bounds = bounds_of(table, parents, held.parent)
    codes = held.codes[table.steps.attribute.name]
    places = (rows[table.parent].codes[one.name][held.parent] for one in table.places)
    first, span = places
    begun = beginnings_of(table, parents, held.parent)
    values = table.steps.values(codes, held.first, (first, span), rng, *bounds, begun)
    values = map_to_quantiles(values, held, table, bounds)
    values = in_rhythm(values, held, table, bounds, rng)
    if table.steps.when.name in table.once and len(values):
        least, most = (
            np.full(len(values), end) if bound is None else np.clip(bound, *table.steps.units.ends)
            for bound, end in zip(bounds, table.steps.units.ends, strict=True)
        )
        values = apart(values, held, table.steps.unit, least, most)
    return values, bounds


def _ends(
    table: Kin,
    held: Rows,
    values: NDArray[np.float64],
    high: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> dict[str, pd.Series]:
    """The columns that come after the order of rows, not after the end of their parent.

    Args:
        table: the table.
        held: its rows.
        values: their order, shape (N,).
        high: the end of the parent of each, if it is known, shape (N,).
        rng: draws values inside bins.
    """
    assert table.steps is not None
    assert table.domain is not None
    when, known = table.steps.when, np.zeros(len(values), dtype=np.bool_)
    found: dict[str, pd.Series] = {}
    times: dict[str, NDArray[Any]] = {when.name: when.of_numbers(values, known)}  # type: ignore[attr-defined]
    for end in table.ends:
        far = table.domain[end.name].decode(held.codes[end.name], rng).astype(np.float64)
        if isinstance(end, GapAttribute):
            at = end.after(far, times[end.other])
            if high is not None:
                last = when.of_numbers(np.maximum(high, values), known)  # type: ignore[attr-defined]
                at = np.minimum(at, last.astype(at.dtype))
            times[end.name] = at
        else:
            assert isinstance(end, NumericAttribute)
            most = np.maximum(end.ends[1] if high is None else np.minimum(high, end.ends[1]), values)
            at = end.of_numbers(np.minimum(values + np.nan_to_num(far), most), np.isnan(far))
        found[end.name] = typed_column(Domain((end,)), end.name, at)
    return found


def _summary_columns(
    family: Family,
    table: Kin,
    frame: pd.DataFrame,
    held: Rows,
    parents: Rows,
    times: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> dict[str, pd.Series]:
    """What parents say of the rows of a table: of these rows, so that both agree.

    Of values that the release did not find, it is what the release says.
    """
    own = family.summarised_columns(table.name)
    found: dict[str, pd.Series] = {}
    for summary, attribute in family.summaries_in_release(table.name):
        column = own.get(summary.column)
        domain = Domain((attribute,))
        if column is None or (summary.of_values and not len(summary.codes(column))):
            codes = Table.from_codes(domain, {attribute.name: parents.codes[attribute.name]})
            found |= dict(typed_frame(codes, domain.columns, rng).items())
            continue
        said = summary.of(frame, held.parent, len(parents), times).rename(attribute.name)
        values = values_in(domain, said.to_frame())
        found |= dict(typed_values(domain, values, domain.columns).items())
    return {str(name): cells for name, cells in found.items()}


def released_domain(family: Family, table: Kin) -> Domain | None:
    """The domain of the released columns of a table but keys, with that of the order.

    A parent that is not released itself is so with its rows.
    """
    held = [table, *_unreleased_parent(family, table)]
    attributes: list[Attribute] = []
    unmodelled: list[Unmodelled] = []
    for one in held:
        attributes += family.shown_attributes(one.name)
        unmodelled += [] if one.domain is None else one.domain.unmodelled
        unmodelled += family.repeated_followers(one.name)
    return Domain(tuple(attributes), tuple(unmodelled)) if attributes or unmodelled else None


def _unreleased_parent(family: Family, table: Kin) -> list[Kin]:
    return [family[table.parent]] if table.parent and not family[table.parent].columns else []


def shown_as_real(family: Family, table: Kin, parts: Mapping[str, Any]) -> pd.DataFrame:
    """Columns of a table in its order, stored as those of the real one."""
    rows = pd.DataFrame({name: parts[name] for name in table.columns if name in parts}, copy=False)
    return shown_frame(released_domain(family, table), rows, table.storage)

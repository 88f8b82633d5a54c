"""Drawn rows that agree with what their parents say of them; post-processing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.domain import Domain
from ....common.data.related.rows import Rows
from ....common.data.rules.rule import components
from ....common.data.rules.satisfying import example
from ....common.data.table import Table
from ...mechanisms.parts.fitted import FittedModel
from ...releasing.obedience import breaking, with_dependents, with_maps
from ..shape import Family
from ..summaries import AnyOf, CountOf, FirstOf, LastOf, TimeTo, bounds_of_count

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]


def least_numbers(family: Family, name: str, parents: Rows) -> Codes:
    """The least number of rows of a table for each row of its parent, by all summaries, shape (parents,)."""
    found = np.zeros(len(parents), dtype=np.int64)
    for summary, attribute in family.summaries_in_release(name):
        found = np.maximum(found, summary.least(parents.codes[attribute.name], attribute))
    return found


def summaries_kept(family: Family, name: str, rows: Rows, parents: Rows, rng: np.random.Generator) -> Rows:
    """Rows of a table that agree with all summaries of it but times; see `times_kept`.

    First and last rows are set, and not changed again where others can be. Where two summaries cannot both
    hold, the later one does.

    Args:
        family: the tables.
        name: the table.
        rows: its rows.
        parents: those of its parent.
        rng: chooses values and rows.
    """
    own = family.summarised_columns(name)
    set_before = np.zeros(len(rows), dtype=np.bool_)
    ends_first = sorted(family.summaries_in_release(name), key=lambda one: one[0].of_values)
    for summary, attribute in ends_first:
        held, said = own.get(summary.column), parents.codes[attribute.name]
        if held is None:
            continue
        spoken = summary.codes(held)
        match summary:
            case FirstOf() | LastOf():
                at = summary.rows(rows.parent)
                codes = rows.codes[held.name].copy()
                known = said[rows.parent[at]] < held.size
                codes[at[known]] = said[rows.parent[at[known]]]
                rows = Rows({**rows.codes, held.name: codes}, rows.parent, rows.parents)
                set_before[at] = True
            case AnyOf():
                bounds = said, np.where(said == 1, len(rows), 0)
                rows = keep_bounds(rows, bounds, held.name, spoken, held.size, rng, set_before)
            case CountOf():
                bounds = bounds_of_count(said, attribute)
                rows = keep_bounds(rows, bounds, held.name, spoken, held.size, rng, set_before)
    return rows


def keep_bounds(
    rows: Rows,
    bounds: tuple[Codes, Codes],
    own: str,
    values: Codes,
    size: int,
    rng: np.random.Generator,
    last: NDArray[np.bool_],
) -> Rows:
    """Rows that are changed where parents have too few or too many rows with one of some values.

    Which of their rows change is drawn; a new value is as frequent as it is among all rows.

    Args:
        rows: the rows.
        bounds: number of rows with one of the values that a parent has at least, if it has so many rows, and
            at most, shape (parents,) each.
        own: the column.
        values: the codes that are spoken of.
        size: number of codes of the column.
        rng: chooses values and rows.
        last: rows that change only if all others of their parent have, shape (N,).
    """
    least, most = bounds
    codes = rows.codes[own].copy()
    if not len(values) or len(values) == size or not len(rows):
        return rows
    counts = np.bincount(codes, minlength=size).astype(np.float64) + 1e-9
    spoken = np.zeros(size, dtype=np.bool_)
    spoken[values] = True
    held = np.bincount(rows.parent, spoken[codes], minlength=rows.parents).astype(np.int64)
    wanted = np.minimum(np.clip(held, least, np.maximum(least, most)), rows.numbers)
    for having, change in ((True, held - wanted), (False, wanted - held)):
        at = np.flatnonzero((spoken[codes] == having) & (change[rows.parent] > 0))
        at = at[np.lexsort((rng.random(len(at)), last[at], rows.parent[at]))]
        begins = FirstOf.rows(rows.parent[at])
        place = np.arange(len(at)) - np.repeat(begins, np.diff(np.append(begins, len(at))))
        changed = at[place < change[rows.parent[at]]]
        codes[changed] = _draw_codes(np.where(spoken == having, 0.0, counts), len(changed), rng)
    return Rows({**rows.codes, own: codes}, rows.parent, rows.parents)


def times_kept(
    family: Family,
    name: str,
    rows: Rows,
    times: Numbers,
    bounds: tuple[Numbers | None, Numbers | None],
    parents: Rows,
    rng: np.random.Generator,
) -> tuple[Rows, Numbers]:
    """Rows of a table that agree with all times to a first row, and where they are on the scale of the order.

    The row of a parent that is nearest to its time is moved there, and has one of the values; no row before
    it has one. Rows stay in order, because the nearest one is moved.

    Args:
        family: the tables.
        name: the table.
        rows: its rows.
        times: of the rows, shape (N,).
        bounds: the beginning and the end of the parent of each row, shape (N,) each, if they are known.
        parents: rows of its parent.
        rng: chooses values.
    """
    own = family.summarised_columns(name)
    low, high = bounds
    for summary, attribute in family.summaries_in_release(name):
        held = own.get(summary.column)
        if not isinstance(summary, TimeTo) or held is None or not len(rows):
            continue
        assert isinstance(attribute, NumericAttribute)
        spoken = np.zeros(held.size, dtype=np.bool_)
        spoken[summary.codes(held)] = True
        if spoken.all() or not spoken.any():
            continue
        said = parents.codes[attribute.name]
        known = said < attribute.size - 1
        target = np.full(len(said), np.nan)
        target[known] = attribute.decode(said[known], rng).astype(np.float64)
        wanted = target[rows.parent] + (0.0 if low is None else low)
        if high is not None:
            wanted = np.minimum(wanted, high)
        codes, times = rows.codes[held.name].copy(), times.copy()
        counts = np.bincount(codes, minlength=held.size).astype(np.float64) + 1e-9
        of_known = np.flatnonzero(known[rows.parent])
        apart = wanted[of_known] - times[of_known]
        # Of rows at one time, the last moves on, or the first moves back.
        place = np.where(apart > 0, -of_known, of_known)
        order = np.lexsort((place, np.abs(apart), rows.parent[of_known]))
        nearest = of_known[order][FirstOf.rows(rows.parent[of_known])]
        times[nearest] = wanted[nearest]
        at = np.full(rows.parents, len(rows))
        at[rows.parent[nearest]] = nearest
        wrong = np.flatnonzero(spoken[codes] & (np.arange(len(rows)) < at[rows.parent]))
        codes[wrong] = _draw_codes(np.where(spoken, 0.0, counts), len(wrong), rng)
        lacking = nearest[~spoken[codes[nearest]]]
        codes[lacking] = _draw_codes(np.where(spoken, counts, 0.0), len(lacking), rng)
        rows = Rows({**rows.codes, held.name: codes}, rows.parent, rows.parents)
    return rows, times


def rows_exchanged(rows: Rows, wanted: Mapping[str, Codes], moved: Collection[str]) -> Rows:
    """Rows of which each has some columns of another one of its parent, so that more have what they should.

    Rows that can have all of it from one row do, then those that can have all but the last, and so on; in the
    order of time, so that each has the columns of a row that is not far.

    Args:
        rows: the rows, of each parent in order.
        wanted: columns that are about to be set, and their codes, shape (N,).
        moved: columns that are exchanged.
    """
    found = np.arange(len(rows))
    open_rows, left = found.copy(), found.copy()
    for several in range(len(wanted), -1, -1):
        names = [*wanted][:several]
        here = np.stack([rows.parent[open_rows], *(wanted[name][open_rows] for name in names)])
        there = np.stack([rows.parent[left], *(rows.codes[name][left] for name in names)])
        _, kind = np.unique(np.concatenate([here, there], axis=1), axis=1, return_inverse=True)
        ours, theirs = map(_count_kinds, np.split(kind, 2))
        _, at, of = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
        found[open_rows[at]] = left[of]
        open_rows, left = np.delete(open_rows, at), np.delete(left, of)
    codes = {name: column[found] if name in moved else column for name, column in rows.codes.items()}
    return Rows(codes, rows.parent, rows.parents)


def _count_kinds(kinds: Codes) -> Codes:
    """A number for each kind and its first, second, third time, and so on; shape (N,)."""
    order = np.argsort(kinds, kind="stable")
    begun = FirstOf.rows(kinds[order])
    place = np.arange(len(order)) - np.repeat(begun, np.diff(np.append(begun, len(order))))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = kinds[order] * (len(order) + 1) + place
    return found


def rules_kept(
    domain: Domain,
    rows: Rows,
    fitted: FittedModel | None,
    rng: np.random.Generator,
    fixed: Collection[str] = (),
) -> Rows:
    """Rows of which none breaks a rule of their domain by its codes.

    Columns that follow from others are set (`obedience`). A row that still breaks a rule gets the columns of
    the rule, and of those that share columns with it, from another row.

    Args:
        domain: of the rows' own columns, with rules.
        rows: the rows.
        fitted: the release of their records, from which dependencies without a map get one; None if the rows
            keep to them.
        rng: chooses rows.
        fixed: columns that stay, so that others change around them; rows for which no row has others that
            fit stay as they are.
    """
    if not domain.rules or not len(rows):
        return rows
    table = Table.from_codes(domain, {name: rows.codes[name] for name in domain})
    rules = with_maps(domain, fitted, table)
    stay = {name: table.column(name).astype(np.int64) for name in domain if name in fixed}
    table = with_dependents(table, rules)
    codes = {name: table.column(name).astype(np.int64) for name in domain} | stay
    for together in components(rules):
        names = {name for rule in together for name in rule.columns}
        wrong = breaking(Table.from_codes(domain, codes), together)
        good, bad = np.flatnonzero(~wrong), np.flatnonzero(wrong)
        if kept := sorted(names.intersection(stay)):
            bad, taken = _alike([stay[name] for name in kept], good, bad, rng)
            known: dict[str, int] = {}
        else:
            known = {} if len(good) else example(replace(domain, rules=rules)) or {}
            taken = rng.choice(good, len(bad)) if len(good) else bad
        for name in names.difference(stay):
            codes[name][bad] = known.get(name, codes[name][taken])
    return Rows({**rows.codes, **codes}, rows.parent, rows.parents)


def _alike(
    columns: Sequence[Codes], good: Codes, bad: Codes, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """For rows others that have the same in some columns, each one of them; without rows that have none.

    Args:
        columns: shape (N,) each.
        good: the others.
        bad: the rows.
        rng: chooses.
    """
    _, whose = np.unique(np.stack(columns), axis=1, return_inverse=True)
    order = good[np.argsort(whose[good], kind="stable")]
    first, beyond = (np.searchsorted(whose[order], whose[bad], side) for side in ("left", "right"))
    found = first < beyond
    return bad[found], order[rng.integers(first[found], beyond[found])]


def _draw_codes(weights: NDArray[np.float64], number: int, rng: np.random.Generator) -> Codes:
    """Codes in proportion to their weights."""
    return rng.choice(len(weights), number, p=weights / weights.sum()).astype(np.int64)

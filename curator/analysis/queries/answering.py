"""Answers queries on a release from its model and its measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from ....common.data.attributes.dates import GapAttribute
from ....common.data.gaps import gaps_of
from ....common.errors import DataError
from ...results.columns.formulas import formulas_of, in_order_of_need
from ..intervals import quantile_of
from ..published import Published
from . import unseen
from .answer import Answer
from .axes import Axis, Truth
from .distinct import distinct
from .estimates import Estimate, Grouped, ratios, sums
from .groups import Entry, Groups, arranged_rows, cases_of, check_number, entries_of
from .joint import Joint, axes_of, joint_of
from .language import Aggregate, Comparison, Key, Kind, Missing, Query, comparisons, name_of
from .parsing import parsed
from .quantiles import quantiles
from .variances import deviations, variances


def answer(
    published: Published, text: str, level: float = 0.95, of: Literal["table", "population"] = "table"
) -> Answer:
    """The answer to a query in SQL (`parsing`), with an interval for each number.

    Args:
        published: the release.
        text: the query.
        level: probability that an interval covers the truth.
        of: whether intervals are for the numbers of the real table, or of the population of which its records
            are a random sample.

    Raises:
        DataError: the query cannot be read or answered, or the level is none.
    """
    quantile_of(level)
    if of not in ("table", "population"):
        raise DataError(f'expected "table" or "population", got {of!r}; say what intervals are for')
    gaps = gaps_of(published.domain)
    formulas = formulas_of(published.domain)
    computed = [key for key in in_order_of_need(formulas) if not formulas[key].column.measured]
    followers = {key[1]: formulas[key].tree for key in computed}
    query = parsed(text, published.domain.names, gaps, followers)
    axes = axes_of(published, query)
    joints: dict[frozenset[str], Joint] = {}
    for columns in (query.selecting, *(query.selecting | item.columns for item in query.aggregates)):
        if columns not in joints:
            joints[columns] = joint_of(published, {name: axes[name] for name in axes if name in columns})
    entries: list[Entry] = []
    for number, case in enumerate(cases_of(query, axes)):
        groups = Groups.of(joints[query.selecting], query, case.condition)
        if len(groups.codes):
            found = []
            for item in query.aggregates:
                joint = joints[query.selecting | item.columns]
                size, population = len(groups.codes), of == "population"
                grouped = Grouped(published.evidence, joint, groups.places(joint), size, level, population)
                found.append(_estimates(grouped, query, case.narrow(item)))
            entries += entries_of(query, axes, groups, (number, case), found)
            check_number(len(entries))
    return Answer(
        text,
        level,
        of,
        "model" if all(joint.from_model for joint in joints.values()) else "rows",
        tuple(_heading(key, gaps) for key in query.groups),
        tuple(_heading(item, gaps) for item in query.selected),
        arranged_rows(query, entries),
    )


def _heading(item: Key | Aggregate, gaps: Mapping[str, GapAttribute]) -> str:
    name = name_of(item)
    return gaps[name].difference if isinstance(item, str) and name in gaps else name


def _estimates(grouped: Grouped, query: Query, aggregate: Aggregate) -> list[Estimate]:
    joint = grouped.joint
    rows = joint.holds(query.where)
    chosen = rows & joint.holds(aggregate.where)
    if isinstance(aggregate.of, str):
        axis, pieces = joint.axes[aggregate.of], joint.pieces[aggregate.of]
        counted_only = aggregate.kind in (Kind.COUNT, Kind.DISTINCT)
        chosen &= ~(axis.missing if counted_only else axis.no_number)[pieces]
        if aggregate.kind is Kind.DISTINCT:
            selected = (*_selecting(query), *comparisons(aggregate.where))
            change = unseen.of_rows(grouped, chosen, selected, query.columns_of_groups)
            return distinct(grouped, axis, chosen, change)
        if aggregate.kind is not Kind.COUNT:
            return _of_numbers(grouped, query, aggregate, axis, chosen)
        counted = chosen
    else:
        true, false = joint.truth(aggregate.of) if aggregate.of is not None else (chosen, ~chosen)
        counted, chosen = chosen & true, chosen & (true | false)
    values, none = counted.astype(np.float64), np.zeros(len(counted))
    compared = _comparisons_of(query, aggregate)
    change = unseen.of_rows(grouped, counted, compared, query.columns_of_groups)
    if aggregate.kind is Kind.COUNT:
        noisy = grouped.evidence is not None and grouped.evidence.records_sigma > 0
        most = math.inf if noisy else float(joint.support.weights.sum())
        return [each.clip(0.0, most) for each in unseen.of_counts(sums(grouped, values, none), change)]
    common = aggregate.kind is Kind.SHARE
    over = (rows if common else chosen).astype(np.float64)
    weights = np.full(grouped.size, over @ joint.weights) if common else grouped.sums(over)
    below = unseen.of_rows(grouped, over > 0, _selecting(query), () if common else query.columns_of_groups)
    shares = unseen.of_shares(ratios(grouped, values, none, over, common=common), change, below, weights)
    return [each.clip(0.0, 1.0) for each in shares]


def _selecting(query: Query) -> tuple[Comparison, ...]:
    """The comparisons that select the rows of all aggregates."""
    return tuple(comparisons(query.where))


def _comparisons_of(query: Query, aggregate: Aggregate) -> tuple[Comparison, ...]:
    """The comparisons that select the rows of an aggregate."""
    known = (Missing(aggregate.of),) if isinstance(aggregate.of, str) else ()
    return (*_selecting(query), *aggregate.comparisons, *known)


def _of_numbers(
    grouped: Grouped, query: Query, aggregate: Aggregate, axis: Axis, chosen: Truth
) -> list[Estimate]:
    """Sums, means and quantiles of a column over the rows that are chosen."""
    selected = (*_selecting(query), *comparisons(aggregate.where))
    rows = unseen.of_rows(grouped, chosen, selected, query.columns_of_groups)
    if aggregate.kind is Kind.QUANTILE:
        found = quantiles(grouped, axis, chosen, aggregate.probability)
        found = unseen.of_numbers(grouped, axis, chosen, aggregate, found, rows)
        return [each.as_values_of(axis) for each in found]
    if aggregate.kind in (Kind.VARIANCE, Kind.DEVIATION):
        if axis.value_at(0.0) != 0.0:
            raise DataError(
                f"the column {axis.name!r} holds dates or times; ask for QUANTILE(x, 0.9) instead"
            )
        found = unseen.of_variances(grouped, axis, chosen, variances(grouped, axis, chosen), rows)
        return found if aggregate.kind is Kind.VARIANCE else deviations(found)
    pieces = grouped.joint.pieces[axis.name]
    values = np.where(chosen, axis.numbers[pieces], 0.0)
    inside = np.where(chosen, axis.variances[pieces], 0.0)
    if aggregate.kind is Kind.SUM:
        if axis.value_at(0.0) != 0.0:
            raise DataError(
                f"the column {axis.name!r} holds dates or times, which have no sum; ask for AVG or MEDIAN"
            )
        return unseen.of_numbers(grouped, axis, chosen, aggregate, sums(grouped, values, inside), rows)
    least, most = float(np.nanmin(axis.numbers)), float(np.nanmax(axis.numbers))
    found = ratios(grouped, values, inside, chosen.astype(np.float64))
    clipped = [each.clip(least, most) for each in found]
    return [
        each.as_values_of(axis) for each in unseen.of_numbers(grouped, axis, chosen, aggregate, clipped, rows)
    ]

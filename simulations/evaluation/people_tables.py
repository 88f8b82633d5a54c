"""An evaluation of related tables as tables and charts, for a terminal and for a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from ...curator.people.report import coded_tables
from ...curator.people.shape import Family
from ...curator.report.comparison import PeopleComparison, ScoreTable
from ...curator.report.curves import CurveChart, curve_chart
from .people import PeopleEvaluation
from .people_sides import Side
from .related import ChildEvaluation, PairDistance, mean_distance, mean_independent

_FURTHEST = 10
_IN_BAND = {True: "yes", False: "no", None: "–"}


def comparison(found: PeopleEvaluation, family: Family, real: Mapping[str, pd.DataFrame]) -> PeopleComparison:
    """What the report of an evaluation shows beside the synthetic tables.

    Args:
        found: the evaluation.
        family: the tables.
        real: the real ones, by name.
    """
    tables = coded_tables(family, Side.of(family, real).frames, True)
    return PeopleComparison(tables, tuple(score_tables(found)), curve_charts(found))


def score_tables(found: PeopleEvaluation) -> list[ScoreTable]:
    """All scores."""
    tables = [_numbers(found), _pairs(found)]
    timed = [(name, one) for name, one in found.children.items() if one.gaps is not None]
    if timed:
        tables.append(_times(timed))
    if found.survival:
        tables.append(_survival(found))
    if found.rules:
        tables.append(_rules(found))
    return [*tables, _furthest(found)]


def curve_charts(found: PeopleEvaluation) -> tuple[CurveChart, ...]:
    """The curves of times to events."""
    charts = []
    for one in found.survival:
        real, synthetic = ((each.times, each.survival) for each in one.curves)
        band = None if one.band is None else (one.band.times, one.band.low, one.band.high)
        charts.append(curve_chart(one.event, f"distance {one.distance:.3f}", real, synthetic, band))
    return tuple(chart for chart in charts if chart is not None)


def _numbers(found: PeopleEvaluation) -> ScoreTable:
    rows = []
    for name, (real, synthetic) in found.rows.items():
        child = found.children.get(name)
        last = ("–", "–") if child is None else (f"{child.numbers:.4f}", f"{child.orphans:.2%}")
        rows.append((name, f"{real:,}", f"{synthetic:,}", *last))
    return ScoreTable(
        "Numbers of rows",
        ("table", "real", "synthetic", "rows of a parent (Kolmogorov)", "without a parent"),
        tuple(rows),
    )


def _pairs(found: PeopleEvaluation) -> ScoreTable:
    rows = [
        (what, f"{len(pairs)}", f"{mean_distance(pairs):.4f}", f"{mean_independent(pairs):.4f}")
        for what, pairs in _groups(found)
        if pairs
    ]
    return ScoreTable(
        "Pairs of columns",
        ("of", "pairs", "total variation", "if independent"),
        tuple(rows),
        "Means over pairs; every row counts once. The last column is the distance of a table whose columns "
        "are as the real ones, and do not depend on each other.",
    )


def _groups(found: PeopleEvaluation) -> Iterator[tuple[str, tuple[PairDistance, ...]]]:
    root = next(iter(found.rows))
    if found.people:
        yield root, found.people
    for name, child in found.children.items():
        yield name, child.within
        yield f"{name} with tables above", child.across
        yield f"{name} with the row before", child.before
        yield f"{name}: transitions of one column", child.transitions


def _times(timed: Sequence[tuple[str, ChildEvaluation]]) -> ScoreTable:
    return ScoreTable(
        "Order",
        ("table", "between rows (total variation)", "first to last (Kolmogorov)"),
        tuple((name, f"{one.gaps:.4f}", f"{one.spans:.4f}") for name, one in timed),
    )


def _survival(found: PeopleEvaluation) -> ScoreTable:
    headings: tuple[str, ...] = ("event", "real", "synthetic", "distance")
    note = (
        "Numbers of events, and the largest difference of the curves of Kaplan and Meier while a tenth of "
        "the real rows is followed."
    )
    rows: list[tuple[str, ...]] = [
        (one.event, f"{one.events[0]:,}", f"{one.events[1]:,}", f"{one.distance:.4f}")
        for one in found.survival
    ]
    if any(one.band is not None for one in found.survival):
        headings += ("real one in its band",)
        rows = [(*row, _IN_BAND[one.in_band]) for row, one in zip(rows, found.survival, strict=True)]
        note += " A band holds a whole real curve with a probability of 95 %."
    return ScoreTable("Times to events", headings, tuple(rows), note)


def _rules(found: PeopleEvaluation) -> ScoreTable:
    return ScoreTable(
        "Rows that break a rule",
        ("rule", "real", "synthetic"),
        tuple((f"{one.table}: {one.rule}", f"{one.real:.2%}", f"{one.synthetic:.2%}") for one in found.rules),
    )


def _furthest(found: PeopleEvaluation) -> ScoreTable:
    pairs = [(what, pair) for what, pairs in _groups(found) for pair in pairs if "transitions" not in what]
    pairs.sort(key=lambda one: -one[1].total_variation)
    return ScoreTable(
        "Furthest pairs",
        ("pair", "total variation", "if independent"),
        tuple(
            (f"{what}: {pair.one} × {pair.other}", f"{pair.total_variation:.4f}", f"{pair.independent:.4f}")
            for what, pair in pairs[:_FURTHEST]
        ),
    )

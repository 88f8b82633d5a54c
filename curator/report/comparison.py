"""The part of an evaluation report that is computed from the real table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...common.data.table import Table
from .curves import CurveChart
from .pairs import Pair


@dataclass(frozen=True)
class ScoreTable:
    """A table of scores.

    Attributes:
        title: title of the table.
        headings: headings of the columns; the first column names the row.
        rows: cells as text.
        note: explanation; may be empty.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class ByProtocol:
    """A release of the same table by one protocol, for comparison.

    Attributes:
        protocol: name of the protocol.
        mechanism: name of the mechanism.
        meaning: explanation in plain words.
        total_variation: average distance of the two-way marginals, in 0..1.
    """

    protocol: str
    mechanism: str
    meaning: str
    total_variation: float


@dataclass(frozen=True)
class Comparison:
    """A comparison of a synthetic table with the real one; not for publication.

    Attributes:
        real: the real table.
        attributes: total variation distance of each attribute.
        pairs: total variation distance of each pair.
        scores: tables of scores.
        protocols: releases of the same table by several protocols; the page shows one of them.
    """

    real: Table
    attributes: Mapping[str, float]
    pairs: Mapping[Pair, float]
    scores: tuple[ScoreTable, ...]
    protocols: tuple[ByProtocol, ...] = ()


@dataclass(frozen=True)
class PeopleComparison:
    """A comparison of related tables with the real ones; not for publication.

    Attributes:
        real: the real tables by name, with the columns of the synthetic ones.
        scores: tables of scores.
        curves: charts of times to events.
    """

    real: Mapping[str, Table]
    scores: tuple[ScoreTable, ...]
    curves: tuple[CurveChart, ...]

"""Charts over pairs of attributes: the model's graph, and a map of distances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .pairs import CertifiedPairs, Pair

LEVELS = (0.02, 0.05, 0.1, 0.2)
"""Upper ends of the map's colours, as total variation distances; the last colour is what lies above."""

SIZE = 360.0
"""Width of both charts, in units of their drawing: a telephone's, so that text keeps its size there."""

MOST_NAMES = 70
"""With more attributes than this, names would overlap, and are left out of the charts."""

_LONGEST = 16
_LARGEST_FONT = 10.0
_WIDTH_OF_LETTER = 0.6


@dataclass(frozen=True)
class Name:
    """An attribute's name beside a chart.

    Attributes:
        text: the name, cut where it is long.
        full: the whole name.
        x: where it is.
        y: where it is.
        turned: degrees.
        anchor: "start" or "end".
    """

    text: str
    full: str
    x: float
    y: float
    turned: float
    anchor: str


@dataclass(frozen=True)
class Link:
    """A pair that the model holds.

    Attributes:
        pair: of attributes.
        path: an SVG path.
        across: no party holds both attributes in every slice.
        measured: it was measured; else the model holds it because others need it to.
    """

    pair: Pair
    path: str
    across: bool
    measured: bool


@dataclass(frozen=True)
class Graph:
    """The model's graph on a circle.

    Attributes:
        names: of the attributes, in domain order around the circle.
        dots: x and y of each attribute.
        links: the pairs that the model holds.
        font: size of the names.
    """

    names: tuple[Name, ...]
    dots: tuple[tuple[float, float], ...]
    links: tuple[Link, ...]
    font: float


@dataclass(frozen=True)
class Cell:
    """A pair in the map.

    Attributes:
        pair: of attributes.
        x: left end.
        y: upper end.
        level: place of its colour; None where nothing is known.
        text: what is known, in words.
    """

    pair: Pair
    x: float
    y: float
    level: int | None
    text: str


@dataclass(frozen=True)
class HeatMap:
    """A map of all pairs.

    Attributes:
        names: of rows and columns.
        cells: one for each pair.
        side: of a cell.
        height: of the chart.
        font: size of the names.
    """

    names: tuple[Name, ...]
    cells: tuple[Cell, ...]
    side: float
    height: float
    font: float


def model_graph(pairs: CertifiedPairs) -> Graph:
    """The model's graph: attributes on a circle, bent lines for the pairs that it holds."""
    names = list(pairs.certificate.plan.attributes)
    middle, radius = SIZE / 2, SIZE / 2 - _room(names) - 10
    font = _font(2 * math.pi * radius / len(names))
    angles = [2 * math.pi * place / len(names) - math.pi / 2 for place in range(len(names))]
    dots = [(middle + radius * math.cos(a), middle + radius * math.sin(a)) for a in angles]
    labels = []
    for name, angle in zip(names, angles, strict=True):
        left = math.cos(angle) < -1e-9
        x, y = (middle + (radius + 8) * part for part in (math.cos(angle), math.sin(angle)))
        turned = math.degrees(angle) + (180 if left else 0)
        labels.append(Name(_cut(name), name, x, y, turned, "end" if left else "start"))
    places = dict(zip(names, dots, strict=True))
    links = tuple(
        Link(
            pair,
            _bent(places[pair[0]], places[pair[1]], middle),
            not pairs.together(pair),
            pair in pairs.measured,
        )
        for pair in pairs.all
        if pair in pairs.modelled
    )
    return Graph(tuple(labels if len(names) <= MOST_NAMES else ()), tuple(dots), links, font)


def heat_map(names: Sequence[str], distances: Mapping[Pair, float], texts: Mapping[Pair, str]) -> HeatMap:
    """A map of pairs: the first attribute's column, the second one's row.

    Args:
        names: of the attributes, in domain order.
        distances: what the colours show; pairs may be missing.
        texts: what is said of each pair.
    """
    count = max(1, len(names) - 1)
    shown = len(names) <= MOST_NAMES
    edge = _room(names) + 8 if shown else 0.0
    side = min((SIZE - edge) / count, 34.0)
    font = _font(side)
    labels: list[Name] = []
    if shown:
        height = side * count
        labels += [
            Name(_cut(name), name, edge - 6, (place + 0.5) * side, 0.0, "end")
            for place, name in enumerate(names[1:])
        ]
        labels += [
            Name(_cut(name), name, edge + (place + 0.5) * side, height + 6, -90.0, "end")
            for place, name in enumerate(names[:-1])
        ]
    places = {name: place for place, name in enumerate(names)}
    cells = tuple(
        Cell(
            pair,
            edge + places[pair[0]] * side,
            (places[pair[1]] - 1) * side,
            level(distances[pair]) if pair in distances else None,
            texts[pair],
        )
        for pair in itertools.combinations(names, 2)
    )
    return HeatMap(tuple(labels), cells, side, side * count + edge, font)


def level(distance: float) -> int:
    """The place of a distance's colour, from 0."""
    return sum(distance > end for end in LEVELS)


def _room(names: Sequence[str]) -> float:
    """What the longest name needs, written large."""
    return _LARGEST_FONT * _WIDTH_OF_LETTER * max(len(_cut(name)) for name in names)


def _font(room: float) -> float:
    return max(3.0, min(_LARGEST_FONT, room * 0.85))


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _bent(start: tuple[float, float], end: tuple[float, float], middle: float) -> str:
    """A curve towards the middle, the more the further apart its ends are."""
    pull = 0.65
    x, y = (pull * middle + (1 - pull) * (one + other) / 2 for one, other in zip(start, end, strict=True))
    return f"M{start[0]:.1f} {start[1]:.1f}Q{x:.1f} {y:.1f} {end[0]:.1f} {end[1]:.1f}"

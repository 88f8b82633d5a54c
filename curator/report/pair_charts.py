"""Charts of pairs of attributes: the model's graph and a heat map of distances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .pairs import CertifiedPairs, Pair

LEVELS = (0.02, 0.05, 0.1, 0.2)
"""Upper ends of the heat map's colours, as total variation distances; the last colour is for larger ones."""

SIZE = 360.0
"""Width of both charts in drawing units: that of a phone, where text then keeps its size."""

MOST_NAMES = 70
"""Largest number of attributes whose names are shown; more would overlap."""

_NAME_LENGTH = 16
_LARGEST_FONT = 10.0
_WIDTH_OF_LETTER = 0.6


@dataclass(frozen=True)
class Name:
    """An attribute's name beside a chart.

    Attributes:
        text: the name, truncated if it is long.
        full: the whole name.
        x: x coordinate.
        y: y coordinate.
        turned: rotation in degrees.
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
    """A pair in the model.

    Attributes:
        pair: the two attributes.
        path: SVG path.
        across: some slice has no party with both attributes.
        measured: whether it was measured; otherwise it is only implied by the model's structure.
    """

    pair: Pair
    path: str
    across: bool
    measured: bool


@dataclass(frozen=True)
class Graph:
    """The model's graph on a circle.

    Attributes:
        names: names of the attributes, in domain order around the circle.
        dots: x and y of each attribute.
        links: pairs in the model.
        font: font size of the names.
    """

    names: tuple[Name, ...]
    dots: tuple[tuple[float, float], ...]
    links: tuple[Link, ...]
    font: float


@dataclass(frozen=True)
class Cell:
    """A pair in the heat map.

    Attributes:
        pair: the two attributes.
        x: left edge.
        y: upper edge.
        level: index of its colour; None if nothing is known.
        text: description in words.
    """

    pair: Pair
    x: float
    y: float
    level: int | None
    text: str


@dataclass(frozen=True)
class HeatMap:
    """A heat map of all pairs.

    Attributes:
        names: names of rows and columns.
        cells: one cell per pair.
        side: side length of a cell.
        height: height of the chart.
        font: font size of the names.
    """

    names: tuple[Name, ...]
    cells: tuple[Cell, ...]
    side: float
    height: float
    font: float


def model_graph(pairs: CertifiedPairs) -> Graph:
    """The model's graph: attributes on a circle, curves for the pairs in the model."""
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
            _curve(places[pair[0]], places[pair[1]], middle),
            not pairs.together(pair),
            pair in pairs.measured,
        )
        for pair in pairs.all
        if pair in pairs.modelled
    )
    return Graph(tuple(labels if len(names) <= MOST_NAMES else ()), tuple(dots), links, font)


def heat_map(names: Sequence[str], distances: Mapping[Pair, float], texts: Mapping[Pair, str]) -> HeatMap:
    """A heat map of pairs: column of the first attribute, row of the second.

    Args:
        names: names of the attributes, in domain order.
        distances: distances shown as colours; pairs may be missing.
        texts: description of each pair.
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
    """The index of a distance's colour, from 0."""
    return sum(distance > end for end in LEVELS)


def _room(names: Sequence[str]) -> float:
    """Space for the longest name at the largest font."""
    return _LARGEST_FONT * _WIDTH_OF_LETTER * max(len(_cut(name)) for name in names)


def _font(room: float) -> float:
    return max(3.0, min(_LARGEST_FONT, room * 0.85))


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…"


def _curve(start: tuple[float, float], end: tuple[float, float], middle: float) -> str:
    """A curve towards the middle, stronger for distant ends."""
    pull = 0.65
    x, y = (pull * middle + (1 - pull) * (one + other) / 2 for one, other in zip(start, end, strict=True))
    return f"M{start[0]:.1f} {start[1]:.1f}Q{x:.1f} {y:.1f} {end[0]:.1f} {end[1]:.1f}"

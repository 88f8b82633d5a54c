"""Families of generated tables, from a seed: structure that public tables lack, or hide.

A family has variants, each of its own size; `generate` draws a table of a variant, and other rows that no
release sees. The same variant and seed give the same table. The families:

- `parity`: binary attributes, among them groups of k (3 or 4) of which one is the parity of the others, wrong
  in one row of ten. Marginals of fewer than k attributes do not show it. The others form a chain, each
  dependent on the one before.
- `regions`: a class that depends on where three or four numbers lie: in which box of a random tree, or to
  which of many random centres they are nearest. One class of twenty is random. Three more numbers have no
  influence.
- `copula`: numbers of 16 bins and a class of 4 with a Gaussian copula in which all depend on all.
- `latent`: binary attributes that are independent given one of ten hidden classes.
- `zipf`: six attributes, two of a thousand Zipf-distributed categories; the categories are in hidden groups.
- `small`: 300 rows of attributes of 2 to 12 values that are independent given one of four hidden classes.
- `dependent`: attributes of 5 to 12 values, some of them determined by one or two others.
- `narrow`: two numbers with one strong dependence, and at most four attributes without influence.

Two halves. Settings of mechanisms are chosen on the variants `CHOSEN_ON` with even seeds; figures are
reported for the variants `REPORTED` with odd seeds. No variant is in both.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpmosaic.common.data.attributes.attribute import Attribute
from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.table import Table

HOLDOUT = 10_000
"""Number of rows kept apart from each table."""

Rng = np.random.Generator
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Generated:
    """A table of a family.

    Attributes:
        table: the private rows.
        holdout: other rows of the same distribution.
        label: attribute to predict from the others; None if the family has none.
        structure: the label and what it depends on, if their marginal says more than all its pairs; empty if
            the family has no such marginal.
        strongest: the two numbers that depend on each other, if no others do; else empty.
    """

    table: Table
    holdout: Table
    label: str | None
    structure: Clique
    strongest: Clique = ()


@dataclass(frozen=True)
class Drawn:
    """Columns before they are put into an order.

    Attributes:
        columns: attributes and their codes.
        label: as in `Generated`.
        structure: as in `Generated`, in any order.
        strongest: likewise.
    """

    columns: tuple[tuple[Attribute, Codes], ...]
    label: str | None
    structure: frozenset[str] = frozenset()
    strongest: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Variant:
    """A family in one size.

    Attributes:
        family: its name.
        rows: number of private rows.
        draw: rng, number of rows -> columns. What is hidden (classes, centres, maps) is drawn first.
        seeds: for how many seeds figures are means: more where those of single tables differ much, and a
            release takes few seconds.
    """

    family: str
    rows: int
    draw: Callable[[Rng, int], Drawn]
    seeds: int = 3

    @property
    def structured(self) -> bool:
        """Whether its tables have a `structure`."""
        return self.family in ("parity", "regions", "dependent")


def generate(name: str, seed: int, rows: int | None = None) -> Generated:
    """A table of a variant.

    Args:
        name: of the variant, one of `VARIANTS`.
        seed: of what is hidden and of the rows; even for choosing settings, odd for figures.
        rows: number of private rows; by default the variant's.

    Raises:
        KeyError: there is no such variant.
    """
    variant = VARIANTS[name]
    rng = np.random.default_rng([zlib.crc32(name.encode("ascii")), seed])
    wanted = variant.rows if rows is None else rows
    drawn = variant.draw(rng, wanted + HOLDOUT)
    # In a random order, so that no mechanism gains by the order of the columns.
    columns = [drawn.columns[place] for place in rng.permutation(len(drawn.columns))]
    domain = Domain(tuple(attribute for attribute, _ in columns))
    everything = Table.from_codes(domain, np.column_stack([codes for _, codes in columns]))
    return Generated(
        everything.rows(0, wanted),
        everything.rows(wanted, wanted + HOLDOUT),
        drawn.label,
        tuple(attribute for attribute in domain if attribute in drawn.structure),
        tuple(attribute for attribute in domain if attribute in drawn.strongest),
    )


def parity(rng: Rng, rows: int, attributes: int, order: int, groups: int) -> Drawn:
    """Groups of binary attributes, the first of each the noisy parity of the others; and a chain."""
    columns: dict[str, Codes] = {}
    for group in range(groups):
        parts = rng.integers(0, 2, (order - 1, rows))
        wrong = rng.random(rows) < 0.1
        columns[f"parity{group}"] = parts.sum(axis=0) % 2 ^ wrong
        columns |= {f"part{group}-{place}": part for place, part in enumerate(parts)}
    structure = frozenset(list(columns)[:order])
    before = rng.integers(0, 2, rows)
    for place in range(attributes - order * groups):
        chances = rng.uniform(0.1, 0.9, 2)
        before = (rng.random(rows) < chances[before]).astype(np.int64)
        columns[f"chain{place}"] = before
    return Drawn(_coded({name: (2, codes) for name, codes in columns.items()}), "parity0", structure)


def regions(rng: Rng, rows: int, shape: str, numbers: int, bins: int, classes: int) -> Drawn:
    """A class by boxes or centres in the space of some numbers, and three numbers without influence."""
    classify = {"boxes": _boxes, "centres": _centres}[shape](rng, numbers, classes)
    shared = rng.normal(size=(rows, 1))
    points = ndtr(np.sqrt(0.2) * shared + np.sqrt(0.8) * rng.normal(size=(rows, numbers)))
    label = np.where(rng.random(rows) < 0.05, rng.integers(0, classes, rows), classify(points))
    names = [f"number{place}" for place in range(numbers)]
    columns = dict(zip(names, points.T, strict=True))
    columns |= {f"noise{place}": rng.beta(2, 3, rows) for place in range(3)}
    binned = tuple(_binned(name, values, bins) for name, values in columns.items())
    return Drawn((*binned, *_coded({"class": (classes, label)})), "class", frozenset([*names, "class"]))


def copula(rng: Rng, rows: int, attributes: int) -> Drawn:
    """Numbers of 16 bins, all correlated through four factors, and a class of the quarters of one more."""
    loadings = rng.normal(size=(4, attributes)) * np.array([[1.0], [0.7], [0.5], [0.4]])
    scale = np.sqrt((loadings**2).sum(axis=0) + 0.5)
    normal = rng.normal(size=(rows, 4)) @ loadings + np.sqrt(0.5) * rng.normal(size=(rows, attributes))
    normal /= scale
    skews = rng.uniform(0.5, 2, attributes)
    values = np.clip((normal + 3) / 6, 0, 1) ** skews
    numbers = tuple(_binned(f"number{place}", values[:, place], 16) for place in range(attributes - 1))
    quarter = np.minimum(3, (ndtr(normal[:, -1]) * 4).astype(np.int64))
    return Drawn((*numbers, *_coded({"class": (4, quarter)})), "class")


def latent(rng: Rng, rows: int, attributes: int) -> Drawn:
    """Binary attributes of ten hidden classes."""
    return _mixture(rng, rows, [2] * attributes, classes=10, spread=0.5)


def small(rng: Rng, rows: int, attributes: int) -> Drawn:
    """Attributes of 2 to 12 values of four hidden classes."""
    return _mixture(rng, rows, [3, *rng.integers(2, 13, attributes - 1).tolist()], classes=4, spread=0.3)


def zipf(rng: Rng, rows: int, categories: int, exponent: float) -> Drawn:
    """Two attributes of many categories in 20 hidden groups, and four smaller ones."""
    chances = 1 / np.arange(1, categories + 1) ** exponent
    chances /= chances.sum()
    groups = rng.integers(0, 20, (2, categories))
    labels = rng.integers(0, 5, 20)
    first, second = rng.choice(categories, (2, rows), p=chances)
    group = groups[0, first]
    for code in range(20):
        within = np.where(groups[1] == code, chances, 0)
        if within.sum():
            places = np.flatnonzero((group == code) & (rng.random(rows) < 0.6))
            second[places] = rng.choice(categories, len(places), p=within / within.sum())
    medium = np.where(rng.random(rows) < 0.3, rng.integers(0, 20, rows), group)
    label = np.where(rng.random(rows) < 0.2, rng.integers(0, 5, rows), labels[group])
    rare = np.minimum(49, rng.zipf(1.5, rows) - 1)
    ten = (label * 2 + rng.integers(0, 4, rows)) % 10
    sizes = {"first": categories, "second": categories, "medium": 20, "label": 5, "rare": 50, "ten": 10}
    codes = (first, second, medium, label, rare, ten)
    return Drawn(
        _coded({name: (size, code) for (name, size), code in zip(sizes.items(), codes, strict=True)}), "label"
    )


def dependent(rng: Rng, rows: int, attributes: int) -> Drawn:
    """Attributes by threes: two that are nearly independent, and one that the first or both determine."""
    columns: dict[str, tuple[int, Codes]] = {}
    for place in range(attributes // 3):
        one, two = rng.integers(8, 13, 2)
        first = rng.choice(one, rows, p=rng.dirichlet(np.full(one, 2.0)))
        second = rng.choice(two, rows, p=rng.dirichlet(np.full(two, 2.0)))
        second = np.where(rng.random(rows) < 0.1, first % two, second)
        table = rng.integers(0, 5, (one, two)) if place % 2 == 0 else rng.integers(0, 5, (one, 1))
        columns |= {f"first{place}": (one, first), f"second{place}": (two, second)}
        columns[f"determined{place}"] = (5, table[first, second % table.shape[1]])
    structure = frozenset(["first0", "second0", "determined0"])
    return Drawn(_coded(columns), "determined0", structure)


def narrow(rng: Rng, rows: int, attributes: int, bins: int, shape: str) -> Drawn:
    """Two numbers on a noisy line or curve; half of the others are numbers, half have three codes."""
    one, noise = rng.normal(size=(2, rows))
    other = {
        "line": 0.8 * one + 0.6 * noise,
        "falling": -0.95 * one + 0.31 * noise,
        "bend": one**2 - 1 + 0.5 * noise,
        "wave": 1.5 * np.sin(2 * one) + 0.4 * noise,
    }[shape]
    numbers = {"one": one, "other": other}
    numbers |= {f"number{place}": rng.gamma(2, size=rows) - 2 for place in range((attributes - 2) // 2)}
    binned = [_binned(name, np.clip((values + 4) / 8, 0, 1), bins) for name, values in numbers.items()]
    few = {f"few{place}": (3, rng.integers(0, 3, rows)) for place in range((attributes - 1) // 2)}
    return Drawn((*binned, *_coded(few)), None, strongest=frozenset(["one", "other"]))


def _mixture(rng: Rng, rows: int, sizes: list[int], classes: int, spread: float) -> Drawn:
    """Attributes that are independent given a hidden class; the first is the label.

    The smaller the spread (a Dirichlet parameter), the more an attribute says about the class.
    """
    shares = rng.dirichlet(np.full(classes, 3.0))
    hidden = rng.choice(classes, rows, p=shares)
    columns = {}
    for place, size in enumerate(sizes):
        chances = rng.dirichlet(np.full(size, spread), classes).cumsum(axis=1)[:, :-1]
        codes = (rng.random((rows, 1)) > chances[hidden]).sum(axis=1)
        columns["label" if place == 0 else f"attribute{place}"] = (size, codes)
    return Drawn(_coded(columns), "label")


def _boxes(rng: Rng, numbers: int, classes: int) -> Callable[[NDArray[Any]], Codes]:
    """A random tree of cuts along the axes: the largest box is cut until there are four for each class."""
    boxes = [(np.zeros(numbers), np.ones(numbers))]
    while len(boxes) < 4 * classes:
        low, high = boxes.pop(int(np.argmax([np.prod(high - low) for low, high in boxes])))
        axis = rng.integers(numbers)
        cut = low[axis] + rng.uniform(0.3, 0.7) * (high[axis] - low[axis])
        below, above = high.copy(), low.copy()
        below[axis] = above[axis] = cut
        boxes += [(low, below), (above, high)]
    labels = rng.permutation(np.arange(4 * classes) % classes)

    def classify(points: NDArray[Any]) -> Codes:
        found = np.zeros(len(points), dtype=np.int64)
        for (low, high), label in zip(boxes, labels, strict=True):
            found[((points >= low) & (points < high)).all(axis=1)] = label
        return found

    return classify


def _centres(rng: Rng, numbers: int, classes: int) -> Callable[[NDArray[Any]], Codes]:
    """Three centres for each class; a point has the class of the nearest."""
    centres = rng.random((3 * classes, numbers))
    # |p - c|^2 without |p|^2, which is the same for all centres.
    norms = (centres**2).sum(axis=1)
    return lambda points: np.argmin(norms - 2 * points @ centres.T, axis=1) % classes


def _binned(name: str, values: NDArray[Any], bins: int) -> tuple[Attribute, Codes]:
    """A number in 0..1, in bins of equal width."""
    codes = np.minimum(bins - 1, (values * bins).astype(np.int64))
    return NumericAttribute(name, 0.0, 1.0, bins), codes


def _coded(columns: Mapping[str, tuple[int, Codes]]) -> tuple[tuple[Attribute, Codes], ...]:
    return tuple((CodedAttribute(name, int(size)), codes) for name, (size, codes) in columns.items())


def _parity(attributes: int, order: int, groups: int, seeds: int = 3) -> Variant:
    draw = partial(parity, attributes=attributes, order=order, groups=groups)
    return Variant("parity", 50_000, draw, seeds)


def _regions(shape: str, numbers: int, bins: int, classes: int, rows: int = 50_000) -> Variant:
    return Variant(
        "regions", rows, partial(regions, shape=shape, numbers=numbers, bins=bins, classes=classes)
    )


def _narrow(attributes: int, rows: int, bins: int, shape: str) -> Variant:
    return Variant("narrow", rows, partial(narrow, attributes=attributes, bins=bins, shape=shape), seeds=10)


def _sized(family: Callable[..., Drawn], attributes: int, rows: int, seeds: int = 3) -> Variant:
    return Variant(family.__name__, rows, partial(family, attributes=attributes), seeds)


_CHOSEN_ON: Mapping[str, Variant] = {
    "parity3-15": _parity(15, 3, 1),
    "parity3-21": _parity(21, 3, 2),
    "parity4-14": _parity(14, 4, 1),
    "boxes3x16-5": _regions("boxes", 3, 16, 5),
    "boxes4x16-10": _regions("boxes", 4, 16, 10),
    "centres3x32-10": _regions("centres", 3, 32, 10),
    "centres3x16-10-few": _regions("centres", 3, 16, 10, 7_000),
    "copula8": _sized(copula, 8, 30_000),
    "copula25": _sized(copula, 25, 20_000),
    "copula80": _sized(copula, 80, 30_000),
    "latent18": _sized(latent, 18, 38_000),
    "latent25": _sized(latent, 25, 38_000),
    "latent50": _sized(latent, 50, 38_000),
    "zipf800": Variant("zipf", 50_000, partial(zipf, categories=800, exponent=1.2)),
    "small10": _sized(small, 10, 300, seeds=9),
    "dependent9": _sized(dependent, 9, 20_000, seeds=5),
    "narrow2-2": _narrow(2, 2_000, 32, "bend"),
    "narrow3-10": _narrow(3, 10_000, 64, "line"),
    "narrow4-20": _narrow(4, 20_000, 64, "wave"),
    "narrow5-50": _narrow(5, 50_000, 64, "falling"),
}

_REPORTED: Mapping[str, Variant] = {
    "parity3-12": _parity(12, 3, 1, seeds=9),
    "parity3-23": _parity(23, 3, 3),
    "parity4-18": _parity(18, 4, 1),
    "boxes3x32-10": _regions("boxes", 3, 32, 10),
    "boxes3x16-10-few": _regions("boxes", 3, 16, 10, 7_000),
    "centres3x16-5": _regions("centres", 3, 16, 5),
    "centres4x16-10": _regions("centres", 4, 16, 10),
    "copula10": _sized(copula, 10, 20_000),
    "copula30": _sized(copula, 30, 30_000),
    "copula100": _sized(copula, 100, 50_000),
    "latent20": _sized(latent, 20, 38_000),
    "latent23": _sized(latent, 23, 38_000),
    "latent40": _sized(latent, 40, 38_000),
    "latent60": _sized(latent, 60, 38_000),
    "zipf1000": Variant("zipf", 50_000, partial(zipf, categories=1_000, exponent=1.0)),
    "small8": _sized(small, 8, 300, seeds=9),
    "small14": _sized(small, 14, 300, seeds=9),
    "dependent12": _sized(dependent, 12, 50_000, seeds=5),
    "narrow2-1": _narrow(2, 1_000, 32, "line"),
    "narrow2-30": _narrow(2, 30_000, 100, "bend"),
    "narrow3-5": _narrow(3, 5_000, 50, "falling"),
    "narrow3-12": _narrow(3, 12_000, 72, "line"),
    "narrow4-3": _narrow(4, 3_000, 50, "line"),
    "narrow5-20": _narrow(5, 20_000, 50, "bend"),
    "narrow6-100": _narrow(6, 100_000, 100, "wave"),
}

VARIANTS: Mapping[str, Variant] = {**_CHOSEN_ON, **_REPORTED}
"""All variants by name."""

CHOSEN_ON = tuple(_CHOSEN_ON)
"""Variants on which settings are chosen, with even seeds."""

REPORTED = tuple(_REPORTED)
"""Variants for which figures are reported, with odd seeds."""

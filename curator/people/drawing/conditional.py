"""What a column is, given some others: the distribution of largest entropy with given pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]

_CONDITIONAL_CELLS = 1 << 18
"""Most cells of the table of a column and what it is drawn from."""

_GIVEN, _GIVEN_GROUPS = 4, 24
"""Most columns that one is drawn from, and most groups of codes of each."""

_FITTING_ROUNDS = 12
"""Rounds of iterative proportional fitting."""

_LEAST_INFORMATION = 1e-4
"""Mutual information in nats below which a column says nothing of another."""

Pairs = Callable[[int, int], Numbers]
"""The pair of two columns, shape (codes of one, codes of other), not negative."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """The distribution of a column given others.

    Attributes:
        column: place of the column.
        given: places of the others.
        groups: for each of these, the group of each code.
        cumulative: shape (cells of the groups, codes): of the probabilities of the codes.
    """

    column: int
    given: tuple[int, ...]
    groups: tuple[Codes, ...]
    cumulative: Numbers
    _lines: dict[tuple[int, int], Numbers] = field(default_factory=dict)

    @classmethod
    def of(
        cls, column: int, others: Sequence[int], needed: int | None, sizes: Sequence[int], pair: Pairs
    ) -> Conditional:
        """The distribution that follows from pairs.

        Args:
            column: place of the column.
            others: places of columns that it may depend on.
            needed: place of the one among them that it depends on in any case; None for no such one.
            sizes: number of codes of each column.
            pair: estimates of pairs.

        Source: Deming and Stephan (1940), iterative proportional fitting.
        """
        joint = {one: pair(one, column) for one in others}
        grouped = {one: _groups_of_equal_mass(cells.sum(axis=1)) for one, cells in joint.items()}
        said = {one: math.inf if one == needed else mutual_information(cells) for one, cells in joint.items()}
        given: list[int] = []
        cells = sizes[column]
        for one in sorted(others, key=lambda one: -said[one]):
            more = cells * (int(grouped[one].max()) + 1)
            if len(given) < _GIVEN and more <= _CONDITIONAL_CELLS and said[one] > _LEAST_INFORMATION:
                given.append(one)
                cells = more
        labels = [*(grouped[one] for one in given), np.arange(sizes[column])]
        table = _fit_table([*given, column], labels, pair)
        flat = table.reshape(-1, sizes[column])
        flat[flat.sum(axis=1) <= 0] = flat.sum(axis=0) + 1e-9
        return cls(column, tuple(given), tuple(labels[:-1]), np.cumsum(flat, axis=1))

    def draw(self, codes: NDArray[np.int32], low: int, high: int, rng: np.random.Generator) -> Codes:
        """A code for each row, of low to high - 1.

        Args:
            codes: shape (rows, columns).
            low: the first code that may be drawn.
            high: the code after the last one.
            rng: draws codes.
        """
        cell = np.zeros(len(codes), dtype=np.int64)
        for one, labels in zip(self.given, self.groups, strict=True):
            cell = cell * (int(labels.max()) + 1) + labels[codes[:, one]]
        line = self._line(low, high)
        found: Codes = np.searchsorted(line, cell + rng.random(len(cell)) * (1 - 1e-9), "right")
        inside: Codes = np.minimum(found - cell * (high - low), high - low - 1) + low
        return inside

    def _line(self, low: int, high: int) -> Numbers:
        """The cells one after the other, each of length one, in which every row looks for its place."""
        if (low, high) not in self._lines:
            before = self.cumulative[:, low - 1] if low else np.zeros(len(self.cumulative))
            mass = self.cumulative[:, high - 1] - before
            some = self.cumulative[:, low:high] - before[:, None]
            bare = mass <= 0
            some[bare], mass = np.arange(1, high - low + 1), np.where(bare, high - low, mass)
            line = (some / mass[:, None]).clip(0, 1) * (1 - 1e-12) + np.arange(len(some))[:, None]
            self._lines[low, high] = line.ravel()
        return self._lines[low, high]


def with_margin(table: Numbers, axis: int, margin: Numbers) -> Numbers:
    """A table that is scaled along an axis to these sums."""
    now = table.sum(axis=1 - axis)
    factor = np.divide(margin, now, out=np.zeros_like(now), where=now > 0)
    scaled: Numbers = table * np.expand_dims(factor, 1 - axis)
    return scaled


def _fit_table(places: Sequence[int], labels: Sequence[Codes], pair: Pairs) -> Numbers:
    """The table of largest entropy of groups of codes with all pairs, one axis for each column."""
    shape = [int(one.max()) + 1 for one in labels]
    wanted = {
        (a, b): _sum_groups(pair(places[a], places[b]), labels[a], labels[b])
        for a, b in itertools.combinations(range(len(places)), 2)
    }
    table = np.ones(shape)
    for _ in range(_FITTING_ROUNDS):
        for both, target in wanted.items():
            now = table.sum(axis=tuple({*range(len(shape))} - {*both}), keepdims=True)
            goal = target.reshape([n if axis in both else 1 for axis, n in enumerate(shape)])
            table *= np.divide(goal, now, out=np.zeros_like(now), where=now > 0)
    return table


def _groups_of_equal_mass(mass: Numbers) -> Codes:
    """Groups of neighbouring codes of about equal mass; each code by itself if there are few."""
    if len(mass) <= _GIVEN_GROUPS:
        return np.arange(len(mass))
    share = np.cumsum(mass) / max(mass.sum(), 1e-300)
    found = np.minimum((share * _GIVEN_GROUPS * (1 - 1e-9)).astype(np.int64), _GIVEN_GROUPS - 1)
    _, labels = np.unique(found, return_inverse=True)
    return labels.astype(np.int64)


def _sum_groups(cells: Numbers, one: Codes, other: Codes) -> Numbers:
    """A pair of groups of codes."""
    found = np.zeros((int(one.max()) + 1, int(other.max()) + 1))
    np.add.at(found, (one[:, None], other[None, :]), cells)
    return found


def mutual_information(joint: Numbers) -> float:
    """Mutual information of the two axes of a table of counts, in nats; negative counts are taken as 0."""
    cells = np.maximum(joint, 0.0)
    total = cells.sum()
    if total <= 0:
        return 0.0
    shares = cells / total
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    some = shares > 0
    return float((shares[some] * np.log(shares[some] / apart[some])).sum())

"""Features of rows for learners: numbers as numbers, other attributes as categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .values.values import Values

Array = NDArray[np.float32]

MOST_CATEGORIES = 100
"""Most categories of an attribute that are told apart; all rarer ones count as one."""

MOST_INDICATORS = 1000
"""Most indicators of all attributes together; of many attributes fewer categories are told apart."""


@dataclass(frozen=True, eq=False)
class Features:
    """How attributes become features, learned from training rows alone.

    Attributes:
        numbers: name of each number -> its median, mean and standard deviation (1 if it has none) in the
            training rows.
        categories: name of each other attribute -> for each code its place among the categories that are told
            apart, or their number for a rarer one; shape (size,).
    """

    numbers: Mapping[str, tuple[float, float, float]]
    categories: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, train: Values, target: str) -> Features:
        """The features of all attributes but the target; a number that is always missing is a category."""
        others = [name for name in train.table.domain if name != target]
        known = [name for name in others if not np.isnan(train.numbers.get(name, np.nan)).all()]
        numbers = {name: _scale(train.numbers[name]) for name in known}
        named = [name for name in others if name not in numbers]
        most = max(1, min(MOST_CATEGORIES, MOST_INDICATORS // max(1, len(named))))
        return cls(numbers, {name: _places(train.table.marginal((name,)), most) for name in named})

    @property
    def are_categories(self) -> list[bool]:
        """For each column of `columns`, whether it holds places of categories."""
        return [False] * len(self.numbers) + [True] * len(self.categories)

    def columns(self, rows: Values) -> Array:
        """One column for each attribute, NaN for a missing number; shape (N, attributes)."""
        return np.column_stack([*self._raw(rows), *(places.astype(np.float32) for places in self._of(rows))])

    def indicators(self, rows: Values) -> Array:
        """Numbers, NaN where missing, and one indicator for each category; shape (N, features)."""
        return np.column_stack([*self._raw(rows), *self._one_hot(rows)])

    def standardise(self, rows: Values) -> Array:
        """As `indicators`, without NaN.

        Numbers have mean 0 and standard deviation 1 in the training rows. A missing one is their median, and
        has an indicator.
        """
        columns: list[NDArray[Any]] = []
        for name, (median, mean, deviation) in self.numbers.items():
            missing = np.isnan(rows.numbers[name])
            filled = np.where(missing, median, rows.numbers[name])
            columns += [(filled - mean) / deviation, missing]
        return np.column_stack([*columns, *self._one_hot(rows)]).astype(np.float32)

    def _raw(self, rows: Values) -> list[Array]:
        return [rows.numbers[name].astype(np.float32) for name in self.numbers]

    def _of(self, rows: Values) -> list[NDArray[np.int64]]:
        return [places[rows.table.column(name)] for name, places in self.categories.items()]

    def _one_hot(self, rows: Values) -> list[Array]:
        return [
            (found[:, None] == np.arange(places.max() + 1)).astype(np.float32)
            for found, places in zip(self._of(rows), self.categories.values(), strict=True)
        ]


def _places(counts: NDArray[Any], most: int) -> NDArray[np.int64]:
    """The place of each code among the most common ones that occur, in the order of the codes."""
    common = np.sort(np.argsort(-counts.ravel(), kind="stable")[:most])
    common = common[counts.ravel()[common] > 0]
    places = np.full(counts.size, len(common), dtype=np.int64)
    places[common] = np.arange(len(common))
    return places


def _scale(numbers: NDArray[np.float64]) -> tuple[float, float, float]:
    known = numbers[~np.isnan(numbers)]
    return float(np.median(known)), float(known.mean()), float(known.std()) or 1.0

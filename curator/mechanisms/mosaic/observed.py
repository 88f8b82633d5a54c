"""What is known of one interaction: its measurements, scores beside a reference, and predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .components import Array


@dataclass(frozen=True, eq=False)
class Observed:
    """The average of all measurements of one interaction.

    Attributes:
        values: shape (n_r,).
        variance: variance of the noise of a cell of the average, within the interaction.
    """

    values: Array
    variance: float

    def with_values(self, values: Array, variance: float) -> Observed:
        """The inverse-variance weighted average with another measurement."""
        total = 1 / (1 / self.variance + 1 / variance)
        return Observed(total * (self.values / self.variance + values / variance), total)


@dataclass(frozen=True, eq=False)
class Prediction:
    """An interaction as all others lead to expect it.

    Attributes:
        cells: the marginal with it, shape (n_r,).
        typical: mean of the distance from it, as a share of the records.
        share: prior probability that the interaction is near it.
    """

    cells: Array
    typical: float
    share: float


@dataclass(frozen=True, eq=False)
class Checked:
    """The average of the scores of an interaction beside one reference.

    Attributes:
        cells: the reference, shape (n_r,).
        distance: noisy L1 distance of the table's marginal from it, in records.
        deviation: standard deviation of the noise of the distance, and of what the reference has moved.
    """

    cells: Array
    distance: float
    deviation: float

    def with_score(self, cells: Array, distance: float, deviation: float) -> Checked:
        """The average with a later score, beside a reference that may have moved."""
        before = self.deviation**2 + float(np.abs(cells - self.cells).sum()) ** 2
        variance = 1 / (1 / before + 1 / deviation**2)
        mean = variance * (self.distance / before + distance / deviation**2)
        return Checked(cells, mean, math.sqrt(variance))

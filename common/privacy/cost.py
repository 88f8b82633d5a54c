"""What noise costs: exact zCDP arithmetic in multiples of 2^-64.

Every cost is rounded up and every grant is a float, so sums and comparisons of costs are exact: what was
spent can never exceed what was granted, to the last digit.

One rule serves both promises. Discrete Gaussian noise of scale sigma on the grid (1/g) Z, for counts on that
grid, is within a factor exp(+-1e-21) of a post-processed Gaussian of variance sigma^2 - 2.5 / g^2
(docs/adr/0003). It is charged as that Gaussian: rho = sensitivity^2 / (2 (sigma^2 - 2.5 / g^2)), which bounds
its zCDP and lets adaptively chosen measurements compose as Gaussian differential privacy with
mu^2 = 2 * sum of rho. With g * sigma >= 256 the price of this is a factor below 1.00004.

Where only an interaction is released (`common/data/interactions.py`), the same holds with the smaller
distance by which a record moves it (docs/adr/0020).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from ..errors import BudgetError

_UNIT = 2**64
_MIN_GRID_SIGMA = 256.0
_MIN_SIGMA = 2.0**-20
MAX_SIGMA = 2.0**40
"""No noise is drawn with a larger scale."""

_SMOOTHING_VARIANCE = Fraction(5, 2)
_ASKED_AGAIN = 4096
"""Results of exact arithmetic that are kept: thousands of marginals of the same size ask for the same."""

MAX_INTERACTION_SIZE = 1 << 14
"""No attribute of a measured interaction has more values: the grid of the noise would show."""

MAX_INTERACTION_CELLS = 1 << 40
"""Nor has its marginal more cells: what each of them shows adds up."""


class Adjacency(enum.Enum):
    """When two tables are neighbours; the value is its name in plans and certificates."""

    ZERO_OUT = "zero-out"
    """One record is replaced by a null record that counts in no cell; the record count is public."""
    REPLACE_ONE = "replace-one"
    """One record is replaced by any other."""

    @property
    def squared_sensitivity(self) -> int:
        """Square of the L2 sensitivity of a marginal: 1 cell changes by 1, or 2 cells do."""
        return 1 if self is Adjacency.ZERO_OUT else 2

    def squared_interaction_sensitivity(self, shape: Sequence[int]) -> Fraction:
        """Square of the L2 sensitivity of the interaction of a marginal of this shape.

        A record's cell has the interaction of squared norm prod (1 - 1/n_i). Two cells are farthest apart
        where they differ in the smallest attribute alone.

        Raises:
            BudgetError: an attribute has too many values for the noise of an interaction, or only one, or
                there are too many cells.
        """
        fits = all(2 <= n <= MAX_INTERACTION_SIZE for n in shape)
        if not fits or math.prod(shape) > MAX_INTERACTION_CELLS:
            raise BudgetError(
                f"expected an interaction of attributes of 2 to {MAX_INTERACTION_SIZE} values and of at most "
                "2^40 cells, got one of other sizes; measure the whole marginal"
            )
        squared = math.prod((1 - Fraction(1, n) for n in shape), start=Fraction(1))
        if self is Adjacency.ZERO_OUT:
            return squared
        return 2 * squared / (1 - Fraction(1, min(shape)))

    @classmethod
    def named(cls, name: str) -> Adjacency:
        """The adjacency of that name."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(member.value for member in cls)
            raise BudgetError(f"adjacency: expected one of {known}, got {name!r}") from None


def grid_of(sigma: float) -> int:
    """The grid of noise of scale sigma: multiples of 1/g, g the least power of two with g * sigma >= 256."""
    if sigma < _MIN_SIGMA:
        raise BudgetError(
            "expected noise of at least 2^-20 counts, got a budget that calls for less; lower the budget"
        )
    if sigma > MAX_SIGMA:
        raise BudgetError("expected noise of at most 2^40 counts, got more; grant more for the measurement")
    return 1 << max(0, math.ceil(math.log2(_MIN_GRID_SIGMA / sigma)))


def gaussian_cost(sigma: float, adjacency: Adjacency, interaction: Sequence[int] = ()) -> Fraction:
    """The zCDP cost of one marginal with discrete Gaussian noise of scale sigma, rounded up to 2^-64.

    Guarantee: rho-zCDP, and mu-GDP with mu^2 = 2 rho, under `adjacency`.

    Args:
        sigma: of the noise of every cell, in counts.
        adjacency: which tables are neighbours.
        interaction: shape of the marginal where nothing but its noisy interaction is released; else empty.
    """
    return _cost(sigma, _squared_sensitivity(adjacency, interaction))


def score_cost(sigma: float, adjacency: Adjacency, count: int) -> Fraction:
    """The zCDP cost of L1 distances of so many marginals to references, each with noise of scale sigma.

    A record changes a cell by 1, and so each distance by 1; two cells under replace-one, each distance by 2.

    Guarantee: rho-zCDP, and mu-GDP with mu^2 = 2 rho, under `adjacency`.
    """
    return count * _cost(sigma, adjacency.squared_sensitivity**2)


def score_sigma(rho: Fraction, adjacency: Adjacency, count: int) -> float:
    """The smallest scale, to a float's precision, at which so many scores cost no more than rho.

    Raises:
        BudgetError: rho is less than 2^-62 for each score, for which costs are too coarse.
    """
    return gaussian_sigma(rho / (count * adjacency.squared_sensitivity), adjacency)


def exponential_cost(epsilon: float) -> Fraction:
    """The zCDP cost epsilon^2 / 8 of an exponential mechanism with parameter epsilon, rounded up to 2^-64.

    Source: Cesar and Rogers 2021 (bounded range); RandDPGen, Lemma 3.4.
    """
    return _rounded_up(Fraction(epsilon) ** 2 / 8)


def gaussian_sigma(rho: Fraction, adjacency: Adjacency, interaction: Sequence[int] = ()) -> float:
    """The smallest scale, to a float's precision, whose cost does not exceed rho.

    Args:
        rho: what the measurement may cost.
        adjacency: which tables are neighbours.
        interaction: see `gaussian_cost`.

    Raises:
        BudgetError: rho is less than 2^-62, for which costs are too coarse.
    """
    if rho < Fraction(4, _UNIT):
        raise BudgetError("expected a budget of at least 2^-62 for a measurement, got less; grant more")
    return _smallest_sigma(rho, _squared_sensitivity(adjacency, interaction))


@lru_cache(maxsize=_ASKED_AGAIN)
def _smallest_sigma(rho: Fraction, squared_sensitivity: Fraction | int) -> float:
    # One unit less, because the cost will be rounded up.
    ideal = squared_sensitivity / (2 * (rho - Fraction(1, _UNIT)))
    sigma = math.sqrt(ideal)
    # Twice, because what the grid adds can take the scale past the border to a coarser grid.
    for _ in range(2):
        sigma = math.sqrt(ideal + _SMOOTHING_VARIANCE / grid_of(sigma) ** 2)
    while _cost(sigma, squared_sensitivity) > rho:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def charged_variance(sigma: float, factor: float = 1.0) -> Fraction:
    """The variance of the Gaussian that noise of scale factor * sigma on the grid of sigma is charged as."""
    return (Fraction(factor) * Fraction(sigma)) ** 2 - _SMOOTHING_VARIANCE / grid_of(sigma) ** 2


def _squared_sensitivity(adjacency: Adjacency, interaction: Sequence[int]) -> Fraction | int:
    if interaction:
        return adjacency.squared_interaction_sensitivity(interaction)
    return adjacency.squared_sensitivity


@lru_cache(maxsize=_ASKED_AGAIN)
def _cost(sigma: float, squared_sensitivity: Fraction | int) -> Fraction:
    return _rounded_up(squared_sensitivity / (2 * charged_variance(sigma)))


def _rounded_up(rho: Fraction) -> Fraction:
    return Fraction(math.ceil(rho * _UNIT), _UNIT)

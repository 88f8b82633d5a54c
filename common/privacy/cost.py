"""What noise costs: exact zCDP arithmetic in multiples of 2^-64.

Every cost is rounded up and every grant is a float, so sums and comparisons of costs are exact: what was
spent can never exceed what was granted, to the last digit.

One rule serves both promises. Discrete Gaussian noise of scale sigma on the grid (1/g) Z, for counts on that
grid, is within a factor exp(+-1e-21) of a post-processed Gaussian of variance sigma^2 - 2.5 / g^2
(docs/adr/0003). It is charged as that Gaussian: rho = sensitivity^2 / (2 (sigma^2 - 2.5 / g^2)), which bounds
its zCDP and lets adaptively chosen measurements compose as Gaussian differential privacy with
mu^2 = 2 * sum of rho. With g * sigma >= 256 the price of this is a factor below 1.00004.
"""

from __future__ import annotations

import enum
import math
from fractions import Fraction

from ..errors import BudgetError

_UNIT = 2**64
_MIN_GRID_SIGMA = 256.0
_MIN_SIGMA = 2.0**-20
MAX_SIGMA = 2.0**40
"""No noise is drawn with a larger scale."""

_SMOOTHING_VARIANCE = Fraction(5, 2)


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


def gaussian_cost(sigma: float, adjacency: Adjacency) -> Fraction:
    """The zCDP cost of one marginal with discrete Gaussian noise of scale sigma, rounded up to 2^-64.

    Guarantee: rho-zCDP, and mu-GDP with mu^2 = 2 rho, under `adjacency`.
    """
    return _cost(sigma, adjacency.squared_sensitivity)


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


def gaussian_sigma(rho: Fraction, adjacency: Adjacency) -> float:
    """The smallest scale, to a float's precision, whose cost does not exceed rho.

    Raises:
        BudgetError: rho is less than 2^-62, for which costs are too coarse.
    """
    if rho < Fraction(4, _UNIT):
        raise BudgetError("expected a budget of at least 2^-62 for a measurement, got less; grant more")
    # One unit less, because the cost will be rounded up.
    ideal = adjacency.squared_sensitivity / (2 * (rho - Fraction(1, _UNIT)))
    sigma = math.sqrt(ideal)
    # Twice, because what the grid adds can take the scale past the border to a coarser grid.
    for _ in range(2):
        sigma = math.sqrt(ideal + _SMOOTHING_VARIANCE / grid_of(sigma) ** 2)
    while gaussian_cost(sigma, adjacency) > rho:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def _cost(sigma: float, squared_sensitivity: int) -> Fraction:
    variance = Fraction(sigma) ** 2 - _SMOOTHING_VARIANCE / grid_of(sigma) ** 2
    return _rounded_up(squared_sensitivity / (2 * variance))


def _rounded_up(rho: Fraction) -> Fraction:
    return Fraction(math.ceil(rho * _UNIT), _UNIT)

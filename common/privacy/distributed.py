"""Noise that many parties draw and of which only the sum is revealed: each party's scale, and the cost.

Each party adds discrete Gaussian noise to a share, and only the sum of the shares is revealed. Colluding
parties can subtract their own noise, so the noise of the others has to suffice. The sum of discrete Gaussians
is not a discrete Gaussian, but so close to one that `gaussian_cost` still covers it.

Source: Kairouz, Liu, Steinke, "The Distributed Discrete Gaussian Mechanism" (2021), whose tau (10 times a sum
of exponentials) bounds what the sum adds to the privacy loss. The bound here is derived in the same way;
`docs/adr/0006` has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from ..crypto.randomness import RandomStream
from ..errors import BudgetError
from ..later import np
from .cost import grid_of
from .noise import TAIL_SIGMAS, discrete_gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_EXCESS = 1e-33
"""Largest difference of the sum from one discrete Gaussian; the grant's margins cover it for 10^12 cells."""

_ROUNDED_UP = 1 + 1e-9


@lru_cache(maxsize=4096)
def sum_excess(draws: int, scale: float) -> float:
    """Bound on how far the sum of independent discrete Gaussians is from one of the same variance.

    Adding one draw to the sum of k is a sum over the integers of a Gaussian of variance scale^2 k / (k + 1).
    By Poisson summation that is the same for every total up to a factor 1 +- eta_k, so each step costs at
    most 2 atanh(eta_k). Later steps are counted like the second.

    Args:
        draws: number of summands, at least 1.
        scale: of each summand, on the integers; positive.

    Returns:
        Upper bound on |log(p / q)|, p and q the probabilities of any total under the sum and under the
        discrete Gaussian of scale sqrt(draws) * scale. It does not decrease with draws; 0.0 also stands for
        less than 1e-300, and infinity for a scale that is too small for a bound.
    """
    if draws == 1:
        return 0.0
    first, later = (_oscillation(scale * scale * share) for share in (1 / 2, 2 / 3))
    if first >= 1:
        return math.inf
    return 2 * (math.atanh(first) + (draws - 2) * math.atanh(later)) * _ROUNDED_UP


@dataclass(frozen=True)
class DistributedNoise:
    """How the noise of a query is divided among parties, some of which may collude.

    All scales follow from the charged scale sigma, in counts; noise is drawn in units of 1/g, g = `grid`.

    Attributes:
        parties: number of parties that draw noise.
        tolerated: number of parties that may collude; the noise of the others has at least scale sigma.
        parts: parts of one in which rows are counted (`PrivacyUnit.parts`).
        lost: number of parties of which the noise may be missing; that of the others suffices.
    """

    parties: int
    tolerated: int
    parts: int = 1
    lost: int = 0

    def __post_init__(self) -> None:
        if self.parties < 1:
            raise BudgetError(f"parties: expected at least 1 to draw noise, got {self.parties}")
        if not 0 <= self.tolerated < self.parties - self.lost:
            raise BudgetError(
                f"tolerated collusions: expected 0 to {self._least - 1} of {self.parties} parties, "
                f"got {self.tolerated}; at least one party's noise has to remain secret"
            )

    @property
    def factor(self) -> float:
        """Least standard deviation of the noise of all parties that are not lost, as a multiple of sigma."""
        return math.sqrt(self._least / (self._least - self.tolerated))

    @property
    def _least(self) -> int:
        """Number of parties whose noise is never missing."""
        return self.parties - self.lost

    def grid(self, sigma: float) -> int:
        """The grid g of the noise; see `grid_of`."""
        return grid_of(sigma, self.parts)

    def share_scale(self, sigma: float) -> float:
        """The smallest sufficient scale of each party's noise, to a float's precision, in units of 1/g.

        Raises:
            BudgetError: each party's noise would be too narrow for a sum close to a discrete Gaussian.
        """
        # A person changes up to as many cells as one has parts.
        if self.excess(sigma) * self.parts > MAX_EXCESS:
            raise BudgetError(
                "parties: expected few enough that their noise adds up to one discrete Gaussian, got "
                f"{self.parties} with {self.tolerated} tolerated collusions; let fewer parties take part"
            )
        return self._scale(sigma)

    def total_sigma(self, sigma: float, parties: int | None = None) -> float:
        """Standard deviation of the noise of so many parties together, by default of all, in counts."""
        return math.sqrt(parties or self.parties) * self.share_scale(sigma) / self.grid(sigma)

    def excess(self, sigma: float) -> float:
        """Bound on the max-divergence, either way, between summed noise and one discrete Gaussian.

        It holds for the sum over all parties and for the sum over any of them.
        """
        return sum_excess(self.parties, self._scale(sigma))

    def largest(self, sigma: float) -> int:
        """Bound on the absolute value of the noise of all parties, in units of 1/g."""
        # A draw ends within two blocks of the tail; a block is 1 wide, or a sixteenth of a sigma at most.
        return self.parties * math.ceil((TAIL_SIGMAS + 1) * self.share_scale(sigma) + 2)

    def largest_total(self, sigma: float, cells: int) -> int:
        """Bound on the absolute sum of all parties' noise over many cells, in units of 1/g.

        Exceeded with probability below 2^-160: a discrete Gaussian is sub-Gaussian with its own scale, and so
        are sums of independent ones.

        Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020).
        """
        scale = self.share_scale(sigma) * math.sqrt(self.parties * cells)
        return min(cells * self.largest(sigma), math.ceil((TAIL_SIGMAS + 1) * scale))

    def draw(self, sigma: float, size: int, stream: RandomStream) -> NDArray[np.int64]:
        """One party's noise, in units of 1/g.

        Guarantee: summed over the parties that do not collude, `gaussian_cost(sigma, adjacency)` for each
            marginal, if only the sum over all parties is revealed; the cost of the interaction, if only the
            differences of the sum are.

        Args:
            sigma: charged scale, in counts.
            size: number of cells.
            stream: random words of this party, unknown to other parties.

        Returns:
            Shape (size,), int64.
        """
        return discrete_gaussian(self.share_scale(sigma), size, stream)

    def _scale(self, sigma: float) -> float:
        return _scale_of_each(self.grid(sigma), sigma, self._least - self.tolerated)


@lru_cache(maxsize=4096)
def _scale_of_each(grid: int, sigma: float, parties: int) -> float:
    """The scale at which the variances of all draws add up to at least that of sigma, in units of 1/g."""
    needed = (grid * Fraction(sigma)) ** 2 / parties
    scale = math.sqrt(needed)
    while Fraction(scale) ** 2 < needed:
        scale = math.nextafter(scale, math.inf)
    return scale


def _oscillation(variance: float) -> float:
    """Bound eta on how much a sum of Gaussian weights over the integers depends on their centre.

    The sum of exp(-(x - c)^2 / 2 variance) over the integers x lies within 1 +- eta of its mean over c. The
    exact eta is 2 (q + q^4 + q^9 + ...) with q = exp(-2 pi^2 variance), and j^2 >= 1 + 3 (j - 1).
    """
    q = math.exp(-2 * math.pi**2 * variance)
    return 2 * q / (1 - q**3) if q < 1 / 2 else math.inf

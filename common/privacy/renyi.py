"""Charges at one Rényi order: how noise that is no zCDP of its own adds up with the rest of a release.

An (epsilon, delta) promise is read off a bound on the Rényi divergence at some order alpha. Rho-zCDP bounds
it by alpha rho at every order. A release that keeps one promise needs the bound at one order alone: there a
step of divergence D costs D / alpha, and costs add up, along adaptive choices too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import BudgetError


@dataclass(frozen=True)
class SampledGaussian:
    """Sums over Poisson samples with Gaussian noise, as DP-SGD takes them.

    Attributes:
        rate: probability with which each record is in a sample.
        multiplier: standard deviation of the noise over the sensitivity of a sum.
        steps: how many.
    """

    rate: float
    multiplier: float
    steps: int


@dataclass(frozen=True)
class ExponentialSteps:
    """Exponential mechanisms, in sections of the table that compose in parallel.

    Attributes:
        step_epsilon: parameter of each.
        steps: how many each section takes at most.
        sections: how many there are; one record is in one of them.
    """

    step_epsilon: float
    steps: int
    sections: int


_ORDERS = (*range(2, 1024), *(round(1024 * 1.02**i) for i in range(141)))
"""Whole orders that are tried, up to 16,000: small promises are read off large ones."""

_MARGIN = 1 + 1e-9
"""Covers rounding, and discrete noise that stands for continuous noise (docs/adr/0017)."""


@dataclass(frozen=True)
class RenyiOrder:
    """The order at which a promise is read off.

    Attributes:
        alpha: whole number, at least 2.
        zcdp_rho: what may be spent at this order: a divergence of alpha times this gives the promise.
    """

    alpha: int
    zcdp_rho: float


def renyi_order(epsilon: float, delta: float) -> RenyiOrder:
    """The whole order at which most may be spent for (epsilon, delta)-DP, of those that are tried.

    Source: Canonne, Kamath, Steinke 2020, Proposition 12: a divergence D at order alpha gives
        delta = exp((alpha - 1)(D - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha.

    Raises:
        BudgetError: nothing may be spent at any of the orders that are tried.
    """

    def rho(alpha: int) -> float:
        logarithm = math.log(delta) + math.log(alpha - 1) - alpha * math.log1p(-1 / alpha)
        return (epsilon + logarithm / (alpha - 1)) / alpha

    alpha = max(_ORDERS, key=rho)
    if rho(alpha) <= 0:
        raise BudgetError(
            f"epsilon: expected a larger one beside delta = {delta:g}, got {epsilon:g}: sampled noise cannot "
            "be accounted for so small a promise"
        )
    return RenyiOrder(alpha, rho(alpha) * (1 - 1e-12))


def sampled_gaussian_rho(rate: float, multiplier: float, steps: int, alpha: int) -> float:
    """What so many steps cost at an order, each a sum over a Poisson sample with Gaussian noise.

    Every record is in the sample with probability `rate`, apart from all others and from the data, and what
    was sampled stays secret; the sum changes by at most 1 in L2 norm if a record counts or not.

    Source: Mironov, Talwar, Zhang, "Rényi differential privacy of the sampled Gaussian mechanism" (2019),
        section 3.3: for a whole order a finite sum, which bounds both directions.

    Args:
        rate: in (0, 1].
        multiplier: standard deviation of the noise, as a multiple of the sensitivity.
        steps: how many.
        alpha: the order.

    Returns:
        The divergence over alpha, rounded up.
    """
    if not 0 < rate <= 1 or not multiplier > 0:
        raise ValueError("expected a rate in (0, 1] and a positive multiplier")
    if rate == 1:
        return steps * _MARGIN / (2 * multiplier**2)
    terms = [
        math.lgamma(alpha + 1)
        - math.lgamma(k + 1)
        - math.lgamma(alpha - k + 1)
        + (alpha - k) * math.log1p(-rate)
        + k * math.log(rate)
        + k * (k - 1) / (2 * multiplier**2)
        for k in range(alpha + 1)
    ]
    largest = max(terms)
    # The sum is 1 plus something small: what is added to 1 is summed on its own, where it can be.
    if largest < 1:
        excess = math.fsum(
            math.exp(terms[k]) * -math.expm1(-k * (k - 1) / (2 * multiplier**2)) for k in range(2, alpha + 1)
        )
        logarithm = math.log1p(excess)
    else:
        logarithm = largest + math.log(math.fsum(math.exp(term - largest) for term in terms))
    return steps * logarithm / (alpha * (alpha - 1)) * _MARGIN


def noise_multiplier(rate: float, steps: int, alpha: int, rho: float) -> float:
    """The smallest multiplier, to a relative 1e-9, at which so many steps cost no more than rho.

    Raises:
        BudgetError: even the largest noise costs more.
    """
    low, high = 1e-3, 2.0**20
    if sampled_gaussian_rho(rate, high, steps, alpha) > rho:
        raise BudgetError(
            "expected a budget that some noise keeps to, got less; grant more or take fewer steps"
        )
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        if sampled_gaussian_rho(rate, middle, steps, alpha) > rho:
            low = middle
        else:
            high = middle
    return high


def affordable_steps(rate: float, multiplier: float, alpha: int, rho: float) -> int:
    """How many steps of this noise rho pays for."""
    return math.floor(rho / sampled_gaussian_rho(rate, multiplier, 1, alpha))

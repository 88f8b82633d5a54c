"""Charges at one Rényi order: how noise without a zCDP bound composes with the rest of a release.

An (epsilon, delta) promise follows from a bound on the Rényi divergence at some order alpha. Rho-zCDP bounds
it by alpha rho at every order. A release with one promise needs the bound at one order only: there a step of
divergence D costs D / alpha, and costs add up, also under adaptive composition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import BudgetError


@dataclass(frozen=True)
class SampledGaussian:
    """Sums over Poisson samples with Gaussian noise, as in DP-SGD.

    Attributes:
        rate: probability that a record is in a sample.
        multiplier: standard deviation of the noise over the sensitivity of a sum.
        steps: number of sums.
    """

    rate: float
    multiplier: float
    steps: int


@dataclass(frozen=True)
class ExponentialSteps:
    """Exponential mechanisms in sections of the table, which compose in parallel.

    Attributes:
        step_epsilon: parameter of each mechanism.
        steps: largest number of mechanisms in a section.
        sections: number of sections; each record is in one of them.
    """

    step_epsilon: float
    steps: int
    sections: int


_ORDERS = (*range(2, 1024), *(round(1024 * 1.02**i) for i in range(141)))
"""Orders that are tried, whole numbers up to 16,000: a small epsilon needs a large order."""

_ROUNDED_UP = 1 + 1e-9
"""Margin for rounding, and for discrete noise in place of continuous noise (docs/adr/0017)."""


@dataclass(frozen=True)
class RenyiOrder:
    """The Rényi order from which a promise follows.

    Attributes:
        alpha: whole number, at least 2.
        zcdp_rho: budget at this order: a divergence of alpha times this gives the promise.
    """

    alpha: int
    zcdp_rho: float


def renyi_order(epsilon: float, delta: float) -> RenyiOrder:
    """The order with the largest budget for (epsilon, delta)-DP, of those that are tried.

    Source: Canonne, Kamath, Steinke 2020, Proposition 12: a divergence D at order alpha gives
        delta = exp((alpha - 1)(D - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha.

    Raises:
        BudgetError: the budget is zero at all orders that are tried.
    """

    def rho(alpha: int) -> float:
        logarithm = math.log(delta) + math.log(alpha - 1) - alpha * math.log1p(-1 / alpha)
        return (epsilon + logarithm / (alpha - 1)) / alpha

    alpha = max(_ORDERS, key=rho)
    if rho(alpha) <= 0:
        raise BudgetError(
            f"epsilon: expected a larger one with delta = {delta:g}, got {epsilon:g}: sampled noise cannot "
            "be accounted for at so small an epsilon"
        )
    return RenyiOrder(alpha, rho(alpha) * (1 - 1e-12))


def sampled_gaussian_rho(rate: float, multiplier: float, steps: int, alpha: int) -> float:
    """The cost at one order of steps that each add Gaussian noise to a sum over a Poisson sample.

    Every record is in the sample with probability `rate`, independently of all others and of the data, and
    the sample remains secret; one record changes the sum by at most 1 in L2 norm.

    Source: Mironov, Talwar, Zhang, "Rényi differential privacy of the sampled Gaussian mechanism" (2019),
        section 3.3: at a whole order a finite sum, which bounds both directions.

    Args:
        rate: in (0, 1].
        multiplier: standard deviation of the noise, as a multiple of the sensitivity.
        steps: number of steps.
        alpha: the order.

    Returns:
        The divergence over alpha, rounded up.
    """
    if not 0 < rate <= 1 or not multiplier > 0:
        raise ValueError("expected a rate in (0, 1] and a positive multiplier")
    if rate == 1:
        return steps * _ROUNDED_UP / (2 * multiplier**2)
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
    # The sum is 1 plus something small, which is summed separately if it can be.
    if largest < 1:
        excess = math.fsum(
            math.exp(terms[k]) * -math.expm1(-k * (k - 1) / (2 * multiplier**2)) for k in range(2, alpha + 1)
        )
        logarithm = math.log1p(excess)
    else:
        logarithm = largest + math.log(math.fsum(math.exp(term - largest) for term in terms))
    return steps * logarithm / (alpha * (alpha - 1)) * _ROUNDED_UP


def noise_multiplier(rate: float, steps: int, alpha: int, rho: float) -> float:
    """The smallest multiplier, to a relative 1e-9, at which the steps cost at most rho.

    Raises:
        BudgetError: even the largest noise costs more.
    """
    low, high = 1e-3, 2.0**20
    if sampled_gaussian_rho(rate, high, steps, alpha) > rho:
        raise BudgetError(
            "expected a budget that allows some noise, got less; grant more or take fewer steps"
        )
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        if sampled_gaussian_rho(rate, middle, steps, alpha) > rho:
            low = middle
        else:
            high = middle
    return high


def affordable_steps(rate: float, multiplier: float, alpha: int, rho: float) -> int:
    """The number of steps with this noise that rho allows."""
    return math.floor(rho / sampled_gaussian_rho(rate, multiplier, 1, alpha))

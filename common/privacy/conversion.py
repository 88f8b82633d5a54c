"""Conversions between (epsilon, delta), zCDP and Gaussian differential privacy."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache

_SQRT2 = math.sqrt(2)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of mu-GDP at epsilon, rounded up by a bound on the floating-point error.

    Source: Balle and Wang 2018, Theorem 8: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    """
    upper = _normal_cdf(mu / 2 - epsilon / mu)
    lower = _normal_cdf(-mu / 2 - epsilon / mu)
    rounding = upper * (4 + 2 * (mu / 2 + epsilon / mu) ** 2) * 2.0**-52 if upper else 0.0
    # Smaller floats have few digits, so the second term, which is subtracted, could be too large.
    exact = lower >= sys.float_info.min
    return rounding + (upper - math.exp(epsilon + math.log(lower)) if exact else upper)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu such that mu-GDP implies (epsilon, delta)-DP, rounded down."""
    return _largest(lambda mu: gaussian_delta(mu, epsilon) <= delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon such that mu-GDP implies (epsilon, delta)-DP, rounded up."""
    return 1 / _largest(lambda inverse: gaussian_delta(mu, 1 / inverse) <= delta)


def best_guess(epsilon: float, delta: float) -> float:
    """The largest probability of a correct guess which of two neighbouring tables it was, from even odds.

    Source: Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015: (e^epsilon + delta) / (1 + e^epsilon).
    """
    odds = math.exp(min(epsilon, 700.0))
    return min(1.0, odds / (1 + odds) + delta / (1 + odds))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The delta of rho-zCDP at epsilon.

    Source: Canonne, Kamath, Steinke 2020, Corollary 13:
    inf over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha.
    """

    def log_delta(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon) - log_excess + alpha * math.log1p(-1 / alpha)

    low, high = -40.0, 40.0
    third = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - third * (high - low), low + third * (high - low)
        closer = (low, right) if log_delta(left) < log_delta(right) else (left, high)
        if closer == (low, high):
            break
        low, high = closer
    return math.exp(min(0.0, log_delta((low + high) / 2)))


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho such that rho-zCDP implies (epsilon, delta)-DP, rounded down."""
    return _largest(lambda rho: zcdp_delta(rho, epsilon) <= delta)


@lru_cache(maxsize=256)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up."""
    return 1 / _largest(lambda inverse: zcdp_delta(rho, 1 / inverse) <= delta)


def bun_steinke_rho(epsilon: float, delta: float) -> float:
    """The rho with rho + 2 sqrt(rho log(1/delta)) = epsilon: looser, for papers that use it.

    Source: Bun and Steinke 2016, Proposition 1.3; RandDPGen, Lemma 3.2.
    """
    log_inverse = math.log(1 / delta)
    root = epsilon / (math.sqrt(log_inverse) + math.sqrt(log_inverse + epsilon))
    return root * root


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / _SQRT2) / 2


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest float (to 1e-13, relative, rounded down) for which a decreasing predicate holds."""
    low, high = 1e-300, 1e12
    for _ in range(80):
        middle = math.sqrt(low) * math.sqrt(high)
        if middle in (low, high):
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low * (1 - 1e-13)

"""The cost of many exponential mechanisms under composition, and the parameter of each.

Source: DP-Select, Lemma 6, after Dong, Durfee and Rogers, "Optimal differential privacy composition for
exponential mechanisms and the cost of adaptivity" (2020).
"""

from __future__ import annotations

import math
from fractions import Fraction

from ....common.privacy.cost import exponential_cost


def composed_epsilon(step_epsilon: float, steps: int, delta: float) -> float:
    """Epsilon at delta of the adaptive composition of mechanisms of bounded range (Lemma 6).

    Args:
        step_epsilon: range of the privacy loss of each mechanism: the parameter of the exponential mechanism.
        steps: number of mechanisms.
        delta: in (0, 1).
    """
    # With x = epsilon / (1 - e^-epsilon) - 1 the divergence is x - log(1 + x), which cancels for small x.
    x = step_epsilon / -math.expm1(-step_epsilon) - 1
    divergence = x - math.log1p(x) if x > 1e-4 else x * x / 2
    spread = step_epsilon * math.sqrt(steps * math.log(1 / delta) / 2)
    return min(steps * step_epsilon, steps * divergence + spread)


def lemma_step_epsilon(epsilon: float, steps: int, delta: float) -> float:
    """The largest parameter for which Lemma 6 gives (epsilon, delta), by binary search, rounded down."""
    low, high = epsilon / steps, epsilon
    if composed_epsilon(high, steps, delta) <= epsilon:
        return high
    while high > low * (1 + 1e-12):
        middle = (low + high) / 2
        if composed_epsilon(middle, steps, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def steps_cost(step_epsilon: float, steps: int) -> Fraction:
    """The zCDP of the composition; its tight conversion gives at most the epsilon of Lemma 6."""
    return steps * exponential_cost(step_epsilon)


def step_epsilon_for(zcdp_rho: Fraction, steps: int) -> float:
    """The largest parameter, to float precision, for which the composition costs at most rho."""
    # Costs are rounded up to multiples of 2^-64.
    each = Fraction(math.floor(zcdp_rho / steps * 2**64), 2**64)
    epsilon = math.sqrt(8 * each)
    while steps_cost(epsilon, steps) > zcdp_rho:
        epsilon = math.nextafter(epsilon, 0.0)
    return epsilon

"""Curves of Kaplan and Meier, and how far two of them are from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

LEAST_AT_RISK = 0.1
"""Curves are compared up to the time at which so large a share of the real parents is still followed."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The estimator of Kaplan and Meier (1958).

    Attributes:
        times: at which something happened, increasing, shape (k,).
        survival: share to whom nothing has happened after each, shape (k,).
        events: number to whom something happened.
        followed: times up to which each was followed, increasing, shape (n,).
    """

    times: Numbers
    survival: Numbers
    events: int
    followed: Numbers

    def at(self, times: Numbers) -> Numbers:
        """The share to whom nothing has happened at these times, shape as they have."""
        shares = np.append(1.0, self.survival)
        found: Numbers = shares[np.searchsorted(self.times, times, "right")]
        return found


@dataclass(frozen=True, eq=False)
class Band:
    """Where a release says that a whole curve is, with a probability of 95 %.

    Attributes:
        times: increasing, shape (k,).
        low: the least share that is left at each, shape (k,).
        high: the largest one, shape (k,).
    """

    times: Numbers
    low: Numbers
    high: Numbers

    def holds(self, curve: Curve) -> bool:
        """Whether a curve is in it, at its times."""
        left = curve.at(self.times)
        return bool(((self.low <= left) & (left <= self.high)).all())


def curve(followed: Numbers, seen: NDArray[np.bool_]) -> Curve:
    """The curve of people who were followed up to some time, when it happened to them or not.

    Those who are followed up to the time of an event are at risk of it.

    Args:
        followed: times, shape (n,); who has none (NaN) is left out.
        seen: whether it happened then, shape (n,).
    """
    known = np.isfinite(followed)
    followed, seen = followed[known], seen[known]
    times, counts = np.unique(followed[seen], return_counts=True)
    everybody = np.sort(followed)
    at_risk = len(everybody) - np.searchsorted(everybody, times, "left")
    left = np.cumprod(1 - counts / np.maximum(at_risk, 1)).astype(np.float64)
    return Curve(times, left, int(seen.sum()), everybody)


def distance(real: Curve, synthetic: Curve) -> float:
    """The largest difference of two curves, up to `LEAST_AT_RISK`; 1 if one of them follows nobody."""
    if not len(real.followed) or not len(synthetic.followed):
        return float(len(real.followed) != len(synthetic.followed))
    last = np.quantile(real.followed, 1 - LEAST_AT_RISK)
    times = np.union1d(real.times, synthetic.times)
    times = times[times <= last]
    return float(np.abs(real.at(times) - synthetic.at(times)).max(initial=0.0))

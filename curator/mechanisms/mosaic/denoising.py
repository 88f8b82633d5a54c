"""Noisy one-way marginals with their noise taken out as far as neighbouring codes and small counts allow.

All of it is post-processing: noisy counts, the noise's variance and the number of records go in.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHAIN_FROM = 32
"""Values from which an attribute's counts tell enough about how its counts are distributed."""

_SWEEPS = 60
_LEAST_SWEEPS = 4
_WORK = 1 << 24
"""Cells of the table of counts and levels that all sweeps together go through, where it is large."""

_LEVELS = 128
"""At most so many levels that come from the noisy counts themselves, beside those of the noise."""

_LOST = 16
"""Times the variance of the noise: no count is so far from what was measured of it."""


def denoised(noisy: Array, variance: float, total: float) -> tuple[Array, Array]:
    """Estimates of one-way counts, not negative and with the known sum, and the variance of each.

    Attributes of few values are projected on what is possible; for the others see `sticky_levels`.

    Args:
        noisy: shape (n,), counts plus Gaussian noise.
        variance: of the noise of each; positive.
        total: sum of the counts.
    """
    if len(noisy) < CHAIN_FROM:
        return onto_simplex(noisy, total), np.full(len(noisy), variance)
    means, variances = sticky_levels(noisy, variance)
    return onto_simplex(means, total), variances


def onto_simplex(values: Array, total: float) -> Array:
    """The closest vector without negative entries that adds up to the total."""
    falling = np.sort(values)[::-1]
    surplus = np.cumsum(falling) - total
    last = np.flatnonzero(falling * np.arange(1, len(values) + 1) > surplus)[-1]
    return np.asarray(np.maximum(values - surplus[last] / (last + 1), 0.0))


def sticky_levels(noisy: Array, variance: float) -> tuple[Array, Array]:
    """Posterior means and variances of counts that stay at a level from code to code, or jump to another.

    The levels' distribution and how often counts stay are learned from the noisy counts themselves, by
    expectation maximisation: empirical Bayes over a hidden Markov chain of levels. Sparse attributes (most
    levels near zero), repeated counts and plateaus come out of the noise; where neighbours share nothing the
    chain jumps always and what is left is shrinkage towards the common levels.

    Args:
        noisy: shape (n,), counts plus Gaussian noise.
        variance: of the noise of each; positive.
    """
    levels = _levels(noisy, math.sqrt(variance))
    logs = -((noisy[:, None] - levels) ** 2) / (2 * variance)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights, stays = np.full(len(levels), 1 / len(levels)), 0.5
    before = -math.inf
    for _ in range(min(_SWEEPS, max(_LEAST_SWEEPS, _WORK // likelihood.size))):
        posterior, jumps, stayed, score = _smoothed(likelihood, weights, stays)
        weights = jumps / jumps.sum()
        stays = float(np.clip(stayed / (len(noisy) - 1), 1e-3, 0.98))
        if score - before < 1e-3:
            break
        before = score
    means = posterior @ levels
    variances = (posterior * (levels - means[:, None]) ** 2).sum(axis=1)
    # Among levels that are far apart for this noise there may be none for a count.
    lost = (means - noisy) ** 2 > _LOST * variance
    return np.where(lost, noisy, means), np.where(lost, variance, variances)


def _levels(noisy: Array, sigma: float) -> Array:
    """Where counts may lie: close together near zero, and around what was measured."""
    measured = np.quantile(np.maximum(noisy, 0.0), np.linspace(0, 1, min(len(noisy), _LEVELS)))
    around = [measured, measured + sigma / 2, np.maximum(measured - sigma / 2, 0.0)]
    levels = np.unique(np.concatenate([sigma * np.arange(0, 6, 0.2), *around]))
    return levels[levels <= max(float(measured[-1]), 6 * sigma) + sigma]


def _smoothed(likelihood: Array, weights: Array, stays: float) -> tuple[Array, Array, float, float]:
    """One forward and one backward pass over the chain.

    Args:
        likelihood: shape (n, levels), of each noisy count.
        weights: shape (levels,), where a jump leads.
        stays: probability that a count stays at the level of the one before.

    Returns:
        posterior of each count, shape (n, levels); expected jumps to each level; expected number of stays;
        logarithm of the likelihood of all.
    """
    count = len(likelihood)
    forward, scales = np.empty_like(likelihood), np.empty(count)
    reached = weights
    for i in range(count):
        joint = reached * likelihood[i]
        scales[i] = joint.sum()
        forward[i] = joint / scales[i]
        reached = stays * forward[i] + (1 - stays) * weights
    posterior, jumps, stayed = np.empty_like(likelihood), np.zeros(len(weights)), 0.0
    ahead = np.ones(len(weights))
    for i in range(count - 1, -1, -1):
        posterior[i] = forward[i] * ahead
        posterior[i] /= posterior[i].sum()
        if i:
            seen = likelihood[i] * ahead / scales[i]
            stayed += float(stays * (forward[i - 1] * seen).sum())
            jumped = (1 - stays) * weights * seen
            jumps += jumped
            ahead = stays * seen + jumped.sum()
    return posterior, jumps + posterior[0], stayed, float(np.log(scales).sum())

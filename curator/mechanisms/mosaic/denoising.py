"""Denoising of one-way marginals.

Post-processing: the inputs are noisy counts, the variances of their noise and the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...pgm.compiled import compiled
from .simplex_posterior import dirichlet_posteriors

Array = NDArray[np.float64]

CHAIN_FROM = 32
"""Fewest values of an attribute whose counts are taken for a chain of levels."""

_SWEEPS = 60
_LEAST_SWEEPS = 4
_WORK = 1 << 24
"""Most cells of the table of counts and levels over all sweeps, if it is large."""

_LEVELS = 128
"""Most levels that come from the noisy counts themselves, besides those near zero."""

_TABLE = 1 << 23
"""Most cells of the table of counts and levels that these levels may make, 8 bytes each."""

_LOST = 16
"""Bound on the squared error of a noisy count, as a multiple of the variance."""


def is_short(values: Array) -> bool:
    """Whether an attribute of so many values is estimated together with others of the table."""
    return len(values) < CHAIN_FROM


def denoised(noisy: Sequence[tuple[Array, Array]], total: float) -> list[tuple[Array, Array]]:
    """Nonnegative estimates of one-way counts with the known sum, and their variances.

    See `dirichlet_posteriors` for attributes of few values, and `sticky_levels` for the others.

    Args:
        noisy: for each attribute of the table counts plus Gaussian noise, and the variances of the noise,
            shape (n,) each; variances are positive.
        total: number of records.

    Returns:
        For each attribute estimates and their variances, shape (n,) each.
    """
    short = [place for place, (values, _) in enumerate(noisy) if is_short(values)]
    found = dict(zip(short, dirichlet_posteriors([noisy[place] for place in short], total), strict=True))
    return [found.get(place) or _long(*attribute, total) for place, attribute in enumerate(noisy)]


def _long(noisy: Array, variances: Array, total: float) -> tuple[Array, Array]:
    means, left = sticky_levels(noisy, variances)
    return onto_simplex(means, total, np.ones(len(noisy))), left


def onto_simplex(values: Array, total: float, variances: Array) -> Array:
    """The most likely vector without negative entries whose sum is the total.

    Args:
        values: the true vector plus Gaussian noise, shape (n,).
        total: sum of the vector; positive.
        variances: variances of the noise, shape (n,); equal ones give the closest vector.
    """
    order = np.argsort(values / variances)[::-1]
    surplus, spread = np.cumsum(values[order]) - total, np.cumsum(variances[order])
    last = np.flatnonzero((values / variances)[order] * spread > surplus)[-1]
    return np.asarray(np.maximum(values - surplus[last] / spread[last] * variances, 0.0))


def sticky_levels(noisy: Array, variances: Array) -> tuple[Array, Array]:
    """Posterior means and variances under a Markov chain: a count keeps its level or jumps to another.

    The distribution of levels and the probability of staying are learned from the noisy counts by expectation
    maximisation: empirical Bayes over a hidden Markov chain. This denoises sparse attributes (most levels
    near zero), repeated counts and plateaus. Where neighbours are unrelated, the chain always jumps, and only
    shrinkage towards common levels remains.

    Args:
        noisy: counts plus Gaussian noise, shape (n,).
        variances: variances of the noise, shape (n,); positive.
    """
    levels = _levels(noisy, math.sqrt(float(np.median(variances))))
    # In place, because it may be large.
    likelihood = noisy[:, None] - levels
    likelihood *= likelihood
    likelihood /= -2 * variances[:, None]
    likelihood -= likelihood.max(axis=1, keepdims=True)
    np.exp(likelihood, out=likelihood)
    weights, stays = np.full(len(levels), 1 / len(levels)), 0.5
    before = -math.inf
    for _ in range(min(_SWEEPS, max(_LEAST_SWEEPS, _WORK // likelihood.size))):
        means, left, jumps, stayed, score = _smoothed(likelihood, weights, stays, levels)
        weights = jumps / jumps.sum()
        stays = float(np.clip(stayed / (len(noisy) - 1), 1e-3, 0.98))
        if score - before < 1e-3:
            break
        before = score
    # If levels are far apart relative to the noise, a count may have no level near it.
    lost = (means - noisy) ** 2 > _LOST * variances
    return np.where(lost, noisy, means), np.where(lost, variances, left)


def _levels(noisy: Array, sigma: float) -> Array:
    """A grid of levels: dense near zero, and around the noisy counts."""
    most = min(len(noisy), _LEVELS, max(2, _TABLE // (3 * len(noisy))))
    measured = np.quantile(np.maximum(noisy, 0.0), np.linspace(0, 1, most))
    around = [measured, measured + sigma / 2, np.maximum(measured - sigma / 2, 0.0)]
    levels = np.unique(np.concatenate([sigma * np.arange(0, 6, 0.2), *around]))
    return levels[levels <= max(float(measured[-1]), 6 * sigma) + sigma]


@compiled
def _smoothed(
    likelihood: Array, weights: Array, stays: float, levels: Array
) -> tuple[Array, Array, Array, float, float]:
    """One forward and one backward pass over the chain.

    Args:
        likelihood: likelihood of each noisy count, shape (n, levels).
        weights: probability of each level after a jump, shape (levels,).
        stays: probability that a count stays at the level of the one before.
        levels: shape (levels,).

    Returns:
        Posterior means and variances of the counts, shape (n,); expected jumps to each level; expected number
        of stays; log-likelihood of all counts.
    """
    count, most = likelihood.shape
    forward, scales = np.empty_like(likelihood), np.empty(count)
    reached = weights.copy()
    for i in range(count):
        total = 0.0
        for k in range(most):
            forward[i, k] = reached[k] * likelihood[i, k]
            total += forward[i, k]
        scales[i] = total
        for k in range(most):
            forward[i, k] /= total
            reached[k] = stays * forward[i, k] + (1 - stays) * weights[k]
    means, variances = np.empty(count), np.empty(count)
    jumps, stayed = np.zeros(most), 0.0
    ahead, posterior = np.ones(most), np.empty(most)
    for i in range(count - 1, -1, -1):
        total, mean = 0.0, 0.0
        for k in range(most):
            posterior[k] = forward[i, k] * ahead[k]
            total += posterior[k]
            mean += posterior[k] * levels[k]
        means[i] = mean / total
        spread = 0.0
        for k in range(most):
            spread += posterior[k] * (levels[k] - means[i]) ** 2
        variances[i] = spread / total
        if i == 0:
            jumps += posterior / total
            break
        jumped, kept = 0.0, 0.0
        for k in range(most):
            seen = likelihood[i, k] * ahead[k] / scales[i]
            kept += forward[i - 1, k] * seen
            jump = (1 - stays) * weights[k] * seen
            jumps[k] += jump
            jumped += jump
            ahead[k] = stays * seen
        stayed += stays * kept
        ahead += jumped
    return means, variances, jumps, stayed, np.log(scales).sum()

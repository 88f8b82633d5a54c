"""One-way counts from noisy ones, given the number of records.

Post-processing: the inputs are noisy counts, the variances of their noise and the number of records.

Counts of few values have a symmetric Dirichlet prior. How even they are (its parameter) is learned from the
noisy counts of all attributes of the table together, because a few counts say little of it.

A Dirichlet distribution is one of independent gamma variables whose sum is known. So the posterior is one of
independent variables too: for each count a density in one dimension, times exp(t x) with the t for which the
means have the known sum. The evidence for a parameter is the saddlepoint approximation at this t.

Source: saddlepoint approximation to conditional distributions (Daniels 1954; Barndorff-Nielsen and Cox 1979);
    the prior of parameters by expectation maximisation (empirical Bayes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...pgm.compiled import compiled
from .settings import SETTINGS

Array = NDArray[np.float64]

_MIXTURE_WORK = 1 << 24
"""Most cells of the table of counts and levels over all sweeps, but for four sweeps at least."""

_COUNT_LEVELS = 128
"""Most levels that come from the noisy counts themselves, besides those near zero."""

_TABLE = 1 << 23
"""Most cells of the table of counts and levels that these levels may make, 8 bytes each."""

_EVENNESS = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0])
"""Parameters of the Dirichlet distribution that are weighed; large ones say that counts are equal."""

_NODES, _NODES_REACH, _DECAYS = 128, 7.0, 40.0
"""Nodes of the quadrature; they reach so many standard deviations of the noise from the noisy count, and no
further than where a density that falls from zero on has become exp(-_DECAYS)."""

_TOWARDS_ZERO = 6
"""Nodes are at this power of even places, because densities of small parameters are steep at zero."""

_EVEN = (np.arange(_NODES) + 0.5) / _NODES
_PLACES = _EVEN**_TOWARDS_ZERO
_WEIGHTS = (_TOWARDS_ZERO / _NODES * _EVEN ** (_TOWARDS_ZERO - 1))[:, None] * _PLACES[:, None] ** np.arange(3)
"""Of the mass, the mean place and the mean squared place, shape (nodes, 3)."""


def is_short(values: Array) -> bool:
    """Whether an attribute of so many values is estimated together with others of the table."""
    return len(values) < SETTINGS.chain_from


def denoise(noisy: Sequence[tuple[Array, Array]], total: float) -> list[tuple[Array, Array]]:
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
    means, left, _ = sticky_levels(noisy, variances)
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


class _Moments(NamedTuple):
    """Of each count under each parameter, shape (parameters, n)."""

    mean: Array
    variance: Array
    log_mass: Array


class _Posterior(NamedTuple):
    """Of an attribute's counts under each parameter: means and variances, shape (parameters, n); evidence."""

    mean: Array
    variance: Array
    evidence: Array


def dirichlet_posteriors(noisy: Sequence[tuple[Array, Array]], total: float) -> list[tuple[Array, Array]]:
    """Posterior means and variances of the counts of attributes of one table.

    Args:
        noisy: for each attribute counts plus Gaussian noise, and the variances of the noise after its mean is
            taken away, shape (n,) each; variances are positive, and the sum of the noisy counts is not used.
        total: number of records; positive.

    Returns:
        For each attribute means, nonnegative and with the known sum, and variances, shape (n,) each.
    """
    found = [_posterior(*attribute, total) for attribute in noisy]
    evidence = np.array([attribute.evidence for attribute in found]).reshape(-1, len(_EVENNESS))
    return [_mix_posteriors(*attribute, total) for attribute in zip(found, _weights(evidence), strict=True)]


def _weights(evidence: Array) -> Array:
    """The probability of each parameter for each attribute, from logarithms of likelihoods of this shape.

    Parameters are as frequent among attributes as these say themselves, and one more that may be of any.
    """
    likelihoods = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    frequent = np.full(evidence.shape[1], 1 / evidence.shape[1])
    for _ in range(50):
        weights = likelihoods * frequent
        weights /= weights.sum(axis=1, keepdims=True)
        frequent = (weights.sum(axis=0) + 1 / len(frequent)) / (len(weights) + 1)
    return np.asarray(weights)


def _mix_posteriors(found: _Posterior, weights: Array, total: float) -> tuple[Array, Array]:
    means = weights @ found.mean
    variances = weights @ (found.variance + (found.mean - means) ** 2)
    return np.asarray(means * (total / means.sum())), np.asarray(variances)


def _posterior(noisy: Array, variances: Array, total: float) -> _Posterior:
    count = len(noisy)
    mean = total / count
    # Noise of this variance before its mean was taken away.
    spread = variances * count / (count - 1) / mean**2
    tilts, found = _tilt_to_sum(noisy / mean, spread, float(count))
    # The variance that is left once the sum is known.
    left = found.variance - found.variance**2 / found.variance.sum(axis=1, keepdims=True)
    return _Posterior(mean * found.mean, mean**2 * left, _evidence(tilts, found, float(count)))


def _tilt_to_sum(noisy: Array, variances: Array, total: float) -> tuple[Array, _Moments]:
    """The tilt of each parameter for which the means have the sum: Newton's method between two bounds."""
    tilts = np.zeros(len(_EVENNESS))
    low, high = tilts - np.inf, tilts + np.inf
    wide = 8 * max(float(1 / np.sqrt(variances).min()), float(1 / variances.min()))
    found = _moments(noisy, variances, tilts)
    for _ in range(60):  # About five are usual.
        gap = found.mean.sum(axis=1) - total
        if (np.abs(gap) <= 1e-6 * total).all():
            break
        low, high = np.where(gap < 0, tilts, low), np.where(gap > 0, tilts, high)
        newton = tilts - gap / found.variance.sum(axis=1)
        halfway = (np.maximum(low, tilts - wide) + np.minimum(high, tilts + wide)) / 2
        tilts = np.where((low < newton) & (newton < high), newton, halfway)
        found = _moments(noisy, variances, tilts)
    return tilts, found


def _moments(noisy: Array, variances: Array, tilts: Array) -> _Moments:
    """Of x^(a - 1) exp(t x) times the likelihood of the noisy count, for each parameter a and its tilt t."""
    middle, sigma = noisy + tilts[:, None] * variances, np.sqrt(variances)
    first = np.maximum(middle - _NODES_REACH * sigma, 0.0)
    falls = np.minimum(_NODES_REACH * sigma, _DECAYS * variances / np.where(middle < 0, -middle, 1.0))
    last = np.where(middle < 0, falls, middle + _NODES_REACH * sigma)
    width = last - first
    nodes = first[..., None] + width[..., None] * _PLACES
    logs = (_EVENNESS[:, None, None] - 1) * np.log(nodes)
    nodes -= middle[..., None]
    nodes *= nodes
    nodes /= -2 * variances[:, None]
    logs += nodes
    top = logs.max(axis=-1)
    logs -= top[..., None]
    mass, places, squares = np.moveaxis(np.exp(logs, out=logs) @ _WEIGHTS, -1, 0)
    places /= mass
    mean, variance = first + width * places, width**2 * (squares / mass - places**2)
    tilt = tilts[:, None] * noisy + 0.5 * tilts[:, None] ** 2 * variances
    return _Moments(mean, variance, np.log(mass * width) + top + tilt)


def _evidence(tilts: Array, found: _Moments, total: float) -> Array:
    """Log-likelihoods of the noisy counts under each parameter, up to one constant."""
    count, a = found.mean.shape[1], _EVENNESS
    joint = found.log_mass.sum(axis=1) - tilts * total - 0.5 * np.log(2 * np.pi * found.variance.sum(axis=1))
    constants = np.array([count * math.lgamma(each) - math.lgamma(count * each) for each in a])
    return np.asarray(joint - constants - (count * a - 1) * math.log(total))


def sticky_levels(noisy: Array, variances: Array) -> tuple[Array, Array, float]:
    """Posterior means and variances under a Markov chain: a count keeps its level or jumps to another.

    The distribution of levels and the probability of staying are learned from the noisy counts by expectation
    maximisation: empirical Bayes over a hidden Markov chain. This denoises sparse attributes (most levels
    near zero), repeated counts and plateaus. Where neighbours are unrelated, the chain always jumps, and only
    shrinkage towards common levels remains.

    Args:
        noisy: counts plus Gaussian noise, shape (n,).
        variances: variances of the noise, shape (n,); positive.

    Returns:
        Means and variances, shape (n,) each; the log-likelihood of the noisy counts, without
        a factor of (2 pi)^(-n / 2).
    """
    levels = _levels(noisy, math.sqrt(float(np.median(variances))))
    # In place, because it may be large.
    likelihood = noisy[:, None] - levels
    likelihood *= likelihood
    likelihood /= -2 * variances[:, None]
    top = likelihood.max(axis=1, keepdims=True)
    likelihood -= top
    np.exp(likelihood, out=likelihood)
    weights, stays = np.full(len(levels), 1 / len(levels)), 0.5
    before = -math.inf
    for _ in range(min(60, max(4, _MIXTURE_WORK // likelihood.size))):
        means, left, jumps, stayed, score = _forward_backward(likelihood, weights, stays, levels)
        weights = jumps / jumps.sum()
        stays = float(np.clip(stayed / (len(noisy) - 1), 1e-3, 0.98))
        if score - before < 1e-3:
            break
        before = score
    # If levels are far apart relative to the noise, a count may have no level within four deviations.
    lost = (means - noisy) ** 2 > 4**2 * variances
    score += float((top[:, 0] - 0.5 * np.log(variances)).sum())
    return np.where(lost, noisy, means), np.where(lost, variances, left), score


def _levels(noisy: Array, sigma: float) -> Array:
    """A grid of levels: dense near zero, and around the noisy counts."""
    most = min(len(noisy), _COUNT_LEVELS, max(2, _TABLE // (3 * len(noisy))))
    measured = np.quantile(np.maximum(noisy, 0.0), np.linspace(0, 1, most))
    around = [measured, measured + sigma / 2, np.maximum(measured - sigma / 2, 0.0)]
    levels = np.unique(np.concatenate([sigma * np.arange(0, 6, 0.2), *around]))
    return levels[levels <= max(float(measured[-1]), 6 * sigma) + sigma]


@compiled
def _forward_backward(
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

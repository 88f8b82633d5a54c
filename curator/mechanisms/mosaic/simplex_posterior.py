"""Posterior of the counts of attributes of few values, whose sum is known.

The prior is symmetric Dirichlet. How even counts are (its parameter) is learned from the noisy counts of all
attributes of the table together, because a few counts say little of it.

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

Array = NDArray[np.float64]

_EVENNESS = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0])
"""Parameters of the Dirichlet distribution that are weighed; large ones say that counts are equal."""

_NODES, _REACH, _DECAYS = 128, 7.0, 40.0
"""Nodes of the quadrature; they reach so many standard deviations of the noise from the noisy count, and no
further than where a density that falls from zero on has become exp(-_DECAYS)."""

_TOWARDS_ZERO = 6
"""Nodes are at this power of even places, because densities of small parameters are steep at zero."""

_STEPS = 60
"""Most steps to the tilt; about five are usual."""

_CLOSE = 1e-6
"""Allowed error of the sum, relative."""

_SWEEPS = 50
"""Sweeps of expectation maximisation, whose cost is nothing."""

_EVEN = (np.arange(_NODES) + 0.5) / _NODES
_PLACES = _EVEN**_TOWARDS_ZERO
_WEIGHTS = (_TOWARDS_ZERO / _NODES * _EVEN ** (_TOWARDS_ZERO - 1))[:, None] * _PLACES[:, None] ** np.arange(3)
"""Of the mass, the mean place and the mean squared place, shape (nodes, 3)."""


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
    return [_mixed(*attribute, total) for attribute in zip(found, _weights(evidence), strict=True)]


def _weights(evidence: Array) -> Array:
    """The probability of each parameter for each attribute, from logarithms of likelihoods of this shape.

    Parameters are as frequent among attributes as these say themselves, and one more that may be of any.
    """
    likelihoods = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    frequent = np.full(evidence.shape[1], 1 / evidence.shape[1])
    for _ in range(_SWEEPS):
        weights = likelihoods * frequent
        weights /= weights.sum(axis=1, keepdims=True)
        frequent = (weights.sum(axis=0) + 1 / len(frequent)) / (len(weights) + 1)
    return np.asarray(weights)


def _mixed(found: _Posterior, weights: Array, total: float) -> tuple[Array, Array]:
    means = weights @ found.mean
    variances = weights @ (found.variance + (found.mean - means) ** 2)
    return np.asarray(means * (total / means.sum())), np.asarray(variances)


def _posterior(noisy: Array, variances: Array, total: float) -> _Posterior:
    count = len(noisy)
    mean = total / count
    # Noise of this variance before its mean was taken away.
    spread = variances * count / (count - 1) / mean**2
    tilts, found = _tilted(noisy / mean, spread, float(count))
    # The variance that is left once the sum is known.
    left = found.variance - found.variance**2 / found.variance.sum(axis=1, keepdims=True)
    return _Posterior(mean * found.mean, mean**2 * left, _evidence(tilts, found, float(count)))


def _tilted(noisy: Array, variances: Array, total: float) -> tuple[Array, _Moments]:
    """The tilt of each parameter for which the means have the sum: Newton's method between two bounds."""
    tilts = np.zeros(len(_EVENNESS))
    low, high = tilts - np.inf, tilts + np.inf
    wide = 8 * max(float(1 / np.sqrt(variances).min()), float(1 / variances.min()))
    found = _moments(noisy, variances, tilts)
    for _ in range(_STEPS):
        gap = found.mean.sum(axis=1) - total
        if (np.abs(gap) <= _CLOSE * total).all():
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
    first = np.maximum(middle - _REACH * sigma, 0.0)
    falls = np.minimum(_REACH * sigma, _DECAYS * variances / np.where(middle < 0, -middle, 1.0))
    last = np.where(middle < 0, falls, middle + _REACH * sigma)
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

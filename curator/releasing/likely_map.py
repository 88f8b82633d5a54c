"""The most likely functional dependency, from noisy measurements or from a model; post-processing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.measurement import Measurement

Array = NDArray[np.float64]

_TEMPERATURES = (3.0, 1.0, 0.3, 0.1, 0.03)
"""Factors of the log-likelihoods by which choices are smoothed, one after another."""

_CORRECTIONS = 100
"""Most corrections of prices at each temperature."""

_CORRECTION_WORK = 1 << 27
"""Most cells that all corrections read together."""

_LEAST_PROBABILITY = 1e-6
"""Smallest probability of a value in a model, so that logarithms exist."""


def likely_map(likelihoods: Array, records: Array, wanted: Array) -> NDArray[np.int64]:
    """For each value of a determinant the value that it determines.

    The most likely map among those that keep the marginal of the determined column, as nearly as whole values
    of the determinant allow. Without that condition, noise would decide how many records a determined value
    has. Prices on determined values lead to it.

    Source: Cuturi, Sinkhorn distances (2013), with falling temperatures, the prices.

    Args:
        likelihoods: shape (values of the determinant, determined values), log-likelihoods.
        records: of each value of the determinant.
        wanted: records of each determined value.
    """
    share = np.maximum(wanted, _LEAST_PROBABILITY) / wanted.sum()
    prices = np.zeros(len(wanted))
    steps = max(1, min(_CORRECTIONS, _CORRECTION_WORK // (len(_TEMPERATURES) * likelihoods.size)))
    for temperature in _TEMPERATURES:
        for _ in range(steps):
            logs = (likelihoods - prices) / temperature
            chosen = np.exp(logs - logs.max(axis=1, keepdims=True))
            reached = (records / chosen.sum(axis=1)) @ chosen / records.sum()
            prices += temperature / 2 * np.log(np.maximum(reached, _LEAST_PROBABILITY) / share)
    return np.asarray((likelihoods - prices).argmax(axis=1))


def measured_likelihoods(
    measurements: Sequence[Measurement], domain: Domain, columns: Clique, records: Array
) -> Array | None:
    """Log-likelihoods of the second column's values, for each value of the first; None if not measured.

    If a value z of the first has n records, and all have the value s of the second, a noisy cell (z, s) has
    mean n and the others zero; so up to a constant the logarithm is n times the noisy cell over its variance.
    The same holds within an interaction, up to a constant for each s, which a price makes up for.

    Args:
        measurements: of all marginals.
        domain: of the table.
        columns: a determinant and the column that it determines.
        records: of each value of the first.
    """
    clique = domain.canonical(columns)
    whole = (found for found in measurements if not (found.view.boxes or found.view.groups))
    known = [found for found in whole if found.clique == clique]
    if not known:
        return None
    weighted: Array = np.sum([found.values / found.sigma**2 for found in known], axis=0)
    cells = weighted.reshape(domain.shape(clique))
    return records[:, None] * (cells if clique == columns else cells.T)


def modelled_likelihoods(counts: Array) -> Array:
    """Logarithms of a model's probabilities of each value of the second attribute, given the first."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), _LEAST_PROBABILITY)
    return np.asarray(np.log(np.maximum(shares, _LEAST_PROBABILITY)))

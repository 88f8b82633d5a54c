"""Covariances of cells along each attribute, learned from all interactions measured so far.

Expectation maximisation: given the covariances of all attributes, every interaction has posterior means and
variances of its coefficients. Their squares, divided by the expected variances along the other attributes,
estimate the covariance along one attribute. The prior counts as `_EXPECTED` independent observations.

Source: the flip-flop of Dutilleul, "The MLE algorithm for the matrix normal distribution" (1999), with noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ....common.data.domain import Clique
from ..parts.consistency import onto
from .axes import Array, Axis, expected_axis, expected_variances
from .effects import Effect

MAX_VALUES = 512
"""Covariances are learned only for attributes of at most this many values."""

_STEPS = 4
_EXPECTED = 30.0


def has_shape(effect: Effect) -> bool:
    """Whether it has more than one degree of freedom and is small enough to learn covariances from."""
    return 2 < max(effect.shape) <= MAX_VALUES


def learned_axes(effects: Mapping[Clique, Effect], records: float) -> dict[str, Axis]:
    """The covariance along each attribute.

    Args:
        effects: measured interactions with `has_shape`.
        records: number of records.
    """
    expected: dict[str, Axis] = {}
    for clique, effect in effects.items():
        cells = np.maximum(effect.reference, 0.0).reshape(effect.shape)
        for axis, name in enumerate(clique):
            if name not in expected:
                expected[name] = expected_axis(onto(cells, axis))
    axes = expected
    for _ in range(_STEPS):
        sums = {name: _EXPECTED * axis.covariance for name, axis in expected.items()}
        views = dict.fromkeys(expected, _EXPECTED)
        for clique, effect in effects.items():
            known = replace(effect, axes=tuple(axes[name] for name in clique))
            for name, (scatter, count) in zip(clique, _scatters(known, records), strict=True):
                sums[name] = sums[name] + scatter
                views[name] += count
        axes = {name: Axis.of(sums[name] / views[name]) for name in sums}
    return axes


def _scatters(effect: Effect, records: float) -> Iterator[tuple[Array, int]]:
    """For each attribute, the scatter matrix of its values, and the number of observations in it."""
    scales, weights = effect.sizes(records)
    shape = [len(axis.variances) for axis in effect.axes]
    means, variances = (part.reshape(shape) for part in effect.views[-1].posterior(scales, weights))
    expected = float(weights @ scales**2) * expected_variances(effect.axes)
    for place, axis in enumerate(effect.axes):
        count = len(axis.variances)
        # The attribute's own factor of the expected variance cancels.
        scale = axis.variances[:, None] / np.moveaxis(expected, place, 0).reshape(count, -1)
        seen = np.moveaxis(means, place, 0).reshape(count, -1)
        unsure = np.moveaxis(variances, place, 0).reshape(count, -1)
        inner = (seen * scale) @ seen.T + np.diag((unsure * scale).sum(axis=1))
        yield axis.vectors @ inner @ axis.vectors.T, scale.shape[1]

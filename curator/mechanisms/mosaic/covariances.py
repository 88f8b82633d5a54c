"""Learning how cells vary together along each attribute, from all interactions measured so far.

Expectation maximisation: given the covariances of all attributes, every interaction has posterior means and
variances of its coefficients; brought to the scale of one attribute, their squares make up that attribute's
covariance. What is expected before counts as much as `_EXPECTED` independent views of it.

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
"""Attributes of more values have no covariance learned: it would be too large."""

_STEPS = 4
_EXPECTED = 30.0


def has_shape(effect: Effect) -> bool:
    """Whether it is more than one number and not too large to learn how its cells vary together."""
    return 2 < max(effect.shape) <= MAX_VALUES


def learned_axes(effects: Mapping[Clique, Effect], records: float) -> dict[str, Axis]:
    """The covariance along each attribute.

    Args:
        effects: measured interactions that have a shape.
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
    """For each attribute the sum of squares of its values' cells, and of how many views of them."""
    scales, weights = effect.sizes(records)
    shape = [len(axis.variances) for axis in effect.axes]
    means, variances = (part.reshape(shape) for part in effect.views[-1].posterior(scales, weights))
    expected = float(weights @ scales**2) * expected_variances(effect.axes)
    for place, axis in enumerate(effect.axes):
        count = len(axis.variances)
        # One attribute's own share of the expected variance cancels out.
        scale = axis.variances[:, None] / np.moveaxis(expected, place, 0).reshape(count, -1)
        seen = np.moveaxis(means, place, 0).reshape(count, -1)
        unsure = np.moveaxis(variances, place, 0).reshape(count, -1)
        inner = (seen * scale) @ seen.T + np.diag((unsure * scale).sum(axis=1))
        yield axis.vectors @ inner @ axis.vectors.T, scale.shape[1]

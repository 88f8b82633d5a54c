"""Consistent marginals: on attributes and the number of records, or on smaller marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Domain
from ....common.measurement import Measurement

Array = NDArray[np.float64]


def consistent(domain: Domain, measurements: Sequence[Measurement], total: float) -> list[Measurement]:
    """The closest measurements that agree on the total and on each attribute's marginal.

    Each attribute's marginal becomes the inverse-variance weighted mean over all measurements of it, and each
    measurement is shifted by the same amount in all cells of a value. Attributes do not affect each other,
    because all measurements first get the same total. Agreement on pairs is not enforced.

    A fit to the results with the same scales equals the fit to the originals, because the shifts add a
    constant to the sum of weighted squares. Post-processing.

    Source: ABSyn, VI.A.2.b. Its variances are those of a whole vector, sigma^2 times the cells summed over
        times the values of the attribute, which gives the same weights.

    Args:
        domain: domain of the table.
        measurements: measurements of single cells, of any cliques.
        total: number of records; public.

    Returns:
        Measurements in the same order, with the same scales.
    """
    tables = [
        (m.values + (total - m.values.sum()) / m.values.size).reshape(domain.shape(m.clique))
        for m in measurements
    ]
    for name in domain:
        around = [place for place, m in enumerate(measurements) if name in m.clique]
        if len(around) < 2:
            continue
        axes = {place: measurements[place].clique.index(name) for place in around}
        sums = np.array([onto(tables[place], axes[place]) for place in around])
        size = domain[name].size
        weights = np.array([size / (tables[p].size * measurements[p].sigma ** 2) for p in around])
        mean = weights @ sums / weights.sum()
        for place, found in zip(around, sums, strict=True):
            shape = [1] * tables[place].ndim
            shape[axes[place]] = size
            others = tables[place].size / size
            tables[place] = tables[place] + ((mean - found) / others).reshape(shape)
    return [replace(m, values=table.ravel()) for m, table in zip(measurements, tables, strict=True)]


def rake(cells: Array, shape: Sequence[int], margins: Sequence[tuple[tuple[int, ...], Array]]) -> Array:
    """A positive table with nearly the given margins, by two rounds of iterative proportional fitting.

    Args:
        cells: initial cells, shape (n_r,), row-major; taken as positive.
        shape: shape of the table.
        margins: for each margin its axes, in order, and its positive values, row-major.
    """
    table = np.maximum(cells, 1e-9).reshape(shape)
    for _ in range(2):
        for axes, margin in margins:
            summed = tuple(axis for axis in range(table.ndim) if axis not in axes)
            now = table.sum(axis=summed, keepdims=True)
            table = table * (margin.reshape(now.shape) / now)
    return table.ravel()


def onto(table: Array, axis: int) -> Array:
    """The marginal of one axis of the table."""
    summed: Array = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
    return summed

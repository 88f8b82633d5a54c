"""Noisy marginals that agree on every attribute and on the number of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Domain
from ...common.measurement import Measurement

Array = NDArray[np.float64]


def consistent(domain: Domain, measurements: Sequence[Measurement], total: float) -> list[Measurement]:
    """The measurements, moved as little as makes them agree on the total and on each attribute's marginal.

    Every attribute gets the mean of what all measurements of it say, by weights of one over the variance, and
    each measurement is shifted by the same amount in all cells of a value. Attributes do not disturb each
    other, because all sums are the total before. Pairs do not agree on pairs.

    A fit to the results with the same scales is the fit to the originals: what moves a measurement's marginal
    of an attribute adds a constant to the sum of weighted squares. Post-processing: costs nothing.

    Source: ABSyn, VI.A.2.b. Its variances are those of a whole vector, sigma^2 times the cells summed over
        times the values of the attribute, which is the same weights.

    Args:
        domain: of the attributes.
        measurements: of cells, of any cliques.
        total: number of records; public.

    Returns:
        in the same order, with the same scales.
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
        sums = np.array([_onto(tables[place], axes[place]) for place in around])
        size = domain[name].size
        weights = np.array([size / (tables[p].size * measurements[p].sigma ** 2) for p in around])
        mean = weights @ sums / weights.sum()
        for place, found in zip(around, sums, strict=True):
            shape = [1] * tables[place].ndim
            shape[axes[place]] = size
            others = tables[place].size / size
            tables[place] = tables[place] + ((mean - found) / others).reshape(shape)
    return [replace(m, values=table.ravel()) for m, table in zip(measurements, tables, strict=True)]


def _onto(table: Array, axis: int) -> Array:
    """The table's marginal of one of its axes."""
    summed: Array = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
    return summed

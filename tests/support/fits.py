"""Noisy marginals of random tables, and the least loss of any table for them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dpmosaic.common.data.boxes import box_labels
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement

Array = NDArray[np.float64]
Summed = Callable[[Domain, Array, Clique], Array]


def noisy(
    domain: Domain, cliques: Sequence[Clique], summed: Summed, sigma: float, seed: int = 0
) -> tuple[list[Measurement], Array]:
    """Noisy marginals of a random table of about 1000 records, and the table."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(int(np.prod(domain.sizes)), 0.5)).reshape(domain.sizes) * 1000
    measurements = []
    for clique in cliques:
        values = summed(domain, table, clique)
        measurements.append(
            Measurement(View(clique), values + rng.normal(scale=sigma, size=len(values)), sigma, 0.0)
        )
    return measurements, table


def loss_of(marginals: Sequence[Array], measurements: Sequence[Measurement]) -> float:
    return sum(
        float(((found - m.values) ** 2).sum()) / (2 * m.sigma**2)
        for found, m in zip(marginals, measurements, strict=True)
    )


def least_loss(domain: Domain, measurements: Sequence[Measurement], total: float) -> float:
    """The least loss over all joint tables of a total, by non-negative least squares."""
    cells = np.indices(domain.sizes).reshape(len(domain), -1)
    rows, targets = [], []
    for m in measurements:
        axes = [domain.position(name) for name in m.clique]
        code = np.ravel_multi_index(tuple(cells[axes]), domain.shape(m.clique))
        if m.view.boxes:
            code = box_labels(domain.shape(m.clique), m.view.boxes)[code]
        if m.view.groups:
            mapped = [np.asarray(g)[c] if g else c for g, c in zip(m.view.groups, cells[axes], strict=True)]
            code = np.ravel_multi_index(tuple(mapped), [int(places.max()) + 1 for places in mapped])
        rows.append((np.arange(len(m.values))[:, None] == code) / m.sigma)
        targets.append(m.values / m.sigma)
    # The total as one more measurement, far more exact than any other.
    weight = 1e4 / min((m.sigma for m in measurements), default=1.0)
    rows.append(np.full((1, cells.shape[1]), weight))
    targets.append(np.array([total * weight]))
    _, norm = nnls(np.concatenate(rows), np.concatenate(targets), maxiter=10_000)
    return float(norm**2) / 2

"""Noisy answers to marginal queries, as mechanisms receive them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .data.boxes import Box
from .data.domain import Clique
from .data.grouping import Groups


@dataclass(frozen=True)
class Measurement:
    """A noisy marginal with the scale of its noise and its cost.

    Attributes:
        clique: attributes of the marginal, in domain order.
        values: shape (n_r,), float64: noisy counts in row-major order of the clique.
        sigma: standard deviation of the noise of one cell, in counts (root mean square over cells
            where cells differ).
        zcdp_rho: cost of the answer.
        gaussian: whether the noise of the cells is independent and Gaussian; that of products of noisy
            indicators is not.
        boxes: if not empty, values are sums over these boxes of cells, shape (len(boxes),).
        interaction: whether values are the interaction of a marginal whose cells had noise of scale sigma.
        sigmas: shape (n_r,), float64: standard deviations of the cells if they differ; else None.
        groups: groups of codes that were counted instead of single codes; values are of their cells.
        sampled: whether a sample of the rows was counted; then sigma contains its error, which is neither
            independent nor the same in all cells.
    """

    clique: Clique
    values: NDArray[np.float64]
    sigma: float
    zcdp_rho: float
    gaussian: bool = True
    boxes: tuple[Box, ...] = ()
    interaction: bool = False
    sigmas: NDArray[np.float64] | None = None
    groups: Groups = ()
    sampled: bool = False

    def __post_init__(self) -> None:
        if self.values.ndim != 1:
            raise ValueError(
                f"the values of a measurement must be one vector of cells, not of shape {self.values.shape}"
            )
        if not (np.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"the sigma of a measurement must be a positive number, not {self.sigma}")
        if not np.all(np.isfinite(self.values)):
            raise ValueError("the values of a measurement must be finite numbers")
        if self.boxes and (self.interaction or self.sigmas is not None):
            raise ValueError("a measurement of boxes cannot be an interaction, and has one sigma")
        if self.sigmas is not None and not (
            self.sigmas.shape == self.values.shape and np.all(np.isfinite(self.sigmas) & (self.sigmas > 0))
        ):
            raise ValueError("the sigmas of a measurement must be positive numbers, one for each cell")

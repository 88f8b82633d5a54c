"""Noisy answers to queries, as mechanisms receive them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .data.domain import Clique
from .data.view import View

_Number = TypeVar("_Number", float, NDArray[np.float64])


def mean_by_precision(one: tuple[_Number, float], other: tuple[_Number, float]) -> tuple[_Number, float]:
    """The inverse-variance weighted mean of two independent estimates, and its standard deviation.

    Args:
        one: a value, or several, and the standard deviation of the noise of each.
        other: of the same.
    """
    (a, sigma), (b, tau) = one, other
    precision, more = sigma**-2, tau**-2
    return (precision * a + more * b) / (precision + more), (precision + more) ** -0.5


@dataclass(frozen=True)
class Measurement:
    """A noisy view of a marginal with the scale of its noise and its cost.

    Attributes:
        view: what was measured.
        values: shape (size of the view,), float64: noisy counts in row-major order of the clique, or of the
            boxes in theirs; of an interaction, that of cells with noise of scale sigma.
        sigma: standard deviation of the noise of one cell, in counts (root mean square over cells
            where cells differ).
        zcdp_rho: cost of the answer.
        gaussian: whether the noise of the cells is independent and Gaussian; that of products of noisy
            indicators is not.
        sigmas: shape (size of the view,), float64: standard deviations of the values if they differ;
            else None.
        sampled: whether a sample of the rows was counted; then sigma contains its error, which is neither
            independent nor the same in all cells.
    """

    view: View
    values: NDArray[np.float64]
    sigma: float
    zcdp_rho: float
    gaussian: bool = True
    sigmas: NDArray[np.float64] | None = None
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
        if self.view.boxes and self.sigmas is not None:
            raise ValueError("a measurement of boxes has one sigma")
        if self.sigmas is not None and not (
            self.sigmas.shape == self.values.shape and np.all(np.isfinite(self.sigmas) & (self.sigmas > 0))
        ):
            raise ValueError("the sigmas of a measurement must be positive numbers, one for each cell")

    def times(self, factor: float) -> Measurement:
        """The same, with values and noise multiplied by a public factor."""
        if factor == 1:
            return self
        sigmas = None if self.sigmas is None else factor * self.sigmas
        return replace(self, values=factor * self.values, sigma=factor * self.sigma, sigmas=sigmas)

    @property
    def clique(self) -> Clique:
        """Attributes of the marginal, in domain order."""
        return self.view.clique

"""The functions h_r of a release's measured interactions, and how they are chosen: see `totals`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from ...common.data.domain import Clique
from ...common.data.grouping import grouped
from ..results.evidence import Evidence
from .unmeasured.variation import Prior

Array = NDArray[np.float64]

_ANYWHERE = 0.01
"""Share of the records that may be anywhere in the support, also where the release has none."""

_THIN = 3.0
"""A cell of fewer records than so many deviations of its noise has them by chance."""

_GRADIENT_STEPS = 100
_RESIDUAL_TOLERANCE = 1e-3
"""The h_r are good enough when the residual is this share of the first one."""

_DIRECT_PRODUCTS = 1500**3
"""Equations that take fewer multiplications to set up or to solve are solved directly."""

_DIRECT_VALUES = 2**24
"""And those of which no matrix has more values."""

_LEAST_NOISE = 1e-10
"""Least variance of noise in these equations, as a share of their largest coefficient."""


@dataclass(frozen=True, eq=False)
class Support:
    """Combinations of codes, each with the records that a release has there.

    Attributes:
        clique: attributes, in domain order.
        codes: shape (n, attributes); combinations need not differ.
        weights: shape (n,), not negative; their sum is the number of records of the table.
    """

    clique: Clique
    codes: NDArray[np.int64]
    weights: Array


def _spread_thin_combinations(
    support: Support, thin: NDArray[np.bool_], single: Mapping[str, NDArray[np.bool_]]
) -> Array:
    """The records of a support, spread over its thin combinations as if attributes were independent there.

    Which thin cells of a release have records follows the noise of their measurements. Functions h_r that
    follow it are correlated with the noise, and what they find of it is a bias.

    Args:
        support: where the release has records.
        thin: which of its combinations are thin, shape (n,).
        single: attribute -> at which combinations its code alone is thin, shape (n,).

    Returns:
        Shape (n,), with the sum of the support's weights.
    """
    if not thin.any():
        return support.weights
    expected = np.ones(len(thin))
    for name, codes in zip(support.clique, support.codes.T, strict=True):
        margin = np.bincount(codes, support.weights)
        alone = np.unique(codes[single[name]]) if name in single else codes[:0]
        if alone.size:
            margin[alone] = margin[alone].mean()
        expected *= margin[codes]
    inside = np.where(thin, expected, 0.0)
    if not inside.any():
        return support.weights
    found: Array = np.where(thin, inside * (support.weights[thin].sum() / inside.sum()), support.weights)
    return found


@dataclass(frozen=True, eq=False)
class Terms:
    """The functions h_r of all measured interactions within a support, as one vector of their cells.

    Attributes:
        weights: shape (n,): the release's records at each combination of the support.
        records_sigma: scale of the noise of the number of records.
        cells: for each combination the cell of each interaction, a matrix of shape (n, size).
        shapes: shape of each interaction.
        sigmas: shape (size,): scale of the noise of each cell's interaction.
        released: shape (size,): interactions of the release.
        surprise: shape (size,): measurements less the release.
        spread: shape (n,): records that may be at each combination; see `_spread_thin_combinations`.
        prior: of the release's error in what the h_r leave.
    """

    weights: Array
    records_sigma: float
    cells: csr_array
    shapes: tuple[tuple[int, ...], ...]
    sigmas: Array
    released: Array
    surprise: Array
    spread: Array
    prior: Prior

    @classmethod
    def of(cls, evidence: Evidence, support: Support) -> Terms:
        """The terms of a support."""
        held = {*support.clique}
        known = {view: one for view, one in evidence.views.items() if held.issuperset(view.clique)}
        shapes = [view.shape(evidence.domain) for view in known]
        sizes = [math.prod(shape) for shape in shapes]
        starts = np.cumsum([0, *sizes])
        axis = {name: place for place, name in enumerate(support.clique)}
        rows, total = len(support.weights), float(support.weights.sum())
        places = np.empty((rows, len(shapes)), dtype=np.int64)
        for place, (view, shape) in enumerate(zip(known, shapes, strict=True)):
            codes = [
                grouped(support.codes[:, axis[name]], evidence.domain[name].size, labels)[0]
                for name, labels in view.groupings
            ]
            places[:, place] = starts[place] + np.ravel_multi_index(codes, shape)
        ones = np.ones(places.size)
        pointers = np.arange(rows + 1) * len(shapes)
        cells = csr_array((ones, places.ravel(), pointers), shape=(rows, int(starts[-1])))
        released = cells.T @ support.weights
        measured = np.concatenate([one.values for one in known.values()]) if known else np.empty(0)
        sigmas = np.repeat([one.sigma for one in known.values()], sizes)
        thin = (released < _THIN * sigmas)[places]
        single = {
            view.clique[0]: thin[:, place]
            for place, view in enumerate(known)
            if len(view.clique) == 1 and not view.groups
        }
        spread = (1 - _ANYWHERE) * _spread_thin_combinations(
            support, thin.any(axis=1), single
        ) + _ANYWHERE * total / rows
        prior = Prior.of(evidence, support.clique, support.codes, spread, single)
        sizes_and_noise = (support.weights, evidence.records_sigma)
        terms = cls(*sizes_and_noise, cells, tuple(shapes), sigmas, released, measured, spread, prior)
        both = terms.project(np.column_stack([released, measured - released]))
        return replace(terms, released=both[:, 0], surprise=both[:, 1])

    @property
    def size(self) -> int:
        """Number of cells of all interactions."""
        return len(self.sigmas)

    @property
    def _price(self) -> float:
        """Of one unit of the prior's variance, in the unit of the noise's variance: the number of records."""
        return float(self.weights.sum())

    def project(self, parts: Array) -> Array:
        """Each interaction's part within its space, shape (size, q)."""
        found, start = np.empty_like(parts), 0
        for shape in self.shapes:
            stop = start + math.prod(shape)
            cells = parts[start:stop].reshape(*shape, -1)
            for along in range(len(shape)):
                cells = cells - cells.mean(axis=along, keepdims=True)
            found[start:stop] = cells.reshape(stop - start, -1)
            start = stop
        return found

    def centred_sums(self, parts: Array) -> Array:
        """The sum of h_r at each combination, less its mean; shape (n, q)."""
        summed: Array = self.cells @ parts
        found: Array = summed - self.spread @ summed / self.spread.sum()
        return found

    def minimise(self, target: Array) -> Array:
        """The h_r that minimise noise plus the prior's variance of what they leave of a target.

        Directly where that is little work, otherwise by conjugate gradients. A solution that is not exact is
        as unbiased.

        Args:
            target: shape (n, q).

        Returns:
            Shape (size, q), within the interactions' spaces.
        """
        most = max(self.size, self.prior.size)
        if self.size**2 * most <= _DIRECT_PRODUCTS and self.size * most <= _DIRECT_VALUES:
            return self.project(cho_solve(self._factor, self._adjoint(target)))
        return self._conjugate_gradients(target)

    @cached_property
    def _factor(self) -> tuple[Array, bool]:
        """The equations that the parts solve, factored; they are the same for all targets."""
        factor: tuple[Array, bool] = cho_factor(self._equations())
        return factor

    def _adjoint(self, rest: Array) -> Array:
        """How much each cell's part would take of a rest, shape (size, q)."""
        weighed = self.prior.gradient(rest - self.spread @ rest / self.spread.sum())
        summed: Array = self.cells.T @ (
            weighed - self.spread[:, None] * (weighed.sum(axis=0) / self.spread.sum())
        )
        return self._price * self.project(summed)

    def _equations(self) -> Array:
        """The matrix of the equations that the parts solve, shape (size, size)."""
        squares = self.prior.covariance(self.cells)
        projected = self.project(self.project(squares).T)
        projected *= self._price
        # What little noise leaves singular gets the least that can be solved.
        least = _LEAST_NOISE * float(np.max(np.diagonal(projected), initial=0))
        projected[np.diag_indices(self.size)] += np.maximum(self.sigmas**2, least)
        return projected

    def _conjugate_gradients(self, target: Array) -> Array:
        """An approximate solution by conjugate gradients, for all columns at once."""
        variances = (self.sigmas**2)[:, None]
        scale = 1 / (variances + self._price * self.prior.most * (self.cells.T @ self.spread)[:, None])
        parts = np.zeros((self.size, target.shape[1]))
        left = self._adjoint(target)
        step = scale * left
        size = first = np.einsum("ij,ij->j", left, step)
        for _ in range(_GRADIENT_STEPS):
            moved = variances * step + self._adjoint(self.centred_sums(self.project(step)))
            along = np.einsum("ij,ij->j", step, moved)
            rate = np.divide(size, along, out=np.zeros_like(size), where=along > 0)
            parts += rate * step
            left -= rate * moved
            ahead = scale * left
            before, size = size, np.einsum("ij,ij->j", left, ahead)
            if (size <= _RESIDUAL_TOLERANCE**2 * first).all():
                break
            step = ahead + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * step
        return self.project(parts)

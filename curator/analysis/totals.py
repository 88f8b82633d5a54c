"""Sums over the real table, with their errors, from the noisy measurements of a release.

A function f of a record is written as a sum of functions h_r of measured interactions r, of codes or of
groups of codes, each within the interaction's space (`common/data/interactions`), and a rest e:

    f(x) = constant + sum over r of h_r(x_r) + e(x).

The sum of h_r over the real table is <h_r, y_r> for its unbiased measurement y_r, up to noise of variance
sigma_r^2 ||h_r||^2. The sum of e is taken from the release; its error is not known but modelled: a prior says
how far releases of this table are from it (`variation`), learned from what was measured. The h_r are chosen
to make the sum of both variances small. Whatever they are, the estimate has the stated noise.

Source: generalised least squares with a random effect (kriging). ADR 49 and ADR 123 have the derivation and
the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.sparse import csr_array

from ...common.data.domain import Clique
from ...common.data.grouping import grouped
from ..results.evidence import Evidence
from .unmeasured.inside import inside_bins
from .unmeasured.variation import Prior

Array = NDArray[np.float64]

_ANYWHERE = 0.01
"""Share of the records that may be anywhere in the support, also where the release has none."""

_THIN = 3.0
"""A cell of fewer records than so many deviations of its noise has them by chance."""

_GRADIENT_STEPS = 100
_RESIDUAL_TOLERANCE = 1e-3
"""The h_r are good enough when the residual is this share of the first one."""

_DIRECT_CELLS = 1500
"""Equations of so many cells are solved directly."""

_LEAST_NOISE = 1e-10
"""Least variance of noise in these equations, as a share of their largest coefficient."""

_VALUES_AT_ONCE = 2**22
"""Functions are taken in blocks of about so many values."""


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


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums of q functions over the records of the real table, estimated.

    Attributes:
        values: estimates, shape (q,), in the functions' unit times records.
        released: the same sums over the release, without a correction by the measurements; shape (q,).
        noise: covariance of the estimates' errors by noise, shape (q, q).
        unexplained: covariance of their errors by what was not measured, shape (q, q); modelled.
        sampling: covariance of the sums over a random sample of so many records, shape (q, q).
        left: covariance of the same sums of what no measurement tells, shape (q, q).
        records: number of records.
    """

    values: Array
    released: Array
    noise: Array
    unexplained: Array
    sampling: Array
    left: Array
    records: float

    def covariance(self, population: bool) -> Array:
        """The covariance of the estimates' errors, shape (q, q).

        Args:
            population: whether they are of the population of which the table is a random sample.
        """
        table = self.noise + self.unexplained
        return table + self.sampling if population else table

    @property
    def reach(self) -> Array:
        """`reach_of` each function, shape (q,)."""
        return self.reach_of(np.eye(len(self.values)))

    def reach_of(self, directions: Array) -> Array:
        """The share of the variance of linear combinations of the functions that measurements determine.

        Args:
            directions: coefficients of the functions, shape (k, q); of a ratio a / b, the derivatives by a
                and b.

        Returns:
            Shape (k,), in 0..1; 1 for a combination that does not vary.
        """
        rest = np.einsum("ki,ij,kj->k", directions, self.left, directions)
        whole = np.einsum("ki,ij,kj->k", directions, self.sampling, directions)
        lacking: Array = np.divide(rest, whole, out=np.zeros_like(rest), where=whole > 0)
        return np.clip(1 - lacking, 0, 1)


def totals(evidence: Evidence, support: Support, values: Array, inside: Array | None = None) -> Totals:
    """Estimates sums over the real table of functions of a record.

    Args:
        evidence: noisy measurements.
        support: where the release has records, by the attributes that the functions depend on. If it holds
            combinations without records, their share in the table counts as unknown, not as zero.
        values: of each function at each combination, shape (n, q); its mean, if it depends on values in bins.
        inside: covariances of the functions at each combination, summed over the release's records, shape
            (q, q); None if they depend on codes alone.
    """
    weights, count = support.weights, values.shape[1]
    records = float(weights.sum())
    means = weights @ values / records
    centred = values - means
    terms = _Terms.of(evidence, support)
    explained, parts = np.empty_like(values), np.empty((terms.size, count))
    block = max(1, _VALUES_AT_ONCE // max(1, len(weights) + terms.size))
    for first in range(0, count, block):
        chosen = slice(first, first + block)
        parts[:, chosen] = terms.minimise(centred[:, chosen], records)
        explained[:, chosen] = terms.centred_sums(parts[:, chosen])
    rest = centred - explained
    # A constant has no error: its sum over the table is known with the number of records.
    rest -= terms.spread @ rest / terms.spread.sum()
    within = 0.0 if inside is None else inside
    spread_evenly = inside_bins(evidence, support.clique, support.codes, weights) ** 2 * within
    noisy = parts * terms.sigmas[:, None]
    # The number of records may have noise of its own; it counts with what interactions leave of a mean.
    counted = evidence.records_sigma * (means - parts.T @ terms.released / records)
    return Totals(
        records * means + parts.T @ terms.surprise,
        records * means,
        noisy.T @ noisy + np.outer(counted, counted),
        records * (rest.T @ terms.prior.gradient(rest) + spread_evenly),
        centred.T @ (weights[:, None] * centred) + within,
        rest.T @ (terms.spread[:, None] * rest) + within,
        records,
    )


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
class _Terms:
    """The functions h_r of all measured interactions within a support, as one vector of their cells.

    Attributes:
        cells: for each combination the cell of each interaction, a matrix of shape (n, size).
        shapes: shape of each interaction.
        sigmas: shape (size,): scale of the noise of each cell's interaction.
        released: shape (size,): interactions of the release.
        surprise: shape (size,): measurements less the release.
        spread: shape (n,): records that may be at each combination; see `_spread_thin_combinations`.
        prior: of the release's error in what the h_r leave.
    """

    cells: csr_array
    shapes: tuple[tuple[int, ...], ...]
    sigmas: Array
    released: Array
    surprise: Array
    spread: Array
    prior: Prior

    @classmethod
    def of(cls, evidence: Evidence, support: Support) -> _Terms:
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
        terms = cls(cells, tuple(shapes), sigmas, released, measured, spread, prior)
        both = terms.project(np.column_stack([released, measured - released]))
        return replace(terms, released=both[:, 0], surprise=both[:, 1])

    @property
    def size(self) -> int:
        """Number of cells of all interactions."""
        return len(self.sigmas)

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

    def minimise(self, target: Array, price: float) -> Array:
        """The h_r that minimise noise plus price times the prior's variance of what they leave of a target.

        Directly for few cells, otherwise by conjugate gradients. A solution that is not exact is as unbiased.

        Args:
            target: shape (n, q).
            price: of one unit of the prior's variance, in the unit of the noise's variance.

        Returns:
            Shape (size, q), within the interactions' spaces.
        """
        if max(self.size, self.prior.size) <= _DIRECT_CELLS:
            gathered = self._adjoint(target, price)
            solved: Array = solve(self._equations(price), gathered, assume_a="pos")
            return self.project(solved)
        return self._conjugate_gradients(target, price)

    def _adjoint(self, rest: Array, price: float) -> Array:
        """How much each cell's part would take of a rest, shape (size, q)."""
        weighed = self.prior.gradient(rest - self.spread @ rest / self.spread.sum())
        summed: Array = self.cells.T @ (
            weighed - self.spread[:, None] * (weighed.sum(axis=0) / self.spread.sum())
        )
        return price * self.project(summed)

    def _equations(self, price: float) -> Array:
        """The matrix of the equations that the parts solve, shape (size, size)."""
        squares = self.prior.covariance(self.cells)
        projected = self.project(self.project(squares).T)
        projected *= price
        # What little noise leaves singular gets the least that can be solved.
        least = _LEAST_NOISE * float(np.max(np.diagonal(projected), initial=0))
        projected[np.diag_indices(self.size)] += np.maximum(self.sigmas**2, least)
        return projected

    def _conjugate_gradients(self, target: Array, price: float) -> Array:
        """An approximate solution by conjugate gradients, for all columns at once."""
        variances = (self.sigmas**2)[:, None]
        scale = 1 / (variances + price * self.prior.most * (self.cells.T @ self.spread)[:, None])
        parts = np.zeros((self.size, target.shape[1]))
        left = self._adjoint(target, price)
        step = scale * left
        size = first = np.einsum("ij,ij->j", left, step)
        for _ in range(_GRADIENT_STEPS):
            moved = variances * step + self._adjoint(self.centred_sums(self.project(step)), price)
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

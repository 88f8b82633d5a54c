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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..results.evidence import Evidence
from .terms import Support, Terms
from .unmeasured.inside import inside_bins

Array = NDArray[np.float64]

_VALUES_AT_ONCE = 2**22
"""Functions are taken in blocks of about so many values."""


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


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the real table of functions of the attributes of a support.

    Attributes:
        terms: functions of measured interactions.
        uneven: relative error in how numbers lie inside their bins, see `inside_bins`.
    """

    terms: Terms
    uneven: float

    @classmethod
    def of(cls, evidence: Evidence, support: Support) -> Sums:
        """Those of a support.

        Args:
            evidence: noisy measurements.
            support: where the release has records, by the attributes that the functions depend on. If it
                holds combinations without records, their share in the table counts as unknown, not as zero.
        """
        uneven = inside_bins(evidence, support.clique, support.codes, support.weights)
        return cls(Terms.of(evidence, support), uneven)

    def totals(self, values: Array, inside: Array | None = None) -> Totals:
        """Estimates of some functions' sums.

        Args:
            values: of each function at each combination, shape (n, q); its mean, if it depends on values in
                bins.
            inside: covariances of the functions at each combination, summed over the release's records,
                shape (q, q); None if they depend on codes alone.
        """
        terms, weights = self.terms, self.terms.weights
        records = float(weights.sum())
        means = weights @ values / records
        centred = values - means
        explained, parts = np.empty_like(values), np.empty((terms.size, values.shape[1]))
        block = max(1, _VALUES_AT_ONCE // max(1, len(weights) + terms.size))
        for first in range(0, values.shape[1], block):
            chosen = slice(first, first + block)
            parts[:, chosen] = terms.minimise(centred[:, chosen])
            explained[:, chosen] = terms.centred_sums(parts[:, chosen])
        rest = centred - explained
        # A constant has no error: its sum over the table is known with the number of records.
        rest -= terms.spread @ rest / terms.spread.sum()
        within = 0.0 if inside is None else inside
        noisy = parts * terms.sigmas[:, None]
        # The number of records may have noise of its own; it counts with what interactions leave of a mean.
        counted = terms.records_sigma * (means - parts.T @ terms.released / records)
        return Totals(
            records * means + parts.T @ terms.surprise,
            records * means,
            noisy.T @ noisy + np.outer(counted, counted),
            records * (rest.T @ terms.prior.gradient(rest) + self.uneven**2 * within),
            centred.T @ (weights[:, None] * centred) + within,
            rest.T @ (terms.spread[:, None] * rest) + within,
            records,
        )

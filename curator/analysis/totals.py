"""Sums over the real table, with their errors, from the noisy measurements of a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from ..releasing.evidence import Evidence

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Support:
    """Where a release has records: combinations of codes, each with a weight.

    Attributes:
        clique: attributes, in domain order.
        codes: shape (n, attributes); rows need not differ.
        weights: shape (n,), not negative: records at each; their sum is the number of records of the table.
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
        unexplained: covariance of their errors by what nobody measured, shape (q, q): a model of it.
        sampling: covariance of the sums over a random sample of so many records; shape (q, q).
        reach: for each function the share of its variance over the release that measurements determine.
    """

    values: Array
    released: Array
    noise: Array
    unexplained: Array
    sampling: Array
    reach: Array


def totals(evidence: Evidence, support: Support, values: Array, variances: Array | None = None) -> Totals:
    """Estimates sums over the real table of functions of a record's codes.

    Args:
        evidence: noisy measurements.
        support: where the release has records, by the attributes that the functions depend on.
        values: of each function at each combination, shape (n, q); its mean where it depends on the values
            inside of bins.
        variances: covariances inside of bins, shape (n, q, q); None if functions depend on codes only.
    """
    raise NotImplementedError

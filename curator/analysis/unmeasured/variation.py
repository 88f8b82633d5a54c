"""How far a release may be from the table in what noise hid: a prior, learned from what was measured.

An analyst asks for functions with a direction: a trend of numbers, a common category against the others. Of
each measured pair, `typical` estimates the correlations of such functions, without bias, and learns their
mean square. So large are the errors of a release expected to be in the interaction of a pair, where no
measurement says more; `Prior` adds what a release lacks in all other functions.

Source: Gelman, Prior distributions for variance parameters in hierarchical models (2006):
    the size has a flat prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ....common.data.domain import Clique, Domain
from ....common.data.grouping import group_sums
from ....common.data.view import View
from ...results.evidence import Evidence, Known
from .pairs import Axis, Pair, directions, indicators

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Truths = NDArray[np.bool_]

LEAST_KAPPA = 0.05
"""Least relative error of a release in pairs, in larger interactions and inside of bins."""

ALONE = 0.3
"""Error of a release in functions of one attribute; they are always measured."""

_OF_BOUND = 0.25
"""Error of a release in a pair that was not measured, as a share of its L1 bound; see ADR 123."""

_LARGEST_DISTANCE = 2.0
"""L1 distance of two distributions, at most."""

_SIZES = np.linspace(LEAST_KAPPA, 1, 96)
"""Sizes that interactions of measured pairs may have."""


def kappa_of(evidence: Evidence, pair: Clique) -> float:
    """The relative error of a release in the interaction of a pair, where nothing measured it, at most 1.

    Of a pair that was not measured, a share of the release's bound on its L1 distance from the table, since
    strong interactions hide behind poor scores; without a bound, and of measured pairs, the typical one.
    """
    if _is_measured(evidence, pair) or pair not in evidence.bounds:
        return typical(evidence)
    return max(LEAST_KAPPA, _OF_BOUND * min(evidence.bounds[pair], _LARGEST_DISTANCE))


def _is_measured(evidence: Evidence, pair: Clique) -> bool:
    """Whether a pair was measured, in codes or in groups of codes."""
    return pair in evidence.known or any(view.clique == pair for view in evidence.grouped)


@lru_cache(maxsize=16)
def typical(evidence: Evidence) -> float:
    """The size of interactions of measured pairs, as the root mean square of correlations, at most 1.

    Its posterior mean, where every size is as likely before: noise may hide much, even where by chance less
    was measured than the noise alone would give. 1 if no pair was measured.
    """
    margins = {name: margin_of(evidence, name) for name in evidence.domain}
    found = [
        one
        for view, known in evidence.views.items()
        if len(view.clique) == 2
        for one in _correlations(evidence.domain, view, known, margins, evidence.records)
    ]
    if not found:
        return 1.0
    correlations, variances = np.array(found).T
    spread = _SIZES[:, None] ** 2 + variances
    likelihood = -0.5 * (correlations**2 / spread + np.log(spread)).sum(axis=1)
    weights = np.exp(likelihood - likelihood.max())
    return math.sqrt(float(weights @ _SIZES**2 / weights.sum()))


def margin_of(evidence: Evidence, name: str) -> Array:
    """Shares of an attribute's codes, as measured, without negative ones."""
    size = evidence.domain[name].size
    known = evidence.known.get((name,))
    if known is None:
        return np.full(size, 1 / size)
    shares = np.maximum(known.values + evidence.records / size, 0.0)
    # Thin codes have their counts by chance; together they keep them.
    thin = shares < known.sigma
    shares[thin] = shares[thin].mean() if thin.any() else 0.0
    if not shares.any():
        return np.full(size, 1 / size)
    found: Array = shares / shares.sum()
    return found


def _correlations(
    domain: Domain, view: View, known: Known, margins: dict[str, Array], records: float
) -> list[tuple[float, float]]:
    """A pair's correlations of functions that analysts ask for, and the variances of their noise."""
    functions = []
    for name, labels in view.groupings:
        margin = margins[name]
        codes = np.arange(len(margin)) * margin
        shape = (len(margin),)
        shares = group_sums(margin, shape, (labels,) if labels else ())
        means = group_sums(codes, shape, (labels,) if labels else ()) / np.maximum(shares, 1e-12)
        functions.append(directions((means,), shares))
    cells = known.values.reshape(view.shape(domain))
    return [
        (
            # Less what margins alone would give to the interaction, as if attributes were independent.
            float(one @ cells @ other) / records - float(one.mean() * other.mean()),
            (known.sigma / records) ** 2 * float(one.var() * other.var()) * cells.size,
        )
        for one, other in product(*functions)
    ]


@dataclass(frozen=True, eq=False)
class Prior:
    """The variance of a release's error in the sum of a function e of a record, over the records squared.

    base^2 E[e^2] + the sum over attributes of alone^2 E[e_a^2] + the sum over pairs of kappa^2 E[e_ab^2],
    where e_a is the mean of e given an attribute, and e_ab what it depends on a pair beyond both; and
    the squares of the sums of e over sets of thin cells. Base is at least what two samples of so many
    records differ by, in any function: that is all of it if only one pair can depend, which was measured.

    Attributes:
        spread: records that may be at each combination of a support, shape (n,).
        base: relative error of the release in any function.
        singles: the codes of each attribute, matrices of shape (n, codes).
        pairs: the pairs of the support.
        thin: which combinations have a thin code of an attribute, and one code of another: a matrix of shape
            (n, sets). A release has records there where noise was positive, in all of them alike.
    """

    spread: Array
    base: float
    singles: tuple[csr_array, ...]
    pairs: tuple[Pair, ...]
    thin: csr_array

    @classmethod
    def of(
        cls, evidence: Evidence, clique: Clique, codes: Places, spread: Array, thin: Mapping[str, Truths]
    ) -> Prior:
        """The prior of functions of these attributes.

        Args:
            evidence: noisy measurements.
            clique: attributes.
            codes: combinations of a support, shape (n, attributes).
            spread: see `Prior`.
            thin: attribute -> at which combinations its code alone is thin, shape (n,).
        """
        varied = [place for place, name in enumerate(clique) if np.ptp(codes[:, place]) > 0]
        axes = {one: Axis.of(evidence.domain[clique[one]], codes[:, one], spread) for one in varied}
        named = {pair: (clique[pair[0]], clique[pair[1]]) for pair in combinations(varied, 2)}
        pairs = tuple(
            Pair.of(axes[one], axes[other], spread, kappa_of(evidence, names))
            for (one, other), names in named.items()
        )
        sets = _thin_sets(clique, codes, thin)
        singles = tuple(indicators(codes[:, place]) for place in varied)
        simple = len(varied) < 3 and all(_is_measured(evidence, names) for names in named.values())
        base = max(0.0 if simple else LEAST_KAPPA, math.sqrt(2 / max(evidence.records, 1.0)))
        return cls(spread, base, singles, pairs, sets)

    @property
    def size(self) -> int:
        """Cells of all pairs."""
        return sum(len(pair.weights) for pair in self.pairs)

    def gradient(self, rest: Array) -> Array:
        """The gradient of the variance: half of it by each value of a function; shape (n, q) to (n, q)."""
        found = self.base**2 * self.spread[:, None] * rest
        weighted = self.spread[:, None] * rest
        for codes in self.singles:
            sums = np.maximum(codes.T @ self.spread, np.finfo(float).tiny)[:, None]
            found += ALONE**2 * self.spread[:, None] * (codes @ ((codes.T @ weighted) / sums))
        for pair in self.pairs:
            found += pair.kappa**2 * self.spread[:, None] * pair.interaction(weighted)
        sums = self.thin.T @ weighted
        found += self.spread[:, None] * (self.thin @ sums) / self.spread.sum()
        return found

    def covariance(self, cells: csr_array) -> Array:
        """The variances and covariances of indicators of cells, each less its mean.

        Args:
            cells: of each combination, a matrix of shape (n, size).
        """
        means = cells.T @ self.spread
        apart = ((cells.T * self.spread) @ cells).toarray() - np.outer(means, means / self.spread.sum())
        found: Array = self.base**2 * apart
        for codes in self.singles:
            weights = np.maximum(codes.T @ self.spread, np.finfo(float).tiny)[:, None]
            sums = ((codes.T * self.spread) @ cells).toarray() - weights * (means / self.spread.sum())
            found += ALONE**2 * sums.T @ (sums / weights)
        for pair in self.pairs:
            sums = ((pair.cells.T * self.spread) @ cells).toarray()
            found += pair.kappa**2 * sums.T @ pair.project(sums / pair.weights[:, None])
        weights, total = self.thin.T * self.spread, self.spread.sum()
        held = (weights @ cells).toarray() - np.outer(weights.sum(axis=1), means / total)
        found += held.T @ held / total
        return found

    @property
    def most(self) -> float:
        """The largest relative variance of the error in a function."""
        thin = float((self.thin.T @ self.spread).max(initial=0.0)) / self.spread.sum()
        pairs = sum(pair.kappa**2 for pair in self.pairs)
        return float(self.base**2 + len(self.singles) * ALONE**2 + pairs + thin)


def _thin_sets(clique: Clique, codes: Places, thin: Mapping[str, Truths]) -> csr_array:
    """The sets of `Prior.thin`: of each attribute's thin codes together, and with each code of another."""
    rows, columns, size = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for name, where in thin.items():
        inside = np.flatnonzero(where)
        if len(np.unique(codes[inside, clique.index(name)])) < 2:
            continue
        for other in clique:
            among = np.zeros(len(inside), dtype=np.int64)
            if other != name:
                among = (
                    np.where(thin[other][inside], -1, codes[inside, clique.index(other)])
                    if other in thin
                    else codes[inside, clique.index(other)]
                )
            _, place = np.unique(among, return_inverse=True)
            rows.append(inside)
            columns.append(size + place)
            size += int(place.max()) + 1
    row, column = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(row)), (row, column)), shape=(len(codes), size))

"""Interactions of pairs predicted from all other interactions: few factors that all attributes share.

If attributes are independent given a hidden class, or given a few hidden normal variables of which they are
linear, the interactions of all pairs have few factors in common: that of a and b is A_a S A_b^T, with one
matrix A_a of k columns for each attribute and a diagonal S of signs. Stacked, the interactions are the
blocks off the diagonal of a symmetric matrix of low rank, that of multiple correspondence analysis. The
blocks on the diagonal are unknown, and those of unmeasured pairs too.

Along the eigenvectors of each attribute's covariance (`Axis`), scaled by its roots, entries of the matrix are

    x_ij = a_i S a_j + e_ij + noise,    a_i ~ N(0, diag(l)),    e_ij ~ N(0, w),

with the known variance of each pair's noise. Variational Bayes finds normal posteriors of all a_i; l and w
are learned, so factors that the noise hides vanish. A pair is predicted without its own measurement.

Source: multiple correspondence analysis, Greenacre, "Correspondence analysis of multivariate categorical data
    by weighted least-squares" (1988); variational matrix factorisation, Lim and Teh, "Variational Bayesian
    approach to movie rating prediction" (2007); pruning of factors, Bishop, "Bayesian PCA" (1999).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.interactions import freedom, interaction
from .components import Axis
from .observed import Observed
from .settings import SETTINGS

Array = NDArray[np.float64]

MAX_COORDINATES = 600
"""Attributes with the most values are left out until the others have at most this many together."""

COORDINATES = 12
"""Of an attribute with more values, only so many coordinates are kept, those with the largest variances."""

_LEAST_SCALE = 1e-10
"""Least variance of factors and of entries, so that none is divided by zero."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The interactions of pairs as one symmetric matrix of m coordinates, those of all attributes.

    Attributes:
        axes: attribute -> its axis; the order of the coordinates.
        roots: standard deviations by which coordinates are scaled, shape (m,).
        owners: place of each coordinate's attribute, shape (m,).
        values: scaled shares of the records, shape (m, m).
        noise: their variances, shape (m, m); infinite where nothing was measured.
    """

    axes: Mapping[str, Axis]
    roots: Array
    owners: NDArray[np.int64]
    values: Array
    noise: Array

    @classmethod
    def of(
        cls,
        margins: Mapping[str, Array],
        axes: Mapping[str, Axis],
        observed: Mapping[Clique, Observed],
        records: float,
    ) -> Blocks:
        """The blocks of measured pairs.

        Args:
            margins: attribute -> its shares of the records, shape (n,).
            axes: attribute -> its axis.
            observed: pair -> its measured interaction.
            records: number of records.
        """
        spread = {name: 1 - float(margin @ margin) for name, margin in margins.items()}
        roots = np.concatenate([np.sqrt(spread[name] * axes[name].variances) for name in margins])
        owners = np.repeat(np.arange(len(margins)), [len(axes[name].variances) for name in margins])
        blocks = cls(
            {name: axes[name] for name in margins},
            roots,
            owners,
            np.zeros((len(roots), len(roots))),
            np.full((len(roots), len(roots)), np.inf),
        )
        for (a, b), found in observed.items():
            shape = margins[a].size, margins[b].size
            apart = np.outer(margins[a], margins[b]).ravel()
            cells = interaction(found.values / records - apart, shape).reshape(shape)
            rows, columns = blocks.of_attribute(a), blocks.of_attribute(b)
            scale = np.outer(roots[rows], roots[columns])
            block = axes[a].vectors.T @ cells @ axes[b].vectors / scale
            variance = found.variance / (freedom(shape) * records**2) / scale**2
            for place, values, spreads in (
                ((rows, columns), block, variance),
                ((columns, rows), block.T, variance.T),
            ):
                blocks.values[place], blocks.noise[place] = values, spreads
        return blocks

    def of_attribute(self, name: str) -> slice:
        """The coordinates of an attribute."""
        place = list(self.axes).index(name)
        first, last = np.searchsorted(self.owners, [place, place + 1])
        return slice(int(first), int(last))

    def cells(self, fitted: Array, pair: Clique) -> Array:
        """A pair's block of such a matrix, as an interaction's shares of the records, shape (n_r,)."""
        rows, columns = (self.of_attribute(name) for name in pair)
        block = fitted[rows, columns] * np.outer(self.roots[rows], self.roots[columns])
        first, second = (self.axes[name].vectors for name in pair)
        return np.asarray(first @ block @ second.T).ravel()


def predicted_pairs(
    margins: Mapping[str, Array],
    axes: Mapping[str, Axis],
    observed: Mapping[Clique, Observed],
    records: float,
) -> dict[Clique, Array]:
    """Every pair's interaction, predicted from the measured interactions of other pairs.

    Args:
        margins: attribute -> its shares of the records, shape (n,).
        axes: attribute -> the covariance along it.
        observed: pair -> its measured interaction.
        records: number of records.

    Returns:
        Pair -> departure of its cells from independence, in records, shape (n_r,), for the attributes that
        `MAX_COORDINATES` leaves; empty for fewer than `predicted_from`.
    """
    kept = _within_limit({name: margin.size for name, margin in margins.items()})
    measured = {pair: found for pair, found in observed.items() if {*pair} <= {*kept}}
    if len(kept) < SETTINGS.predicted_from or not measured:
        return {}
    leading = {name: axes[name].leading(COORDINATES) for name in kept}
    blocks = Blocks.of({name: margins[name] for name in kept}, leading, measured, records)
    # The pairs are split into five parts; each is predicted from the others.
    part = (blocks.owners[:, None] + blocks.owners) % 5
    left_out = [(part == number) & np.isfinite(blocks.noise) for number in range(5)]
    noises = [np.where(left, np.inf, blocks.noise) for left in left_out]
    if len(measured) < math.comb(len(kept), 2):
        # Pairs that were not measured are predicted from all that were.
        left_out, noises = [~np.isfinite(blocks.noise), *left_out], [blocks.noise, *noises]
    whole = np.zeros_like(blocks.values)
    with ThreadPoolExecutor(max_workers=2) as threads:
        fits = threads.map(lambda noise: factors(blocks.values, noise, blocks.owners), noises)
        for left, fitted in zip(left_out, fits, strict=True):
            whole[left] = fitted[left]
    return {pair: records * blocks.cells(whole, pair) for pair in itertools.combinations(kept, 2)}


def factors(values: Array, noise: Array, owners: NDArray[np.int64]) -> Array:
    """The posterior mean of the part of low rank of a symmetric matrix.

    Args:
        values: measured entries, shape (m, m); any value where the noise is infinite.
        noise: variances of their noise, shape (m, m).
        owners: for each row the attribute, ascending; entries of one attribute are unknown. Shape (m,).
    """
    seen = np.isfinite(noise)
    if not seen.any():
        return np.zeros_like(values)
    values = np.where(seen, values, 0.0)
    noise = np.where(seen, noise, 1.0)
    other, means, signs = _start(values, noise, seen)
    count = len(signs)
    scales = np.maximum((means**2).mean(axis=0), _LEAST_SCALE)
    spreads = np.tile(0.1 * np.diag(scales), (len(means), 1, 1))
    moments = _moments(means, spreads, signs)
    ends = np.searchsorted(owners, np.arange(owners[-1] + 2))
    for _sweep in range(40):
        before = means.copy()
        weights = np.where(seen, 1 / (noise + other), 0.0)
        weighted = weights * values
        for first, last in itertools.pairwise(ends):
            precision = (weights[first:last] @ moments).reshape(-1, count, count)
            spreads[first:last] = np.linalg.inv(precision + np.diag(1 / scales))
            seen_sums = weighted[first:last] @ (means * signs)
            means[first:last] = (spreads[first:last] @ seen_sums[:, :, None])[:, :, 0]
            moments[first:last] = _moments(means[first:last], spreads[first:last], signs)
        scales = np.maximum((means**2 + np.einsum("ikk->ik", spreads)).mean(axis=0), _LEAST_SCALE)
        kept = other * weights
        away = float((((values - (means * signs) @ means.T) ** 2 * kept + noise) * kept).sum())
        other = max((away + _spread(means, spreads, signs, kept**2)) / np.count_nonzero(seen), _LEAST_SCALE)
        if np.abs(means - before).max() <= 1e-3 * np.abs(means).max():
            break
    return np.asarray((means * signs) @ means.T)


def _start(values: Array, noise: Array, seen: NDArray[np.bool_]) -> tuple[float, Array, Array]:
    """A variance of the entries apart from factors, and factors by eigenvectors, with their signs."""
    sizes = np.where(seen, 1 / noise, 0.0)
    variance = max(float((((values**2 - noise) * sizes)[seen]).sum() / sizes.sum()), _LEAST_SCALE)
    shrunk = values * variance / (variance + noise)
    # Any start will do, but it is the same in every run.
    block = np.random.default_rng(0).normal(size=(len(values), min(2 * SETTINGS.factors, len(values))))
    lengths, vectors = _leading(shrunk, block, turns=20)
    # The blocks on the diagonal are unknown, not zero: they are filled by the factors found so far.
    for _fill in range(5):
        few = vectors[:, : SETTINGS.factors]
        filled = np.where(seen, shrunk, (few * lengths[: SETTINGS.factors]) @ few.T)
        lengths, vectors = _leading(filled, vectors, turns=4)
    found = lengths[: SETTINGS.factors]
    return (
        variance / 4,
        vectors[:, : SETTINGS.factors] * np.sqrt(np.abs(found)),
        np.where(found < 0, -1.0, 1.0),
    )


def _leading(matrix: Array, block: Array, turns: int) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, the largest in magnitude first, and their eigenvectors.

    Source: subspace iteration with a Rayleigh-Ritz step, Saad, "Numerical Methods for Large Eigenvalue
        Problems" (2011), section 5.2. A full decomposition takes ten times longer and is not needed.

    Args:
        matrix: shape (m, m).
        block: vectors to start from, shape (m, k).
        turns: number of products with the matrix.
    """
    for _ in range(turns):
        block = np.linalg.qr(matrix @ block)[0]
    lengths, turned = np.linalg.eigh(block.T @ matrix @ block)
    order = np.argsort(-np.abs(lengths), kind="stable")
    return lengths[order], block @ turned[:, order]


def _moments(means: Array, spreads: Array, signs: Array) -> Array:
    """Second moments of rows of factors, with the signs of both, shape (rows, k k)."""
    both = (means[:, :, None] * means[:, None] + spreads) * np.outer(signs, signs)
    return both.reshape(len(means), -1)


def _spread(means: Array, spreads: Array, signs: Array, weights: Array) -> float:
    """The sum of the posterior variances of all products of two different rows, with these weights.

    Args:
        means: shape (m, k).
        spreads: shape (m, k, k).
        signs: shape (k,).
        weights: shape (m, m), symmetric.
    """
    flat = spreads.reshape(len(means), -1)
    twice = 2 * means[:, :, None] * means[:, None] + spreads
    signed = (twice * np.outer(signs, signs)).reshape(len(means), -1)
    return float((signed * (weights @ flat)).sum())


def _within_limit(sizes: Mapping[str, int]) -> list[str]:
    """The attributes of two and more values, in order, without the largest ones beyond `MAX_COORDINATES`."""
    small_first = sorted((name for name, size in sizes.items() if size > 1), key=sizes.__getitem__)
    total = itertools.accumulate(min(sizes[name] - 1, COORDINATES) for name in small_first)
    kept = {name for name, count in zip(small_first, total, strict=True) if count <= MAX_COORDINATES}
    return [name for name in sizes if name in kept]

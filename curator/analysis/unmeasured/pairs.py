"""The functions of a pair of attributes that analysts ask for, and how large a release's error is in others.

An analyst asks for trends, and for common values. A release that lacks the interaction of a pair may be far
off in these; it cannot be as far off in every function of a pair of many codes, since the L1 distance
between two distributions is at most 2. Of each attribute, all other functions together have as large an error
as the ones that are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import bins_of

Array = NDArray[np.float64]
Places = NDArray[np.int64]


def directions(trends: Sequence[Array], shares: Array) -> list[Array]:
    """Trends of codes, and the most common one against the others, standardised and uncorrelated."""
    found: list[Array] = []
    for values in (*trends, (np.arange(len(shares)) == int(shares.argmax())).astype(np.float64)):
        centred = values - shares @ values
        least = 1e-3 * max(math.sqrt(float(shares @ centred**2)), min(1.0, float(np.ptp(values))))
        for before in found:
            centred = centred - (shares * before) @ centred * before
        spread = math.sqrt(float(shares @ centred**2))
        if spread > least:
            found.append(centred / spread)
    return found


@dataclass(frozen=True, eq=False)
class Axis:
    """An attribute of a pair: the functions of it that analysts ask for, and how large errors are in others.

    Attributes:
        codes: of each combination, shape (n,).
        asked: functions of its codes, as `directions` finds them.
        others: variance of a release's error in the other functions of it, as a share of that in these.
    """

    codes: Places
    asked: tuple[Array, ...]
    others: float

    @classmethod
    def of(cls, attribute: Attribute, codes: Places, spread: Array) -> Axis:
        """The axis of an attribute.

        In all other functions together an error is as large as in those that analysts ask for. There are as
        many as the effective number of codes leaves (Simpson's), so of many codes each has little.
        """
        shares = np.bincount(codes, spread, attribute.size) / spread.sum()
        asked = tuple(directions(_trends(attribute), shares))
        independent = 1 / float(shares @ shares) - 1
        return cls(codes, asked, min(1.0, len(asked) / max(independent, 1e-9)))


@dataclass(frozen=True, eq=False)
class Pair:
    """The cells of two attributes that a support has.

    Attributes:
        cells: of each combination, a matrix of shape (n, cells).
        first: the first attribute's code of each cell, a matrix of shape (cells, codes).
        second: of the second.
        weights: records of each cell.
        kappa: relative error of the release in functions of the pair that analysts ask for.
        others: variance of the error in functions of which both parts are others, as a share of that.
        asked: functions of the cells that have one such part or two, scaled so that their squares give the
            rest of the variance; a matrix of shape (cells, functions).
    """

    cells: csr_array
    first: csr_array
    second: csr_array
    weights: Array
    kappa: float
    others: float
    asked: csr_array

    @classmethod
    def of(cls, one: Axis, other: Axis, spread: Array, kappa: float) -> Pair:
        """The pair of two attributes; if nothing is known of it, any function may be wrong."""
        if kappa >= 1:
            one, other = (Axis(axis.codes, (), 1.0) for axis in (one, other))
        joint = one.codes * (int(other.codes.max()) + 1) + other.codes
        _, first, place = np.unique(joint, return_index=True, return_inverse=True)
        cells = indicators(place)
        codes = [indicators(axis.codes[first]) for axis in (one, other)]
        weights = cells.T @ spread
        parts = [[part[axis.codes[first]] for part in axis.asked] for axis in (one, other)]
        more = (1 - one.others, 1 - other.others)
        blocks = [
            *(rescale(codes[1] * part[:, None], weights, other.others * more[0]) for part in parts[0]),
            *(rescale(codes[0] * part[:, None], weights, one.others * more[1]) for part in parts[1]),
            *(
                rescale(csr_array((a * b)[:, None]), weights, more[0] * more[1])
                for a, b in product(*parts)
                if more[0] * more[1] > 0
            ),
        ]
        asked = csr_array(hstack([csr_array((len(weights), 0)), *blocks]))
        return cls(cells, codes[0], codes[1], weights, kappa, one.others * other.others, asked)

    def interaction(self, weighted: Array) -> Array:
        """The gradient of the error in what a function depends on the pair alone, by kappa squared.

        Args:
            weighted: the function times records, shape (n, q).
        """
        found: Array = self.cells @ self.project((self.cells.T @ weighted) / self.weights[:, None])
        return found

    def project(self, means: Array) -> Array:
        """(1 - A)(1 - B) S (1 - B)(1 - A) for the means A and B given one attribute; symmetric.

        S is the share of each function's variance, by whether its parts are asked for. Shape (cells, q).
        """
        left = self._without(self._without(means, self.first), self.second)
        shared = self.others * left + self.asked @ (self.asked.T @ (self.weights[:, None] * left))
        return self._without(self._without(shared, self.second), self.first)

    def _without(self, means: Array, codes: csr_array) -> Array:
        """Functions of the cells less their means given one attribute."""
        sums = np.maximum(codes.T @ self.weights, np.finfo(float).tiny)[:, None]
        found: Array = means - codes @ ((codes.T @ (self.weights[:, None] * means)) / sums)
        return found


def rescale(functions: csr_array, weights: Array, variance: float) -> csr_array:
    """Functions of cells with a mean square, in the metric of these weights; shape (cells, functions)."""
    functions = csr_array(functions)
    squares = functions.power(2).T @ weights
    scales = np.sqrt(np.divide(variance, squares, out=np.zeros_like(squares), where=squares > 0))
    return csr_array(functions * scales)


def _trends(attribute: Attribute) -> tuple[Array, ...]:
    """The codes of an attribute as numbers, and its numbers if it has some."""
    codes = np.arange(attribute.size, dtype=np.float64)
    bins = bins_of(attribute)
    if bins is None:
        return (codes,)
    numbers = np.full(attribute.size, bins.reach.mean())
    numbers[: len(bins.reach)] = bins.reach.mean(axis=1)
    return codes, numbers


def indicators(places: Places) -> csr_array:
    """Which place each row is at, a matrix of shape (rows, places)."""
    n = len(places)
    return csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, int(places.max()) + 1))

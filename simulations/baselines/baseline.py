"""The type of a baseline, its measurer, and helpers that several baselines share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.data.view import View
from ...common.errors import DataError
from ...common.measurement import Measurement
from ...common.privacy.budget import Budget, Charge
from ...common.privacy.cost import exponential_cost
from ...curator.measurers.measurer import Measurer, Query
from ..parties.partition import Grid, partition

Array = NDArray[np.float64]

Release = Callable[[Table, Grid, Budget, str, str | None, RandomStream], Table]
"""A synthetic table from a table, its grid, the promise, a protocol, a label and randomness."""


@dataclass(frozen=True)
class Baseline:
    """A mechanism from a paper's comparison.

    Attributes:
        name: as papers write it.
        what: description in a sentence.
        reconstructed: sentences on what its published description leaves open or does differently, and what
            is done here.
        release: function that runs it.
    """

    name: str
    what: str
    reconstructed: tuple[str, ...]
    release: Release


class FloatMeasurer(Measurer):
    """Adds N(0, 1 / 2 rho) in floating point to marginals of a table: only for simulation.

    Guarantee: rho-zCDP for real numbers, under zero-out adjacency; not exactly in floating point (Mironov
    2012).

    Args:
        table: rows to measure.
        granted: upper limit of all costs, zCDP.
        rng: source of the noise.
    """

    not_private = "noise is drawn in floating point, from a seed: only for simulation"

    def __init__(self, table: Table, granted: Fraction, rng: np.random.Generator) -> None:
        super().__init__(table.domain, table.record_count, granted)
        self._table = table
        self._rng = rng

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """The same in every cell; baselines measure no interactions."""
        return math.sqrt(1 / (2 * float(zcdp_rho)))

    def choose(self, scores: Sequence[float], sensitivity: float, zcdp_rho: Fraction, step: str) -> int:
        """The exponential mechanism's choice, by the Gumbel maximum.

        Guarantee: rho-zCDP where one record changes no score by more than the sensitivity.
        """
        epsilon = math.sqrt(8 * zcdp_rho) * (1 - 2.0**-40)
        self.charge(Charge(step, (), exponential_cost(epsilon)))
        noisy = epsilon / (2 * sensitivity) * np.asarray(scores) + self._rng.gumbel(size=len(scores))
        return int(np.argmax(noisy))

    def histogram(self, places: NDArray[np.int64], cells: int, zcdp_rho: Fraction, step: str) -> Array:
        """Noisy counts of records by cell, shape (cells,).

        Guarantee: rho-zCDP, as each record lies in one cell.
        """
        self.charge(Charge(step, (), zcdp_rho))
        sigma = self.expected_sigma(View(()), zcdp_rho)
        exact = np.bincount(places, minlength=cells)
        noisy: Array = exact + self._rng.normal(0, sigma, cells)
        return noisy

    def _charge(self, query: Query) -> Charge:
        return Charge(query.step, query.view.clique, query.zcdp_rho)

    def _answer(self, query: Query, charge: Charge) -> Measurement:
        if not query.view.is_plain:
            raise ValueError("baselines measure single cells of whole marginals")
        sigma = self.expected_sigma(query.view, query.zcdp_rho)
        exact = self._table.marginal(query.view.clique)
        noisy = exact + self._rng.normal(0, sigma, exact.size)
        return Measurement(query.view, noisy, sigma, float(query.zcdp_rho))


def horizontal_parties(name: str, table: Table, grid: Grid) -> list[Table]:
    """The rows of each party.

    Raises:
        DataError: a party does not hold all attributes.
    """
    pieces = partition(table, grid)
    if any(len(parties) > 1 for parties in pieces):
        raise DataError(f"{name}: expected parties that hold all attributes; give a grid of Kx1")
    return [parties[0] for parties in pieces]


def vertical_parties(name: str, table: Table, grid: Grid) -> list[Table]:
    """The columns of each party.

    Raises:
        DataError: there is more than one slice.
    """
    pieces = partition(table, grid)
    if len(pieces) > 1:
        raise DataError(f"{name}: expected parties that hold the same records; give a grid of 1xS")
    return pieces[0]

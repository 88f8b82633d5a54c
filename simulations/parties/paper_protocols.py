"""Protocols that exist only in the RandDPGen paper: to reproduce its tables, never for a release.

They are in `simulations` so that daemons do not contain their code.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from ...common.data.table import Table
from ...common.data.view import View
from ...common.measurement import Measurement
from ...common.privacy.budget import Charge
from ...common.terms import ReleaseTerms
from ...curator.measurers.capabilities import ShowsMarginals
from ...curator.measurers.federation import FederationMeasurer
from ...curator.measurers.measurer import Query
from ...curator.parties.federation import Federation


class TheoremMeasurer(ShowsMarginals):
    """Adds the noise that the paper's Theorem 4.1 states, N(0, K S^2 / 2 rho), to exact marginals.

    It is not a protocol: without access to the table this cannot be measured, and the theorem does not hold
    for the protocol that it is about.

    Args:
        table: the whole table.
        horizontal: number K of slices.
        vertical: number S of parties of a slice.
        granted: upper limit of all costs, zCDP.
        rng: source of the noise; floating point, so not suitable for a release.
    """

    not_private = (
        "no protocol adds this noise: it is what Theorem 4.1 of the RandDPGen paper states, drawn in "
        "floating point around exact marginals of the pooled table, to reproduce the paper's tables"
    )

    def __init__(
        self, table: Table, horizontal: int, vertical: int, granted: Fraction, rng: np.random.Generator
    ) -> None:
        super().__init__(table.domain, table.record_count, granted)
        self._table = table
        self._factor = horizontal * vertical**2
        self._rng = rng

    def exact(self, clique: Clique) -> NDArray[np.int64]:
        """The exact marginal; see `ShowsMarginals`."""
        self.not_private = (
            f"{TheoremMeasurer.not_private}; and the mechanism read exact marginals without noise"
        )
        return self._table.marginal(clique)

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """Scale of the noise, equal in all cells; the theorem has no separate scale for interactions."""
        return math.sqrt(self._factor / (2 * float(zcdp_rho)))

    def _charge(self, query: Query) -> Charge:
        return Charge(query.step, query.view.clique, query.zcdp_rho)

    def _answer(self, query: Query, charge: Charge) -> Measurement:
        view, sigma = query.view, self.expected_sigma(query.view, query.zcdp_rho)
        exact = view.counted(self._table)
        noisy = exact + self._rng.normal(0, sigma, exact.size)
        values = view.of_cells(noisy, self.domain) if view.interaction else noisy
        return Measurement(view, values, sigma, float(charge.zcdp_rho))


class IndicatorMleMeasurer(FederationMeasurer):
    """Averages e noisy copies of every answer (Algorithm 5), which costs e times what the paper charges.

    The average of e copies equals one answer with noise of variance sigma^2 / e, which the parties are asked
    for: their ledgers charge e * rho. The curator's accountant follows the paper.

    Args:
        federation: parties that accepted the terms.
        terms: terms of the release, with the protocol `indicator` and e times the grant.
        granted: upper limit of the costs as the paper charges them, zCDP.
        copies: number e of copies.
    """

    not_private = (
        "Algorithm 5 of the RandDPGen paper averages several noisy copies and charges for one; its real "
        "cost is stated beside the cost that the paper claims"
    )

    def __init__(self, federation: Federation, terms: ReleaseTerms, granted: Fraction, copies: int) -> None:
        super().__init__(federation, terms, granted)
        self._copies = copies

    def _sigma(self, rho: Fraction, shape: tuple[int, ...]) -> float:
        return super()._sigma(rho * self._copies, shape)

    def _charge(self, query: Query) -> Charge:
        return replace(super()._charge(query), zcdp_rho=query.zcdp_rho)

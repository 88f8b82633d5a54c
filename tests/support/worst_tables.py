"""The smallest tables on which a mechanism can lose a record's whole budget, and their neighbours."""

from dataclasses import dataclass

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.simulations.contracts.trial import Trial
from support.auditing import WithNull, audited, likelihood_ratio
from support.parties import cut

DOMAIN = Domain.coded({"a": 2, "b": 2})
MU = 2.0
"""Claim of every audited release: mu of Gaussian differential privacy, that is rho = 2."""

BUDGET = Budget(zcdp_rho=MU**2 / 2)


@dataclass(frozen=True, eq=False)
class Pair:
    """A table whose last record is alone in its cell, and a neighbour without it."""

    adjacency: Adjacency

    @property
    def table(self):
        return Table.from_codes(DOMAIN, np.array([(0, 0)] * 5 + [(1, 1)]))

    @property
    def neighbour(self):
        if self.adjacency is not Adjacency.REPLACE_ONE:
            return WithNull(DOMAIN, self.table.columns)
        return Table.from_codes(DOMAIN, np.array([(0, 0)] * 6))


def runs_of(monkeypatch, mechanism, pair, protocol, grid, runs):
    """Audited runs on a table and on its neighbour, each with keys of its own."""
    granted = mechanism.granted(BUDGET)
    workload = Workload.all_kway(DOMAIN, 2)
    found = ([], [])
    for seed in range(runs):
        for place, table in enumerate((pair.table, pair.neighbour)):
            trial = Trial(granted, protocol, grid, None, pair.adjacency, seed=2 * seed + place)
            pieces = _pieces(table, grid)
            found[place].append(audited(monkeypatch, mechanism, table, trial, workload, pieces))
    return found


def ratios_of(runs, pair, colluder=None):
    """Log likelihood ratios of runs, table against neighbour."""
    return [likelihood_ratio(run, pair.table, pair.neighbour, colluder) for run in runs]


def _pieces(table, grid):
    """The parties' tables; the null record stays null in the last slice."""
    pieces = cut(Table(table.domain, table.columns), grid)
    if isinstance(table, WithNull):
        pieces[-1] = [WithNull(piece.domain, piece.columns) for piece in pieces[-1]]
    return pieces

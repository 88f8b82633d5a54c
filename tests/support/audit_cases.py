"""Random releases for an audit: small domains, tables, mechanisms, protocols, budgets."""

from dataclasses import dataclass

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.mechanisms.bins import Bins
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, Needs
from dpmosaic.curator.mechanisms.mechanism import Mechanism
from dpmosaic.curator.mechanisms.randdpgen.randdpgen import RandDPGen
from dpmosaic.simulations.contracts.trial import Trial

MAKERS = [
    make
    for entry in CATALOGUE.values()
    for variant, make in entry.variants.items()
    if entry.needs is not Needs.RECORDS and variant not in entry.on_paper
] + [lambda: RandDPGen(selection="marginals"), Bins]
"""Every mechanism that measures by queries, in every private variant."""

GRIDS = ("1x1", "1x1", "2x1", "1x2", "2x2", "3x1")
DELTA = 1e-9


@dataclass(frozen=True, eq=False)
class Case:
    """One release."""

    mechanism: Mechanism
    table: Table
    trial: Trial
    workload: Workload
    budget: Budget

    def __str__(self):
        trial = self.trial
        shape = f"sizes {self.table.domain.sizes}, {self.table.record_count} records"
        parties = f"{trial.protocol} {trial.grid}, tolerated {trial.tolerated}, {trial.adjacency.value}"
        return f"{self.mechanism.describe()}, {shape}, {parties}, {self.budget}"


def case_of(seed):
    """The release of a seed."""
    rng = np.random.default_rng(seed)
    protocol = str(rng.choice(["trusted", "masked"]))
    grid = "1x1" if protocol == "trusted" else str(rng.choice(GRIDS))
    parties = int(np.prod([int(part) for part in grid.split("x")]))
    table = _table(rng)
    mechanism = MAKERS[seed % len(MAKERS)]()
    needs_scores = mechanism.name in CATALOGUE and CATALOGUE[mechanism.name].needs is Needs.SCORES
    tolerated = None
    if protocol == "masked" and rng.random() < 0.5:
        tolerated = int(rng.integers(0, min(2, parties) if needs_scores else parties))
    epsilon = float(10 ** rng.uniform(-1.3, 1.5))
    budget = Budget(epsilon, DELTA) if rng.random() < 0.8 else Budget(zcdp_rho=epsilon)
    adjacency = Adjacency(rng.choice([Adjacency.ZERO_OUT.value, Adjacency.REPLACE_ONE.value]))
    granted = mechanism.granted(budget)
    trial = Trial(granted, protocol, grid, tolerated, adjacency, seed=seed)
    most = 1 if isinstance(mechanism, Bins) else min(3, len(table.domain))
    workload = Workload.all_kway(table.domain, int(rng.integers(1, most + 1)))
    return Case(mechanism, table, trial, workload, budget)


def _table(rng):
    """At most 400 cells; half of the tables have nearly all records in one cell."""
    while True:
        sizes = rng.integers(1 if rng.random() < 0.15 else 2, 7, int(rng.integers(2, 5)))
        if np.prod(sizes) <= 400:
            break
    records = int(rng.integers(5, 60))
    codes = np.column_stack([rng.integers(0, n, records) for n in sizes])
    if rng.random() < 0.5:
        codes[rng.random(records) > 0.1] = 0
    return Table.from_codes(Domain.coded({f"x{i}": int(n) for i, n in enumerate(sizes)}), codes)

"""Runs of mechanisms and protocols over parties in this process, for contracts and other tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.privacy.budget import Budget
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...common.protocols.registry import protocol_named
from ...common.release_spec import ReleaseSpec
from ...common.terms import Purpose
from ...curator.measurers.measurer import Measurer
from ...curator.mechanisms.mechanism import Mechanism
from ...curator.mechanisms.parts.fitted import FittedModel, Report, ignore
from ...curator.parties.client import Connection
from ...curator.releasing.agreement import Agreement, Proposal, agree
from ..parties.measurers import CentralMeasurer
from ..parties.network import InProcessConnection, policy_for, start_dealers, start_parties
from ..parties.partition import Grid, partition

BUDGET = Budget(1.0, 1e-9)
DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})


def chain_table(records: int = 2000, seed: int = 0) -> Table:
    """A table over `DOMAIN` in which each attribute follows the one before it most of the time."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, records)]
    for size in (2, 4, 2):
        follows = rng.random(records) < 0.8
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, records)))
    return Table.from_codes(DOMAIN, np.column_stack(columns))


@dataclass(frozen=True)
class Trial:
    """A release over parties in this process.

    Attributes:
        granted: upper limit of all costs, zCDP.
        protocol: name of the measurement protocol.
        grid: how the table is partitioned, "KxS" or a Grid.
        tolerated: collusions; None for the protocol's default.
        adjacency: which tables are neighbours.
        seed: of all keys.
        release_id: of the release.
        dealers: number of dealers; if zero, the curator deals.
    """

    granted: Fraction
    protocol: str = "trusted"
    grid: Grid | str = "1x1"
    tolerated: int | None = None
    adjacency: Adjacency = Adjacency.ZERO_OUT
    seed: int = 1
    release_id: str = "0" * 32
    dealers: int = 0

    @property
    def keys(self) -> RandomStream:
        """Where all keys come from."""
        return RandomStream.from_seed(self.seed)

    def parties(self, table: Table) -> list[list[InProcessConnection]]:
        """Connections to the parties of a table, slice by slice."""
        grid = self.grid
        if isinstance(grid, str):
            grid = Grid.parse(grid, table.domain, table.record_count)
        unit = PrivacyUnit(self.adjacency)
        policy = policy_for(self.protocol, unit, float(self.granted), dealers=self.dealers)
        return start_parties(partition(table, grid), policy, self.keys, dealers=self.dealers)

    def dealing(self, links: Sequence[Sequence[Connection]]) -> list[Connection]:
        """Connections to the dealers for the parties behind these connections."""
        return start_dealers(self.dealers, self.keys, links)

    def agreement(self, domain: Domain, links: Sequence[Sequence[Connection]]) -> Agreement:
        """The parties behind these connections accept the release."""
        spec = ReleaseSpec(
            Budget(zcdp_rho=float(self.granted)), self.adjacency, self.protocol, self.tolerated
        )
        purpose = Purpose(domain.digest(), "{}", "", "")
        proposal = Proposal(self.release_id, spec, self.granted, purpose)
        return agree(domain, links, proposal, dealers=self.dealing(links))

    def measurer(
        self,
        table: Table,
        links: Sequence[Sequence[Connection]] | None = None,
        budget: Budget = BUDGET,
        **options: Any,
    ) -> Measurer:
        """A measurer over the table's parties; it holds the records where one party does by `trusted`.

        Args:
            table: the real table.
            links: connections to its parties; new parties where left out.
            budget: that the grant comes from.
            options: of `Agreement.measurer`.
        """
        agreement = self.agreement(table.domain, links or self.parties(table))
        if protocol_named(self.protocol).one_party and len(agreement.federation.slices) == 1:
            return CentralMeasurer(agreement.federation, agreement.terms, self.granted, table, budget)
        return agreement.measurer(**options)


def measurer_over(table: Table, granted: Fraction, *, budget: Budget = BUDGET, **trial: Any) -> Measurer:
    """A measurer over the parties of a table; keywords as for `Trial`."""
    return Trial(granted, **trial).measurer(table, budget=budget)


def run_mechanism(
    mechanism: Mechanism,
    table: Table,
    budget: Budget,
    k: int = 2,
    seed: int = 1,
    report: Report = ignore,
    workload: Workload | None = None,
    **trial: Any,
) -> tuple[FittedModel, Measurer]:
    """Runs a mechanism over the parties of a table.

    Args:
        mechanism: configured.
        table: the real table.
        budget: the promise.
        k: all marginals of so many attributes are the workload, where none is given.
        seed: of all randomness.
        report: called after every step.
        workload: the marginals that matter.
        trial: as for `Trial`.

    Returns:
        What the mechanism returns, and the measurer that it asked.
    """
    measurer = measurer_over(table, mechanism.granted(budget), budget=budget, seed=seed, **trial)
    workload = workload or Workload.all_kway(table.domain, k)
    return mechanism.run(measurer, workload, RandomStream.from_seed(seed), report), measurer

"""Releases over parties in this process, for tests: a measurer over a grid, a run, a release of a plan."""

import contextlib
from dataclasses import dataclass

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.registry import protocol_named
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.agreement import Agreement, Proposal, agree
from dpmosaic.curator.releasing.over_parties import release_over_parties
from dpmosaic.simulations.measurers import CentralMeasurer
from dpmosaic.simulations.network import policy_for, start_parties
from dpmosaic.simulations.partition import Grid, partition

BUDGET = Budget(1.0, 1e-9)


@dataclass(frozen=True)
class Trial:
    """A release that tests run over parties in this process.

    Attributes:
        granted: upper limit of all costs, zCDP.
        protocol: that parties speak.
        grid: "KxS" or a Grid.
        tolerated: collusions; None for the protocol's default.
        adjacency: which tables are neighbours.
        seed: of all keys.
        release_id: of the release.
    """

    granted: object
    protocol: str = "trusted"
    grid: object = "1x1"
    tolerated: int | None = None
    adjacency: Adjacency = Adjacency.ZERO_OUT
    seed: int = 1
    release_id: str = "r"

    @property
    def keys(self):
        return RandomStream.from_seed(self.seed)

    def parties(self, table):
        """Parties of the table, slice by slice."""
        grid = self.grid
        if isinstance(grid, str):
            grid = Grid.parse(grid, table.domain, table.record_count)
        policy = policy_for(self.protocol, self.adjacency, float(self.granted))
        return start_parties(partition(table, grid), policy, self.keys)

    def agreement(self, domain, links) -> Agreement:
        """The parties behind these connections accept the release."""
        protocol = protocol_named(self.protocol)
        proposal = Proposal(self.release_id, protocol, self.adjacency, self.granted, self.tolerated)
        return agree(domain, links, proposal)

    def measurer(self, table, links=None, budget=BUDGET, **options):
        """A measurer over the table's parties; one that hands out records where one place holds them."""
        agreement = self.agreement(table.domain, links or self.parties(table))
        if self.protocol == "trusted" and len(agreement.federation.slices) == 1:
            return CentralMeasurer(agreement.federation, agreement.terms, self.granted, table, budget)
        return agreement.measurer(self.keys.child("dealer"), **options)


def measurer_over(table, granted, *, budget=BUDGET, **trial):
    """The measurer of a release over the parties of a grid; see `Trial`."""
    return Trial(granted, **trial).measurer(table, budget=budget)


def run_mechanism(mechanism, table, budget, k=2, seed=1, report=ignore, workload=None, **trial):
    """What a mechanism hands back, and the measurer that it asked."""
    measurer = measurer_over(table, mechanism.granted(budget), budget=budget, seed=seed, **trial)
    workload = workload or Workload.all_kway(table.domain, k)
    return mechanism.run(measurer, workload, RandomStream.from_seed(seed), report), measurer


def release_of_plan(plan, links, folder, **options):
    """A release of a plan over parties that are trusted to be who they say; keeps a journal in the folder."""
    described = [PartyClient(link).describe() for row in links for link in row]
    identities = {said.name: said.identity for said in described}
    signer = Identity.from_seed(bytes(32))
    with contextlib.closing(Journal.create(folder / "journal.sqlite", plan.text)) as journal:
        return release_over_parties(plan, links, journal, signer=signer, identities=identities, **options)

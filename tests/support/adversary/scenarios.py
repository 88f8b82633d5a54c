"""Small releases in every protocol, variant and number of dealers: their roles, and their honest scripts."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT, KEYINGS
from dpmosaic.common.protocols.masked.one_hot import CHECK
from dpmosaic.common.protocols.registry import MASKED, protocol_named, protocol_names
from dpmosaic.common.statement import Claim
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.direct_streams import DirectStreams
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.curator.releasing.align_over_parties import matched
from dpmosaic.curator.releasing.alignment_order import AlignmentProposal
from dpmosaic.simulations.network import policy_for, start_dealers, start_parties
from support.adversary.script import script_of
from support.adversary.seats import World
from support.aligning import Aligning, order
from support.parties import cut, random_table
from support.terms import PURPOSE

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 2})
TABLE = random_table(DOMAIN, 8)
RELEASE_ID = "0" * 32
GRANTED = {32: Fraction(2), 64: Fraction(3 * 10**11)}
"""Budgets that make a release choose the ring."""

CLOSING = ("Certify", "Abandon")


@dataclass(frozen=True)
class Scenario:
    """One release.

    Attributes:
        protocol: its protocol, or that of an alignment.
        grid: grid of its parties.
        dealers: number of dealers; none if the curator deals.
        check: check of openings.
        bits: bits of the ring.
        direct: whether openings go from party to party.
        keying: of an alignment.
    """

    protocol: str
    grid: str
    dealers: int = 0
    check: str = ""
    bits: int = 32
    direct: bool = False
    keying: str = ""

    def __str__(self):
        parts = [self.protocol, self.grid, self.keying, self.check, f"{self.bits} bits" * (self.bits > 32)]
        parts += [f"{self.dealers} dealers" * bool(self.dealers), "direct" * self.direct]
        return ", ".join(filter(None, parts))

    def world(self, watch):
        """Its roles, each with a new ledger; the same keys whenever it is called."""
        if self.keying:
            return World(Aligning([[["p", "q", "r"], ["q", "r", "s", ""]]], seed=1).links, [], watch)
        policy = policy_for(
            self.protocol, Adjacency.ZERO_OUT, float(GRANTED[self.bits]), dealers=self.dealers
        )
        keys = RandomStream.from_seed(1)
        links = start_parties(cut(TABLE, self.grid), policy, keys, dealers=self.dealers)
        dealing = start_dealers(self.dealers, keys, links) if self.protocol == MASKED.name else []
        world = World(links, dealing, watch)
        if self.direct:
            one, other, *_ = world.slices[0]
            one.dials(other)
        return world

    def release(self, world):
        """An honest release over these roles: all its messages."""
        slices, dealers, noted = world.connected()
        if self.keying:
            proposal = AlignmentProposal(RELEASE_ID, order(keying=self.keying), Adjacency.ZERO_OUT)
            agreement = agree(Domain.coded({"a0": 2, "a1": 2}), slices, proposal, counted=False)
            matched(agreement, RandomStream.from_seed(1))
        else:
            granted = GRANTED[self.bits]
            proposal = Proposal(
                RELEASE_ID, protocol_named(self.protocol), Adjacency.ZERO_OUT, granted, PURPOSE,
                check=self.check,
            )  # fmt: skip
            direct = DirectStreams.ALLOWED if self.direct else DirectStreams.NEVER
            agreement = agree(DOMAIN, slices, proposal, dealers=dealers, direct=direct)
            self._measure(agreement.measurer(), granted / 20)
        for member in agreement.federation.members:
            member.client.certify(Claim(RELEASE_ID, bytes(32), float(proposal.granted)))
            member.client.abandon(RELEASE_ID)
        return noted

    def _measure(self, measurer, rho):
        longest = ("a", "c") if self.check and self.grid.endswith("3") else ("a", "b", "c")
        measurer.measure([Query(("a",), rho, "s"), Query(("a", "c"), rho, "s", interaction=True)])
        measurer.measure([Query(longest, rho, "s")])
        if measurer.scores_exactly:
            for number in range(2):
                measurer.score([("a", "c")], [np.arange(6) + number], rho, "s")


def _variants():
    yield from (Scenario(ALIGNMENT, "1x2", keying=keying) for keying in KEYINGS)
    for protocol in protocol_names(for_daemons=True):
        grids = ("1x1",) if protocol_named(protocol).one_party else ("1x2", "1x3", "2x2")
        if protocol != MASKED.name:
            yield from (Scenario(protocol, grid) for grid in grids)
            continue
        for grid, dealers, check, bits in itertools.product(grids, (0, 1, 3), ("", CHECK), (32, 64)):
            yield Scenario(protocol, grid, dealers, check, bits)
        yield Scenario(protocol, "1x2", 1, CHECK, direct=True)


@cache
def script(scenario):
    """The honest script of a scenario; None if no plan allows it."""
    from support.adversary.watching import Watch

    world = scenario.world(Watch())
    try:
        return tuple(script_of(scenario.release(world)))
    except DataError:
        return None


def scenarios():
    """All scenarios that plans allow."""
    return [one for one in _variants() if script(one) is not None]

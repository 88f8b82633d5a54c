"""Small releases in every protocol, variant and number of dealers: their roles, and their honest scripts."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError
from dpmosaic.common.labels import LabelSearch
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT, KEYINGS
from dpmosaic.common.protocols.registry import CHECK, MASKED, protocol_named, protocol_names
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.direct_streams import DirectStreams
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.curator.releasing.aligning.over_parties import match_slices
from dpmosaic.curator.releasing.planning.alignment_order import AlignmentProposal
from dpmosaic.simulations.parties.network import policy_for, start_dealers, start_parties
from support.adversary.script import script_of
from support.adversary.seats import World
from support.adversary.watching import Watch
from support.aligned import AlignedRelease, People
from support.aligning import Aligning, order
from support.parties import cut
from support.terms import PURPOSE, SPEC, id_of

OPEN = {"type": "categorical", "categories": ["other", "clerk"], "other": "other", "open": True}
DOMAIN = Domain.from_json({"a": 3, "b": OPEN, "c": 2})
TABLE = encode_table(
    DOMAIN,
    {"a": [0, 1, 2, 2, 1, 0] * 5, "b": ["nurse", "clerk", "king"] * 10, "c": [0, 1, 0, 0, 1] * 6},
)
GRANTED = {32: Fraction(2), 64: Fraction(3 * 10**11)}
"""Budgets that make a release choose the ring."""

FRAME_BYTES = {32: 1 << 8, 64: 1 << 14}
"""Bytes that a frame carries: so few that messages of small releases have several.

Proofs of scores in the larger ring have a megabyte; in frames as small, they took most of the time.
"""

CLOSING = ("Certify", "Abandon")
"""Methods after which a release answers nothing."""


@dataclass(frozen=True)
class Scenario:
    """One or two releases over the same roles.

    Attributes:
        protocol: protocol of the releases, or that of an alignment.
        grid: grid of the parties.
        dealers: number of dealers; none if the curator deals.
        check: check of openings.
        bits: bits of the ring.
        keying: of an alignment.
        aligned: whether the releases are over parties whose rows were aligned before.
        direct: whether openings go from party to party.
        labels: whether the releases look for labels of open categories.
        releases: number of releases.
    """

    protocol: str
    grid: str
    dealers: int = 0
    check: str = ""
    bits: int = 32
    keying: str = ""
    aligned: bool = False
    direct: bool = False
    labels: bool = False
    releases: int = 1

    def __str__(self):
        parts = [self.protocol, self.grid, self.keying, self.check, f"{self.bits} bits" * (self.bits > 32)]
        parts += [f"{self.dealers} dealers" * bool(self.dealers), "aligned" * self.aligned]
        parts += ["direct" * self.direct, "labels" * self.labels, "two releases" * (self.releases > 1)]
        return ", ".join(filter(None, parts))

    def world(self, watch):
        """Its roles, each with a new ledger; the same keys whenever it is called."""
        watch.cut_frames(FRAME_BYTES[self.bits])
        if self.keying:
            return World(Aligning([[["p", "q", "r"], ["q", "r", "s", ""]]], seed=1).links, [], watch)
        keys = RandomStream.from_seed(1)
        aligned = _aligned(self.grid) if self.aligned else None
        if aligned is not None:
            links = aligned.links
        else:
            policy = policy_for(
                self.protocol, PrivacyUnit(Adjacency.ZERO_OUT), float(GRANTED[self.bits]),
                dealers=self.dealers, labels_delta=1e-3,
            )  # fmt: skip
            policy = replace(policy, lifetime_rho=self.releases * policy.lifetime_rho)
            links = start_parties(cut(TABLE, self.grid), policy, keys, dealers=self.dealers)
        dealing = start_dealers(self.dealers, keys, links) if self.protocol == MASKED.name else []
        world = World(links, dealing, watch, aligned)
        if self.direct:
            world.slices[0][0].dials(world.slices[0][1])
        return world

    def release(self, world):
        """Honest releases over these roles: all messages of them."""
        slices, dealers, noted = world.connected()
        if self.keying:
            proposal = AlignmentProposal(id_of("r"), order(keying=self.keying), SPEC)
            agreements = [agree(Domain.coded({"a0": 2, "a1": 2}), slices, proposal, counted=False)]
            match_slices(agreements[0], RandomStream.from_seed(1))
        else:
            agreements = [
                self._agreed(number, slices, dealers, world.aligned) for number in range(self.releases)
            ]
            for agreement in agreements:
                self._measure(agreement.measurer(), agreement.granted / 20)
        for agreement in agreements:
            for member in agreement.federation.members:
                member.client.probe(0)
                claim = Claim(agreement.terms.release_id, bytes(32), agreement.terms.granted_rho)
                member.client.certify(claim)
                member.client.abandon(claim.release_id)
        return noted

    def _agreed(self, number, slices, dealers, aligned):
        spec, purpose = replace(SPEC, protocol=self.protocol, check=self.check), PURPOSE
        if self.labels:
            spec = replace(spec, budget=Budget(zcdp_rho=1e300, delta=1e-2))
            purpose = replace(PURPOSE, labels=LabelSearch(("b",), 1e-6))
        proposal = Proposal(id_of(number), spec, GRANTED[self.bits], purpose)
        direct = DirectStreams.ALLOWED if self.direct else DirectStreams.NEVER
        return agree(
            DOMAIN if aligned is None else aligned.federation.domain,
            slices,
            proposal,
            dealers=dealers,
            direct=direct,
            aligned=None if aligned is None else aligned.aligned,
        )

    def _measure(self, measurer, rho):
        if self.labels:
            measurer.find_labels("b", rho, "s")
            return
        measurer.measure([Query(View(("a",)), rho, "s"), Query(View(("a", "c"), interaction=True), rho, "s")])
        measurer.measure([Query(View(("a", "b", "c")), rho, "s")])
        if measurer.scores_exactly:
            for number in range(2):
                measurer.score([View(("a", "c"))], [np.arange(6) + number], rho, "s")


def _aligned(grid):
    """Parties with placements of an alignment, new ones with the same keys whenever it is called."""
    people = People(
        Domain.coded({"a": 3, "b": 2, "c": 2}), ["a b c" if grid == "1x3" else "ab c"],
        records=6, dummies=2,
    )  # fmt: skip
    return AlignedRelease(people, granted=2 * GRANTED[32])


def _variants():
    yield from (Scenario(ALIGNMENT, "1x2", keying=keying) for keying in KEYINGS)
    for protocol in protocol_names(for_daemons=True):
        grids = ("1x1",) if protocol_named(protocol).one_party else ("1x2", "1x3", "2x2")
        yield Scenario(protocol, grids[0], labels=True)
        if protocol != MASKED.name:
            yield from (Scenario(protocol, grid) for grid in grids)
            yield Scenario(protocol, grids[0], releases=2)
            continue
        for grid, dealers, check, bits in itertools.product(grids, (0, 1, 3), ("", CHECK), (32, 64)):
            if (grid, bits) != ("2x2", 64):
                yield Scenario(protocol, grid, dealers, check, bits)
        for grid, check in itertools.product(grids[:2], ("", CHECK)):
            yield Scenario(protocol, grid, check=check, aligned=True)
        yield Scenario(protocol, "1x2", 1, CHECK, direct=True)
        yield Scenario(protocol, "1x2", 1, releases=2)
        yield Scenario(protocol, "1x3", 3, releases=2)


@cache
def script(scenario):
    """The honest script of a scenario; None if no plan allows it."""
    with Watch().installed(pytest.MonkeyPatch()) as watch:
        try:
            return tuple(script_of(scenario.release(scenario.world(watch))))
        except DataError:
            return None


def scenarios():
    """All scenarios that plans allow."""
    return [one for one in _variants() if script(one) is not None]

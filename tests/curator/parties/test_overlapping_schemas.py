"""Parties of a slice that hold the same attribute: the plan states which party answers for it."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.common.federation.card import PARTY, Card, as_text
from dpmosaic.common.messages import OpeningRequest
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.wire import codec
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.curator.releasing.over_parties import order_of
from dpmosaic.curator.releasing.planning.drafting import draft
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from support.edits import edited
from support.parties import dealers_for, policy_for, started
from support.releases import release_of_plan
from support.terms import RELEASE_ID

DOMAIN = Domain.coded({"a": 4, "b": 3, "c": 5})
RHO = 1e6


class Overlap:
    """One slice of two parties that both hold b, and its plan as it was drafted."""

    def __init__(self, folder, protocol):
        rng = np.random.default_rng(1)
        self.table = Table.from_codes(
            DOMAIN, np.column_stack([rng.integers(0, n, 200) for n in DOMAIN.sizes])
        )
        pieces = [self.table.project(held) for held in (("a", "b"), ("b", "c"))]
        policy = policy_for(protocol, Adjacency.ZERO_OUT, RHO)
        (self.links,) = started([pieces], policy, RandomStream.from_seed(1))
        described = [PartyClient(link).describe() for link in self.links]
        certificate = self_signed("party", new_tls_key(), datetime.now(UTC))
        cards = [Card.issue(PARTY, s.name, Identity.generate(), certificate, s.domain) for s in described]
        text, domain = draft(cards, [[s.name for s in described]], "d.json")
        (folder / "d.json").write_text(as_text(domain.to_json()))
        changes = {
            "epsilon = 1.0": f"rho = {RHO}",
            "delta = 1e-9\n": "",
            'protocol = "masked"': f"protocol = {json.dumps(protocol)}",
            "collusions = 1 ": "collusions = 1 " if protocol == "masked" else "#",
            "dealers = ": "dealers = " if protocol == "masked" else "# ",
        }
        (folder / "plan.toml").write_text(edited(text, changes))
        self.folder, self.plan = folder, ReleasePlan.load(folder / "plan.toml")

    def release(self, plan=None):
        return release_of_plan(plan or self.plan, [self.links], self.folder)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["masked", "indicator"])
def test_a_release_over_overlapping_schemas_measures_the_whole_table(tmp_path, protocol):
    overlap = Overlap(tmp_path, protocol)
    assert overlap.plan.left_out == {"party-1-2": ("b",)}
    released = overlap.release()
    pairs = {m.clique: m for m in released.fitted.measurements if len(m.clique) == 2}
    assert pairs
    for clique, measured in pairs.items():
        exact = interaction(overlap.table.marginal(clique), overlap.table.domain.shape(clique))
        assert np.abs(measured.values - exact).max() <= 8 * measured.sigma + 0.5
    assert released.certificate.differentially_private


def test_a_party_does_not_open_attributes_that_the_plan_leaves_out(tmp_path):
    overlap = Overlap(tmp_path, "masked")
    proposal = order_of(overlap.plan).proposal(RELEASE_ID)
    dealers = dealers_for([overlap.links], RandomStream.from_seed(1))
    agreement = agree(DOMAIN, [overlap.links], proposal, left_out=overlap.plan.left_out, dealers=dealers)
    agreement.measurer()
    asked = codec.encode(OpeningRequest(RELEASE_ID, (("b",),), 0))
    with pytest.raises(ProtocolError, match="a part of the party that opens it"):
        list(overlap.links[1].call("Open", [asked]))


def test_refuses_a_plan_of_overlapping_schemas_that_leaves_nothing_out(tmp_path):
    overlap = Overlap(tmp_path, "masked")
    text = "\n".join(line for line in overlap.plan.text.splitlines() if "leaves_out" not in line)
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(DataError, match="both hold 'b'; name it in leaves_out"):
        overlap.release(ReleasePlan.load(tmp_path / "plan.toml"))

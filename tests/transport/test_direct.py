"""Openings go straight from party to party, over pinned TLS, where both policies say so; else nothing."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PartyUnavailable, PolicyError
from dpmosaic.common.messages import Delivery, DeliveryKind, OpeningRequest, PushRequest
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose
from dpmosaic.common.wire import streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.direct_streams import DirectStreams
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.party.policies.direct import Direct
from dpmosaic.party.serving.servicer import PartyServicer
from dpmosaic.simulations.contracts.trial import Trial

DOMAIN = Domain.coded({"a": 3, "b": 4})
TRIAL = Trial(Fraction(1), protocol="masked", grid="1x2")
TABLE = Table.from_codes(DOMAIN, np.random.default_rng(3).integers(0, 3, (300, 2)))
QUERY = Query(View(("a", "b")), Fraction(1, 5), "test")
UNREACHABLE = "127.0.0.1:1"


class Tapped:
    """A connection that notes the methods that the curator calls."""

    def __init__(self, link):
        self.link, self.methods = link, []

    def call(self, method, requests):
        self.methods.append(method)
        return self.link.call(method, requests)


class Pair:
    """Two parties of one slice that listen with TLS, and whose policies may name each other."""

    def __init__(self, loopback, takes=(True, True), sends=(True, True), reachable=True):
        plain = [link.servicer for link in TRIAL.parties(TABLE)[0]]
        named = [PartyClient(link).describe() for link in TRIAL.parties(TABLE)[0]]
        self.names, curator = [said.name for said in named], loopback.pair("curator")
        shown = [loopback.pair(f"party{place}") for place in range(2)]
        self.cards = {
            said.name: SimpleNamespace(certificate=pair[1], identity=said.identity)
            for said, pair in zip(named, shown, strict=True)
        }
        addresses = {}
        self.served = []
        for place in range(2):
            other = self.names[1 - place]
            send = Addresses(addresses, other if sends[place] else None)
            take = frozenset([other] if takes[place] else [])
            direct = Direct(send, take, lambda: self.cards)
            servicer = PartyServicer(
                plain[place]._party, direct=direct, side=lambda place=place: self.served[place].side()
            )
            self.served.append(loopback(servicer, party=shown[place], curator=curator, direct=direct))
            addresses[self.names[place]] = self.served[place].address if reachable else UNREACHABLE
        self.links = [Tapped(one.dial(certificate=one.party[1])) for one in self.served]
        self.shown = shown

    def measured(self, direct):
        purpose = Purpose(DOMAIN.digest(), "{}", "", "")
        proposal = Proposal("0" * 32, ReleaseSpec(Budget(zcdp_rho=1.0)), Fraction(1), purpose)
        dealing = TRIAL.dealing([self.links])
        measurer = agree(DOMAIN, [self.links], proposal, dealers=dealing, direct=direct).measurer()
        return [list(found.values) for found in measurer.measure([QUERY])]

    def methods(self):
        return {method for link in self.links for method in link.methods}

    def as_peer(self, place):
        """A client of a party that shows the certificate of the other one."""
        one = self.served[place]
        return PartyClient(one.dial(curator=self.shown[1 - place], certificate=one.party[1]))


class Addresses(dict):
    """The address of one party, as it listens."""

    def __init__(self, known, name):
        super().__init__({} if name is None else {name: None})
        self._known = known

    def __getitem__(self, name):
        return self._known[name]


@pytest.fixture(scope="module")
def relayed():
    """What the same release gives in one process."""
    measurer = TRIAL.measurer(TABLE)
    return [list(found.values) for found in measurer.measure([QUERY])]


@pytest.mark.slow
@pytest.mark.parametrize("direct", [DirectStreams.ALLOWED, DirectStreams.REQUIRED])
def test_direct_openings_give_the_same_release_to_the_last_byte(loopback, relayed, direct):
    pair = Pair(loopback)
    assert pair.measured(direct) == relayed
    assert "Push" in pair.methods()


@pytest.mark.slow
def test_a_plan_that_says_never_has_the_curator_relay(loopback, relayed):
    pair = Pair(loopback)
    assert pair.measured(DirectStreams.NEVER) == relayed
    assert "Push" not in pair.methods()


@pytest.mark.slow
@pytest.mark.parametrize("policies", [{"takes": (False, False)}, {"sends": (False, False)}])
def test_openings_pass_the_curator_unless_both_policies_say_so(loopback, relayed, policies):
    pair = Pair(loopback, **policies)
    assert pair.measured(DirectStreams.ALLOWED) == relayed
    assert "Push" not in pair.methods()


def test_a_plan_that_requires_direct_openings_names_the_parties_that_do_not_allow_them(loopback):
    pair = Pair(loopback, takes=(True, False))
    with pytest.raises(PolicyError, match=rf"slice 1: .*allow {pair.names[0]} to {pair.names[1]};"):
        pair.measured(DirectStreams.REQUIRED)
    assert pair.methods() == {"Describe"}


@pytest.mark.slow
def test_openings_pass_the_curator_where_parties_cannot_reach_each_other(loopback, relayed):
    pair = Pair(loopback, reachable=False)
    assert pair.measured(DirectStreams.ALLOWED) == relayed
    assert {"Push", "Open"} <= pair.methods()


@pytest.mark.slow
def test_a_plan_that_requires_direct_openings_stops_where_parties_cannot_reach_each_other(loopback):
    with pytest.raises(PartyUnavailable, match="check that it is started"):
        Pair(loopback, reachable=False).measured(DirectStreams.REQUIRED)


def test_a_party_asks_another_one_for_nothing(loopback):
    pair = Pair(loopback)
    with pytest.raises(PolicyError, match="another party may only deliver openings"):
        pair.as_peer(0).describe()


@pytest.mark.slow
@pytest.mark.parametrize(
    "delivery",
    [
        Delivery("0" * 32, DeliveryKind.SCORE_REFERENCES, query_id="q"),
        Delivery("0" * 32, DeliveryKind.OPENING, (("a",),), sender=0),
        Delivery("0" * 32, DeliveryKind.OPENING, (("a",),), sender=9),
    ],
    ids=["another kind", "in the name of another", "of nobody"],
)
def test_a_party_delivers_only_openings_that_it_made(loopback, delivery):
    pair = Pair(loopback)
    pair.measured(DirectStreams.NEVER)
    with pytest.raises(PolicyError, match="only deliver openings that it made itself"):
        pair.as_peer(0)._single("Deliver", [streams.encode_delivery(delivery)])


def test_a_party_that_is_not_named_cannot_connect_to_deliver(loopback):
    pair = Pair(loopback, takes=(False, False))
    with pytest.raises((PolicyError, PartyUnavailable)):
        pair.as_peer(0).describe()


@pytest.mark.slow
def test_a_party_sends_nothing_to_one_that_its_policy_does_not_name(loopback):
    pair = Pair(loopback)
    pair.measured(DirectStreams.NEVER)
    request = PushRequest(OpeningRequest("0" * 32, (("a",),), 1), "stranger", 0)
    with pytest.raises(PolicyError, match="sends nothing to 'stranger' directly"):
        PartyClient(pair.links[0])._push(request)

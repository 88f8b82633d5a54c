"""One of three dealers that sends a party another seed than the one it deals with, or none."""

import pytest

from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.errors import DeliveriesLost, ProtocolError
from dpmosaic.common.messages import DealRequest, DeliveryKind
from support.masked import DEALERS, Release, plan_of, terms_of
from support.terms import RELEASE_ID

PARTY, PEER, CHAIN = 0, 1, (("a",),)
SEEDS = DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, PARTY)


@pytest.fixture
def release():
    """Three parties of a slice that have everything but the seeds of their masks."""
    made = Release(terms_of(plan_of(dealers=DEALERS))).accept().introduce_dealers()
    for name in made.names:
        made.parties[name].introduce(made.introduction())
    return made.compare_orders()


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("step", [1, 2])
def test_another_seed_of_a_component_than_that_of_the_other_dealer_is_refused(
    release, position, step, monkeypatch
):
    dealing = release.dealings[release.plan.dealers_of(0)[position]]
    component, honest = (position + step) % 3, Dealing._seeds
    monkeypatch.setattr(
        dealing, "_seeds", lambda party, number: honest(dealing, party, number) | {component: bytes(32)}
    )
    with pytest.raises(ProtocolError, match="the same seed of a component"):
        release.deal(SEEDS)
    with pytest.raises(DeliveriesLost, match="seeds of all dealers"):
        release.sealed(PARTY, CHAIN, PEER)


def test_no_mask_is_used_before_all_dealers_sent_their_seeds(release):
    for place in release.plan.dealers_of(0):
        with pytest.raises(DeliveriesLost, match="seeds of all dealers"):
            release.sealed(PARTY, CHAIN, PEER)
        release.deliver_dealt(place, SEEDS, release.dealt(place, SEEDS))
    assert release.sealed(PARTY, CHAIN, PEER)

"""Releases that three dealers deal, one of whom may be a party of another slice."""

from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import dealt_labels
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.messages import DealRequest, DeliveryKind
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from support.changed import changed
from support.masked import DEALERS, POLICY, Release, plan_of, terms_of
from support.terms import RELEASE_ID

NORTH, EAST, WEST, SOUTH, FIRST = range(5)
A, C, D = ("a",), ("c",), ("d",)
SEEDS = DeliveryKind.MASK_SEEDS
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "c", "d")), 1e-3)
FOR_EAST = DealRequest(RELEASE_ID, SEEDS, EAST)


def release_by(*dealers, bits=32, folder=None, **policy):
    """A release that these deal, before it is introduced; answers are exact up to a hundredth."""
    terms = terms_of(plan_of(bits=bits, dealers=dealers), granted_rho=1e8)
    return Release(terms, folder, replace(POLICY, may_deal=True, **policy)).accept()


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("dealers", [DEALERS, ("north", "south", *DEALERS[:2])], ids=["alone", "a party"])
def test_the_counts_of_a_release_with_three_dealers_are_those_of_the_table(dealers, bits):
    """Products of two and of three parties; every dealer's part is needed."""
    release = release_by(*dealers, bits=bits).introduce()
    for number, clique in enumerate([("a", "c"), ("b", "d"), ("a", "c", "d")]):
        query = changed(QUERY, query_id=str(number), clique=clique)
        assert np.allclose(release.prepare(clique).counts(query), release.exact(clique), atol=0.03)


def sealed_seeds(release, dealer, change):
    """What a dealer seals for east that sends other seeds than it should."""
    dealing = release.dealings[dealer]
    seeds = list(dealing._seeds(EAST, 0).values())
    return list(dealing._peers.seal(EAST, dealt_labels(SEEDS, ()), change(seeds)))


@pytest.mark.parametrize("component", [0, 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_two_dealers_that_send_different_seeds_of_a_component_are_noticed(place, component):
    """Each seed has two senders, so every dealer's lie is noticed when the last of both came."""

    def other(seeds):
        seeds[component] = bytes(32)
        return seeds

    release = release_by(*DEALERS)
    for name in release.names:
        release.parties[name].introduce(release.introduction())
    release.introduce_dealers()
    sent = {dealer: release.dealt(dealer, FOR_EAST) for dealer in release.plan.dealers_of(0)}
    sent[FIRST + place] = sealed_seeds(release, FIRST + place, other)

    def deliver_all():
        for dealer, frames in sent.items():
            release.deliver_dealt(dealer, FOR_EAST, frames)

    with pytest.raises(ProtocolError, match="the same seed of a component of the masks from both"):
        deliver_all()


@pytest.mark.parametrize("change", [lambda s: s[:1], lambda s: [*s, s[0]], lambda s: [s[0], s[1][:-1]]])
def test_seeds_of_another_number_or_length_are_refused(change):
    release = release_by(*DEALERS).introduce()
    frames = sealed_seeds(release, FIRST, change)
    with pytest.raises(ProtocolError, match=r"more or fewer integers than expected|same content as before"):
        release.deliver_dealt(FIRST, FOR_EAST, frames)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_nothing_is_opened_before_the_seeds_of_all_dealers_came(missing, tmp_path):
    """Also those of the third dealer, whose components the other two sent already."""
    release = release_by(*DEALERS, folder=tmp_path).introduce()
    release.start("east", seed=2)
    release.compare_orders()
    dealers = [dealer for dealer in release.plan.dealers_of(0) if dealer != FIRST + missing]
    for dealer in dealers:
        release.deliver_dealt(dealer, FOR_EAST, release.dealt(dealer, FOR_EAST))
        with pytest.raises(ProtocolError, match="seeds of all dealers"):
            release.sealed(EAST, (C,), NORTH)
    release.deliver_dealt(FIRST + missing, FOR_EAST, release.dealt(FIRST + missing, FOR_EAST))
    assert release.sealed(EAST, (C,), NORTH)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_product_needs_the_shares_of_all_dealers(missing):
    release = release_by(*DEALERS).introduce()
    release.exchange(NORTH, (A,), EAST)
    request = release.dealing_of(DeliveryKind.DEALT_PRODUCTS, (A, C))
    for dealer in release.plan.dealers_of(0):
        if dealer != FIRST + missing:
            release.deliver_dealt(dealer, request, release.dealt(dealer, request))
    with pytest.raises(ProtocolError, match="shares of all dealers"):
        release.multiply(EAST, (A, C))
    release.deal(request)
    release.multiply(EAST, (A, C))


# South is a party of slice 1, and deals for slice 0.


@pytest.fixture
def crossed():
    return release_by("south", *DEALERS[:2])


@pytest.mark.slow
def test_a_party_that_deals_for_another_slice_deals_the_same_again_after_a_restart(tmp_path):
    release = release_by("south", *DEALERS[:2], folder=tmp_path).introduce().prepare(QUERY.clique)
    frames = release.frames(QUERY)
    for seed, name in enumerate(release.names, start=2):
        release.start(name, seed=seed)
    assert release.prepare(QUERY.clique).frames(QUERY) == frames


def test_a_party_deals_nothing_before_it_accepted_and_knows_the_others(crossed):
    terms = terms_of(crossed.plan)
    with pytest.raises(ProtocolError, match="accept it first"):
        Release(terms, policy=replace(POLICY, may_deal=True)).parties["south"].deal(FOR_EAST)
    with pytest.raises(ProtocolError, match="introduce them first"):
        crossed.parties["south"].deal(FOR_EAST)


@pytest.mark.parametrize("recipient", [SOUTH, FIRST, 99])
def test_a_party_deals_to_parties_of_slices_that_it_deals_for(crossed, recipient):
    crossed.introduce()
    with pytest.raises(ProtocolError, match="compare the plan"):
        list(crossed.parties["south"].deal(replace(FOR_EAST, recipient=recipient)))
    with pytest.raises(ProtocolError, match="does not deal for the recipient's slice"):
        list(crossed.parties["north"].deal(FOR_EAST))


def test_a_party_deals_no_product_past_its_max_cells():
    release = release_by("south", *DEALERS[:2], max_cells=8).introduce()
    release.dealt(SOUTH, release.dealing_of(DeliveryKind.DEALT_PRODUCTS, (A, C)))
    with pytest.raises(PolicyError, match="max_cells"):
        release.dealt(SOUTH, release.dealing_of(DeliveryKind.DEALT_PRODUCTS, (("b",), C)))


def test_a_party_whose_data_changed_deals_nothing(tmp_path):
    release = release_by("south", *DEALERS[:2], folder=tmp_path).introduce()
    release.start("south", table=release.rows(1).take(np.arange(24, -1, -1)))
    with pytest.raises(ProtocolError, match="data changed"):
        release.parties["south"].deal(FOR_EAST)

"""Answers of a party in the protocol `masked`, step by step."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, ProtocolError
from dpmosaic.common.messages import (
    Acknowledgement,
    AnswerRequest,
    DealRequest,
    Delivery,
    DeliveryKind,
    MultiplyRequest,
    OpeningRequest,
)
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import codec, streams
from dpmosaic.party.serving.servicer import PartyServicer
from support.changed import changed
from support.terms import RELEASE_ID

pytestmark = pytest.mark.slow

NORTH, EAST, WEST, SOUTH, DEALER = range(5)
A, B, C, D = ("a",), ("b",), ("c",), ("d",)
PAIR = (A, C)
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "c")), 3.0)
GRIDS = {
    "three parties and one": None,
    "four parties": {"p": (0, A), "q": (0, B), "r": (0, C), "s": (0, D)},
    "two slices split otherwise": {
        "p": (0, ("b", "c")),
        "q": (0, ("a", "d")),
        "r": (1, ("c",)),
        "s": (1, ("a", "b", "d")),
    },
    "one party": {"alone": (0, ("a", "b", "c", "d"))},
}


def generous(masked, **plan):
    """Terms with a grant for answers that are exact up to a hundredth."""
    return masked.terms_of(masked.plan_of(**plan), granted_rho=1e8)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("grid", GRIDS)
def test_answers_add_up_to_the_counts_of_all_slices_for_any_holders_of_the_clique(masked, grid, bits):
    terms = generous(masked, grid=GRIDS[grid] or masked.grid, bits=bits)
    release = masked.Release(terms).accept().introduce()
    for size in range(1, 5):
        for clique in itertools.combinations("abcd", size):
            query = changed(QUERY, clique=clique, query_id=str(clique), sigma=1e-3)
            counts = release.prepare(clique).counts(query)
            assert np.allclose(counts, release.exact(clique), atol=0.03)


def test_products_that_are_asked_for_together_are_those_asked_for_one_by_one(masked):
    together, apart = (masked.Release().accept().introduce() for _ in range(2))
    cliques = [("a", "c"), ("b", "c"), ("a", "b", "c"), ("a", "d"), ("b", "d")]
    chains = [together.plan.chain(View(clique), 0) for clique in cliques]
    for clique in cliques:
        apart.prepare(clique)
        for step in together.deliveries(clique):
            step()
    for party in (NORTH, EAST, WEST):
        together.multiply(party, *(c for c in chains if party in together.plan.holders(c, 0)))
    for number, clique in enumerate(cliques):
        query = changed(QUERY, clique=clique, query_id=str(number))
        assert together.frames(query) == apart.frames(query)


def test_boxes_are_added_up_in_shares(masked):
    release = masked.Release(generous(masked)).accept().introduce().prepare(("b", "c"))
    boxes = (((0, 1), (0, 4)), ((1, 3), (0, 1)), ((2, 3), (2, 4)))
    counts = release.exact(("b", "c")).reshape(3, 4)
    exact = [counts[0].sum(), counts[1:, 0].sum(), counts[2, 2:].sum()]
    query = changed(QUERY, clique=("b", "c"), boxes=boxes, sigma=1e-3)
    assert np.allclose(release.counts(query), exact, atol=0.03)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("grid", GRIDS)
def test_interactions_are_differences_of_shares_for_any_holders_of_the_clique(masked, grid, bits):
    terms = generous(masked, grid=GRIDS[grid] or masked.grid, bits=bits)
    release = masked.Release(terms).accept().introduce()
    for clique in [("a",), ("a", "c"), ("b", "c"), ("a", "c", "d"), ("a", "b", "c", "d")]:
        query = changed(QUERY, clique=clique, interaction=True, query_id=str(clique), sigma=1e-3)
        exact = release.exact(clique).reshape(release.plan.domain.shape(clique))
        for axis in range(len(clique)):
            exact = np.diff(exact, axis=axis)
        sent = release.prepare(clique).counts(query)
        assert np.allclose(sent, exact.ravel(), atol=0.03 * 2 ** len(clique))


@pytest.mark.parametrize(
    "change",
    [
        {"query_id": "q2"},
        {"sigma": np.nextafter(3.0, 4)},
        {"clique": ("c", "d")},
        {"boxes": tuple(((i, i + 1), (j, j + 1)) for i in range(2) for j in range(4))},
    ],
)
def test_a_mask_depends_on_the_whole_query(masked, change):
    """Masks of two queries that differ, even only in the last digit, do not cancel.

    Counts and noise are below 2^20 here; eight words that differ by less have the same mask, except with
    probability 2^-80.
    """
    one, other = (masked.Release().accept().introduce() for _ in range(2))
    answers = [
        next(streams.decode_answer(release.parties["south"].answer(query), 1, 8, 1))
        for release, query in [(one, QUERY), (other, changed(QUERY, **change))]
    ]
    difference = np.subtract(*answers).astype(np.int32)
    assert np.abs(difference.astype(np.int64)).max() > 2**21


@pytest.mark.parametrize("tolerated", [0, 1, 3])
def test_noise_has_the_charged_scale_without_that_of_those_who_may_collude(masked, tolerated):
    """A correct program fails in fewer than 1 of 300,000 choices of the seeds (three runs, two ends)."""
    policy = replace(masked.policy, min_tolerated=0)
    terms = generous(masked, tolerated=tolerated)
    release = masked.Release(terms, policy=policy).accept().introduce().prepare(("b", "c"))
    queries = [changed(QUERY, clique=("b", "c"), query_id=str(i)) for i in range(60)]
    noise = np.array([release.counts(query) for query in queries]) - release.exact(("b", "c"))
    squares, variance = stats.chi2(noise.size), 3.0**2 * 4 / (4 - tolerated)
    assert squares.ppf(5e-7) < np.sum(noise**2) / variance < squares.isf(5e-7)


def test_the_same_steps_as_encoded_messages_give_the_same_bytes(masked):
    plain, encoded = (masked.Release().accept() for _ in range(2))
    servicers = [PartyServicer(encoded.parties[name]) for name in encoded.names]

    def served(party, method, *requests):
        return list(servicers[party].serve(method, iter(requests), b""))

    for party in range(len(encoded.names)):
        served(party, "Introduce", codec.encode(encoded.introduction()))
    encoded.introduce_dealers()

    def deal(request, **header):
        announced = Delivery(RELEASE_ID, request.kind, sender=DEALER, **header)
        frames = streams.encode_payload(encoded.dealt(DEALER, request))
        served(request.recipient, "Deliver", streams.encode_delivery(announced), *frames)

    for recipient in (NORTH, EAST, WEST):
        deal(DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, recipient))
    for owner, recipient in itertools.permutations((NORTH, EAST, WEST), 2):
        tag = OpeningRequest(RELEASE_ID, (), recipient, DeliveryKind.RECORD_ORDER)
        frames = served(owner, "Open", codec.encode(tag))
        announced = streams.encode_delivery(Delivery(RELEASE_ID, DeliveryKind.RECORD_ORDER, (), owner))
        assert served(recipient, "Deliver", announced, *frames) == [codec.encode(Acknowledgement())]
    for owner, part, recipient in [(NORTH, A, EAST), (EAST, C, NORTH)]:
        frames = served(owner, "Open", codec.encode(OpeningRequest(RELEASE_ID, (part,), recipient)))
        announced = streams.encode_delivery(Delivery(RELEASE_ID, DeliveryKind.OPENING, (part,), owner))
        assert served(recipient, "Deliver", announced, *frames) == [codec.encode(Acknowledgement())]
    deal(DealRequest(RELEASE_ID, DeliveryKind.DEALT_PRODUCTS, EAST, (PAIR,)), chains=(PAIR,))
    for party in (NORTH, EAST):
        served(party, "Multiply", codec.encode(MultiplyRequest(RELEASE_ID, (PAIR,))))
    asked = codec.encode(AnswerRequest(QUERY))
    answers = {name: served(i, "Answer", asked) for i, name in enumerate(encoded.names)}
    assert answers == plain.introduce().prepare(("a", "c")).frames(QUERY)


@pytest.mark.parametrize(("interaction", "fitting"), [((), slice(4, -4)), ((2, 3), slice(4, -6))])
def test_a_sigma_is_answered_exactly_where_counts_and_noise_cannot_overflow_the_ring(
    masked, interaction, fitting
):
    """A difference of two attributes contains every record once, and the noise of four cells."""
    release = masked.Release(masked.terms_of(granted_rho=1e14)).accept().introduce()
    sigmas = [2.0**k for k in range(-20, 30)]
    cells = 2 ** len(interaction)
    largest = {
        sigma: grid_of(sigma) * sum(masked.records) + cells * release.plan.noise.largest(sigma)
        for sigma in sigmas
    }
    # Counts fill the ring at the fine end, noise at the coarse one.
    fitting = sigmas[fitting]
    assert fitting == [sigma for sigma in sigmas if largest[sigma] < 2**31]
    for number, sigma in enumerate(sigmas):
        query = changed(QUERY, clique=("a", "b"), query_id=str(number), sigma=sigma)
        query = changed(query, interaction=bool(interaction))
        if sigma in fitting:
            release.parties["west"].answer(query)
        else:
            with pytest.raises(ProtocolError, match="plan a release with 64 bits"):
                release.parties["west"].answer(query)
    costs = [gaussian_cost(sigma, Adjacency.ZERO_OUT, interaction) for sigma in fitting]
    assert release.spent()["west"] == sum(costs)


def test_sixty_four_bits_hold_what_thirty_two_do_not(masked):
    release = masked.Release(generous(masked, bits=64)).accept().introduce()
    noise = release.counts(changed(QUERY, clique=("a", "b"), sigma=1e9)) - release.exact(("a", "b"))
    # Six draws within 0.3 deviations, or one beyond 17, have negligible probability.
    assert 0.3e9 < np.abs(noise).max() < 20e9


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("interaction", [(), (2, 3)])
def test_every_party_charges_the_whole_cost_of_a_query_up_to_its_grant(masked, adjacency, interaction):
    release = masked.Release(masked.terms_of(adjacency=adjacency)).accept().introduce()
    sigma = gaussian_sigma(Fraction(1), adjacency, interaction)
    query = changed(QUERY, clique=("a", "b"), interaction=bool(interaction))
    for party in release.parties.values():
        with pytest.raises(BudgetError, match="more than is left"):
            party.answer(replace(query, sigma=sigma * (1 - 1e-9)))
    assert set(release.spent().values()) == {0}
    frames = release.frames(replace(query, sigma=sigma))
    assert release.frames(replace(query, sigma=sigma)) == frames
    assert set(release.spent().values()) == {gaussian_cost(sigma, adjacency, interaction)}

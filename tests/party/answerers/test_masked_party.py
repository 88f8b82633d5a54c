"""What a party answers in the protocol `masked`: step by step, and what it refuses out of step."""

import contextlib
import itertools
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import BudgetError, DataError, MosaicError, PolicyError, ProtocolError
from dpmosaic.common.messages import (
    AnswerForm,
    Delivery,
    DeliveryKind,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
)
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.common.wire import codec, queries, streams
from dpmosaic.party.serving.servicer import PartyServicer

NORTH, EAST, WEST, SOUTH = range(4)
A, B, C, D = ("a",), ("b",), ("c",), ("d",)
PAIR = (A, C)
QUERY = MarginalQuery("r", "q", AnswerForm.SHARE, ("a", "c"), 3.0)
COST = gaussian_cost(3.0, Adjacency.ZERO_OUT)
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
    """Terms whose grant covers answers that are exact but for a hundredth."""
    return masked.terms_of(masked.plan_of(**plan), granted_rho=1e8)


# In order.


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("grid", GRIDS)
def test_answers_add_up_to_the_counts_of_all_slices_whoever_holds_the_clique(masked, grid, bits):
    terms = generous(masked, grid=GRIDS[grid] or masked.grid, bits=bits)
    release = masked.Release(terms).accept().introduce()
    for size in range(1, 5):
        for clique in itertools.combinations("abcd", size):
            query = replace(QUERY, query_id=str(clique), clique=clique, sigma=1e-3)
            counts = release.prepare(clique).counts(query)
            assert np.allclose(counts, release.exact(clique), atol=0.03)


def test_products_that_are_asked_for_together_are_those_asked_for_one_by_one(masked):
    together, apart = (masked.Release().accept().introduce() for _ in range(2))
    cliques = [("a", "c"), ("b", "c"), ("a", "b", "c"), ("a", "d"), ("b", "d")]
    chains = [together.plan.chain(clique, 0) for clique in cliques]
    for clique in cliques:
        apart.prepare(clique)
        for step in together.deliveries(clique):
            step()
    for party in (NORTH, EAST, WEST):
        together.multiply(party, *(c for c in chains if party in together.plan.holders(c, 0)))
    for number, clique in enumerate(cliques):
        query = replace(QUERY, query_id=str(number), clique=clique)
        assert together.frames(query) == apart.frames(query)


def test_boxes_are_added_up_in_shares(masked):
    release = masked.Release(generous(masked)).accept().introduce().prepare(("b", "c"))
    boxes = (((0, 1), (0, 4)), ((1, 3), (0, 1)), ((2, 3), (2, 4)))
    counts = release.exact(("b", "c")).reshape(3, 4)
    exact = [counts[0].sum(), counts[1:, 0].sum(), counts[2, 2:].sum()]
    query = replace(QUERY, clique=("b", "c"), sigma=1e-3, boxes=boxes)
    assert np.allclose(release.counts(query), exact, atol=0.03)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("grid", GRIDS)
def test_interactions_are_differences_of_shares_whoever_holds_the_clique(masked, grid, bits):
    terms = generous(masked, grid=GRIDS[grid] or masked.grid, bits=bits)
    release = masked.Release(terms).accept().introduce()
    for clique in [("a",), ("a", "c"), ("b", "c"), ("a", "c", "d"), ("a", "b", "c", "d")]:
        query = replace(QUERY, query_id=str(clique), clique=clique, sigma=1e-3, interaction=True)
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
def test_a_mask_is_for_the_whole_query(masked, change):
    """What two parties are asked differently, if only in its last digit, does not add up.

    Counts and noise are below 2^20 here; eight words that differ by as little have one mask, or are an
    accident of probability 2^-80.
    """
    one, other = (masked.Release().accept().introduce() for _ in range(2))
    answers = [
        next(streams.decode_answer(release.parties["south"].answer(query), 1, 8, 1))
        for release, query in [(one, QUERY), (other, replace(QUERY, **change))]
    ]
    difference = np.subtract(*answers).astype(np.int32)
    assert np.abs(difference.astype(np.int64)).max() > 2**21


@pytest.mark.parametrize("tolerated", [0, 1, 3])
def test_noise_has_the_charged_scale_without_that_of_those_who_may_collude(masked, tolerated):
    """A correct program fails in fewer than 1 of 300,000 choices of the seeds (three runs, two ends)."""
    policy = replace(masked.policy, min_tolerated=0)
    terms = generous(masked, tolerated=tolerated)
    release = masked.Release(terms, policy=policy).accept().introduce().prepare(("b", "c"))
    queries = [replace(QUERY, query_id=str(i), clique=("b", "c")) for i in range(60)]
    noise = np.array([release.counts(query) for query in queries]) - release.exact(("b", "c"))
    squares, variance = stats.chi2(noise.size), 3.0**2 * 4 / (4 - tolerated)
    assert squares.ppf(5e-7) < np.sum(noise**2) / variance < squares.isf(5e-7)


def test_the_same_steps_as_encoded_messages_give_the_same_bytes(masked):
    plain, encoded = (masked.Release().accept() for _ in range(2))
    servicers = [PartyServicer(encoded.parties[name]) for name in encoded.names]

    def served(party, method, *requests):
        return list(servicers[party].serve(method, iter(requests)))

    for party, name in enumerate(encoded.names):
        served(party, "Introduce", codec.encode_introduction(encoded.introduction(name)))
    for owner, part, recipient in [(NORTH, A, EAST), (EAST, C, NORTH)]:
        frames = served(
            owner, "Open", queries.encode_opening_request(OpeningRequest("r", (part,), recipient))
        )
        announced = streams.encode_delivery(Delivery("r", DeliveryKind.OPENING, (part,), owner))
        assert served(recipient, "Deliver", announced, *frames) == [codec.encode_acknowledgement()]
    ((_, words),) = encoded.dealer.products([PAIR], 0)
    announced = streams.encode_delivery(Delivery("r", DeliveryKind.DEALT_PRODUCT, PAIR))
    served(EAST, "Deliver", announced, *streams.encode_payload([words.tobytes()]))
    for party in (NORTH, EAST):
        served(party, "Multiply", queries.encode_multiply_request(MultiplyRequest("r", (PAIR,))))
    answers = {name: served(i, "Answer", queries.encode_query(QUERY)) for i, name in enumerate(encoded.names)}
    assert answers == plain.introduce().prepare(("a", "c")).frames(QUERY)


# Out of order.

EAST_OPENS = Delivery("r", DeliveryKind.OPENING, (C,), EAST)
ATTEMPTS = {
    "open": lambda party: party.open(OpeningRequest("r", (A,), EAST)),
    "deliver an opening": lambda party: party.deliver(EAST_OPENS, [b""]),
    "deliver rows": lambda party: party.deliver(Delivery("r", DeliveryKind.DEALT_ROWS, PAIR), [b""]),
    "deliver a product": lambda party: party.deliver(Delivery("r", DeliveryKind.DEALT_PRODUCT, PAIR), [b""]),
    "multiply": lambda party: party.multiply(MultiplyRequest("r", (PAIR,))),
    "answer": lambda party: party.answer(QUERY),
    "answer without a product": lambda party: party.answer(replace(QUERY, clique=("a", "b"))),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_before_a_release_is_accepted_nothing_can_be_asked(masked, attempt):
    release = masked.Release()
    with pytest.raises(ProtocolError, match="accept it first"):
        ATTEMPTS[attempt](release.parties["north"])
    assert release.ledgers["north"].reserved() == 0


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_before_the_parties_are_introduced_nothing_is_opened_taken_or_answered(masked, attempt):
    release = masked.Release().accept()
    with pytest.raises(ProtocolError, match="introduce them first"):
        ATTEMPTS[attempt](release.parties["north"])
    assert release.spent()["north"] == 0


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_after_the_data_changed_nothing_is_opened_taken_or_answered(masked, tmp_path, attempt):
    release = masked.Release(folder=tmp_path).accept().introduce()
    rows = masked.rows_of(release.plan, 0).project(("a", "b"))
    release.start("north", table=rows.take(np.arange(39, -1, -1)))
    with pytest.raises(ProtocolError, match="other data"):
        release.parties["north"].accept(encode_terms(release.terms))
    with pytest.raises(ProtocolError, match="data changed"):
        ATTEMPTS[attempt](release.parties["north"])
    assert release.spent()["north"] == 0


@pytest.mark.parametrize("clique", [("a", "c"), ("a", "c", "d")])
def test_without_any_one_delivery_somebody_refuses_uncharged_and_with_it_all_goes_on(masked, clique):
    for left_out, _ in enumerate(masked.Release().deliveries(clique)):
        release = masked.Release(generous(masked)).accept().introduce()
        for number, step in enumerate(release.deliveries(clique)):
            if number != left_out:
                # What builds on the missing delivery is refused too.
                with contextlib.suppress(ProtocolError):
                    step()
        refused = set()
        for name, step in release.products(clique):
            try:
                step()
            except ProtocolError:
                refused.add(name)
        assert refused
        for name in refused:
            with pytest.raises(ProtocolError, match="multiply first"):
                release.parties[name].answer(replace(QUERY, clique=clique))
            assert release.spent()[name] == 0
        counts = release.prepare(clique).counts(replace(QUERY, clique=clique, sigma=1e-3))
        assert np.allclose(counts, release.exact(clique), atol=0.03)


def test_an_answer_before_its_product_is_refused_uncharged_and_others_are_given(release):
    for name in ("north", "east"):
        with pytest.raises(ProtocolError, match="multiply first"):
            release.parties[name].answer(QUERY)
    assert set(release.spent().values()) == {0}
    for name in ("west", "south"):
        release.parties[name].answer(QUERY)
    release.parties["north"].answer(replace(QUERY, query_id="q2", clique=("a", "b")))
    assert release.spent() == {"north": COST, "east": 0, "west": COST, "south": COST}


def test_what_was_delivered_for_one_release_is_no_good_for_another(masked):
    one = masked.Release().accept().introduce()
    other = masked.Release(masked.terms_of(release_id="s"))
    other.parties = one.parties
    other.accept().introduce()
    one.prepare(("a", "c"))
    with pytest.raises(ProtocolError, match="deliver all openings"):
        other.multiply(NORTH, PAIR)
    with pytest.raises(ProtocolError, match="does not open"):
        other.deliver(DeliveryKind.OPENING, (C,), NORTH, one.sealed(EAST, (C,), NORTH), EAST)
    with pytest.raises(ProtocolError, match="multiply first"):
        other.parties["north"].answer(replace(QUERY, release_id="s"))


# What is answered, and at what cost.


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        ({"form": AnswerForm.HISTOGRAM, "clique": ("a", "b")}, ProtocolError, "no answers of the form"),
        ({"form": AnswerForm.RECORD_WISE, "clique": ("a",)}, ProtocolError, "no answers of the form"),
        ({"release_id": "s"}, ProtocolError, "accept it first"),
        ({"clique": ("a", "z")}, ProtocolError, "attributes that can be asked for"),
        ({"clique": ("c", "a")}, ProtocolError, "in domain order"),
        ({"clique": ("a", "a")}, DataError, "named twice"),
        ({"sigma": 2.0**-21}, BudgetError, "lower the budget"),
        ({"sigma": 2.0**41}, BudgetError, "grant more"),
        ({"sigma": 0.1}, BudgetError, "more than is left"),
        ({"sigma": 2.0**-20}, ProtocolError, "could overflow"),
        ({"boxes": (((0, 1),),)}, DataError, "box 0: expected for each attribute"),
        ({"boxes": (((0, 1), (2, 2)),)}, DataError, "non-empty range"),
        ({"boxes": (((0, 1), (3, 1)),)}, DataError, "non-empty range"),
        ({"boxes": (((0, 1), (0, 5)),)}, DataError, "non-empty range"),
        ({"boxes": (((0, 2), (0, 2)), ((1, 2), (1, 3)))}, DataError, "box 1: it meets another box"),
    ],
)
def test_a_query_that_does_not_fit_is_refused_by_everybody_and_charged_nothing(release, change, kind, reason):
    release.prepare(("a", "c"))
    for party in release.parties.values():
        with pytest.raises(kind, match=reason):
            party.answer(replace(QUERY, **change))
    assert set(release.spent().values()) == {0}
    release.frames(QUERY)


def test_a_marginal_past_max_cells_is_neither_multiplied_nor_answered(masked):
    release = masked.Release(policy=replace(masked.policy, max_cells=8)).accept().introduce()
    release.prepare(("a", "c")).frames(QUERY)
    with pytest.raises(PolicyError, match="max_cells"):
        release.deal((B, C))
    with pytest.raises(PolicyError, match="max_cells"):
        release.multiply(NORTH, (B, C))
    query = replace(QUERY, query_id="q2", clique=("b", "c"))
    for party in release.parties.values():
        for boxes in ((), (((0, 3), (0, 4)),)):
            with pytest.raises(PolicyError, match="max_cells"):
                party.answer(replace(query, boxes=boxes))
    assert set(release.spent().values()) == {COST}


@pytest.mark.parametrize(("interaction", "fitting"), [((), slice(4, -4)), ((2, 3), slice(4, -6))])
def test_a_sigma_is_answered_exactly_where_counts_and_noise_cannot_overflow_the_ring(
    masked, interaction, fitting
):
    """Every record counts once in a difference of two attributes, and the noise of four cells does."""
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
        query = replace(QUERY, query_id=str(number), clique=("a", "b"), sigma=sigma)
        query = replace(query, interaction=bool(interaction))
        if sigma in fitting:
            release.parties["west"].answer(query)
        else:
            with pytest.raises(ProtocolError, match="plan a release with 64 bits"):
                release.parties["west"].answer(query)
    costs = [gaussian_cost(sigma, Adjacency.ZERO_OUT, interaction) for sigma in fitting]
    assert release.spent()["west"] == sum(costs)


def test_sixty_four_bits_hold_what_thirty_two_do_not(masked):
    release = masked.Release(generous(masked, bits=64)).accept().introduce()
    noise = release.counts(replace(QUERY, clique=("a", "b"), sigma=1e9)) - release.exact(("a", "b"))
    # Six draws within 0.3 of their deviation, or one past 17 of them: never.
    assert 0.3e9 < np.abs(noise).max() < 20e9


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("interaction", [(), (2, 3)])
def test_every_party_charges_the_whole_cost_of_the_query_and_no_more_than_its_grant(
    masked, adjacency, interaction
):
    release = masked.Release(masked.terms_of(adjacency=adjacency)).accept().introduce()
    sigma = gaussian_sigma(Fraction(1), adjacency, interaction)
    query = replace(QUERY, clique=("a", "b"), interaction=bool(interaction))
    for party in release.parties.values():
        with pytest.raises(BudgetError, match="more than is left"):
            party.answer(replace(query, sigma=sigma * (1 - 1e-9)))
    assert set(release.spent().values()) == {0}
    frames = release.frames(replace(query, sigma=sigma))
    assert release.frames(replace(query, sigma=sigma)) == frames
    assert set(release.spent().values()) == {gaussian_cost(sigma, adjacency, interaction)}


def test_no_refusal_tells_of_the_data(release):
    """Rules and what to do: no count, size, code or key of this table is in any of them."""
    release.prepare(("a", "c"))
    chains = [(), (("z",),), (("a", "a"),), (A, C, A), (("b", "a"),), (C,)]
    changes = [{"sigma": 0.1}, {"sigma": 2.0**-20}, {"clique": ("c", "d")}, {"clique": ("z",)}]
    attempts = [lambda chain=chain: release.sealed(NORTH, chain, EAST) for chain in chains]
    attempts += [lambda change=c: release.parties["east"].answer(replace(QUERY, **change)) for c in changes]
    for attempt in attempts:
        with pytest.raises(MosaicError) as refusal:
            attempt()
        told = re.sub(r"\b(64 bits|[12] parts)\b", "", str(refusal.value))
        assert not any(character.isdigit() for character in told)

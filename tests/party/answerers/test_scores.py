"""A party's part in score queries: the order of steps, what is refused at each, and steps taken again."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.parties import party_of

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, DataError, PolicyError, ProtocolError
from dpmosaic.common.messages import (
    PROTOCOL_VERSION,
    Delivery,
    DeliveryKind,
    OpeningRequest,
    ReleaseTerms,
    ScoreQuery,
)
from dpmosaic.common.privacy.cost import Adjacency, grid_of, score_cost
from dpmosaic.common.protocols.masked.reveal import opened_sum
from dpmosaic.common.protocols.scores.query import references_digest, score_shape
from dpmosaic.common.wire.streams import decode_answer
from dpmosaic.party.answerers.masked.scores import SharedScores
from dpmosaic.party.ledger import Ledger

NORTH, EAST, WEST, SOUTH = range(4)
ZERO, ONE = EAST, SOUTH
"""The evaluators; north and west share their cells anew."""

CLIQUES = (("a",), ("a", "c"), ("b", "d"), ("a", "c", "d"))
SIGMA = 4.0
COST = score_cost(SIGMA, Adjacency.ZERO_OUT, len(CLIQUES))
CELLS = (2, 8, 6, 16)
ANYTHING = np.arange(sum(CELLS), dtype=np.int64) % 7


def query_of(references=ANYTHING, **changes):
    totals = [int(part.sum()) for part in np.split(references, np.cumsum(CELLS)[:-1])]
    digest = references_digest([references])
    query = ScoreQuery("r", "s", CLIQUES, SIGMA, digest, int(references.max()), max(totals))
    return replace(query, **changes)


QUERY = query_of()


class Scoring:
    """A release whose products are computed, and a curator who takes the steps of a score query.

    Args:
        release: all parties introduced.
        query: the score query.
        references: those of the query.
    """

    def __init__(self, release, query=QUERY, references=ANYTHING):
        self.release, self.query, self.references = release, query, references
        self.plan = release.plan
        self.zero, self.one = release.plan.evaluators or (ZERO, ONE)
        self.shape = score_shape(self.plan, CELLS, query.sigma, query.largest_reference, query.largest_total)

    def party(self, place):
        return self.release.parties[self.release.names[place]]

    def multiply(self):
        for clique in self.query.cliques:
            self.release.prepare(clique)
        return self

    def prepare(self, *places):
        for place in places or range(4):
            self.party(place).prepare_scores(self.query)
        return self

    def deliver(self, to, kind, chunks, sender=0, step=0):
        self.party(to).deliver(Delivery("r", kind, (), sender, self.query.query_id, step), chunks)

    def send_references(self, to=None, references=None):
        words = self.references if references is None else references
        self.deliver(
            self.one if to is None else to, DeliveryKind.SCORE_REFERENCES, [words.astype("<i8").tobytes()]
        )

    def deal(self, to=None, dealt=None):
        dealt = self.release.dealer.scores(self.query, self.shape) if dealt is None else dealt
        self.deliver(self.one if to is None else to, DeliveryKind.DEALT_SCORES, [dealt])

    def sealed(self, step, sender, to):
        return list(self.party(sender).open(OpeningRequest("r", (), to, self.query.query_id, step)))

    def hand(self, step, sender, to, frames):
        self.deliver(to, DeliveryKind.SCORE_STEP, frames, sender, step)

    def relay(self, step, sender, to):
        self.hand(step, sender, to, self.sealed(step, sender, to))

    def share(self):
        """Everything that comes before the rounds."""
        self.send_references()
        self.deal()
        for place in (NORTH, WEST):
            self.relay(0, place, self.zero)
        return self

    def rounds(self, until=None):
        for step in range(1, 1 + (until or self.shape.rounds)):
            sent = [self.sealed(step, self.zero, self.one), self.sealed(step, self.one, self.zero)]
            self.hand(step, self.zero, self.one, sent[0])
            self.hand(step, self.one, self.zero, sent[1])
        return self

    def frames(self):
        return [list(self.party(place).answer_scores(self.query)) for place in range(4)]

    def scores(self):
        answers = [next(decode_answer(frames, 1, len(CLIQUES), 1))[0] for frames in self.frames()]
        return opened_sum(self.plan.ring, answers) / grid_of(self.query.sigma)

    def distances(self):
        parts = np.split(self.references, np.cumsum(CELLS)[:-1])
        return [np.abs(self.release.exact(c) - part).sum() for c, part in zip(CLIQUES, parts, strict=True)]


def plan_with(masked, evaluators=(ZERO, ONE)):
    return replace(masked.plan_of(), evaluators=evaluators)


@pytest.fixture
def new_release(masked):
    """Makes releases that go alike to the last byte, with ledgers in a folder if one is given."""

    def made(folder=None, evaluators=(ZERO, ONE), **changes):
        terms = masked.terms_of(plan_with(masked, evaluators), **changes)
        return masked.Release(terms, folder).accept().introduce()

    return made


@pytest.fixture
def scoring(new_release):
    """All products are computed; the score query is not yet known."""
    return Scoring(new_release()).multiply()


def assert_nothing_charged(scoring):
    assert set(scoring.release.spent().values()) == {0}


# In order.


@pytest.mark.parametrize("evaluators", [(ZERO, ONE), (ONE, ZERO)], ids=["1 and 3", "3 and 1"])
def test_steps_in_order_give_the_distances_with_noise(new_release, evaluators):
    """Within eight deviations of the noise: p < 1e-14 for a correct program."""
    scoring = Scoring(new_release(evaluators=evaluators)).multiply().prepare().share().rounds()
    sigma = scoring.plan.noise.total_sigma(SIGMA)
    assert np.all(np.abs(scoring.scores() - scoring.distances()) < 8 * sigma)
    assert set(scoring.release.spent().values()) == {COST}


def test_a_query_is_charged_when_it_is_prepared_and_before_anything_is_opened(scoring):
    scoring.prepare(NORTH)
    assert scoring.release.spent() == {"north": COST, "east": 0, "west": 0, "south": 0}


def test_a_party_that_does_not_evaluate_answers_as_soon_as_it_prepared(scoring):
    scoring.prepare()
    assert list(scoring.party(WEST).answer_scores(QUERY))


def test_an_evaluator_answers_after_the_last_round_and_not_before(scoring):
    scoring.prepare().share()
    for done in range(scoring.shape.rounds):
        for place in (ZERO, ONE):
            with pytest.raises(ProtocolError, match="need all rounds"):
                list(scoring.party(place).answer_scores(QUERY))
        scoring.relay(done + 1, ZERO, ONE)
        scoring.relay(done + 1, ONE, ZERO)
    assert all(scoring.frames())


# Prepare.


@pytest.mark.parametrize("place", range(4))
def test_before_it_prepared_a_party_takes_and_gives_nothing(scoring, place):
    scoring.prepare(*(other for other in range(4) if other != place))
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.sealed(0, place, ZERO)
    for kind in (DeliveryKind.SCORE_REFERENCES, DeliveryKind.DEALT_SCORES, DeliveryKind.SCORE_STEP):
        with pytest.raises(ProtocolError, match="not prepared"):
            scoring.deliver(place, kind, [])
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.party(place).answer_scores(QUERY)


def test_products_come_before_the_charge(new_release):
    scoring = Scoring(new_release())
    for place in range(3):  # the fourth party holds every clique alone
        with pytest.raises(ProtocolError, match="multiply first"):
            scoring.prepare(place)
    assert_nothing_charged(scoring)


REFUSED = {
    "an unknown attribute": ({"cliques": (("z",),)}, ProtocolError, "domain order"),
    "another order": ({"cliques": (("a",), ("c", "a"))}, ProtocolError, "domain order"),
    "an attribute twice": ({"cliques": (("a", "a"),)}, DataError, "named twice"),
    "references that overflow the ring": (
        {"largest_reference": 1 << 40, "largest_total": 1 << 40},
        ProtocolError,
        "larger ring",
    ),
    "a total that overflows the ring": ({"largest_total": 1 << 40}, ProtocolError, "larger ring"),
    "noise that overflows the ring": ({"sigma": 2.0**30}, ProtocolError, "larger ring"),
    "too fine a noise": ({"sigma": 2.0**-21}, BudgetError, "lower the budget"),
    "another release": ({"release_id": "other"}, ProtocolError, "not accepted"),
}


@pytest.mark.parametrize(("change", "error", "reason"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("place", [NORTH, EAST])
def test_a_query_that_does_not_fit_is_refused_before_the_charge(scoring, place, change, error, reason):
    with pytest.raises(error, match=reason):
        scoring.party(place).prepare_scores(replace(QUERY, **change))
    assert_nothing_charged(scoring)


def test_a_clique_larger_than_the_policy_allows_is_refused_before_the_charge(masked):
    policy = replace(masked.policy, max_cells=7)
    scoring = Scoring(masked.Release(masked.terms_of(plan_with(masked)), policy=policy).accept().introduce())
    with pytest.raises(PolicyError):
        scoring.prepare(SOUTH)
    assert_nothing_charged(scoring)


def test_scores_past_the_grant_are_refused(new_release):
    scoring = Scoring(new_release(granted_rho=float(COST) * 0.99)).multiply()
    with pytest.raises(BudgetError, match="more than is left"):
        scoring.prepare(NORTH)
    assert_nothing_charged(scoring)
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.sealed(0, NORTH, ZERO)


def test_without_evaluators_in_the_plan_no_party_scores(new_release):
    scoring = Scoring(new_release(evaluators=())).multiply()
    for place in range(4):
        with pytest.raises(ProtocolError, match="nobody who evaluates"):
            scoring.prepare(place)
    assert_nothing_charged(scoring)


# References and dealt randomness.

OTHERS = {
    "another reference": (ANYTHING + np.eye(1, 32, 3, dtype=int)[0], {}),
    "two cells exchanged": (ANYTHING[np.r_[1, 0, 2:32]], {}),
    "a negative one": (ANYTHING - 1, {"references": references_digest([ANYTHING - 1])}),
    "a larger one than stated": (ANYTHING, {"largest_reference": 5}),
    "a larger total than stated": (ANYTHING, {"largest_total": 40}),
}


@pytest.mark.parametrize(("references", "change"), OTHERS.values(), ids=OTHERS)
def test_references_that_are_not_those_of_the_query_are_refused(scoring, references, change):
    scoring.query = replace(QUERY, **change)
    scoring.prepare()
    with pytest.raises(ProtocolError, match="not those of the score query"):
        scoring.send_references(references=references)
    scoring.deal()
    with pytest.raises(ProtocolError, match="waits for references"):
        scoring.sealed(1, ONE, ZERO)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_references_of_another_length_are_refused(scoring, size):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="more or fewer integers"):
        scoring.send_references(references=np.resize(ANYTHING, size))


@pytest.mark.parametrize("change", [-1, 1])
def test_dealt_randomness_of_another_length_is_refused(scoring, change):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="more or fewer integers"):
        scoring.deal(dealt=bytes(scoring.shape.dealt_bytes + change))
    scoring.send_references()
    with pytest.raises(ProtocolError, match="waits for references"):
        scoring.sealed(1, ONE, ZERO)


@pytest.mark.parametrize("missing", ["references", "randomness"])
def test_evaluator_1_opens_nothing_without_references_and_randomness(scoring, missing):
    scoring.prepare()
    scoring.deal() if missing == "references" else scoring.send_references()
    with pytest.raises(ProtocolError, match="waits for references"):
        scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="waits for references"):
        scoring.hand(1, ZERO, ONE, [])


@pytest.mark.parametrize("missing", [NORTH, WEST])
def test_evaluator_0_opens_nothing_without_the_cells_of_all_parties(scoring, missing):
    scoring.prepare()
    scoring.relay(0, NORTH + WEST - missing, ZERO)
    with pytest.raises(ProtocolError, match="waits for the cells"):
        scoring.sealed(1, ZERO, ONE)


# Who takes part in what.


@pytest.mark.parametrize("to", [NORTH, WEST])
@pytest.mark.parametrize("kind", ["references", "randomness", "cells", "a round"])
def test_a_party_that_does_not_evaluate_is_sent_nothing(scoring, to, kind):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="only evaluators are sent"):
        {
            "references": lambda: scoring.send_references(to),
            "randomness": lambda: scoring.deal(to),
            "cells": lambda: scoring.hand(0, SOUTH, to, []),
            "a round": lambda: scoring.hand(1, ZERO, to, []),
        }[kind]()


@pytest.mark.parametrize("place", [NORTH, WEST])
@pytest.mark.parametrize("step", [1, 2, 99])
def test_a_party_that_does_not_evaluate_opens_no_round(scoring, place, step):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="only evaluators take part"):
        scoring.sealed(step, place, ZERO)


@pytest.mark.parametrize("sender", range(4))
def test_a_step_is_opened_for_the_evaluator_that_it_is_for_alone(scoring, sender):
    scoring.prepare().share()
    for to in (*range(4), 9):
        if to != (ONE if sender == ZERO else ZERO):
            with pytest.raises(ProtocolError, match="goes to the evaluator"):
                scoring.sealed(min(1, scoring.plan.evaluators.count(sender)), sender, to)


@pytest.mark.parametrize("sender", [ZERO, ONE, 9])
def test_cells_come_from_parties_that_do_not_evaluate(scoring, sender):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="cells come from parties"):
        scoring.hand(0, sender, ZERO, [])


def test_evaluator_1_is_sent_no_cells(scoring):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="cells come from parties"):
        scoring.hand(0, NORTH, ONE, scoring.sealed(0, NORTH, ZERO))


@pytest.mark.parametrize("sender", [NORTH, WEST, ZERO, 9])
def test_a_round_comes_from_the_other_evaluator_alone(scoring, sender):
    scoring.prepare().share()
    frames = scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(1, sender, ZERO, frames)
    scoring.hand(1, ONE, ZERO, frames)


def test_cells_of_one_party_are_not_taken_as_those_of_another(scoring):
    scoring.prepare()
    frames = scoring.sealed(0, NORTH, ZERO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(0, WEST, ZERO, frames)


def test_cells_of_another_query_are_not_taken(scoring):
    scoring.prepare()
    other = Scoring(scoring.release, query_of(query_id="t")).prepare()
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(0, NORTH, ZERO, other.sealed(0, NORTH, ZERO))


# Rounds.


@pytest.mark.parametrize("step", [2, 3, 99])
def test_a_round_is_not_opened_before_the_one_before_it_was_taken(scoring, step):
    scoring.prepare().share()
    for sender, to in ((ZERO, ONE), (ONE, ZERO)):
        with pytest.raises(ProtocolError, match="out of order"):
            scoring.sealed(step, sender, to)


def test_a_round_is_not_taken_before_the_one_before_it(scoring):
    scoring.prepare().share()
    scoring.relay(1, ZERO, ONE)
    early = scoring.sealed(2, ONE, ZERO)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(2, ONE, ZERO, early)
    scoring.relay(1, ONE, ZERO)
    scoring.hand(2, ONE, ZERO, early)


def test_a_round_past_the_last_is_neither_opened_nor_taken(scoring):
    last = scoring.prepare().share().rounds().shape.rounds
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.sealed(last + 1, ZERO, ONE)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(last + 1, ONE, ZERO, scoring.sealed(last, ONE, ZERO))


def test_a_round_is_not_taken_as_another_one(scoring):
    scoring.prepare().share().rounds(until=1)
    first = scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(2, ONE, ZERO, first)


def test_a_round_that_was_altered_is_refused_and_the_right_one_is_taken_afterwards(scoring):
    scoring.prepare().share()
    frames = scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(1, ONE, ZERO, [frames[0], bytes([frames[1][0] ^ 1]) + frames[1][1:]])
    scoring.hand(1, ONE, ZERO, frames)


def test_a_round_that_is_taken_again_changes_nothing(scoring, new_release):
    undisturbed = Scoring(new_release()).multiply().prepare().share().rounds().frames()
    scoring.prepare().share()
    for step in range(1, 1 + scoring.shape.rounds):
        sent = [scoring.sealed(step, ZERO, ONE), scoring.sealed(step, ONE, ZERO)]
        for _ in range(2):
            scoring.hand(step, ZERO, ONE, sent[0])
            scoring.hand(step, ONE, ZERO, sent[1])
            if step > 1:
                scoring.relay(step - 1, ZERO, ONE)
    assert scoring.frames() == undisturbed


def test_steps_before_the_rounds_that_are_taken_again_change_nothing(scoring, new_release):
    undisturbed = Scoring(new_release()).multiply().prepare().share().rounds().frames()
    scoring.prepare().share().share().prepare().rounds(until=2).share().rounds()
    assert scoring.frames() == undisturbed
    assert set(scoring.release.spent().values()) == {COST}


# The same again, and something else under one id.


def unsealed(scoring):
    """What parties open in each step, by what the recipients unseal."""
    found = {}
    take = SharedScores._unsealed

    def seen(self, delivery, chunks, size):
        found[delivery.sender, delivery.step] = take(self, delivery, chunks, size)
        return found[delivery.sender, delivery.step]

    return seen, found


def test_the_same_query_again_is_charged_once_and_gives_the_same_bytes(scoring):
    first = scoring.prepare().share().rounds().frames()
    assert scoring.prepare().frames() == first
    assert set(scoring.release.spent().values()) == {COST}


CHANGED = {
    "cliques": {"cliques": (("a",), ("a", "c"), ("b", "d"), ("a", "b"))},
    "the order of cliques": {"cliques": CLIQUES[::-1]},
    "references": {"references": bytes(32)},
    "sigma": {"sigma": 3.0},
    "the largest reference": {"largest_reference": 7},
    "the largest total": {"largest_total": 100},
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("place", range(4))
def test_one_id_stands_for_one_score_query(scoring, place, change):
    scoring.release.prepare(("a", "b"))
    scoring.prepare()
    with pytest.raises(ProtocolError, match="stands for another query"):
        scoring.party(place).prepare_scores(replace(QUERY, **change))
    with pytest.raises(ProtocolError, match="stands for another query"):
        scoring.party(place).answer_scores(replace(QUERY, **change))
    assert set(scoring.release.spent().values()) == {COST}


def test_two_queries_have_masks_and_noise_and_openings_of_their_own(scoring):
    """Words of 32 bits, 4 in an answer and 32 in an opening: some pair is equal with p < 1e-7."""
    scoring.prepare().share().rounds()
    other = Scoring(scoring.release, query_of(query_id="t")).prepare().share().rounds()
    answers = []
    for frames in zip(scoring.frames(), other.frames(), strict=True):
        one, two = (next(decode_answer(part, 1, len(CLIQUES), 1)) for part in frames)
        assert not np.any(one == two)
        answers.append(one)
    assert set(scoring.release.spent().values()) == {2 * COST}


def test_after_a_restart_the_same_steps_open_the_same_strings_and_give_the_same_answers(
    new_release, tmp_path, monkeypatch
):
    scoring = Scoring(new_release(tmp_path)).multiply().prepare()
    seen, found = unsealed(scoring)
    monkeypatch.setattr(SharedScores, "_unsealed", seen)
    first = scoring.share().rounds().frames()
    strings = dict(found)
    assert len(strings) == 2 + 2 * scoring.shape.rounds
    sealed = scoring.sealed(1, ZERO, ONE)
    found.clear()
    for seed, name in enumerate(scoring.release.names, start=50):
        scoring.release.start(name, seed=seed)
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.party(ZERO).answer_scores(QUERY)
    again = Scoring(scoring.release).multiply().prepare().share().rounds()
    assert found == strings
    assert again.frames() == first
    assert set(scoring.release.spent().values()) == {COST}
    # Sealed anew, under another salt.
    assert again.sealed(1, ZERO, ONE) != sealed


@pytest.mark.parametrize("name", ["east", "south"])
def test_an_evaluator_that_died_between_two_rounds_catches_up(new_release, tmp_path, name):
    undisturbed = Scoring(new_release()).multiply().prepare().share().rounds().frames()
    scoring = Scoring(new_release(tmp_path)).multiply().prepare().share().rounds(until=2)
    scoring.release.start(name, seed=50)
    scoring.multiply().prepare().share().rounds()
    assert scoring.frames() == undisturbed
    assert set(scoring.release.spent().values()) == {COST}


def test_after_a_restart_an_evaluator_that_was_dealt_otherwise_does_not_answer_the_same_query_again(
    new_release, tmp_path
):
    """Two answers would differ by 1 or -1 without noise: the sign of one cell's difference."""
    scoring = Scoring(new_release(tmp_path)).multiply().prepare().share().rounds()
    scoring.frames()
    scoring.release.start("south", seed=50)
    scoring.multiply().prepare().share()
    dealt = bytearray(scoring.release.dealer.scores(QUERY, scoring.shape))
    dealt[scoring.shape.total * scoring.shape.ring.word_bytes] ^= 1  # of the first cell's share of rho b
    scoring.deal(dealt=bytes(dealt))
    scoring.rounds()
    # Evaluator 0 went through all rounds before: it repeats what it sent, and its own answer.
    with pytest.raises(ProtocolError):
        scoring.frames()


# A single party.

TABLE = Table.from_codes(Domain.coded({"a": 2, "c": 4}), np.array([[0, 1], [1, 3], [1, 3], [0, 0], [1, 2]]))
LOCAL = ScoreQuery(
    "r", "s", (("a",), ("a", "c")), 0.01, references_digest([np.ones(10, dtype=np.int64)]), 1, 8
)


@pytest.fixture
def alone(masked):
    """A party that holds the whole table, in an accepted release by the protocol `trusted`."""
    policy = replace(masked.policy, protocols=frozenset({"trusted", "indicator"}))
    ledger = Ledger()
    party = party_of("p", TABLE, policy, ledger=ledger)
    party.accept(encode_terms(ReleaseTerms("r", PROTOCOL_VERSION, "trusted", Adjacency.REPLACE_ONE, 1e6)))
    party.ledger = ledger
    return party


def references_for(party, words):
    party.deliver(Delivery("r", DeliveryKind.SCORE_REFERENCES, query_id="s"), [words.astype("<i8").tobytes()])


def test_a_single_party_scores_by_itself_is_charged_once_and_repeats_its_bytes(alone):
    """Noise of a hundredth of a record: half a record would be 50 deviations."""
    alone.prepare_scores(LOCAL)
    references_for(alone, np.ones(10, dtype=np.int64))
    frames = list(alone.answer_scores(LOCAL))
    (scores,) = decode_answer(frames, 1, 2, 1)
    # Of a: 2 and 3 records, of the pair: 1 1 0 0 and 0 0 1 2.
    assert np.rint(scores[0] / grid_of(0.01)).tolist() == [3, 5]
    alone.prepare_scores(LOCAL)
    assert list(alone.answer_scores(LOCAL)) == frames
    cost = score_cost(0.01, Adjacency.REPLACE_ONE, 2)
    assert alone.ledger.spent("r") == cost > Fraction(3) * score_cost(0.01, Adjacency.ZERO_OUT, 2)


def test_a_single_party_answers_after_it_has_the_references_and_opens_nothing(alone):
    with pytest.raises(ProtocolError, match="not prepared"):
        alone.answer_scores(LOCAL)
    alone.prepare_scores(LOCAL)
    with pytest.raises(ProtocolError, match="deliver them first"):
        alone.answer_scores(LOCAL)
    with pytest.raises(ProtocolError, match="not those of the score query"):
        references_for(alone, np.zeros(10, dtype=np.int64))
    with pytest.raises(ProtocolError, match="references alone"):
        alone.deliver(Delivery("r", DeliveryKind.DEALT_SCORES, query_id="s"), [])
    with pytest.raises(ProtocolError, match="opens nothing"):
        alone.open(OpeningRequest("r", (), 0, "s", 0))


def test_a_release_by_noisy_indicators_has_no_scores(alone):
    alone.accept(encode_terms(ReleaseTerms("i", PROTOCOL_VERSION, "indicator", Adjacency.REPLACE_ONE, 1e6)))
    with pytest.raises(ProtocolError, match="'indicator' has no scores"):
        alone.prepare_scores(replace(LOCAL, release_id="i"))
    assert alone.ledger.spent("i") == 0

"""Rounds of a score query: who takes part, in which order, unaltered."""

import pytest

from dpmosaic.common.errors import ProtocolError
from support.scoring import (
    NORTH,
    ONE,
    QUERY,
    SOUTH,
    WEST,
    ZERO,
    Scoring,
    query_of,
)


def test_an_evaluator_answers_after_the_last_round_and_not_before(scoring):
    scoring.prepare().share()
    for done in range(scoring.shape.rounds):
        for place in (ZERO, ONE):
            with pytest.raises(ProtocolError, match="need all rounds"):
                list(scoring.party(place).answer_scores(QUERY))
        scoring.relay(done + 1, ZERO, ONE)
        scoring.relay(done + 1, ONE, ZERO)
    assert all(scoring.frames())


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


@pytest.mark.parametrize("to", [NORTH, WEST])
@pytest.mark.parametrize("kind", ["references", "randomness", "cells", "a round"])
def test_a_party_that_does_not_evaluate_is_sent_nothing(scoring, to, kind):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="only evaluators receive"):
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
def test_a_step_is_opened_only_for_its_evaluator(scoring, sender):
    scoring.prepare().share()
    for to in (*range(4), 9):
        if to != (ONE if sender == ZERO else ZERO):
            with pytest.raises(ProtocolError, match="expected the evaluator"):
                scoring.sealed(min(1, scoring.plan.evaluators.count(sender)), sender, to)


@pytest.mark.parametrize("sender", [ZERO, ONE, 9])
def test_cells_are_accepted_only_from_parties_that_are_not_evaluators(scoring, sender):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="expected cells from a party"):
        scoring.hand(0, sender, ZERO, [])


def test_evaluator_1_receives_no_cells(scoring):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="expected cells from a party"):
        scoring.hand(0, NORTH, ONE, scoring.sealed(0, NORTH, ZERO))


@pytest.mark.parametrize("sender", [NORTH, WEST, ZERO, 9])
def test_a_round_comes_from_the_other_evaluator_alone(scoring, sender):
    scoring.prepare().share()
    frames = scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(1, sender, ZERO, frames)
    scoring.hand(1, ONE, ZERO, frames)


def test_cells_of_one_party_are_refused_as_those_of_another(scoring):
    scoring.prepare()
    frames = scoring.sealed(0, NORTH, ZERO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(0, WEST, ZERO, frames)


def test_cells_of_another_query_are_refused(scoring):
    scoring.prepare()
    other = Scoring(scoring.release, query_of(query_id="t")).prepare()
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(0, NORTH, ZERO, other.sealed(0, NORTH, ZERO))


@pytest.mark.parametrize("step", [2, 3, 99])
def test_a_round_is_not_opened_before_the_previous_one_is_received(scoring, step):
    scoring.prepare().share()
    for sender, to in ((ZERO, ONE), (ONE, ZERO)):
        with pytest.raises(ProtocolError, match="out of order"):
            scoring.sealed(step, sender, to)


def test_a_round_is_refused_before_the_previous_one(scoring):
    scoring.prepare().share()
    scoring.relay(1, ZERO, ONE)
    early = scoring.sealed(2, ONE, ZERO)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(2, ONE, ZERO, early)
    scoring.relay(1, ONE, ZERO)
    scoring.hand(2, ONE, ZERO, early)


def test_a_round_after_the_last_is_neither_opened_nor_accepted(scoring):
    last = scoring.prepare().share().rounds().shape.rounds
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.sealed(last + 1, ZERO, ONE)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(last + 1, ONE, ZERO, scoring.sealed(last, ONE, ZERO))


def test_a_round_is_refused_as_another_one(scoring):
    scoring.prepare().share().rounds(until=1)
    first = scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(2, ONE, ZERO, first)


def test_an_altered_round_is_refused_and_the_correct_one_accepted_afterwards(scoring):
    scoring.prepare().share()
    frames = scoring.sealed(1, ONE, ZERO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(1, ONE, ZERO, [frames[0], bytes([frames[1][0] ^ 1]) + frames[1][1:]])
    scoring.hand(1, ONE, ZERO, frames)

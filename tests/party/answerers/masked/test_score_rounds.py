"""Steps of a score query: who takes part, in which order, unaltered."""

import pytest

from dpmosaic.common.errors import ProtocolError
from support.scoring import (
    EVALUATORS,
    NORTH,
    ONE,
    QUERY,
    SOUTH,
    TWO,
    WEST,
    ZERO,
    Scoring,
    query_of,
)

pytestmark = pytest.mark.slow


def test_evaluators_1_and_2_answer_after_their_last_step_and_not_before(scoring):
    scoring.prepare().share()
    steps = scoring.shape.steps
    for number, step in enumerate(steps, start=1):
        for role in (1, 2):
            if role in {later.recipient for later in steps[number - 1 :]}:
                with pytest.raises(ProtocolError, match="need all steps"):
                    list(scoring.party(EVALUATORS[role]).answer_scores(QUERY))
        scoring.relay(number, EVALUATORS[step.sender], EVALUATORS[step.recipient])
    assert all(scoring.frames())


def test_evaluator_2_opens_and_accepts_nothing_without_the_seeds_of_the_others(scoring):
    scoring.prepare()
    for step in (lambda: scoring.sealed(3, TWO, ONE), lambda: scoring.hand(1, ZERO, TWO, [])):
        with pytest.raises(ProtocolError, match="waits for the seeds"):
            step()


@pytest.mark.parametrize("missing", [NORTH, WEST, SOUTH, None])
def test_evaluator_0_opens_nothing_without_references_and_the_cells_of_all_parties(scoring, missing):
    scoring.prepare()
    for place in {NORTH, WEST, SOUTH} - {missing}:
        scoring.relay(0, place, ZERO)
    if missing is not None:
        scoring.send_references()
    with pytest.raises(ProtocolError, match="waits for references and the cells"):
        scoring.sealed(1, ZERO, TWO)


@pytest.mark.parametrize("kind", ["references", "cells", "a step"])
def test_a_party_that_does_not_evaluate_is_sent_nothing(scoring, kind):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="this party is none"):
        {
            "references": lambda: scoring.send_references(WEST),
            "cells": lambda: scoring.hand(0, SOUTH, WEST, []),
            "a step": lambda: scoring.hand(1, ZERO, WEST, []),
        }[kind]()


@pytest.mark.parametrize("step", [1, 2, 99])
def test_a_party_that_does_not_evaluate_opens_no_step_after_resharing(scoring, step):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="this party is none"):
        scoring.sealed(step, WEST, ZERO)


@pytest.mark.parametrize("place", [ONE, TWO])
def test_evaluators_1_and_2_get_no_references(scoring, place):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="for evaluator 0 only"):
        scoring.send_references(place)


@pytest.mark.parametrize("sender", range(4))
def test_a_step_is_opened_only_for_its_evaluator(scoring, sender):
    """Cells for evaluator 0, and seeds of evaluator 1 for evaluator 2."""
    scoring.prepare().share()
    allowed = {0: {ZERO}} if sender != ZERO else {0: set()}
    if sender == ONE:
        allowed[0] |= {TWO}
    for number in (1, 2):
        if scoring.ends(number)[0] == sender:
            allowed[number] = {scoring.ends(number)[1]}
    for number, recipients in allowed.items():
        for to in (*range(4), 9):
            if to not in recipients:
                with pytest.raises(ProtocolError, match="expected the evaluator"):
                    scoring.sealed(number, sender, to)


@pytest.mark.parametrize(
    ("sender", "to"), [(ZERO, ZERO), (9, ZERO), (NORTH, ONE), (ONE, ONE), (WEST, TWO), (ZERO, TWO)]
)
def test_cells_are_for_evaluator_0_and_seeds_of_evaluator_1_for_2(scoring, sender, to):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="expected cells for evaluator 0, or seeds"):
        scoring.hand(0, sender, to, [])


@pytest.mark.parametrize("sender", [NORTH, WEST, ZERO, 9])
def test_a_step_comes_from_its_evaluator_alone(scoring, sender):
    scoring.prepare().share().steps(until=4)
    assert scoring.ends(6) == (ONE, ZERO)
    scoring.relay(5, TWO, ONE)
    frames = scoring.sealed(6, ONE, ZERO)
    with pytest.raises(ProtocolError, match="expected a step of the evaluator"):
        scoring.hand(6, sender, ZERO, frames)
    scoring.hand(6, ONE, ZERO, frames)


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


def test_a_step_is_neither_opened_nor_accepted_before_earlier_ones(scoring):
    scoring.prepare().share()
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.sealed(3, TWO, ONE)
    early = scoring.sealed(2, ONE, TWO)
    with pytest.raises(ProtocolError, match="out of order"):
        scoring.hand(2, ONE, TWO, early)
    scoring.relay(1, ZERO, TWO)
    scoring.hand(2, ONE, TWO, early)
    assert scoring.sealed(3, TWO, ONE)


@pytest.mark.parametrize("step", [2, 3, 99])
def test_steps_of_the_other_evaluators_are_neither_opened_nor_accepted(scoring, step):
    scoring.prepare().share()
    with pytest.raises(ProtocolError, match="sends a message"):
        scoring.sealed(step, ZERO, TWO)
    with pytest.raises(ProtocolError, match="receives a message"):
        scoring.hand(step, ONE, ZERO, [])


def test_a_step_is_refused_as_another_one(scoring):
    scoring.prepare().share().steps(until=5)
    assert [scoring.ends(number) for number in (1, 4)] == [(ZERO, TWO)] * 2
    first = scoring.sealed(1, ZERO, TWO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(4, ZERO, TWO, first)


def test_an_altered_step_is_refused_and_the_correct_one_accepted_afterwards(scoring):
    scoring.prepare().share()
    frames = scoring.sealed(1, ZERO, TWO)
    with pytest.raises(ProtocolError, match="does not open"):
        scoring.hand(1, ZERO, TWO, [frames[0], bytes([frames[1][0] ^ 1]) + frames[1][1:]])
    scoring.hand(1, ZERO, TWO, frames)

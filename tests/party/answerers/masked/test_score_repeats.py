"""Repeated score queries, with and without a restart, and other queries with their id."""

import numpy as np
import pytest

from dpmosaic.common.dealing.evaluator import Resharing
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.scores.query import score_shape
from dpmosaic.common.wire.streams import decode_answer
from support.changed import changed
from support.masked import plan_of
from support.scoring import (
    CELLS,
    CLIQUES,
    COST,
    QUERY,
    TWO,
    WEST,
    ZERO,
    Scoring,
    query_of,
)

pytestmark = pytest.mark.slow


def test_a_repeated_step_changes_nothing(scoring, new_release):
    undisturbed = Scoring(new_release()).multiply().prepare().share().steps().frames()
    scoring.prepare().share()
    for number in range(1, 1 + len(scoring.shape.steps)):
        sent = scoring.sealed(number, *scoring.ends(number))
        for _ in range(2):
            scoring.hand(number, *scoring.ends(number), sent)
            scoring.relay(max(1, number - 1), *scoring.ends(max(1, number - 1)))
    assert scoring.frames() == undisturbed


def test_repeating_resharing_changes_nothing(scoring, new_release):
    undisturbed = Scoring(new_release()).multiply().prepare().share().steps().frames()
    scoring.prepare().share().share().prepare().steps(until=5).share().steps()
    assert scoring.frames() == undisturbed
    assert set(scoring.release.spent().values()) == {COST}


def unsealed():
    """The messages of each step, as unsealed by the recipients."""
    found = {}
    take = Resharing.unseal

    def seen(self, delivery, chunks, size):
        found[delivery.sender, self.me, delivery.step] = take(self, delivery, chunks, size)
        return found[delivery.sender, self.me, delivery.step]

    return seen, found


def test_the_same_query_again_is_charged_once_and_gives_the_same_bytes(scoring):
    first = scoring.prepare().share().steps().frames()
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
def test_refuses_another_score_query_with_a_used_id(scoring, place, change):
    scoring.release.prepare(("a", "b"))
    scoring.prepare()
    with pytest.raises(ProtocolError, match="was used for another query"):
        scoring.party(place).prepare_scores(changed(QUERY, **change))
    with pytest.raises(ProtocolError, match="was used for another query"):
        scoring.party(place).answer_scores(changed(QUERY, **change))
    assert set(scoring.release.spent().values()) == {COST}


def test_two_queries_have_different_masks_noise_and_openings(scoring):
    """Words of 32 bits, 4 in an answer and 32 in an opening: some pair is equal with p < 1e-7."""
    scoring.prepare().share().steps()
    other = Scoring(scoring.release, query_of(query_id="t")).prepare().share().steps()
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
    seen, found = unsealed()
    monkeypatch.setattr(Resharing, "unseal", seen)
    first = scoring.share().steps().frames()
    strings = dict(found)
    assert len(strings) == 4 + len(scoring.shape.steps)
    sealed = scoring.sealed(1, ZERO, TWO)
    found.clear()
    for seed, name in enumerate(scoring.release.names, start=50):
        scoring.release.start(name, seed=seed)
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.party(ZERO).answer_scores(QUERY)
    again = Scoring(scoring.release).multiply().prepare().share().steps()
    assert found == strings
    assert again.frames() == first
    assert set(scoring.release.spent().values()) == {COST}
    # Sealed again, with another salt.
    assert again.sealed(1, ZERO, TWO) != sealed


@pytest.mark.parametrize("name", ["east", "south", "north"])
def test_an_evaluator_that_died_between_two_steps_catches_up(new_release, tmp_path, name):
    undisturbed = Scoring(new_release()).multiply().prepare().share().steps().frames()
    scoring = Scoring(new_release(tmp_path)).multiply().prepare().share().steps(until=5)
    scoring.release.start(name, seed=50)
    scoring.multiply().prepare().share().steps()
    assert scoring.frames() == undisturbed
    assert set(scoring.release.spent().values()) == {COST}


STEPS = len(score_shape(plan_of(), CELLS, QUERY.sigma, QUERY.largest_reference, QUERY.largest_total).steps)


@pytest.mark.parametrize("number", range(1, 1 + STEPS))
def test_after_a_restart_an_evaluator_takes_no_step_that_another_one_computed_otherwise(
    new_release, tmp_path, number
):
    """Its next messages would be other ones under the same pads, and show how both differ."""
    scoring = Scoring(new_release(tmp_path)).multiply().prepare().share().steps()
    sender, recipient = scoring.ends(number)
    scoring.release.start(scoring.release.names[recipient], seed=50)
    scoring.multiply().prepare().share().steps(until=number - 1)
    # The others repeat their messages.
    run = scoring.party(sender)._releases.of(scoring.query.release_id).scores.run_of("s")._evaluator._run
    sent = bytearray(run._sent[number - 1])
    sent[0] ^= 1
    run._sent[number - 1] = bytes(sent)
    name = scoring.release.names[sender]
    with pytest.raises(ProtocolError, match=rf"same content as before, got another \(score from {name}\)"):
        scoring.relay(number, sender, recipient)


def test_after_a_restart_the_assistant_takes_no_cells_that_a_party_reshared_otherwise(new_release, tmp_path):
    """Digits of other cells under the same words would show evaluator 2 how they differ."""
    scoring = Scoring(new_release(tmp_path)).multiply().prepare().share()
    scoring.sealed(1, ZERO, TWO)
    scoring.release.start("east", seed=50)
    run = scoring.party(WEST)._releases.of(scoring.query.release_id).scores.run_of("s")
    run._cells[0] += 1
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(score from west\)"):
        scoring.multiply().prepare().share()
    with pytest.raises(ProtocolError, match="deliver them first"):
        scoring.sealed(1, ZERO, TWO)


def test_a_party_whose_rows_are_counted_otherwise_reshares_nothing_a_second_time(new_release, tmp_path):
    """The assistant would see how the cells differ, under the same words."""
    scoring = Scoring(new_release(tmp_path)).multiply().prepare().share()
    scoring.release.start("west", seed=50)
    session = scoring.multiply().party(WEST)._releases.of(scoring.query.release_id)._introduced_session()
    share = session.share
    session.share = lambda *asked: share(*asked) + share(*asked).dtype.type(1)
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(cells of scores\)"):
        scoring.prepare()
    with pytest.raises(ProtocolError, match="prepare it first"):
        scoring.sealed(0, WEST, ZERO)

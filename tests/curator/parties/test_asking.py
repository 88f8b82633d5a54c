import numpy as np
import pytest

from dpmosaic.common.errors import DeliveriesLost, PartyUnavailable, PolicyError
from dpmosaic.curator.parties.asking import Asking


class Clock:
    """Time passes only during sleep."""

    def __init__(self):
        self.time = 0.0

    def sleep(self, seconds):
        self.time += seconds

    def now(self):
        return self.time


class Kept(dict):
    """Answers in memory."""

    def recall(self, query_id, query):
        return self.get((query_id, query))

    def keep(self, query_id, query, answered):
        self[query_id, query] = answered


def asking(answers=None, away_s=10.0):
    clock = Clock()
    return Asking(answers, away_s, clock.sleep, clock.now), clock


def failing(times, error, then=None):
    left = [error] * times

    def step():
        if left:
            raise left.pop()
        return then

    return step


def test_does_not_ask_an_answered_query_again():
    kept = Kept()
    first, _ = asking(kept)
    first.ask("1", b"q", lambda: np.ones(2), list)
    assert first.knows("1", b"q")
    again, _ = asking(kept)
    assert again.ask("1", b"q", failing(1, AssertionError()), list).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("error", "forgets"), [(PartyUnavailable("away"), 0), (DeliveriesLost("gone"), 3)], ids=["away", "lost"]
)
def test_retries_a_step_while_a_party_is_unavailable_or_lost_deliveries(error, forgets):
    """What is not known to be lost is not delivered again."""
    forgotten = []
    patient, clock = asking()
    assert patient.persist(failing(3, error, "done"), forgotten.append) == "done"
    assert (len(forgotten), clock.time) == (forgets, 3.0)


def test_time_passes_only_while_parties_are_unavailable():
    patient, clock = asking()
    answers = [PartyUnavailable("away"), "done"]

    def long_step():
        clock.sleep(1000)
        if isinstance(answer := answers.pop(0), Exception):
            raise answer
        return answer

    assert patient.persist(long_step, list) == "done"


def test_a_party_that_stays_unavailable_ends_the_release():
    patient, clock = asking()
    with pytest.raises(PartyUnavailable, match="away"):
        patient.persist(failing(99, PartyUnavailable("away")), list)
    assert clock.time == 10.0


def test_does_not_retry_after_a_refusal():
    patient, clock = asking()
    with pytest.raises(PolicyError):
        patient.persist(failing(1, PolicyError("no")), list)
    assert clock.time == 0


def test_keeps_nothing_of_a_failed_answer():
    kept = Kept()
    patient, _ = asking(kept, away_s=0)
    with pytest.raises(PartyUnavailable):
        patient.ask("1", b"q", failing(1, PartyUnavailable("away")), list)
    assert not kept

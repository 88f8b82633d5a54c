"""What a score query reserves bounds what it takes."""

import tracemalloc

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.evaluator import evaluate
from dpmosaic.common.protocols.scores.shape import ScoreShape
from dpmosaic.party.answerers.masked.scores import EVALUATED_WORDS
from support.scoring import NORTH, ONE, ZERO


@pytest.mark.parametrize(("bits", "largest"), [(32, 100), (32, 10**6), (64, 100), (64, 1 << 40)])
def test_the_rounds_of_an_evaluator_take_less_memory_than_is_reserved(bits, largest):
    """Half: the rest is for references, cells, and messages that are kept until they are asked for again."""
    shape = ScoreShape.holding((20_000,), largest, Ring(bits), 10 * largest)
    share = np.zeros(shape.total, dtype=shape.ring.dtype)
    tracemalloc.start()
    try:
        rounds = evaluate(shape, 0, share, RandomStream.from_seed(1), None)
        next(rounds)
        for number in range(shape.rounds - 1):
            rounds.send(bytes(shape.opened_bytes(number)))
        with pytest.raises(StopIteration):
            rounds.send(bytes(shape.opened_bytes(shape.rounds - 1)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < EVALUATED_WORDS * shape.total * shape.ring.word_bytes / 2


def reserved(scoring, place):
    """Bytes that a party reserved, by purpose."""
    answerer = scoring.party(place)._releases.of(scoring.query.release_id)
    return dict(answerer.account.allowance.memory._reserved)


def test_an_evaluator_reserves_more_than_the_others_until_its_last_round(scoring):
    scoring.prepare()
    north, zero, one = (reserved(scoring, place)["s"] for place in (NORTH, ZERO, ONE))
    assert north < zero == one
    scoring.share().rounds().frames()
    assert all(reserved(scoring, place)["s"] == north for place in (NORTH, ZERO, ONE))


def test_a_delivery_that_is_refused_reserves_nothing(scoring):
    before = reserved(scoring.prepare(), ONE)
    with pytest.raises(ProtocolError, match="more or fewer integers"):
        scoring.deal(dealt=b"short")
    assert reserved(scoring, ONE) == before

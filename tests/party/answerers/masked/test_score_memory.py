"""What a score query reserves bounds what it takes."""

import tracemalloc

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores.run import EvaluatorRun
from dpmosaic.common.protocols.scores.shape import ScoreShape
from support.scoring import EVALUATORS, WEST, ZERO


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("role", [0, 1, 2])
@pytest.mark.parametrize("cells", [10, 20_000])
def test_the_steps_of_an_evaluator_take_less_memory_than_is_reserved(bits, cells, role):
    """All but four words: references of up to two words, cells, and one word of a part."""
    shape = ScoreShape((cells,), Ring(bits))
    part = np.zeros(shape.total, dtype=shape.ring.dtype)

    def run_of(role):
        pairs = {other: tuple(sorted((role, other))) for other in range(3) if other != role}
        streams = {other: RandomStream.from_seed(1).child(*map(str, pair)) for other, pair in pairs.items()}
        return EvaluatorRun(shape, role, part, streams)

    runs, received = [run_of(each) for each in range(3)], {}
    for number, step in enumerate(shape.steps):
        received[number] = runs[step.sender].open(number)
        runs[step.recipient].deliver(number, received[number])
    tracemalloc.start()
    try:
        run = run_of(role)
        for number, step in enumerate(shape.steps):
            if step.recipient == role:
                run.deliver(number, received[number])
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert run.ended
    assert peak < shape.evaluated_bytes - 4 * shape.word_bytes
    assert kept < shape.kept_bytes - shape.word_bytes


def reserved(scoring, place):
    """Bytes that a party reserved, by purpose."""
    answerer = scoring.party(place)._releases.of(scoring.query.release_id)
    return dict(answerer.account.allowance.memory._reserved)


def test_an_evaluator_reserves_more_than_the_others_until_its_last_step(scoring):
    scoring.prepare()
    west, *evaluating = (reserved(scoring, place)["s"] for place in (WEST, *EVALUATORS))
    assert west < min(evaluating) == max(evaluating)
    scoring.share().steps().frames()
    assert all(reserved(scoring, place)["s"] == west for place in EVALUATORS)


def test_a_delivery_that_is_refused_reserves_nothing(scoring):
    before = reserved(scoring.prepare(), ZERO)
    with pytest.raises(ProtocolError, match="another length than expected"):
        scoring.send_references(references=scoring.references[:-1])
    assert reserved(scoring, ZERO) == before

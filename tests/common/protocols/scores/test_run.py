"""The messages of one evaluator: their order, repeats and lengths."""

import numpy as np
import pytest

from dpmosaic.common.errors import DeliveriesLost, ProtocolError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores.shape import ScoreShape

pytestmark = pytest.mark.slow

SHAPE = ScoreShape((5, 12), Ring(32))
WORDS = (np.arange(17, dtype=np.uint32) * 12345, np.arange(17, dtype=np.uint32) * 2**28)
STEPS = range(len(SHAPE.steps))


def test_messages_and_scores_are_the_same_however_often_steps_are_repeated(meet, evaluators, pairs):
    scores, messages = meet(SHAPE, WORDS, pairs())
    runs = evaluators(SHAPE, WORDS, pairs())
    for number in STEPS:
        for again in range(number + 1):
            step = SHAPE.steps[again]
            assert runs[step.sender].open(again) == messages[again]
            runs[step.recipient].deliver(again, messages[again])
    assert all(run.ended for run in runs)
    assert [run.scores.tolist() for run in runs[1:]] == [share.tolist() for share in scores]


@pytest.mark.parametrize("role", [0, 1, 2])
def test_an_evaluator_that_starts_again_sends_the_same_messages(meet, evaluators, pairs, role):
    _, messages = meet(SHAPE, WORDS, pairs())
    again = evaluators(SHAPE, WORDS, pairs())[role]
    for number, step in enumerate(SHAPE.steps):
        if step.recipient == role:
            again.deliver(number, messages[number])
        elif step.sender == role:
            assert again.open(number) == messages[number]
    assert again.ended


@pytest.mark.parametrize("number", STEPS)
def test_a_message_is_not_sent_before_those_that_it_depends_on_and_not_accepted_early(
    evaluators, pairs, number
):
    runs, step = evaluators(SHAPE, WORDS, pairs()), SHAPE.steps[number]
    if any(earlier.recipient == step.sender for earlier in SHAPE.steps[:number]):
        with pytest.raises(DeliveriesLost, match="out of order"):
            runs[step.sender].open(number)
    if any(earlier.recipient == step.recipient for earlier in SHAPE.steps[:number]):
        with pytest.raises(DeliveriesLost, match="out of order"):
            runs[step.recipient].deliver(number, bytes(step.size))


@pytest.mark.parametrize("number", [*STEPS, -1, len(STEPS)])
@pytest.mark.parametrize("role", [0, 1, 2])
def test_steps_of_others_are_neither_opened_nor_accepted(evaluators, pairs, role, number):
    run = evaluators(SHAPE, WORDS, pairs())[role]
    step = SHAPE.steps[number] if number in STEPS else None
    if step is None or step.sender != role:
        with pytest.raises(ProtocolError, match="sends a message"):
            run.open(number)
    if step is None or step.recipient != role:
        with pytest.raises(ProtocolError, match="receives a message"):
            run.deliver(number, b"")


@pytest.mark.parametrize("change", [lambda sent: sent[:-1], lambda sent: sent + b"\0", lambda sent: b""])
@pytest.mark.parametrize("number", STEPS)
def test_a_message_of_another_length_is_refused(meet, pairs, change, number):
    def relay(step, sent):
        return change(sent) if step == number else sent

    with pytest.raises(ProtocolError, match=f"{SHAPE.steps[number].size} bytes from another evaluator"):
        meet(SHAPE, WORDS, pairs(), relay=relay)

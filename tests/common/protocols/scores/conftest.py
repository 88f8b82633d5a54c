"""A run of the three evaluators: their messages, and their shares of the scores."""

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.scores.run import EvaluatorRun

PAIRS = ((0, 1), (0, 2), (1, 2))


def keyed(seed=0):
    """Gives both evaluators of a pair a stream of the same key."""
    return lambda pair: RandomStream.from_seed(seed).child("pair", *map(str, pair))


def runs_of(shape, words, streams):
    """The runs of the three evaluators.

    Args:
        shape: shape of the batch.
        words: a and b.
        streams: pair of evaluators -> a new stream of this pair.
    """
    return [
        EvaluatorRun(
            shape,
            role,
            words[min(role, 1)],
            {other: streams(tuple(sorted((role, other)))) for other in range(3) if other != role},
        )
        for role in range(3)
    ]


def run_all(shape, words, streams, relay=lambda number, sent: sent):
    """The shares of the scores of evaluators 1 and 2, and the messages in order.

    `relay` may replace a message.
    """
    runs, messages = runs_of(shape, words, streams), []
    for number, step in enumerate(shape.steps):
        messages.append(runs[step.sender].open(number))
        assert not runs[1].ended
        runs[step.recipient].deliver(number, relay(number, messages[-1]))
    assert all(run.ended for run in runs)
    assert runs[0].scores is None
    return [run.scores for run in runs[1:]], messages


@pytest.fixture(scope="session")
def meet():
    return run_all


@pytest.fixture(scope="session")
def evaluators():
    return runs_of


@pytest.fixture(scope="session")
def pairs():
    return keyed

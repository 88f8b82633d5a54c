"""A run of two evaluators: their messages, and their shares of the scores."""

import pytest

from dpmosaic.common.protocols.scores.evaluator import evaluate


def run_both(shape, shares, streams, dealt, relay=lambda sender, round, sent: sent):
    """Both evaluators' shares of the scores, and the openings [of 0, of 1] of every round.

    `relay` may replace an opening.
    """
    evaluators = [
        evaluate(shape, index, share, stream, dealt if index else None)
        for index, (share, stream) in enumerate(zip(shares, streams, strict=True))
    ]
    opened = []
    sent = [next(evaluator) for evaluator in evaluators]
    while True:
        opened.append(sent)
        arrived = [relay(sender, len(opened) - 1, sent[sender]) for sender in (1, 0)]
        results, sent = [], []
        for evaluator, theirs in zip(evaluators, arrived, strict=True):
            try:
                sent.append(evaluator.send(theirs))
            except StopIteration as stop:
                results.append(stop.value)
        if results:
            # Both end in the same round.
            assert not sent
            return results, opened


@pytest.fixture(scope="session")
def meet():
    return run_both

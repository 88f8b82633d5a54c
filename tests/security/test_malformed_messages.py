"""Malformed messages for every method of a party are refused or answered; nothing else ever happens.

Each is a mutation of a message of a real release, sent to parties in a random state of that release.
`tests/soak/messages.py` sends any number, and bounds time and memory.
"""

from collections import Counter

import pytest

from dpmosaic.common.queries import MarginalQuery
from dpmosaic.common.wire import party_pb2 as pb
from support.fuzzing import MESSAGES, PROTOCOLS, Fuzzer, release_of

COUNT = 1_500


@pytest.mark.slow
def test_the_releases_that_are_mutated_use_every_method_of_a_party():
    methods = {method.name for method in pb.DESCRIPTOR.services_by_name["Party"].methods}
    assert set(MESSAGES) == methods
    assert {method for protocol in PROTOCOLS for _, method, _ in release_of(protocol)} == methods


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_party_refuses_or_answers_every_malformed_message(protocol):
    fuzzer, refused, answered = Fuzzer(protocol, seed=5), Counter(), Counter()
    for number in range(COUNT):
        if number % 100 == 0:
            fuzzer.renew()
        method, was_refused = fuzzer.step()
        (refused if was_refused else answered)[method] += 1
    # The messages are neither all broken at the surface nor all valid.
    assert set(refused) == set(fuzzer.by_method) - {"Describe"}
    assert set(answered) >= set(fuzzer.by_method) - {"AnswerScores", "Deliver"}


def test_an_error_that_is_not_a_refusal_is_reported_with_its_message(monkeypatch):
    fuzzer = Fuzzer("trusted", seed=5)
    monkeypatch.setattr(MarginalQuery, "__post_init__", lambda _: {}["a mistake"])
    with pytest.raises(AssertionError, match="trusted Answer raised KeyError"):
        all(fuzzer.step() for _ in range(200))

"""All messages and shares of the protocol of scores, against vectors and against a second implementation.

The vectors were computed by that implementation, see `support.score_reference`.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores.shape import ScoreShape
from support.score_reference import Reference

VECTORS = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "vectors").iterdir())]


def streams_of(keys):
    return lambda pair: RandomStream(keys[sum(pair) - 1])


def hexadecimal(messages):
    """Messages, of the large ones only the digest."""
    return [
        bytes(message).hex() if len(message) < 512 else f"SHA-256 {hashlib.sha256(message).hexdigest()}"
        for message in messages
    ]


@pytest.mark.slow
@pytest.mark.parametrize("ring", [32, 64])
@settings(max_examples=4)
@given(data=st.data())
def test_the_second_implementation_sends_the_same_bytes_and_ends_with_the_same_shares(meet, ring, data):
    cells = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    keys = data.draw(st.tuples(*[st.binary(min_size=32, max_size=32)] * 3))
    word = st.integers(0, 2**ring - 1)
    parts = data.draw(st.tuples(*[st.lists(word, min_size=sum(cells), max_size=sum(cells))] * 2))
    shape = ScoreShape(tuple(cells), Ring(ring))
    words = [np.array(part, dtype=shape.ring.dtype) for part in parts]
    scores, messages = meet(shape, words, streams_of(keys))
    expected, expected_scores = Reference(ring, cells).run(keys, *parts)
    assert hexadecimal(messages) == hexadecimal(expected)
    assert [share.tolist() for share in scores] == expected_scores


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['ring']} bits")
def test_messages_and_scores_are_those_of_the_vector(meet, vector):
    shape = ScoreShape(tuple(vector["cells"]), Ring(vector["ring"]))
    parts = [[int(word, 16) for word in vector[name]] for name in ("a", "b")]
    assert [sum(pair) % 2 ** vector["ring"] for pair in zip(*parts, strict=True)] == [
        difference % 2 ** vector["ring"] for difference in vector["differences"]
    ]
    words = [np.array(part, dtype=shape.ring.dtype) for part in parts]
    scores, messages = meet(shape, words, streams_of([bytes.fromhex(key) for key in vector["keys"]]))
    assert hexadecimal(messages) == vector["messages"]
    assert [[f"{word:0{vector['ring'] // 4}x}" for word in share] for share in scores] == vector[
        "score_shares"
    ]
    assert shape.ring.as_signed(scores[0] + scores[1]).tolist() == vector["scores"]

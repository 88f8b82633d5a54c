"""All messages and shares of the protocol of scores, against vectors and against a second implementation.

The vectors were computed by that implementation, see `support.score_reference`.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.dealer import deal
from dpmosaic.common.protocols.scores.shape import ScoreShape
from support.score_reference import Reference

VECTORS = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "vectors").iterdir())]
CASES = [
    pytest.param(vector, case, id=f"{vector['ring']} bits, {i}")
    for vector in VECTORS
    for i, case in enumerate(vector["cases"])
]


def keys_of(case):
    return [bytes.fromhex(key) for key in case["streams"]]


def streams_of(keys):
    return tuple(RandomStream(key) for key in keys)


def words_of(ring, hexadecimal):
    return np.array([int(word, 16) for word in hexadecimal], dtype=ring.dtype)


def shape_of(vector, case):
    return ScoreShape(tuple(case["cells"]), case["bits"], Ring(vector["ring"]))


def shares_of(vector, case):
    return [words_of(Ring(vector["ring"]), share) for share in case["shares"]]


def hexadecimal(opened):
    return [[bytes(sent).hex() for sent in strings] for strings in opened]


@pytest.mark.parametrize("ring", [32, 64])
@settings(max_examples=30)
@given(data=st.data())
def test_the_second_implementation_sends_the_same_bytes_and_ends_with_the_same_shares(meet, ring, data):
    bits = data.draw(st.integers(2, ring))
    cells = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    keys = data.draw(st.tuples(*[st.binary(min_size=32, max_size=32)] * 2))
    word = st.integers(0, 2**ring - 1)
    shares = data.draw(st.tuples(*[st.lists(word, min_size=sum(cells), max_size=sum(cells))] * 2))

    reference = Reference(ring, bits, cells)
    shape = ScoreShape(tuple(cells), bits, Ring(ring))
    dealt = deal(shape, streams_of(keys))
    assert dealt == reference.dealt(keys)
    words = [np.array(share, dtype=shape.ring.dtype) for share in shares]
    results, opened = meet(shape, words, streams_of(keys), dealt)
    expected_opened, expected = reference.run(keys, shares, dealt)
    assert hexadecimal(opened) == hexadecimal(expected_opened)
    assert [result.tolist() for result in results] == expected


@pytest.mark.parametrize(("vector", "case"), CASES)
def test_messages_and_scores_are_those_of_the_vector(meet, vector, case):
    shape = shape_of(vector, case)
    dealt = deal(shape, streams_of(keys_of(case)))
    assert dealt.hex() == case["dealt"]
    results, opened = meet(shape, shares_of(vector, case), streams_of(keys_of(case)), dealt)
    assert hexadecimal(opened) == case["opened"]
    for result, expected in zip(results, case["score_shares"], strict=True):
        assert result.tolist() == words_of(shape.ring, expected).tolist()
    assert shape.ring.signed(results[0] + results[1]).tolist() == case["scores"]


@pytest.mark.parametrize(("vector", "case"), CASES)
def test_scores_of_the_vector_are_those_of_its_differences(vector, case):
    reference = Reference(vector["ring"], case["bits"], case["cells"])
    shares = [[int(word, 16) for word in share] for share in case["shares"]]
    assert [sum(pair) % 2 ** vector["ring"] for pair in zip(*shares, strict=True)] == [
        difference % 2 ** vector["ring"] for difference in case["differences"]
    ]
    assert reference.by_clique([abs(difference) for difference in case["differences"]]) == case["scores"]


def failing(name):
    found = [(vector, case) for vector in VECTORS for case in vector["failing"] if case["name"] == name]
    assert len(found) == len(VECTORS)
    return [pytest.param(*pair, id=f"{pair[0]['ring']} bits") for pair in found]


def asked(meet, vector, case, **changes):
    """The scores of a case of the vectors, with changed inputs."""
    right = vector["cases"][case["case"]]
    shape = shape_of(vector, right)
    given = {
        "shares": shares_of(vector, right),
        "streams": streams_of(keys_of(right)),
        "dealt": bytes.fromhex(right["dealt"]),
    } | changes
    (left, other), _ = meet(shape, **given)
    return shape.ring.signed(left + other).tolist()


@pytest.mark.parametrize(("vector", "case"), failing("the dealt string is a byte short"))
def test_a_short_dealt_string_of_the_vector_is_refused(meet, vector, case):
    with pytest.raises(ProtocolError, match="from the dealer"):
        asked(meet, vector, case, dealt=bytes.fromhex(case["dealt"]))


@pytest.mark.parametrize(("vector", "case"), failing("an opening is a byte long"))
def test_a_long_opening_of_the_vector_is_refused(meet, vector, case):
    def relay(sender, round, sent):
        here = (sender, round) == (case["sender"], case["round"])
        return bytes.fromhex(case["opened"]) if here else sent

    with pytest.raises(ProtocolError, match=f"other evaluator in round {case['round']}"):
        asked(meet, vector, case, relay=relay)


@pytest.mark.parametrize(("vector", "case"), failing("the dealer takes the differences for narrower"))
def test_a_string_dealt_for_other_bits_is_refused(meet, vector, case):
    right = vector["cases"][case["case"]]
    dealt = deal(shape_of(vector, right | {"bits": case["bits"]}), streams_of(keys_of(right)))
    assert dealt.hex() == case["dealt"]
    with pytest.raises(ProtocolError, match="from the dealer"):
        asked(meet, vector, case, dealt=dealt)


@pytest.mark.parametrize(("vector", "case"), failing("the evaluators' streams are swapped"))
def test_swapped_streams_give_the_wrong_scores_of_the_vector(meet, vector, case):
    right = vector["cases"][case["case"]]
    found = asked(meet, vector, case, streams=streams_of(keys_of(right))[::-1])
    assert found == case["scores"] != right["scores"]


@pytest.mark.parametrize(("vector", "case"), failing("one opened bit is another"))
def test_a_tampered_opening_gives_the_wrong_scores_of_the_vector(meet, vector, case):
    def relay(sender, round, sent):
        if (sender, round) != (case["sender"], case["round"]):
            return sent
        return (int.from_bytes(sent, "little") ^ 1 << case["bit"]).to_bytes(len(sent), "little")

    right = vector["cases"][case["case"]]
    assert asked(meet, vector, case, relay=relay) == case["scores"] != right["scores"]


@pytest.mark.parametrize(("vector", "case"), failing("a difference does not fit its bits"))
def test_a_difference_past_its_bits_gives_the_wrong_scores_of_the_vector(meet, vector, case):
    shape = shape_of(vector, case)
    keys = keys_of(case)
    dealt = deal(shape, streams_of(keys))
    (left, right), _ = meet(shape, shares_of(vector, case), streams_of(keys), dealt)
    found = shape.ring.signed(left + right).tolist()
    true = Reference(vector["ring"], case["bits"], case["cells"]).by_clique(
        [abs(number) for number in case["differences"]]
    )
    assert found == case["scores"] != true

"""Tokens, dummies and positions of an alignment against vectors of a second implementation.

The vectors were computed by `support.alignment_reference`.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.alignment.dummies import dummy_counts
from dpmosaic.common.protocols.alignment.matching import match
from dpmosaic.common.protocols.alignment.tokens import party_tokens

VECTOR = json.loads((Path(__file__).parent / "vectors" / "hmac.json").read_text())
CASES = [pytest.param(case, id=case["name"]) for case in VECTOR["cases"]]


def sent(case, party, **changes):
    case = case | changes
    own = case["parties"][party]
    levels = [[text.encode() for text in texts] for texts in own["identifiers"]]
    key, stream = bytes.fromhex(case["key"]), RandomStream(bytes.fromhex(own["own"]))
    return party_tokens(key, case["slice"], len(case["parties"]), party, case["sigma"], levels, stream)


def matched(case, tokens):
    found = match(tokens, case["sigma"], RandomStream(bytes.fromhex(case["matcher"])))
    return {
        "positions": [positions.tolist() for positions in found.positions],
        "size": found.size,
        "people": list(found.people),
    }


def expected(case):
    return {name: case[name] for name in ("positions", "size", "people")}


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_dummies_are_those_of_the_vector(case):
    counts = dummy_counts(bytes.fromhex(case["key"]), case["slice"], len(case["parties"]), case["sigma"])
    assert list(counts) == case["dummies"]


@pytest.mark.parametrize("case", CASES)
def test_tokens_and_their_order_are_those_of_the_vector(case):
    for party, own in enumerate(case["parties"]):
        found = sent(case, party)
        assert [token.tobytes().hex() for token in found.tokens] == own["tokens"]
        assert found.order.tolist() == own["order"]


@pytest.mark.parametrize("case", CASES)
def test_positions_and_numbers_of_people_are_those_of_the_vector(case):
    tokens = [
        np.array([np.frombuffer(bytes.fromhex(token), dtype="<u8").reshape(-1, 2) for token in own["tokens"]])
        for own in case["parties"]
    ]
    assert matched(case, tokens) == expected(case)


def failing(name):
    (found,) = [case for case in VECTOR["failing"] if case["name"] == name]
    return VECTOR["cases"][found["case"]], found


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("the second party has another key", "key"),
        ("the second party takes the slice for another", "slice"),
    ],
)
def test_parties_that_differ_in_key_or_slice_have_no_row_in_common(name, changed):
    right, wrong = failing(name)
    found = matched(right, [sent(right, 0).tokens, sent(right, 1, **{changed: wrong[changed]}).tokens])
    assert found == expected(wrong)
    assert not set(found["positions"][0]) & set(found["positions"][1])
    assert set(right["positions"][0]) & set(right["positions"][1])


def test_a_token_with_another_bit_matches_no_more():
    right, wrong = failing("one bit of a token of the second party is another")
    row, bit = wrong["changed"]
    other = sent(right, 1).tokens.copy()
    other.view(np.uint8).reshape(len(other), -1)[row, bit // 8] ^= 1 << bit % 8
    found = matched(right, [sent(right, 0).tokens, other])
    assert found == expected(wrong)
    assert found["positions"][1][row] not in found["positions"][0]
    assert right["positions"][1][row] in right["positions"][0]


def test_tokens_for_fewer_match_keys_are_refused():
    right, wrong = failing("the second party leaves out a match key")
    tokens = [sent(right, party).tokens for party in range(2)]
    tokens[wrong["party"]] = tokens[wrong["party"]][:, :1]
    with pytest.raises(ProtocolError, match="for each match key of the plan"):
        matched(right, tokens)

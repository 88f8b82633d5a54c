"""Tokens of identifiers against `hmac`, and what a party keeps to read the answer."""

import hmac

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.alignment import tokens as module
from dpmosaic.common.protocols.alignment.dummies import dummy_tokens
from dpmosaic.common.protocols.alignment.tokens import identifier_tokens, level_tag, party_tokens

KEY, OWN = bytes(range(32)), bytes(32)


def sent(levels, key=KEY, own=OWN, sigma=0.5):
    return party_tokens(key, 2, 2, 0, sigma, levels, RandomStream(own))


@settings(max_examples=50)
@given(
    key=st.binary(min_size=32, max_size=32),
    tag=st.binary(max_size=100),
    texts=st.lists(st.binary(min_size=1, max_size=200)),
)
def test_tokens_are_the_first_sixteen_bytes_of_hmac(key, tag, texts):
    tokens = identifier_tokens(key, tag, texts, RandomStream.from_seed(0))
    assert [token.tobytes() for token in tokens] == [
        hmac.digest(key, tag + text, "sha256")[:16] for text in texts
    ]


def test_tokens_are_the_same_in_blocks_of_any_size(monkeypatch):
    texts = [b"%d" % (i % 7) if i % 3 else b"" for i in range(20)]
    whole = identifier_tokens(KEY, b"tag", texts, RandomStream(OWN))
    monkeypatch.setattr(module, "_TOKENS_AT_ONCE", 6)
    assert identifier_tokens(KEY, b"tag", texts, RandomStream(OWN)).tolist() == whole.tolist()


def test_a_missing_identifier_has_a_random_token_that_no_other_has():
    tokens = identifier_tokens(KEY, b"tag", [b"", b"a", b"", b"a"], RandomStream.from_seed(1))
    others = identifier_tokens(KEY, b"tag", [b"", b"a", b"", b"a"], RandomStream.from_seed(2))
    assert tokens[1].tolist() == tokens[3].tolist() == others[1].tolist()
    missing = {token.tobytes() for token in (*tokens[::2], *others[::2])}
    assert len(missing) == 4
    assert hmac.digest(KEY, b"tag", "sha256")[:16] not in missing


def test_a_key_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes, not 16"):
        identifier_tokens(bytes(16), b"tag", [b"a"], RandomStream(OWN))


def test_tags_differ_between_slices_and_match_keys_and_have_one_length():
    tags = {level_tag(number, level) for number in (0, 1, 300) for level in (0, 1, 300)}
    assert len(tags) == 9
    assert len({len(tag) for tag in tags}) == 1


def test_a_party_sends_the_tokens_of_its_rows_and_of_its_dummies_and_nothing_else():
    levels = [[b"ada", b"bob", b"cy"], [b"1", b"2", b"3"]]
    expected = [
        b"".join(
            hmac.digest(KEY, level_tag(2, n) + texts[row], "sha256")[:16] for n, texts in enumerate(levels)
        )
        for row in range(3)
    ]
    expected += [token.tobytes() for token in dummy_tokens(KEY, 2, 2, 0, 0.5, 2)]
    assert sorted(token.tobytes() for token in sent(levels).tokens) == sorted(expected)


def test_an_identifier_of_several_rows_is_as_good_as_missing():
    own = sent([[b"ada", b"bob", b"ada", b"", b"ada"], [b"1", b"1", b"2", b"3", b""]])
    found = {token.tobytes() for token in own.tokens.reshape(-1, 2)}
    assert len(found) == own.tokens.size // 2
    for level, once in enumerate(([b"bob"], [b"2", b"3"])):
        given = (b"ada", b"bob", b"", b"1", b"2", b"3")
        kept = [
            text for text in given if hmac.digest(KEY, level_tag(2, level) + text, "sha256")[:16] in found
        ]
        assert kept == once


def test_a_party_reads_the_positions_of_its_rows_from_those_of_its_tokens():
    names = [b"%d" % i for i in range(50)]
    own = sent([names])
    where = {token.tobytes(): position for position, token in enumerate(own.tokens)}
    rows = own.rows(np.arange(len(own.tokens), dtype=np.uint32))
    assert rows.dtype == np.int32
    assert rows.tolist() == [where[hmac.digest(KEY, level_tag(2, 0) + name, "sha256")[:16]] for name in names]


def test_the_same_stream_gives_the_same_tokens_again_and_another_stream_another_order():
    levels = [[b"%d" % i for i in range(40)] + [b""]]
    stream = RandomStream(OWN)
    first = party_tokens(KEY, 2, 2, 0, 0.5, levels, stream)
    again = party_tokens(KEY, 2, 2, 0, 0.5, levels, stream)
    other = sent(levels, own=bytes([1] * 32))
    assert first.tokens.tolist() == again.tokens.tolist()
    assert first.order.tolist() != other.order.tolist()


@pytest.mark.slow
def test_each_row_is_in_each_place_equally_often():
    # 2,000 orders of 17 + 2 tokens; a cell is off by 6 standard deviations for fewer than 1 of 10^6 seeds.
    places = np.zeros((2, 200))
    for seed in range(2_000):
        own = party_tokens(KEY, 0, 1, 0, 0.1, [[b"ada", b"bob"]], RandomStream.from_seed(seed))
        order = own.order
        for row in range(2):
            places[row, np.flatnonzero(order == row)] += 1
    places = places[:, : order.size]
    assert places.sum() == 4_000
    expected = 2_000 / order.size
    assert np.abs(places - expected).max() < 6 * np.sqrt(expected)

"""Tokens and positions as frames."""

import numpy as np
import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.wire.alignments import (
    decode_positions,
    decode_tokens,
    encode_tokens,
    positions_payload,
)
from dpmosaic.common.wire.streams import encode_answer

PEOPLE = ((5, -3, 7), (2,))


def payload(size, positions):
    return b"".join(
        block.tobytes() for block in positions_payload(size, PEOPLE, np.array(positions, dtype=np.uint32))
    )


@pytest.mark.parametrize("count", [0, 1, 70_000])
def test_tokens_are_read_as_they_were_sent_in_frames_of_one_mebibyte(count):
    tokens = np.random.default_rng(1).integers(0, 2**64, (count, 3, 2), dtype=np.uint64)
    frames = list(encode_tokens(tokens))
    assert max(map(len, frames)) < FRAME_BYTES + 64
    np.testing.assert_array_equal(decode_tokens(frames, 3), tokens)


@pytest.mark.parametrize(
    ("frames", "refusal"),
    [
        (lambda: encode_answer([np.arange(3)], 8), "a part of one"),
        (lambda: encode_answer([np.arange(4)], 4), "whole integers of 8 bytes"),
        (
            lambda: list(encode_tokens(np.zeros((70_000, 2, 2), dtype=np.uint64)))[:-1],
            "before its last frame",
        ),
        (lambda: [], "another width"),
    ],
)
def test_frames_that_are_not_all_tokens_are_refused(frames, refusal):
    with pytest.raises(ProtocolError, match=refusal):
        decode_tokens(frames(), 1)


def test_positions_are_read_as_they_were_sent_in_pieces_of_any_size():
    sent = payload(6, [5, 0, 3])
    for step in (1, 7, len(sent)):
        pieces = (sent[start : start + step] for start in range(0, len(sent), step))
        size, people, positions = decode_positions(pieces, (3, 1), 3)
        assert (size, people, positions.tolist()) == (6, PEOPLE, [5, 0, 3])


@pytest.mark.parametrize(
    ("size", "positions"), [(6, [5, 0]), (6, [5, 0, 3, 1]), (6, [5, 5, 3]), (5, [5, 0, 3]), (-1, [5, 0, 3])]
)
def test_positions_that_are_not_one_for_each_token_distinct_and_below_their_number_are_refused(
    size, positions
):
    with pytest.raises(ProtocolError, match="match the tokens again"):
        decode_positions([payload(size, positions)], (3, 1), 3)


def test_positions_beyond_the_expected_number_are_not_read():
    def endless():
        while True:
            yield bytes(1000)

    with pytest.raises(ProtocolError, match="more or fewer"):
        decode_positions(endless(), (3, 1), 3)

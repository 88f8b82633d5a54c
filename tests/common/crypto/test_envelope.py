import hashlib
import hmac
import json
import tracemalloc
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.envelope import seal, unseal
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.frames import FRAME_BYTES

VECTORS = json.loads((Path(__file__).parent / "vectors" / "sealed_stream.json").read_text())
CHUNK = FRAME_BYTES - 16
KEY, CONTEXT = bytes(range(32)), b"context"


def text(length):
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def sealed_by_hand(chunks, last=None):
    """Frames of chunks of any size, from the cipher only; `last` is the number of the last one."""
    last = len(chunks) - 1 if last is None else last
    extracted = hmac.digest(bytes(32), KEY, "sha256")
    stream_key = hmac.digest(extracted, b"dpmosaic sealed stream 1" + CONTEXT + b"\x01", "sha256")
    nonces = [number.to_bytes(11, "big") + bytes([number == last]) for number in range(len(chunks))]
    return [AESGCM(stream_key).encrypt(*pair, None) for pair in zip(nonces, chunks, strict=True)]


@cache
def stream(name):
    """Key, context and frames of a stream of the vectors."""
    vector = VECTORS["streams"][name]
    key, context = bytes.fromhex(vector["key"]), bytes.fromhex(vector["context"])
    return key, context, tuple(seal(key, context, [text(vector["payload_bytes"])]))


def delivered(vector):
    """The frames that the receiver of a refused vector gets."""
    frames = [stream(name)[2][number] for name, number in vector["delivered"]]
    if altered := vector.get("altered"):
        frame = bytearray(frames[altered["frame"]])
        if "bytes" in altered:
            frame = frame.ljust(altered["bytes"], b"\0")[: altered["bytes"]]
        else:
            frame[altered["flipped_bit"] // 8] ^= 1 << altered["flipped_bit"] % 8
        frames[altered["frame"]] = bytes(frame)
    return frames


@pytest.mark.parametrize("name", VECTORS["streams"])
def test_a_payload_is_sealed_as_in_the_vector_and_opens(name):
    vector, (key, context, frames) = VECTORS["streams"][name], stream(name)
    assert [len(frame) for frame in frames] == vector["frame_bytes"]
    assert [hashlib.sha256(frame).hexdigest() for frame in frames] == vector["frame_sha256"]
    assert b"".join(unseal(key, context, frames)) == text(vector["payload_bytes"])


@pytest.mark.parametrize("vector", [pytest.param(v, id=v["name"]) for v in VECTORS["refused"]])
def test_an_altered_stream_opens_up_to_the_alteration_and_is_refused(vector):
    key, context, _ = stream(vector["expected"])
    opened = []
    with pytest.raises(ProtocolError) as refusal:
        opened.extend(unseal(key, context, delivered(vector)))
    whole = text(VECTORS["streams"][vector["expected"]]["payload_bytes"])
    assert b"".join(opened) == whole[: vector["opened"] * CHUNK]
    assert key.hex() not in str(refusal.value)


def test_a_frame_is_aes_256_gcm_with_its_number_and_a_last_flag_for_a_nonce():
    payload = text(2 * CHUNK + 9)
    chunks = [payload[:CHUNK], payload[CHUNK : 2 * CHUNK], payload[2 * CHUNK :]]
    assert list(seal(KEY, CONTEXT, [payload])) == sealed_by_hand(chunks)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK + 1])
def test_a_frame_of_another_size_before_the_last_is_refused_even_if_its_sender_holds_the_key(size):
    with pytest.raises(ProtocolError, match=r"frame 0 .* a frame before the last"):
        list(unseal(KEY, CONTEXT, sealed_by_hand([text(size), b"last"])))


def test_a_last_frame_longer_than_a_frame_is_refused_even_if_its_sender_holds_the_key():
    with pytest.raises(ProtocolError, match=r"frame 1 .* the last frame"):
        list(unseal(KEY, CONTEXT, sealed_by_hand([text(CHUNK), text(CHUNK + 1)])))


def test_a_stream_without_a_last_frame_is_refused_even_if_its_sender_holds_the_key():
    with pytest.raises(ProtocolError, match="the last frame"):
        list(unseal(KEY, CONTEXT, sealed_by_hand([text(CHUNK), text(CHUNK)], last=2)))


@st.composite
def payloads_and_cuts(draw):
    """A payload's length, near a whole number of chunks, and where to cut it, often at a chunk's end."""
    length = draw(st.integers(0, 3)) * CHUNK + draw(st.integers(-3, 3))
    place = st.one_of(
        st.integers(0, max(length, 0)),
        st.builds(lambda chunk, offset: chunk * CHUNK + offset, st.integers(0, 3), st.integers(-20, 20)),
    )
    return max(length, 0), draw(st.lists(place, max_size=8))


@pytest.mark.slow
@given(payloads_and_cuts(), st.booleans())
def test_frames_do_not_depend_on_how_the_payload_is_cut_into_pieces(payload_and_cuts, as_views):
    length, cuts = payload_and_cuts
    payload = text(length)
    edges = [0, *sorted(min(max(cut, 0), length) for cut in cuts), length]
    pieces = [payload[start:end] for start, end in pairwise(edges)]
    frames = list(seal(KEY, CONTEXT, map(memoryview, pieces) if as_views else pieces))
    assert frames == sealed_by_hand([payload[at : at + CHUNK] for at in range(0, length, CHUNK)] or [b""])
    assert b"".join(unseal(KEY, CONTEXT, frames)) == payload


def test_no_pieces_and_empty_pieces_are_an_empty_payload():
    empty = list(seal(KEY, CONTEXT, []))
    assert empty == list(seal(KEY, CONTEXT, [b"", memoryview(b""), np.empty((0, 3)).data]))
    assert list(unseal(KEY, CONTEXT, empty)) == [b""]


def test_a_view_of_wider_items_is_sealed_as_its_bytes():
    words = np.arange(6, dtype="<u4").reshape(2, 3)
    assert list(seal(KEY, CONTEXT, [words.data])) == list(seal(KEY, CONTEXT, [words.tobytes()]))


def test_a_piece_may_be_overwritten_once_the_next_one_is_asked_for():
    def pieces():
        buffer = bytearray(CHUNK)
        for fill in (1, 2, 3):
            buffer[:] = bytes([fill]) * CHUNK
            yield memoryview(buffer)

    chunks = [bytes([fill]) * CHUNK for fill in (1, 2, 3)]
    assert list(seal(KEY, CONTEXT, pieces())) == sealed_by_hand(chunks)


def test_a_frame_is_yielded_before_later_pieces_are_requested():
    def pieces():
        yield text(CHUNK + 1)
        pytest.fail("asked for a piece that the first frame does not need")

    assert len(next(seal(KEY, CONTEXT, pieces()))) == FRAME_BYTES


def test_a_chunk_is_yielded_after_the_next_frame_comes():
    def frames():
        yield from sealed_by_hand([text(CHUNK), text(CHUNK)])
        pytest.fail("asked for a frame that the first chunk does not need")

    assert next(unseal(KEY, CONTEXT, frames())) == text(CHUNK)


def test_memory_does_not_grow_with_the_payload():
    piece = text(1 << 20)
    tracemalloc.start()
    try:
        for _ in unseal(KEY, CONTEXT, seal(KEY, CONTEXT, (piece for _ in range(64)))):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * FRAME_BYTES


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_key_of_another_length_is_refused_before_anything_is_read(length):
    with pytest.raises(ValueError, match="32 bytes"):
        seal(bytes(length), CONTEXT, [])
    with pytest.raises(ValueError, match="32 bytes"):
        unseal(bytes(length), CONTEXT, [])

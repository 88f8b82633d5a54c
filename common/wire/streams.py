"""Streams of frames: deliveries and answers; invalid bytes are a ProtocolError."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProtocolError
from ..frames import FRAME_BYTES
from ..messages import Delivery
from . import party_pb2 as pb
from .codec import of_message, to_message
from .parsing import parse_message


def only_reply(method: str, replies: Iterable[bytes]) -> bytes:
    """The reply to a call that has one; of others, no more than two are read.

    Raises:
        ProtocolError: there are more, or none.
    """
    found = list(itertools.islice(replies, 2))
    if len(found) != 1:
        raise ProtocolError(
            f"expected one reply to {method}, got {'more' if found else 'none'}; compare versions"
        )
    return found[0]


def at_most(frames: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Frames of a message of which only the sender knows the length, up to so many bytes together.

    An empty frame counts as a byte, so that nobody is sent frames without end.

    Raises:
        ProtocolError: there are more.
    """
    left = most
    for data in frames:
        left -= max(len(data), 1)
        if left < 0:
            raise ProtocolError(
                f"expected a message of at most {most} bytes, got a longer one; compare versions"
            )
        yield data


def encode_delivery(delivery: Delivery) -> bytes:
    """Bytes of the header frame of a delivery."""
    return pb.DeliveryFrame(header=to_message(delivery)).SerializeToString()


def encode_payload(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Frames of these chunks, each of at most `FRAME_BYTES`."""
    for chunk in chunks:
        yield pb.DeliveryFrame(payload=chunk).SerializeToString()


def decode_delivery(frames: Iterator[bytes]) -> tuple[Delivery, Iterator[bytes]]:
    """The header of a delivery, and its chunks."""
    frame = parse_message(pb.DeliveryFrame, next(frames, b""))
    if frame.WhichOneof("content") != "header":
        raise ProtocolError("expected the header frame of a delivery, got another; compare versions")
    return of_message(Delivery, frame.header), decode_payload(frames)


def decode_payload(frames: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks in these frames."""
    for data in frames:
        frame = parse_message(pb.DeliveryFrame, data)
        if frame.WhichOneof("content") != "payload" or len(frame.payload) > FRAME_BYTES:
            raise ProtocolError("expected frames of at most 1 MiB of payload, got another; compare versions")
        yield frame.payload


def encode_answer(blocks: Iterable[NDArray[np.int64]], word_bytes: int) -> Iterator[bytes]:
    """Frames of an answer, each of at most `FRAME_BYTES` of payload.

    Args:
        blocks: arrays of integers, sent in this order, each row-major.
        word_bytes: bytes of one integer, 4 or 8; the caller ensures that every integer fits.

    Yields:
        Bytes of one AnswerFrame each; the last one is marked and may be empty.
    """
    pending = bytearray()
    first = True
    for block in blocks:
        pending += block.astype(f"<i{word_bytes}", casting="unsafe").tobytes()
        sent = 0
        while len(pending) - sent >= FRAME_BYTES:
            frame = pb.AnswerFrame(
                payload=bytes(pending[sent : sent + FRAME_BYTES]), word_bytes=word_bytes if first else 0
            )
            yield frame.SerializeToString()
            sent += FRAME_BYTES
            first = False
        del pending[:sent]
    last = pb.AnswerFrame(payload=bytes(pending), word_bytes=word_bytes if first else 0, last=True)
    yield last.SerializeToString()


def decode_answer(
    frames: Iterable[bytes], rows: int, cells: int, block_rows: int
) -> Iterator[NDArray[np.int64]]:
    """The integers of an answer, in blocks of rows.

    Args:
        frames: frames of `encode_answer`.
        rows: expected number of rows.
        cells: integers in one row.
        block_rows: rows of every block but the last.

    Yields:
        Shape (block_rows, cells), int64; the last block may have fewer rows.

    Raises:
        ProtocolError: the number of integers is not the expected one.
    """
    word_bytes, payloads = _read_answer(frames)
    for block in row_blocks(payloads, np.dtype(f"<i{word_bytes}"), rows, cells, block_rows):
        yield block.astype(np.int64)


def decode_words(frames: Iterable[bytes], most: int) -> NDArray[np.int64]:
    """The integers of an answer of which only the sender knows the length, 8 bytes each.

    Args:
        frames: frames of `encode_answer`.
        most: largest number of integers.

    Raises:
        ProtocolError: the integers are not of 8 bytes, the last one is not complete, or there are more.
    """
    word_bytes, payloads = _read_answer(frames)
    words = bytearray()
    for payload in payloads:
        words += payload
        if len(words) > 8 * most:
            raise ProtocolError(f"expected at most {most:,} integers, got more; compare versions")
    if word_bytes != 8 or len(words) % 8:
        raise ProtocolError("expected whole integers of 8 bytes, got others; ask again")
    return np.frombuffer(words, dtype="<i8")


def row_blocks(
    chunks: Iterable[bytes], dtype: np.dtype[Any], rows: int, cells: int, block_rows: int
) -> Iterator[NDArray[Any]]:
    """The rows of a matrix that is received in chunks of any sizes.

    Args:
        chunks: little-endian words, row-major.
        dtype: type of a word.
        rows: expected number of rows.
        cells: words in one row.
        block_rows: rows of every block but the last.

    Yields:
        Shape (block_rows, cells); the last block may have fewer rows.

    Raises:
        ProtocolError: the number of words is not the expected one.
    """
    left, filled, block = rows, 0, _block(rows, block_rows, cells, dtype)
    for chunk in chunks:
        rest = memoryview(chunk)
        while left and len(rest):
            room = block.data.cast("B")[filled:]
            taken = min(len(room), len(rest))
            room[:taken] = rest[:taken]
            filled, rest = filled + taken, rest[taken:]
            if taken == len(room):
                yield block
                left -= len(block)
                filled, block = 0, _block(left, block_rows, cells, dtype)
        if len(rest):
            raise _other_length()
    if left:
        raise _other_length()


def _block(left: int, block_rows: int, cells: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.empty((min(block_rows, left), cells), dtype=dtype)


def _other_length() -> ProtocolError:
    return ProtocolError("a message has more or fewer integers than expected; ask again")


def _read_answer(frames: Iterable[bytes]) -> tuple[int, Iterator[bytes]]:
    """The width of the integers of an answer, and its payloads."""
    answered = (parse_message(pb.AnswerFrame, data) for data in frames)
    first = next(answered, pb.AnswerFrame())
    if first.word_bytes not in (4, 8):
        raise ProtocolError("expected integers of 4 or 8 bytes, got another width; compare versions")
    return first.word_bytes, _payloads(itertools.chain([first], answered))


def _payloads(frames: Iterable[pb.AnswerFrame]) -> Iterator[bytes]:
    ended = False
    for frame in frames:
        if ended or len(frame.payload) > FRAME_BYTES or not (frame.payload or frame.last):
            raise ProtocolError(
                "expected frames of at most 1 MiB up to the last one, which alone may be empty, got others; "
                "compare versions"
            )
        yield frame.payload
        ended = frame.last
    if not ended:
        raise ProtocolError("an answer ended before its last frame; ask again")

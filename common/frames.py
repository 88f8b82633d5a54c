"""Frames of bytes, shared by sealed streams and the wire format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from .errors import ProtocolError

_Bytes = TypeVar("_Bytes", bytes, memoryview)

FRAME_BYTES = 1 << 20
"""Largest payload of a frame; no message has a larger one."""

MESSAGE_BYTES = FRAME_BYTES + (1 << 16)
"""Largest encoded message: a frame with its header."""


def in_frames(data: _Bytes) -> Iterator[_Bytes]:
    """Bytes in frames, of which all but the last are full; none of no bytes."""
    return (data[start : start + FRAME_BYTES] for start in range(0, len(data), FRAME_BYTES))


def join_chunks(
    chunks: Iterable[bytes],
    size: int,
    fault: str = "a message has another length than expected; ask again",
) -> bytes:
    """A message of so many bytes from its chunks.

    Args:
        chunks: of any sizes.
        size: of the message.
        fault: what is said of a longer or shorter one.

    Raises:
        ProtocolError: it is longer or shorter; no more than one chunk too many is read.
    """
    message = bytearray()
    for chunk in chunks:
        message += chunk
        if len(message) > size:
            break
    if len(message) != size:
        raise ProtocolError(fault)
    return bytes(message)

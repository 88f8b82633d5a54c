"""Frames of bytes, shared by sealed streams and the wire format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

_Bytes = TypeVar("_Bytes", bytes, memoryview)

FRAME_BYTES = 1 << 20
"""Largest payload of a frame; no message has a larger one."""

MESSAGE_BYTES = FRAME_BYTES + (1 << 16)
"""Largest encoded message: a frame with its header."""


def in_frames(data: _Bytes) -> Iterator[_Bytes]:
    """Bytes in frames, of which all but the last are full; none of no bytes."""
    return (data[start : start + FRAME_BYTES] for start in range(0, len(data), FRAME_BYTES))

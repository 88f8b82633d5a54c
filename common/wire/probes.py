"""Frames of a probe: zeros there and zeros back, and a clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import ProtocolError
from ..frames import FRAME_BYTES
from . import party_pb2 as pb
from .parsing import parsed

MAX_FRAMES = 8
"""Of 1 MiB each, either way: a probe is bounded, whoever asks."""


def encode_asked(frames: int) -> Iterator[bytes]:
    """The curator's frames: so many of 1 MiB, and as many wanted back."""
    yield pb.ProbeFrame(wanted=frames).SerializeToString()
    for _ in range(frames):
        yield pb.ProbeFrame(payload=bytes(FRAME_BYTES)).SerializeToString()


def decode_asked(requests: Iterable[bytes]) -> int:
    """How many frames a curator wants back; reads all of its own.

    Raises:
        ProtocolError: it sends or wants too many.
    """
    wanted = 0
    for number, data in enumerate(requests):
        frame = parsed(pb.ProbeFrame, data)
        wanted = frame.wanted if number == 0 else wanted
        if number > MAX_FRAMES or wanted > MAX_FRAMES or len(frame.payload) > FRAME_BYTES:
            raise ProtocolError(f"a probe has at most {MAX_FRAMES} frames of 1 MiB each way; ask for fewer")
    return wanted


def encode_replies(clock_s: float, wanted: int) -> Iterator[bytes]:
    """The party's frames.

    Args:
        clock_s: its clock, seconds since 1970 in UTC.
        wanted: frames of 1 MiB after that.
    """
    yield pb.ProbeFrame(clock_us=round(clock_s * 1e6)).SerializeToString()
    for _ in range(wanted):
        yield pb.ProbeFrame(payload=bytes(FRAME_BYTES)).SerializeToString()


def decode_clock(data: bytes) -> float:
    """The clock in a party's first frame, seconds since 1970 in UTC."""
    clock_us: int = parsed(pb.ProbeFrame, data).clock_us
    return clock_us / 1e6


def check_replies(replies: Iterable[bytes], wanted: int) -> None:
    """Reads the rest of a party's frames.

    Raises:
        ProtocolError: they are not those that were wanted.
    """
    sizes = [len(parsed(pb.ProbeFrame, data).payload) for data in replies]
    if sizes != [FRAME_BYTES] * wanted:
        raise ProtocolError("expected as many frames of 1 MiB as were wanted, got others; compare versions")

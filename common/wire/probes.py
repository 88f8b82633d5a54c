"""Frames of a probe: zeros in both directions, and the party's clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from ..errors import ProtocolError
from ..frames import FRAME_BYTES
from . import party_pb2 as pb
from .parsing import parse_message

MAX_FRAMES = 8
"""Frames of 1 MiB in each direction; bounds the work of a probe."""


def encode_asked(frames: int) -> Iterator[bytes]:
    """The curator's frames: so many of 1 MiB, and a request for as many."""
    yield pb.ProbeFrame(wanted=frames).SerializeToString()
    for _ in range(frames):
        yield pb.ProbeFrame(payload=bytes(FRAME_BYTES)).SerializeToString()


def decode_asked(requests: Iterable[bytes]) -> int:
    """The number of frames that the curator requests; reads all frames that it sends.

    Raises:
        ProtocolError: it sends or requests too many.
    """
    wanted = 0
    for number, data in enumerate(requests):
        frame = parse_message(pb.ProbeFrame, data)
        wanted = frame.wanted if number == 0 else wanted
        if number > MAX_FRAMES or wanted > MAX_FRAMES or len(frame.payload) > FRAME_BYTES:
            raise ProtocolError(f"a probe has at most {MAX_FRAMES} frames of 1 MiB each way; ask for fewer")
    return wanted


def encode_replies(clock_s: float, wanted: int) -> Iterator[bytes]:
    """The party's frames.

    Args:
        clock_s: its clock, seconds since 1970 in UTC.
        wanted: number of frames of 1 MiB that follow.
    """
    yield pb.ProbeFrame(clock_us=round(clock_s * 1e6)).SerializeToString()
    for _ in range(wanted):
        yield pb.ProbeFrame(payload=bytes(FRAME_BYTES)).SerializeToString()


def decode_clock(data: bytes) -> float:
    """The clock in a party's first frame, seconds since 1970 in UTC."""
    clock_us: int = parse_message(pb.ProbeFrame, data).clock_us
    return clock_us / 1e6


def check_replies(replies: Iterable[bytes], wanted: int) -> None:
    """Reads the remaining frames of a party.

    Raises:
        ProtocolError: they are not the requested ones.
    """
    some = itertools.islice(replies, wanted + 1)
    sizes = [len(parse_message(pb.ProbeFrame, data).payload) for data in some]
    if sizes != [FRAME_BYTES] * wanted:
        raise ProtocolError("expected the requested number of frames of 1 MiB, got others; compare versions")

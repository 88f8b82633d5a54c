"""Frames of a stream that a party opened and over which it serves one call at a time."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from ..errors import MosaicError, ProtocolError
from . import relay_pb2
from .parsing import parse_message
from .refusals import error_in, refusal_of

ATTACH = "/dpmosaic.v1.Relay/Attach"
SERVICE, METHOD = "dpmosaic.v1.Relay", "Attach"


class Ended(enum.Enum):
    """End of a call that was not refused."""

    DONE = enum.auto()


Reply = bytes | Ended | MosaicError
"""What a frame of the party says: a reply, or the end of the call and why."""


def encode_call(method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
    """The curator's frames of one call."""
    yield relay_pb2.CuratorFrame(method=method).SerializeToString()
    for request in requests:
        yield relay_pb2.CuratorFrame(request=request).SerializeToString()
    yield relay_pb2.CuratorFrame(requests_end=True).SerializeToString()


def decode_method(data: bytes) -> str:
    """The method of a frame that begins a call.

    Raises:
        ProtocolError: it begins no call.
    """
    frame = parse_message(relay_pb2.CuratorFrame, data)
    if frame.WhichOneof("content") != "method":
        raise ProtocolError("expected the first frame of a call, got another frame; compare versions")
    return frame.method


def decode_requests(frames: Iterator[bytes]) -> Iterator[bytes]:
    """The requests of a call, after its first frame and up to their end.

    Raises:
        ProtocolError: the frames end early, or another frame comes.
    """
    for data in frames:
        frame = parse_message(relay_pb2.CuratorFrame, data)
        match frame.WhichOneof("content"):
            case "request":
                yield frame.request
            case "requests_end":
                return
            case _:
                break
    raise ProtocolError("expected the requests of a call and their end, got another frame; compare versions")


def encode_reply(reply: bytes) -> bytes:
    """The party's frame with one reply."""
    return relay_pb2.PartyFrame(reply=reply).SerializeToString()


def encode_end(error: Exception | None = None) -> bytes:
    """The party's last frame of a call: success, or the error that refused it."""
    if error is None:
        return relay_pb2.PartyFrame(replies_end=True).SerializeToString()
    return relay_pb2.PartyFrame(refusal=refusal_of(error)).SerializeToString()


def decode_reply(data: bytes) -> Reply:
    """A reply, or the end of the call.

    Raises:
        ProtocolError: it is another frame.
    """
    frame = parse_message(relay_pb2.PartyFrame, data)
    match frame.WhichOneof("content"):
        case "reply":
            return frame.reply
        case "replies_end":
            return Ended.DONE
        case "refusal":
            return error_in(frame.refusal)
        case _:
            raise ProtocolError("expected a reply or an end, got another frame; compare versions")

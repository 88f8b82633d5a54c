"""The only place where an error becomes a message to the other side, and the message an error again."""

from __future__ import annotations

from .. import errors
from ..showing.printable import printable
from . import party_pb2 as pb
from .parsing import parse_message

_KINDS = {
    "data": errors.DataError,
    "budget": errors.BudgetError,
    "pending": errors.ApprovalPending,
    "policy": errors.PolicyError,
    "lost": errors.DeliveriesLost,
    "protocol": errors.ProtocolError,
    "unavailable": errors.PartyUnavailable,
}
_INTERNAL = "the party had an internal error; ask its operator, who finds it in the party's log"


def encode_refusal(error: Exception) -> bytes:
    """Bytes of a Refusal: only our own errors keep their text, since they contain no private data."""
    return refusal_of(error).SerializeToString()


def decode_refusal(data: bytes) -> errors.MosaicError:
    """The error of a Refusal's bytes."""
    try:
        message = parse_message(pb.Refusal, data)
    except errors.ProtocolError as error:
        return error
    return error_in(message)


def refusal_of(error: Exception) -> pb.Refusal:
    """The Refusal of an error; see `encode_refusal`."""
    for code, kind in _KINDS.items():
        if isinstance(error, kind):
            return pb.Refusal(code=code, message=str(error))
    return pb.Refusal(code="unavailable", message=_INTERNAL)


def error_in(message: pb.Refusal) -> errors.MosaicError:
    """The error of a Refusal."""
    return _KINDS.get(message.code, errors.ProtocolError)(printable(message.message))

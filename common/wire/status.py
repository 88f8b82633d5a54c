"""The only place where an error becomes a gRPC status, and a status an error again."""

from __future__ import annotations

import traceback
from typing import NoReturn

import grpc

from ..crypto.clocks import REMEDY
from ..errors import BudgetError, DataError, MosaicError, PartyUnavailable, PolicyError, ProtocolError
from .refusals import decode_refusal, encode_refusal

_REFUSAL = "dpmosaic-refusal-bin"
_STATUS: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (DataError, grpc.StatusCode.FAILED_PRECONDITION),
    (BudgetError, grpc.StatusCode.FAILED_PRECONDITION),
    (PolicyError, grpc.StatusCode.PERMISSION_DENIED),
    (ProtocolError, grpc.StatusCode.INVALID_ARGUMENT),
    (PartyUnavailable, grpc.StatusCode.UNAVAILABLE),
)
_STATUS_LENGTH = 2000
_TLS_WORDS = ("certificate", "handshake", "ssl_error", "peer name", "wrong_version", "tls")
_CUT_OFF = ("handshake read failed", "handshake write failed")
"""The connection ended during the handshake: the other process stopped, and refused nothing."""
_TOO_MANY = "concurrent rpc limit"
"""Of gRPC, where all callers together have as many calls open as its server takes."""


def status_of(error: Exception) -> grpc.StatusCode:
    """The status of an error; INTERNAL if it is not a MosaicError."""
    return next((code for kind, code in _STATUS if isinstance(error, kind)), grpc.StatusCode.INTERNAL)


def refuse(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    """Ends a call with an error; only our own errors are sent with their text."""
    if isinstance(error, MosaicError) and len(str(error)) > _STATUS_LENGTH:
        error = type(error)(str(error)[:_STATUS_LENGTH] + " ...")
    context.set_trailing_metadata(((_REFUSAL, encode_refusal(error)),))
    context.abort(status_of(error), type(error).__name__ if isinstance(error, MosaicError) else "internal")
    raise AssertionError("abort does not return")


def error_of(failed: grpc.RpcError, party: str) -> MosaicError:
    """The error that ended a call.

    Args:
        failed: exception of the call.
        party: name of the party that was called.
    """
    for key, value in failed.trailing_metadata() or ():
        if key == _REFUSAL:
            refusal = decode_refusal(value)
            return type(refusal)(f"party {party!r}: {refusal}")
    code, details = failed.code(), (failed.details() or "").lower()
    match code:
        case grpc.StatusCode.UNAVAILABLE if _is_about_tls(details):
            return ProtocolError(
                f"party {party!r}: the TLS handshake failed: expected that each side shows the certificate "
                f"that the other pinned; compare fingerprints and expiry, {REMEDY}, exchange cards again and "
                "trust them"
            )
        case grpc.StatusCode.UNAVAILABLE:
            return PartyUnavailable(
                f"party {party!r} does not answer, or refuses this curator; check that it is started, can be "
                f"reached and trusts this curator's card, and {REMEDY}"
            )
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return PartyUnavailable(
                f"party {party!r} did not finish in time; ask its operator, or allow more time"
            )
        case grpc.StatusCode.UNIMPLEMENTED:
            return ProtocolError(f"party {party!r} has no such method; upgrade dpmosaic where it is older")
        case grpc.StatusCode.RESOURCE_EXHAUSTED if _TOO_MANY in details:
            return PartyUnavailable(
                f"party {party!r} has too many calls open; resume the release, or ask its operator why"
            )
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            return ProtocolError(f"party {party!r}: a message is larger than a frame; compare versions")
        case _:
            return PartyUnavailable(f"party {party!r}: the call ended with {code.name}; see the party's log")


def _is_about_tls(details: str) -> bool:
    cut_off = any(words in details for words in _CUT_OFF)
    return not cut_off and any(word in details for word in _TLS_WORDS)


def is_transient(failed: grpc.RpcError) -> bool:
    """Whether a retry may succeed: the party could not be reached and did not refuse the call."""
    refused = any(key == _REFUSAL for key, _ in failed.trailing_metadata() or ())
    came_to_nobody = failed.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
    return came_to_nobody and not refused and isinstance(error_of(failed, ""), PartyUnavailable)


def reason(error: Exception) -> str:
    """The text of our own errors; only the location of others, since their texts may contain values."""
    if isinstance(error, MosaicError):
        return str(error)
    places = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} at " + " < ".join(f"{p.name}:{p.lineno}" for p in reversed(places[-4:]))

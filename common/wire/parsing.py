"""The only place where bytes are parsed as a message of the wire format, or refused."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from ..errors import ProtocolError

_M = TypeVar("_M", bound=Message)


def parse_message(kind: type[_M], data: bytes) -> _M:
    """The message of these bytes.

    Raises:
        ProtocolError: they do not parse.
    """
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise ProtocolError(
            f"expected a {kind.__name__} message, got bytes that do not parse; compare versions"
        ) from None
    return message

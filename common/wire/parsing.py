"""The only place where bytes are parsed as a message of the wire format, or refused."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from ..errors import ProtocolError

_M = TypeVar("_M", bound=Message)

_NUMBER, _OCTETS = 0, 2
_SIZES = {1: 8, 5: 4}
"""Kinds of fields of the wire format: a number, octets with their length, and what has so many octets."""


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


def check_parts(data: bytes | memoryview, depth: int, most: int) -> int:
    """Refuses a message of many parts before it is parsed: each takes far more memory than its bytes.

    Args:
        data: the message.
        depth: 1 to count its own fields alone, 2 to count those of the messages in it as well, and so on.
        most: largest number of fields.

    Returns:
        How many more it could have.

    Raises:
        ProtocolError: it has more, or does not parse.
    """
    view, at, left = memoryview(data), 0, most
    while at < len(view):
        if not left:
            raise ProtocolError("expected a message of fewer parts, got one of more; ask for less at once")
        key, at = _number_at(view, at)
        kind, size, left = key & 7, _SIZES.get(key & 7, 0), left - 1
        if kind in (_NUMBER, _OCTETS):
            number, at = _number_at(view, at)
            size = number if kind == _OCTETS else 0
        elif not size:
            raise _no_message()
        if kind == _OCTETS and depth > 1:
            left = check_parts(view[at : at + size], depth - 1, left)
        at += size
    if at > len(view):
        raise _no_message()
    return left


def _number_at(data: memoryview, at: int) -> tuple[int, int]:
    """The number at a place, seven bits in each byte, and the place after it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        number |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return number, at
    raise _no_message()


def _no_message() -> ProtocolError:
    return ProtocolError("expected a message, got bytes that do not parse; compare versions")

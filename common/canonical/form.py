"""The canonical form: every value has exactly one encoding, and no other bytes decode to it.

A record is the name of its kind, the version of that kind's form and the kind's fields in a fixed order. A
field is a tag of one byte and its content; integers and lengths are big-endian:

    text      0x01, length in 4 bytes, UTF-8
    octets    0x02, length in 4 bytes, the bytes
    integer   0x03, 8 bytes, from 0 to 2^64 - 1
    real      0x04, 8 bytes, IEEE 754 double; finite, and not the negative zero
    flag      0x05, one byte, 0 or 1
    items     0x06, their number in 4 bytes, one after the other
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..errors import ProtocolError

_T = TypeVar("_T")
_TEXT, _OCTETS, _INTEGER, _REAL, _FLAG, _ITEMS = (bytes([tag]) for tag in range(1, 7))
_LENGTH_BYTES = 4
_WORD_BYTES = 8


def record(kind: str, version: int, fields: Iterable[bytes]) -> bytes:
    """A whole record.

    Args:
        kind: name of what it is; no two kinds have one name.
        version: of the kind's form.
        fields: encoded, in the order that the kind fixes.
    """
    return b"".join((text(kind), integer(version), *fields))


def text(value: str) -> bytes:
    """A field of text."""
    return _sized(_TEXT, value.encode())


def octets(value: bytes) -> bytes:
    """A field of bytes."""
    return _sized(_OCTETS, value)


def integer(value: int) -> bytes:
    """A field of one whole number.

    Raises:
        ValueError: it is negative, or takes more than 64 bits.
    """
    whole = operator.index(value)
    if not 0 <= whole < 1 << 8 * _WORD_BYTES:
        raise ValueError("the canonical form holds whole numbers of 0 to 64 bits")
    return _INTEGER + whole.to_bytes(_WORD_BYTES, "big")


def real(value: float) -> bytes:
    """A field of one float.

    Raises:
        ValueError: it is infinite, not a number or the negative zero.
    """
    if not _canonical_real(value):
        raise ValueError("the canonical form holds finite floats other than the negative zero")
    return _REAL + struct.pack(">d", value)


def flag(value: bool) -> bytes:
    """A field of one truth value."""
    return _FLAG + bytes([value])


def items(encoded: Iterable[bytes]) -> bytes:
    """A field of several encoded items."""
    each = list(encoded)
    return _ITEMS + _length(len(each)) + b"".join(each)


class Reader:
    """Reads a record's fields in their order; refuses whatever the functions above do not write.

    Nothing is allocated for a length or a number of items that the bytes do not hold.

    Args:
        data: the whole record.
        kind: that it must be of.
        version: that its form must have.

    Raises:
        ProtocolError: here and in all methods: the bytes are something else.
    """

    def __init__(self, data: bytes, kind: str, version: int) -> None:
        self._data = data
        self._at = 0
        self._expected = f"expected {kind} in the canonical form of version {version}"
        if self.text() != kind or self.integer() != version:
            raise self._refused("another kind or version")

    def text(self) -> str:
        """The next field, of text."""
        try:
            return self._taken(self._length_of(_TEXT)).decode()
        except UnicodeDecodeError:
            raise self._refused("text that is not UTF-8") from None

    def octets(self) -> bytes:
        """The next field, of bytes."""
        return self._taken(self._length_of(_OCTETS))

    def integer(self) -> int:
        """The next field, of one whole number."""
        self._tag(_INTEGER)
        return int.from_bytes(self._taken(_WORD_BYTES), "big")

    def real(self) -> float:
        """The next field, of one float."""
        self._tag(_REAL)
        value: float = struct.unpack(">d", self._taken(_WORD_BYTES))[0]
        if not _canonical_real(value):
            raise self._refused("a float without a canonical form")
        return value

    def items(self, read: Callable[[], _T]) -> tuple[_T, ...]:
        """The next field, of several items.

        Args:
            read: reads one item by this reader's methods.
        """
        return tuple(read() for _ in range(self._length_of(_ITEMS)))

    def end(self) -> None:
        """Refuses bytes after the last field."""
        if self._at < len(self._data):
            raise self._refused("bytes after its end")

    def _tag(self, expected: bytes) -> None:
        if self._taken(1) != expected:
            raise self._refused("another field")

    def _length_of(self, tag: bytes) -> int:
        """The length that a field states; an item has at least one byte, so it bounds the number of items."""
        self._tag(tag)
        length = int.from_bytes(self._taken(_LENGTH_BYTES), "big")
        if length > len(self._data) - self._at:
            raise self._refused("a length past its end")
        return length

    def _taken(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise self._refused("fewer bytes")
        self._at += size
        return taken

    def _refused(self, came: str) -> ProtocolError:
        return ProtocolError(f"{self._expected}, got {came}; compare versions")


def _sized(tag: bytes, content: bytes) -> bytes:
    return tag + _length(len(content)) + content


def _length(length: int) -> bytes:
    return length.to_bytes(_LENGTH_BYTES, "big")


def _canonical_real(value: float) -> bool:
    return math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)

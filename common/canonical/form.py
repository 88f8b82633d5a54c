"""The canonical form: every value has exactly one encoding, and no other bytes decode to it.

A record consists of the name of its kind, the version of that kind's form and its fields in a fixed order. A
field consists of a tag of one byte and its content; integers and lengths are big-endian:

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
    """Encodes a record.

    Args:
        kind: unique name of the kind.
        version: version of the kind's form.
        fields: encoded fields, in the order of the kind.
    """
    return b"".join((text(kind), integer(version), *fields))


def text(value: str) -> bytes:
    """Encodes a field of text."""
    return _with_length(_TEXT, value.encode())


def octets(value: bytes) -> bytes:
    """Encodes a field of bytes."""
    return _with_length(_OCTETS, value)


def integer(value: int) -> bytes:
    """Encodes a field of one whole number.

    Raises:
        ValueError: it is negative, or needs more than 64 bits.
    """
    whole = operator.index(value)
    if not 0 <= whole < 1 << 8 * _WORD_BYTES:
        raise ValueError("the canonical form holds whole numbers of 0 to 64 bits")
    return _INTEGER + whole.to_bytes(_WORD_BYTES, "big")


def real(value: float) -> bytes:
    """Encodes a field of one float.

    Raises:
        ValueError: it is infinite, NaN or the negative zero.
    """
    if not _canonical_real(value):
        raise ValueError("the canonical form holds finite floats other than the negative zero")
    return _REAL + struct.pack(">d", value)


def flag(value: bool) -> bytes:
    """Encodes a field of one boolean."""
    return _FLAG + bytes([value])


def items(encoded: Iterable[bytes]) -> bytes:
    """Encodes a field of several encoded items."""
    each = list(encoded)
    return _ITEMS + _length(len(each)) + b"".join(each)


class Reader:
    """Reads the fields of a record in their order; refuses bytes that the functions above do not write.

    Allocates no memory for a length or a number of items that exceeds the bytes.

    Args:
        data: the whole record.
        kind: expected kind.
        version: expected version of its form.

    Raises:
        ProtocolError: the bytes have another form; raised by all methods too.
    """

    def __init__(self, data: bytes, kind: str, version: int) -> None:
        self._data = data
        self._at = 0
        self._expected = f"expected {kind} in the canonical form of version {version}"
        if (self.text(), self.integer()) != (kind, version):
            raise self._refusal("another kind or version")

    def text(self) -> str:
        """Reads a field of text."""
        try:
            return self._take(self._length_of(_TEXT)).decode()
        except UnicodeDecodeError:
            raise self._refusal("text that is not UTF-8") from None

    def octets(self) -> bytes:
        """Reads a field of bytes."""
        return self._take(self._length_of(_OCTETS))

    def integer(self) -> int:
        """Reads a field of one whole number."""
        self._tag(_INTEGER)
        return int.from_bytes(self._take(_WORD_BYTES), "big")

    def real(self) -> float:
        """Reads a field of one float."""
        self._tag(_REAL)
        value: float = struct.unpack(">d", self._take(_WORD_BYTES))[0]
        if not _canonical_real(value):
            raise self._refusal("a float without a canonical form")
        return value

    def flag(self) -> bool:
        """Reads a field of one boolean."""
        self._tag(_FLAG)
        value = self._take(1)[0]
        if value > 1:
            raise self._refusal("a flag that is neither 0 nor 1")
        return bool(value)

    def items(self, read: Callable[[], _T]) -> tuple[_T, ...]:
        """Reads a field of several items.

        Args:
            read: reads one item with the methods of this reader.
        """
        return tuple(read() for _ in range(self._length_of(_ITEMS)))

    def end(self) -> None:
        """Refuses bytes after the last field."""
        if self._at < len(self._data):
            raise self._refusal("bytes after its end")

    def _tag(self, expected: bytes) -> None:
        if self._take(1) != expected:
            raise self._refusal("another field")

    def _length_of(self, tag: bytes) -> int:
        """The length stated by a field; an item has at least one byte, so it bounds the number of items."""
        self._tag(tag)
        length = int.from_bytes(self._take(_LENGTH_BYTES), "big")
        if length > len(self._data) - self._at:
            raise self._refusal("a length beyond its end")
        return length

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise self._refusal("fewer bytes")
        self._at += size
        return taken

    def _refusal(self, came: str) -> ProtocolError:
        return ProtocolError(f"{self._expected}, got {came}; compare versions")


def _with_length(tag: bytes, content: bytes) -> bytes:
    return tag + _length(len(content)) + content


def _length(length: int) -> bytes:
    return length.to_bytes(_LENGTH_BYTES, "big")


def _canonical_real(value: float) -> bool:
    return math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)

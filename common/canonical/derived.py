"""The canonical form of typed values, derived from the annotations of their dataclasses.

A dataclass is its fields in their order, one after the other. Within fields:

    str, bytes, int, float, bool     text, octets, integer, real, flag
    Annotated[int, "signed"]         text, in digits
    Fraction                         text, in digits and lowest terms
    an Enum                          its value
    X | None                         items: none or one
    tuple[X, ...]                    items
    tuple[X, Y]                      X, then Y
    Mapping[str, X]                  items, each a text and an X, in the order of the texts
    A | B | C, dataclasses           integer, the place among them, then its fields

A field that is added to a dataclass is encoded and decoded with the others; the version of its record has to
change then. One with the metadata "follows" is not: what contains the dataclass says it already.
"""

from __future__ import annotations

import enum
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import MosaicError, ProtocolError
from .form import Reader, flag, integer, items, octets, real, record, text

_T = TypeVar("_T")
_REMEDY = "; compare versions"
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_FRACTION = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,399})?")


@dataclass(frozen=True)
class _Form:
    """How a kind of value is written and read."""

    write: Callable[[Any], bytes]
    read: Callable[[Reader], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of record.

    Attributes:
        name: unique among all that is signed, kept or hashed.
        version: of its form.
        of: dataclass of its values.
        expected: its values in words, for errors.
    """

    name: str
    version: int
    of: type
    expected: str

    def encode(self, value: object) -> bytes:
        """The canonical bytes of a value; only equal values have equal bytes."""
        return record(self.name, self.version, [form_of(self.of).write(value)])

    def decode(self, data: bytes) -> Any:
        """The value of these bytes.

        Raises:
            ProtocolError: they are not the canonical bytes of a value, or it is inconsistent.
        """
        reader = Reader(data, self.name, self.version)
        try:
            value = form_of(self.of).read(reader)
        except (MosaicError, ValueError) as cause:
            said = str(cause).removesuffix(_REMEDY)
            raise ProtocolError(f"expected {self.expected}: {said}{_REMEDY}") from None
        reader.end()
        if self.encode(value) != data:
            raise ProtocolError(f"expected {self.expected}: it has another form{_REMEDY}")
        return value


_STATED: dict[type, _Form] = {}


def stated_as(kind: type[_T], as_kind: Any, to: Callable[[_T], Any], of: Callable[[Any], _T]) -> None:
    """Says that values of a class are encoded as those of another kind, in place of their fields."""
    _STATED[kind] = _Form(
        lambda value: form_of(as_kind).write(to(value)), lambda reader: of(form_of(as_kind).read(reader))
    )


@cache
def form_of(kind: Any) -> _Form:
    """How values of a kind are written and read.

    Raises:
        TypeError: the kind has no canonical form.
    """
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _STATED:
        return _STATED[kind]
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional(*of) if type(None) in of else _one_of(of)
    if origin is tuple and len(of) == 2 and of[1] is Ellipsis:
        each = form_of(of[0])
        return _Form(
            lambda values: items(map(each.write, values)),
            lambda reader: reader.items(lambda: each.read(reader)),
        )
    if origin is tuple:
        return _several([form_of(one) for one in of])
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(*of)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _form_of_enum(kind)
    if is_dataclass(kind):
        return _fields(kind)
    raise TypeError(f"{kind} has no canonical form")


def _digits(pattern: re.Pattern[str], kind: type) -> _Form:
    def read(reader: Reader) -> Any:
        written = reader.text()
        if not pattern.fullmatch(written):
            raise ProtocolError("it holds a number in another form")
        return kind(written)

    return _Form(lambda value: text(str(value)), read)


def _optional(one: Any, other: Any) -> _Form:
    some = form_of(one if other is type(None) else other)

    def read(reader: Reader) -> Any:
        found = reader.items(lambda: some.read(reader))
        if len(found) > 1:
            raise ProtocolError("it holds several values in place of one or none")
        return found[0] if found else None

    return _Form(lambda value: items([] if value is None else [some.write(value)]), read)


def _one_of(kinds: tuple[type, ...]) -> _Form:
    forms = [form_of(kind) for kind in kinds]

    def write(value: object) -> bytes:
        place = kinds.index(type(value))
        return integer(place) + forms[place].write(value)

    def read(reader: Reader) -> Any:
        place = reader.integer()
        if place >= len(forms):
            raise ProtocolError("it holds a value of an unknown kind")
        return forms[place].read(reader)

    return _Form(write, read)


def _several(forms: list[_Form]) -> _Form:
    return _Form(
        lambda values: b"".join(form.write(value) for form, value in zip(forms, values, strict=True)),
        lambda reader: tuple(form.read(reader) for form in forms),
    )


def _mapping(_: Any, of: Any) -> _Form:
    each = form_of(of)

    def read(reader: Reader) -> dict[str, Any]:
        entries = reader.items(lambda: (reader.text(), each.read(reader)))
        if len(dict(entries)) < len(entries):
            raise ProtocolError("it holds two values of one name")
        return dict(entries)

    return _Form(lambda values: items(text(name) + each.write(values[name]) for name in sorted(values)), read)


def _form_of_enum(kind: type[enum.Enum]) -> _Form:
    of_value = _PLAIN[type(next(iter(kind)).value)]
    return _Form(lambda value: of_value.write(value.value), lambda reader: kind(of_value.read(reader)))


def _fields(kind: Any) -> _Form:
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind) if field.init and "follows" not in field.metadata]
    forms = [form_of(hints[name]) for name in names]
    return _Form(
        lambda value: b"".join(
            form.write(getattr(value, name)) for form, name in zip(forms, names, strict=True)
        ),
        lambda reader: kind(**{name: form.read(reader) for form, name in zip(forms, names, strict=True)}),
    )


_PLAIN: dict[Any, _Form] = {
    str: _Form(text, Reader.text),
    bytes: _Form(octets, Reader.octets),
    bool: _Form(flag, Reader.flag),
    int: _Form(integer, Reader.integer),
    float: _Form(real, Reader.real),
    Annotated[int, "signed"]: _digits(_WHOLE, int),
    Fraction: _digits(_FRACTION, Fraction),
}

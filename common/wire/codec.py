"""Bytes of messages, derived from the annotations of their dataclasses and from the files of `proto/`.

The message of a dataclass has its name, and a field of the same name for each of its fields:

    str, bytes, int, float, bool    the same
    X | None                        an optional field, or a message
    tuple[X, ...]                   a repeated field of X
    tuple[X, ...] in a tuple        a message of one repeated field
    tuple[X, Y] in a tuple          a message of a field for each, in their order
    an Enum                         its value
    a dataclass                     its message

`_STATED` has the kinds that are written in another way. A field that is added to a dataclass and to the
message is encoded and decoded with the others. Whatever bytes come, what is read is a value that its
dataclass takes, or a ProtocolError that repeats nothing of them.
"""

from __future__ import annotations

import enum
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from .. import messages, queries
from ..bounded import fraction_of, json_of
from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..promises import statement
from . import bundle_pb2, party_pb2
from .parsing import parse_message
from .refusals import error_in, refusal_of

_T = TypeVar("_T")
_SERVICE = party_pb2.DESCRIPTOR.services_by_name["Party"]
_KINDS = {**vars(messages), **vars(queries), **vars(statement)}


def encode(value: Any) -> bytes:
    """The bytes of a message."""
    encoded: bytes = to_message(value).SerializeToString()
    return encoded


def decode(kind: type[_T], data: bytes) -> _T:
    """The message of these bytes.

    Raises:
        ProtocolError: they are not one of this kind, or it is inconsistent.
    """
    return of_message(kind, parse_message(_message_class(kind), data))


def decode_request(method: str, data: bytes) -> Any:
    """The only request of a call, of the kind that the service states.

    Args:
        method: name of a method of the service Party.
        data: its request.

    Raises:
        ProtocolError: see `decode`.
    """
    return decode(_KINDS[_SERVICE.methods_by_name[method].input_type.name], data)


def to_message(value: Any) -> Any:
    """The protobuf message of a value, as a part of another one."""
    kind: Any = type(value)
    return _of_dataclass(kind).write(value)


def of_message(kind: type[_T], message: Message) -> _T:
    """The value of a protobuf message.

    Raises:
        ProtocolError: it is inconsistent.
    """
    wanted: Any = kind
    try:
        value: _T = _of_dataclass(wanted).read(message)
    except (MosaicError, ValueError) as cause:
        raise ProtocolError(f"expected a consistent {kind.__name__}: {cause}; compare versions") from None
    return value


@dataclass(frozen=True)
class _Form:
    """What stands in a field for a value, and the value again."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_SAME = _Form(lambda value: value, lambda value: value)
_SCALARS: Mapping[type, tuple[int, ...]] = {
    str: (FieldDescriptor.TYPE_STRING,),
    bytes: (FieldDescriptor.TYPE_BYTES,),
    bool: (FieldDescriptor.TYPE_BOOL,),
    float: (FieldDescriptor.TYPE_DOUBLE,),
    int: (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_INT64),
}


def _domain_of(text: str) -> Domain:
    try:
        return Domain.part_from_json(json_of(text))
    except (MosaicError, ValueError, OverflowError):
        raise ValueError("its domain is not that of a party, as JSON") from None


_STATED: Mapping[type, _Form] = {
    Fraction: _Form(str, fraction_of),
    Domain: _Form(lambda domain: json.dumps(domain.to_json()), _domain_of),
    MosaicError: _Form(refusal_of, error_in),
}


def _message_class(kind: Any) -> type[Message]:
    name = kind.__name__
    found: type[Message] = getattr(party_pb2 if hasattr(party_pb2, name) else bundle_pb2, name)
    return found


@cache
def _of_dataclass(kind: Any) -> _Form:
    """How a dataclass is a message.

    Raises:
        TypeError: a field of one is not a field of the other, or of another kind there.
    """
    made = _message_class(kind)
    hints, places = get_type_hints(kind), made.DESCRIPTOR.fields_by_name
    names = [field.name for field in fields(kind)]
    if set(names) != set(places):
        raise TypeError(f"{kind.__name__} has other fields than its message: {set(names) ^ set(places)}")
    forms = [_of_field(hints[name], places[name]) for name in names]
    optional = {name for name in names if type(None) in get_args(hints[name])}
    present = [name for name in names if places[name].has_presence]
    if not optional <= set(present):
        raise TypeError(f"{kind.__name__} lacks `optional` in its message: {optional - set(present)}")
    every, single = _all_of(names), {name for name in names if not places[name].is_repeated}
    writes = [(name, form.write) for name, form in zip(names, forms, strict=True)]
    reads = [(name, form.read) for name, form in zip(names, forms, strict=True)]

    def write(value: Any) -> Message:
        parts = zip(writes, every(value), strict=True)
        return made(
            **{
                name: write(part)
                for (name, write), part in parts
                if part is not None and (part or name in single)
            }
        )

    def read(message: Any) -> Any:
        absent = {name for name in present if not message.HasField(name)}
        if not absent <= optional:
            raise ValueError(f"it has no {min(absent - optional)}")
        parts = zip(reads, every(message), strict=True)
        return kind(*[None if name in absent else read(part) for (name, read), part in parts])

    return _Form(write, read)


def _all_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What returns the values of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _of_field(kind: Any, field: Any) -> _Form:
    """How a value of this kind stands in a field."""
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and len(of) == 2 and type(None) in of:
        (kind,) = set(of) - {type(None)}
    if field.is_repeated != (origin is tuple and of[1:] == (Ellipsis,)):
        raise TypeError(f"{field.full_name} is repeated or {kind} has many, not both")
    if not field.is_repeated:
        return _of_one(kind, field)
    each = _of_one(of[0], field)
    if each is _SAME:
        return _Form(lambda values: values, tuple)
    return _Form(lambda values: [*map(each.write, values)], lambda found: tuple(map(each.read, found)))


def _of_one(kind: Any, field: Any) -> _Form:
    """How a value of this kind is an element of a field."""
    if kind in _STATED:
        return _STATED[kind]
    if field.type in _SCALARS.get(kind, ()):
        return _SAME
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and field.message_type is None:
        return _of_enum(kind)
    if get_origin(kind) is tuple and field.message_type is not None:
        return _of_tuple(kind, field.message_type)
    if field.message_type is not None and field.message_type.name == getattr(kind, "__name__", ""):
        return _of_dataclass(kind)
    raise TypeError(f"{kind} has no form in {field.full_name}")


def _of_enum(kind: type[enum.Enum]) -> _Form:
    def read(value: Any) -> enum.Enum:
        try:
            return kind(value)
        except ValueError:
            raise ValueError(f"it has an unknown {kind.__name__}") from None

    return _Form(lambda value: value.value, read)


def _of_tuple(kind: Any, descriptor: Descriptor) -> _Form:
    """How a tuple within another one is a message."""
    made, places = GetMessageClass(descriptor), descriptor.fields
    of = get_args(kind)
    kinds = [kind] if of[1:] == (Ellipsis,) else list(of)
    parts = [(field.name, _of_field(one, field)) for one, field in zip(kinds, places, strict=True)]
    if of[1:] == (Ellipsis,):
        ((name, form),) = parts
        return _Form(
            lambda values: made(**{name: form.write(values)}),
            lambda message: form.read(getattr(message, name)),
        )
    return _Form(
        lambda values: made(
            **{name: form.write(value) for (name, form), value in zip(parts, values, strict=True)}
        ),
        lambda message: tuple(form.read(getattr(message, name)) for name, form in parts),
    )

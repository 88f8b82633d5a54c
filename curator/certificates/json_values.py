"""Frozen values as JSON and back, with all types checked; reading and writing keeps every key and digit."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from typing import Any, TypeVar

from ...common.bounded import fraction_of
from ...common.errors import DataError, MosaicError

_T = TypeVar("_T")
OPTIONAL: Mapping[str, bool] = {"optional": True}
"""Metadata of a field whose key is left out of the JSON if the value is the default."""

_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "hexadecimal digits",
    Fraction: "a fraction",
    types.NoneType: "null",
}


def to_json_values(value: object) -> Any:
    """Converts a value to JSON values: dataclasses by their fields, bytes as hexadecimal digits."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: getattr(value, one.name) for one in fields(value) if not _left_out(one, value)}
        return {name: to_json_values(part) for name, part in named.items()}
    if isinstance(value, Mapping):
        return {key: to_json_values(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json_values(part) for part in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, Fraction) else value


def from_json_values(kind: type[_T], form: object, where: str) -> _T:
    """Converts the output of `to_json_values` back to a value of this type.

    Whole numbers stay `int` and others `float`, so that writing the value again gives the same digest.

    Args:
        kind: dataclass of texts, numbers, bytes, fractions, tuples, mappings and such dataclasses.
        form: JSON values.
        where: place of the values, for messages.

    Raises:
        DataError: a key is missing or unknown, or a value has another type; names the place.
    """
    found: _T = _read(kind, form, where)
    return found


def _read(kind: Any, form: object, where: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return form
    if is_dataclass(kind):
        return _read_dataclass(kind, form, where)
    if origin in (types.UnionType, typing.Union):
        return _read(_alternative(typing.get_args(kind), form), form, where)
    if origin is tuple:
        if not isinstance(form, list):
            raise _damage_error(where, "a list", form)
        part = typing.get_args(kind)[0]
        return tuple(_read(part, entry, f"{where}[{place}]") for place, entry in enumerate(form))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(form, dict):
            raise _damage_error(where, "names and values", form)
        part = typing.get_args(kind)[1]
        return {str(name): _read(part, entry, f"{where}.{name}") for name, entry in form.items()}
    return _read_scalar(kind, form, where)


def _read_scalar(kind: Any, form: object, where: str) -> Any:
    if kind is bytes and isinstance(form, str):
        try:
            return bytes.fromhex(form)
        except ValueError:
            raise _damage_error(where, _WORDS[kind], form) from None
    if kind is Fraction and isinstance(form, str):
        try:
            return fraction_of(form)
        except ValueError:
            raise _damage_error(where, _WORDS[kind], form) from None
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        if not isinstance(form, str) or form not in tuple(kind):
            raise _damage_error(where, f"one of {', '.join(kind)}", form)
        return kind(form)
    if kind in (int, float):
        accepted = isinstance(form, (int, kind)) and not isinstance(form, bool)
    else:
        accepted = kind in (bool, str, types.NoneType) and isinstance(form, kind)
    if not accepted:
        raise _damage_error(where, _WORDS[kind], form)
    return form


def _read_dataclass(kind: Any, form: object, where: str) -> Any:
    if not isinstance(form, dict):
        raise _damage_error(where, "names and values", form)
    hints, known = typing.get_type_hints(kind), {one.name: one for one in fields(kind)}
    missing = [name for name, one in known.items() if name not in form and not _is_optional(one)]
    unknown = [name for name in form if name not in known]
    if missing or unknown:
        odd = f"lacks {missing[0]!r}" if missing else "has an unknown key"
        raise DataError(f"the certificate is damaged: {where} {odd}; get a new copy")
    values = {name: _read(hints[name], part, f"{where}.{name}") for name, part in form.items()}
    try:
        return kind(**values)
    except (ValueError, MosaicError) as cause:
        raise DataError(f"the certificate is damaged: {where}: {cause}; get a new copy") from cause


def _alternative(kinds: tuple[Any, ...], form: object) -> Any:
    """The type among several that fits JSON values; the first if none does."""
    if form is None and types.NoneType in kinds:
        return types.NoneType
    others = [kind for kind in kinds if kind is not types.NoneType]
    for kind in others:
        if is_dataclass(kind) and isinstance(form, dict) and set(form) == {one.name for one in fields(kind)}:
            return kind
    return others[0]


def _is_optional(one: Field[Any]) -> bool:
    return "optional" in one.metadata


def _left_out(one: Field[Any], value: object) -> bool:
    return _is_optional(one) and getattr(value, one.name) == one.default


def _damage_error(where: str, expected: str, form: object) -> DataError:
    found = "another text" if isinstance(form, str) else type(form).__name__
    return DataError(f"the certificate is damaged: {where}: expected {expected}, got {found}; get a new copy")

"""What each parameter of a mechanism may be, from the annotations of its fields.

A parameter with a range is annotated with its form, such as `Annotated[float, SHARE]`; without a range its
type says all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ....common.errors import DataError
from ....common.forms.form import Form
from ....common.forms.several import Either
from ....common.forms.values import POSITIVE, SHARE, Choice, Nothing, Number, Text, Truth, whole

Share = Annotated[float, SHARE]
"""A part of a budget or of a whole."""

Part = Annotated[float, Number(above=0, most=1)]
"""A part that may be the whole."""

Positive = Annotated[float, POSITIVE]
"""A number above 0."""

Times = Annotated[int, whole(1)]
"""A whole number of at least 1."""

Cells = Annotated[int, whole(2)]
"""A number of cells, or another whole number of at least 2."""

_FORMS: Mapping[Any, Form] = {
    float: Number(),
    int: Number(whole=True),
    str: Text(),
    bool: Truth(),
    NoneType: Nothing(),
}


def forms_of(mechanism: type) -> Mapping[str, Form]:
    """Parameter -> form; the variant is chosen by its own option.

    Args:
        mechanism: the class of a mechanism, a dataclass.
    """
    hints = get_type_hints(mechanism, include_extras=True)
    return {field.name: _form(hints[field.name]) for field in fields(mechanism) if field.name != "variant"}


def check_parameters(mechanism: object) -> None:
    """Refuses a mechanism with a parameter of another type or out of range.

    Raises:
        DataError: names the parameter, what was expected and what came.
    """
    hints = get_type_hints(type(mechanism), include_extras=True)
    for name, form in {**forms_of(type(mechanism)), **_variant(hints)}.items():
        for fault in form.faults(getattr(mechanism, name)):
            raise DataError(f"{name}: {fault.reason}")


def _variant(hints: Mapping[str, Any]) -> Mapping[str, Form]:
    return {"variant": _form(hints["variant"])} if "variant" in hints else {}


def _form(hint: Any) -> Form:
    if get_origin(hint) is Annotated:
        form: Form = hint.__metadata__[0]
        return form
    if get_origin(hint) is Literal:
        return Choice(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        # "none" is text too, so none comes first.
        parts = sorted(get_args(hint), key=lambda part: part is not NoneType)
        return Either(tuple(map(_form, parts)))
    return _FORMS[hint]

"""Domain files: one JSON object, attribute name -> entry, and rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import DataError
from .attribute import Attribute
from .boolean import BooleanAttribute
from .categorical import CategoricalAttribute, CodedAttribute
from .date_parts import DatePartsAttribute, Part, slot_of
from .dates import DateAttribute
from .moments import Granularity, Moments
from .numeric import AUTO, NumericAttribute
from .scale import Scale
from .unmodelled import Dropped, Identifier, Unmodelled
from .values import PLAIN, Notation


def read_entry(name: str, form: object) -> Attribute | Unmodelled:
    """Reads the entry of one column.

    Args:
        name: of the column.
        form: a number of codes n, a list of categories, or an object with "type".

    Raises:
        DataError: it is no entry.
    """
    if isinstance(form, int) and not isinstance(form, bool):
        return CodedAttribute(name, form)
    if isinstance(form, list):
        return CategoricalAttribute(name, tuple(form))
    if not isinstance(form, Mapping):
        raise DataError(
            f"attribute {name!r}: expected a number of codes, categories or an object; fix the domain"
        )
    kind = form.get("type")
    if kind not in _READERS:
        raise DataError(
            f'attribute {name!r}: an object needs "type", one of {", ".join(_READERS)}; fix the domain'
        )
    return _READERS[kind](name, form)


def _codes(name: str, form: Mapping[str, Any]) -> CodedAttribute:
    _check_keys(name, form, {"n"}, {"reviewed"})
    return CodedAttribute(name, form["n"], form.get("reviewed", True))


def _categorical(name: str, form: Mapping[str, Any]) -> CategoricalAttribute:
    _check_keys(name, form, {"categories"}, {"other", "ordered", "open", "missing", "reviewed"})
    if not isinstance(form["categories"], list):
        raise DataError(f"attribute {name!r}: expected a list of categories; fix the domain")
    given = {key: value for key, value in form.items() if key not in ("type", "categories", "missing")}
    given["missing"] = tuple(_listed(name, form, "missing"))
    return CategoricalAttribute(name, tuple(form["categories"]), **given)


def _numeric(name: str, form: Mapping[str, Any]) -> NumericAttribute:
    edged = "edges" in form
    unbounded = form.get("bins") == AUTO and "min" not in form and "max" not in form
    required = {"edges"} if edged else {"bins"} if unbounded else {"min", "max", "bins"}
    optional = {"nullable", "integer", "scale", "atoms", "decimals", "multiple_of"}
    optional |= {"outside", "unreadable", "format", "missing", "reviewed"}
    _check_keys(name, form, required, optional)
    edges = tuple(_listed(name, form, "edges"))
    if edged and len(edges) < 2:
        raise DataError(f"attribute {name!r}: expected two or more edges; fix the domain")
    if form.get("scale", "linear") not in list(Scale):
        raise DataError(f"attribute {name!r}: scale is one of {', '.join(Scale)}; fix the domain")
    auto = form.get("bins") == AUTO
    return NumericAttribute(
        name,
        edges[0] if edged else form.get("min"),
        edges[-1] if edged else form.get("max"),
        len(edges) - 1 if edged else None if auto else form["bins"],
        form.get("nullable", False),
        form.get("integer"),
        edges=edges,
        scale=Scale(form.get("scale", "linear")),
        atoms=tuple(_listed(name, form, "atoms")),
        multiple_of=_multiple_of(name, form),
        outside=form.get("outside", "clip"),
        unreadable=form.get("unreadable", "error"),
        format=Notation(form.get("format", PLAIN.pattern)),
        missing=tuple(_listed(name, form, "missing")),
        reviewed=form.get("reviewed", True),
    )


def _multiple_of(name: str, form: Mapping[str, Any]) -> float | None:
    decimals = form.get("decimals")
    if decimals is None:
        return form.get("multiple_of")
    if "multiple_of" in form or not isinstance(decimals, int) or not 0 <= decimals <= 15:
        raise DataError(
            f"attribute {name!r}: decimals is a whole number from 0 to 15, and excludes multiple_of; fix the "
            "domain"
        )
    return math.pow(10, -decimals)


def _boolean(name: str, form: Mapping[str, Any]) -> BooleanAttribute:
    _check_keys(name, form, set(), {"nullable", "true", "false", "missing", "reviewed"})
    false, true, missing = (tuple(_listed(name, form, key)) for key in ("false", "true", "missing"))
    return BooleanAttribute(
        name, form.get("nullable", False), false, true, missing=missing, reviewed=form.get("reviewed", True)
    )


def _date(name: str, form: Mapping[str, Any]) -> DateAttribute | DatePartsAttribute:
    return _moments(name, form, timed=False)


def _timestamp(name: str, form: Mapping[str, Any]) -> DateAttribute | DatePartsAttribute:
    return _moments(name, form, timed=True)


def _moments(name: str, form: Mapping[str, Any], timed: bool) -> DateAttribute | DatePartsAttribute:
    divided = "parts" if "parts" in form else "edges" if "edges" in form else "bins"
    required = {"bins": {"min", "max"}, "edges": {"edges"}, "parts": {"min", "max", "parts"}}[divided]
    optional = {"bins": {"bins", "atoms"}, "edges": {"atoms"}, "parts": set[str]()}[divided]
    optional |= {"timezone"} if timed else set()
    optional |= {"granularity", "format", "nullable", "outside", "unreadable", "missing", "reviewed"}
    _check_keys(name, form, required, optional)
    granularity = form.get("granularity", Granularity.SECOND if timed else Granularity.DAY)
    if granularity not in list(Granularity):
        raise DataError(f"attribute {name!r}: granularity is one of {', '.join(Granularity)}; fix the domain")
    moments = Moments(timed, Granularity(granularity), form.get("format", ""), form.get("timezone", ""))
    if "parts" in form:
        return _date_parts(name, form, moments)
    units = _units(name, form, moments)
    return DateAttribute(name, units, moments, reviewed=form.get("reviewed", True))


def _date_parts(name: str, form: Mapping[str, Any], moments: Moments) -> DatePartsAttribute:
    if not all(part in list(Part) for part in _listed(name, form, "parts")):
        raise DataError(f"attribute {name!r}: parts are some of {', '.join(Part)}; fix the domain")
    parts = tuple(map(Part, form["parts"]))
    slots = _units(name, form, replace(moments, granularity=slot_of(parts)))
    return DatePartsAttribute(name, slots, moments, parts, reviewed=form.get("reviewed", True))


def _units(name: str, form: Mapping[str, Any], moments: Moments) -> NumericAttribute:
    """The bins of whole units of time, one for each unit if the form does not say."""
    moments.check(name)
    edges = tuple(moments.bound(name, text) for text in _listed(name, form, "edges"))
    if "edges" in form and len(edges) < 2:
        raise DataError(f"attribute {name!r}: expected two or more edges; fix the domain")
    low, high = (edges[0], edges[-1]) if edges else (moments.bound(name, form[key]) for key in ("min", "max"))
    if low > high:
        raise DataError(f"attribute {name!r}: expected min before max; fix the domain")
    bins = len(edges) - 1 if edges else form.get("bins", high - low + 1)
    return NumericAttribute(
        name,
        low,
        high,
        None if bins == AUTO else bins,
        form.get("nullable", False),
        integer=True,
        edges=edges,
        atoms=tuple(moments.bound(name, text) for text in _listed(name, form, "atoms")),
        outside=form.get("outside", "clip"),
        unreadable=form.get("unreadable", "error"),
        missing=tuple(_listed(name, form, "missing")),
    )


def _identifier(name: str, form: Mapping[str, Any]) -> Identifier:
    _check_keys(name, form, {"pattern"}, set())
    return Identifier(name, form["pattern"])


def _text(name: str, form: Mapping[str, Any]) -> Dropped:
    _check_keys(name, form, set(), {"drop"})
    if form.get("drop") is not True:
        raise DataError(
            f"attribute {name!r}: free text cannot be released under differential privacy; declare "
            'categories, or add "drop": true to leave the column out'
        )
    return Dropped(name)


def _listed(name: str, form: Mapping[str, Any], key: str) -> list[Any]:
    listed = form.get(key, [])
    if not isinstance(listed, list):
        raise DataError(f"attribute {name!r}: {key} is a list; fix the domain")
    return listed


def _check_keys(name: str, form: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    if missing := sorted(required - set(form)):
        raise DataError(f"attribute {name!r}: expected the keys {', '.join(missing)}; add them to the domain")
    if unknown := sorted(set(form) - required - optional - {"type"}):
        raise DataError(f"attribute {name!r}: unknown keys {', '.join(unknown)}; remove them from the domain")


_READERS: dict[str, Callable[[str, Mapping[str, Any]], Attribute | Unmodelled]] = {
    "codes": _codes,
    "categorical": _categorical,
    "numeric": _numeric,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
    "identifier": _identifier,
    "text": _text,
}

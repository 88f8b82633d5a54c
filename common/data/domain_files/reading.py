"""Domain files: one JSON object, attribute name -> entry, and rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...errors import DataError
from ...forms.nearest import hint
from ...forms.notation import PLAIN, Notation
from ..attributes.attribute import Attribute, check_unread
from ..attributes.boolean import BooleanAttribute
from ..attributes.categorical import CategoricalAttribute, CodedAttribute
from ..attributes.clock import Clock
from ..attributes.date_parts import DatePartsAttribute, Part, slot_of
from ..attributes.dates import DateAttribute, GapAttribute, TimeAttribute
from ..attributes.granularity import Granularity, usual_unit
from ..attributes.moments import Moments
from ..attributes.numeric import AUTO, NumericAttribute
from ..attributes.unmodelled import Computed, Dropped, Identifier, Unmodelled
from ..binning.rhythm import Rhythm
from ..binning.rounded import Rounded
from ..binning.scale import Scale
from ..values import compose_texts
from .form import VARIANTS
from .others import described_by_others

_COMPUTED = {"computed", "measured"}
_LONG_FORM = {"attributes", "rules", "suggested_rules"}


def parts_of(form: object) -> tuple[Mapping[str, Any], Any, Any]:
    """The entries, rules and suggested rules of a domain file; the rules are None where it has none.

    Metadata of SDV and domains of dpsynth are read as such files; see `others`.

    All texts come back composed (`compose`).

    Args:
        form: attribute name -> entry; or an object with these as "attributes".

    Raises:
        DataError: it is no object, or two of its names are one when composed.
    """
    form = compose_texts(form)
    if not isinstance(form, Mapping):
        raise DataError("a domain is one JSON object, attribute name -> entry; fix the file")
    if (described := described_by_others(form)) is not None:
        return described.entries, None, None
    entries = form.get("attributes")
    # A column may have this name: its entry, unlike a list of columns, has a type.
    if (
        not isinstance(entries, Mapping)
        or isinstance(entries.get("type"), str)
        or not set(form) <= _LONG_FORM
    ):
        return form, None, None
    return entries, form.get("rules"), form.get("suggested_rules")


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
    if not isinstance(kind, str) or kind not in _READERS:
        near = hint(kind, _READERS) if isinstance(kind, str) else ""
        raise DataError(
            f'attribute {name!r}: an object needs "type", one of {", ".join(_READERS)}{near}; fix the domain'
        )
    column = _READERS[kind](name, {key: value for key, value in form.items() if key not in _COMPUTED})
    if not form.keys() & _COMPUTED:
        return column
    formula, measured = form.get("computed"), form.get("measured", False)
    if not isinstance(column, Attribute) or not isinstance(formula, str) or not formula.strip():
        raise DataError(
            f"attribute {name!r}: expected as computed an SQL expression beside how values are written, "
            "found another; fix the domain"
        )
    if not isinstance(measured, bool):
        raise DataError(
            f"attribute {name!r}: measured: expected true or false, found another; fix the domain"
        )
    if isinstance(column, GapAttribute) and not measured:
        raise DataError(
            f"attribute {name!r}: expected min and max of a column that is computed, found how far it comes "
            "after another; fix the domain"
        )
    return Computed(column, formula, measured)


def bins_held(column: Attribute | Unmodelled) -> int:
    """Number of bins that a column of numbers or times keeps in memory."""
    units = getattr(column, "units", column)
    return units.size if isinstance(units, NumericAttribute) else 0


def _codes(name: str, form: Mapping[str, Any]) -> CodedAttribute:
    _check_form(name, form)
    return CodedAttribute(name, form["n"], form.get("reviewed", True))


def _categorical(name: str, form: Mapping[str, Any]) -> CategoricalAttribute:
    _check_form(name, form)
    given = {key: value for key, value in form.items() if key not in ("type", "categories", "missing")}
    given["missing"] = tuple(form.get("missing", ()))
    return CategoricalAttribute(name, tuple(form["categories"]), **given)


def _numeric(name: str, form: Mapping[str, Any]) -> NumericAttribute:
    edged = "edges" in form
    unbounded = form.get("bins") == AUTO and "min" not in form and "max" not in form
    _check_form(name, form, "edges" if edged else "unbounded" if unbounded else "bins")
    edges = tuple(form.get("edges", ()))
    if edged and len(edges) < 2:
        raise DataError(f"attribute {name!r}: expected two or more edges; fix the domain")
    auto = form.get("bins") == AUTO
    found = NumericAttribute(
        name,
        edges[0] if edged else form.get("min"),
        edges[-1] if edged else form.get("max"),
        len(edges) - 1 if edged else None if auto else form["bins"],
        form.get("nullable", False),
        form.get("integer"),
        edges=edges,
        scale=Scale(form.get("scale", "linear")),
        atoms=tuple(form.get("atoms", ())),
        multiple_of=_multiple_of(name, form),
        rounded=tuple(map(Rounded.from_json, form.get("rounded", ()))),
        among=tuple(form.get("among", ())),
        outside=form.get("outside", "clip"),
        unreadable=form.get("unreadable", "error"),
        format=Notation(form.get("format", PLAIN.pattern)),
        texts=tuple(form.get("texts", ())),
        missing=tuple(form.get("missing", ())),
        reviewed=form.get("reviewed", True),
    )
    check_unread(name, found.texts, found.foreign(found.texts))
    return found


def _multiple_of(name: str, form: Mapping[str, Any]) -> float | None:
    decimals = form.get("decimals")
    if decimals is None:
        return form.get("multiple_of")
    if "multiple_of" in form:
        raise DataError(f"attribute {name!r}: decimals excludes multiple_of; fix the domain")
    return math.pow(10, -decimals)


def _boolean(name: str, form: Mapping[str, Any]) -> BooleanAttribute:
    _check_form(name, form)
    false, true, missing = (tuple(form.get(key, ())) for key in ("false", "true", "missing"))
    return BooleanAttribute(
        name, form.get("nullable", False), false, true, missing=missing, reviewed=form.get("reviewed", True)
    )


def _date(name: str, form: Mapping[str, Any]) -> TimeAttribute:
    return _moments(name, form, timed=False)


def _timestamp(name: str, form: Mapping[str, Any]) -> TimeAttribute:
    return _moments(name, form, timed=True)


def _moments(name: str, form: Mapping[str, Any], timed: bool) -> TimeAttribute:
    divided = next((key for key in ("after", "parts", "edges") if key in form), "bins")
    _check_form(name, form, divided)
    granularity = form.get("granularity", usual_unit(timed=timed))
    named = form.get("format", ""), form.get("timezone", "")
    months, days, also = (tuple(form.get(key, ())) for key in ("months", "days", "also"))
    moments = Moments(timed, Granularity(granularity), *named, months, days, also, _rhythm(form))
    if "after" in form:
        return _gap(name, form, moments)
    if "parts" in form:
        return _date_parts(name, form, moments)
    units = _units(name, form, moments)
    return DateAttribute(name, units, moments, reviewed=form.get("reviewed", True))


def _rhythm(form: Mapping[str, Any]) -> Rhythm | None:
    return Rhythm.from_json(form["rhythm"]) if form.get("rhythm") else None


def _gap(name: str, form: Mapping[str, Any], moments: Moments) -> GapAttribute:
    (other, gap), *more = form["after"].items()
    if more:
        raise DataError(f"attribute {name!r}: after: expected one other column, got more; fix the domain")
    policies = {key: form[key] for key in ("nullable", "outside", "unreadable", "missing") if key in form}
    units = _numeric(name, {"type": "numeric", "integer": True, **gap, **policies})
    return GapAttribute(name, units, moments, other, reviewed=form.get("reviewed", True))


def _clock(name: str, form: Mapping[str, Any]) -> DateAttribute:
    _check_form(name, form, "edges" if "edges" in form else "bins")
    clock = replace(Clock.of(form["format"]), rhythm=_rhythm(form))
    if "granularity" in form:
        clock = replace(clock, granularity=Granularity(form["granularity"]))
        clock.check(name)
    bounds = {"min": "0:00", "max": clock.bound_text(clock.bound(name, "23:59:59.999999"))}
    units = _units(name, bounds | dict(form), clock)
    return DateAttribute(name, units, clock, reviewed=form.get("reviewed", True))


def _date_parts(name: str, form: Mapping[str, Any], moments: Moments) -> DatePartsAttribute:
    parts = tuple(map(Part, form["parts"]))
    slots = _units(name, form, replace(moments, granularity=slot_of(parts)))
    return DatePartsAttribute(name, slots, moments, parts, reviewed=form.get("reviewed", True))


def _units(name: str, form: Mapping[str, Any], moments: Moments) -> NumericAttribute:
    """The bins of whole units of time, one for each unit if the form does not say."""
    moments.check(name)
    edges = tuple(moments.bound(name, text) for text in form.get("edges", ()))
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
        atoms=tuple(moments.bound(name, text) for text in form.get("atoms", ())),
        outside=form.get("outside", "clip"),
        unreadable=form.get("unreadable", "error"),
        texts=tuple(form.get("texts", ())),
        missing=tuple(form.get("missing", ())),
    )


def _identifier(name: str, form: Mapping[str, Any]) -> Identifier:
    _check_form(name, form)
    # No certificate speaks of columns that no model holds: nothing says that a share was read from rows.
    empty = form.get("empty", 0.0) if form.get("reviewed", True) else 0.0
    return Identifier(name, form["pattern"], empty)


def _text(name: str, form: Mapping[str, Any]) -> Dropped:
    _check_form(name, form)
    if form.get("drop") is not True:
        raise DataError(
            f"attribute {name!r}: free text cannot be released under differential privacy; declare "
            'categories, or add "drop": true to leave the column out'
        )
    return Dropped(name)


def _check_form(name: str, form: Mapping[str, Any], way: str = "") -> None:
    """Refuses an entry with unknown or missing keys, or with values of another type.

    Args:
        name: of the column.
        form: its entry.
        way: which of the ways to write an entry of this type it is.
    """
    table = VARIANTS[form["type"]][way]
    given = {key: value for key, value in form.items() if key != "type"}
    if missing := sorted(key for key, its in table.keys.items() if its.required and key not in given):
        raise DataError(f"attribute {name!r}: expected the keys {', '.join(missing)}; add them to the domain")
    if unknown := sorted(set(given) - set(table.keys)):
        near = hint(unknown[0], set(table.keys) - set(given))
        raise DataError(
            f"attribute {name!r}: unknown keys {', '.join(unknown)}{near}; remove them from the domain"
        )
    for fault in table.faults(given):
        raise DataError(f"attribute {name!r}: {' '.join(fault.path)}: {fault.reason}; fix the domain")


_READERS: dict[str, Callable[[str, Mapping[str, Any]], Attribute | Unmodelled]] = {
    "codes": _codes,
    "categorical": _categorical,
    "numeric": _numeric,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
    "clock": _clock,
    "identifier": _identifier,
    "text": _text,
}

"""Tables that other packages describe, as entries of a domain file: SDV's metadata, and domains of dpsynth.

Source: SDV, Metadata JSON (`METADATA_SPEC_VERSION` V1, and SINGLE_TABLE_V1 and MULTI_TABLE_V1 before it);
    dpsynth, `domain.py`, as `to_yaml_file` writes it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import DataError

_VERSION = "METADATA_SPEC_VERSION"
_VERSIONS = ("V1", "SINGLE_TABLE_V1", "MULTI_TABLE_V1")

_YEARS, _SHORT_YEARS = (1900, 2099), (1969, 2068)
"""Dates of which nothing is said lie in these years; those that two digits write, in the others."""

_SAVED = "metadata of SDV as `save_to_json` writes it"

_COUNTED = re.compile(
    r"([^\\\[\](){}.*+?|^$]*)(?:\[0-9\]|\\d)(?:\{([1-9]?[0-9])\}|\+)([^\\\[\](){}.*+?|^$]*)"
)
"""A regular expression of one number between texts: `HID_[0-9]{3}`."""

_UNITS = (
    ("second", ("%S", "%f", "%T", "%X", "%c", "%s")),
    ("minute", ("%M",)),
    ("hour", ("%H", "%I")),
    ("day", ("%d", "%-d", "%j", "%x", "%D")),
    ("month", ("%m", "%-m", "%b", "%B")),
)
"""The finest unit of a format, by its parts."""


@dataclass(frozen=True)
class Described:
    """A table as another package describes it.

    Attributes:
        entries: column -> entry of a domain file; keys of other tables are not among them, and its own one is
            an identifier. Empty if it has no columns beside keys.
        learned: columns of which it says neither bounds nor categories, so that a release learns them.
        dates: columns of dates of which it says no bounds.
        dropped: columns that may say who somebody is, and are left out.
        key: column that names the person of each row, if a person may have several; empty for none.
        order: column by which rows of a person or of another table's row are in order; empty for none.
    """

    entries: Mapping[str, Any]
    learned: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    key: str = ""
    order: str = ""

    @property
    def advice(self) -> str:
        """What its user should know, in a sentence; empty for nothing."""
        said = (
            (self.learned, "a release learns those of {} from its budget"),
            (self.dates, f"{{}} may lie in any year from {_YEARS[0]} to {_YEARS[1]}"),
            (self.dropped, "a release leaves out {}, which may say who somebody is"),
        )
        left = [words.format(_list_names(names)) for names, words in said if names]
        if not left:
            return ""
        return (
            f"SDV's metadata states no bounds and categories: {', and '.join(left)}; state those that are "
            "public in the file that `dpmosaic domain from` writes"
        )


@dataclass(frozen=True)
class DescribedTables:
    """Several tables as SDV's metadata describes them.

    Attributes:
        tables: by name.
        relations: for each table that belongs to another, its column that holds the key of that table -> that
            table, or "table.key"; see `synthesize`.
    """

    tables: Mapping[str, Described]
    relations: Mapping[str, Mapping[str, str]]


def is_of_sdv(form: object) -> bool:
    """Whether something is metadata of SDV."""
    return isinstance(form, Mapping) and _VERSION in form


def is_of_dpsynth(form: object) -> bool:
    """Whether something is a domain of dpsynth."""
    return isinstance(form, Mapping) and bool(form) and all(map(_class_of, form.values()))


def described_by_others(form: object) -> Described | None:
    """One table that another package describes; None for what is not of another package.

    Raises:
        DataError: it describes several tables, or in another form than is known.
    """
    if is_of_dpsynth(form):
        assert isinstance(form, Mapping)
        with _well_formed("a domain of dpsynth as `to_yaml_file` writes it"):
            return Described({str(name): _OF_DPSYNTH[_class_of(one)](one) for name, one in form.items()})
    if not is_of_sdv(form):
        return None
    with _well_formed(_SAVED):
        return _only_table(_tables(form))


def _only_table(tables: Mapping[str, Mapping[str, Any]]) -> Described:
    if len(tables) != 1:
        raise DataError(
            f"expected SDV's metadata of one table, got {len(tables)}; give several tables by name beside "
            "it, or write a folder of domain files by `dpmosaic domain from`"
        )
    (table,) = tables.values()
    return _describe(table, (table.get("sequence_key"),))


def tables_of_sdv(form: object) -> DescribedTables:
    """The tables of metadata of SDV.

    Raises:
        DataError: it is none, or a table belongs to one by several columns together.
    """
    if not is_of_sdv(form):
        raise DataError(
            "expected metadata of SDV, which a file in JSON holds, got something else; name its file, or "
            "one of relations in TOML"
        )
    with _well_formed(_SAVED):
        return _tables_of(form)


@contextlib.contextmanager
def _well_formed(what: str) -> Iterator[None]:
    """Refuses what another package would not have written.

    Raises:
        DataError: a part is missing, or of another type.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise DataError(
            f"expected {what}, got it with a part missing or of another type; write it anew"
        ) from None


def _tables_of(form: Any) -> DescribedTables:
    tables = _tables(form)
    relations: dict[str, dict[str, str]] = {}
    bound: dict[str, set[object]] = {name: set() for name in tables}
    for link in form.get("relationships", ()):
        parent, child = link["parent_table_name"], link["child_table_name"]
        key, foreign = link["parent_primary_key"], link["child_foreign_key"]
        if not isinstance(key, str) or not isinstance(foreign, str):
            raise DataError(f"{child}: expected a key of one column, got several; make one column of them")
        relations.setdefault(child, {})[foreign] = parent if key == foreign else f"{parent}.{key}"
        bound[parent].add(key)
        bound[child].add(foreign)
    described = {name: _describe(table, bound[name]) for name, table in tables.items()}
    return DescribedTables(described, relations)


def _tables(form: Any) -> Mapping[str, Mapping[str, Any]]:
    """The tables of metadata by name; "table" for one without a name."""
    if form[_VERSION] not in _VERSIONS:
        raise DataError(
            f"expected SDV's metadata of version {', '.join(_VERSIONS)}, got another; upgrade it by "
            "`Metadata.load_from_json` of a newer SDV"
        )
    tables = form.get("tables", {"table": form})
    for table in tables.values():
        for name, column in table.get("columns", {}).items():
            if not isinstance(column, Mapping) or not isinstance(column.get("sdtype"), str):
                raise DataError(f"column {name!r}: expected an sdtype in SDV's metadata, got none; add it")
    return dict(tables)


def _describe(table: Mapping[str, Any], keys: Sequence[object] | set[object]) -> Described:
    own, columns = table.get("primary_key") or table.get("sequence_key"), table.get("columns", {})
    kept = {name for name in columns if name not in keys}
    kept |= {own} & columns.keys() if kept and isinstance(own, str) else set()
    named = (own, *table.get("alternate_keys", ()))
    entries = {name: _of_sdv(name, one, name in named) for name, one in columns.items() if name in kept}
    kinds = {name: (entry["type"], entry) for name, entry in entries.items()}
    learned = [name for name, (kind, one) in kinds.items() if kind == "numeric" or one.get("open")]
    dates = [name for name, (kind, _) in kinds.items() if kind in ("date", "timestamp")]
    dropped = [name for name, entry in entries.items() if entry.get("drop")]
    key, order = table.get("sequence_key"), table.get("sequence_index")
    return Described(
        entries,
        tuple(learned),
        tuple(dates),
        tuple(dropped),
        key if isinstance(key, str) else "",
        order if isinstance(order, str) else "",
    )


def _of_sdv(name: str, column: Mapping[str, Any], names_rows: bool) -> dict[str, Any]:
    """The entry of a column.

    Args:
        name: of the column.
        column: what the metadata says of it.
        names_rows: whether it is a key.
    """
    kind = column["sdtype"]
    if names_rows or kind == "id":
        return {"type": "identifier", "pattern": _pattern(column.get("regex_format", ""))}
    if kind == "numerical" or (kind in ("latitude", "longitude") and column.get("pii") is False):
        whole = "Int" in column.get("computer_representation", "")
        return {"type": "numeric", "bins": "auto", "nullable": True, **({"integer": True} if whole else {})}
    if kind == "boolean":
        return {"type": "boolean", "nullable": True}
    if kind == "datetime":
        return _datetime(column.get("datetime_format") or "")
    if kind == "categorical" and column.get("order"):
        return {"type": "categorical", "categories": [*column["order"], ""], "ordered": True}
    if kind == "categorical" or column.get("pii") is False:
        return {"type": "categorical", "categories": ["other", ""], "other": "other", "open": True}
    # Names, addresses and what is not known may say who somebody is.
    return {"type": "text", "drop": True}


def _datetime(written: str) -> dict[str, Any]:
    """The entry of dates in a format; empty for one that is not stated."""
    finest = next((unit for unit, parts in _UNITS if any(part in written for part in parts)), "year")
    unit = finest if written else "second"
    timed = unit in ("second", "minute", "hour")
    first, last = _SHORT_YEARS if "%y" in written else _YEARS
    ends = ("T00:00:00", "T23:59:59") if timed else ("", "")
    bounds = {"min": f"{first}-01-01{ends[0]}", "max": f"{last}-12-31{ends[1]}", "granularity": unit}
    kind = {"type": "timestamp" if timed else "date", **bounds, "bins": "auto", "nullable": True}
    return {**kind, "format": written} if written else kind


def _pattern(regex: str) -> str:
    """The pattern of an identifier for a regular expression of one number; a number for any other."""
    found = _COUNTED.fullmatch(regex)
    if found is None:
        return "{:d}"
    before, digits, after = found.groups()
    return f"{before}{{:0{int(digits)}d}}{after}" if digits else f"{before}{{:d}}{after}"


def _class_of(one: object) -> str:
    """The class of an attribute of dpsynth, as its type says or, in earlier files, its other keys; or ""."""
    if not isinstance(one, Mapping):
        return ""
    if "type" in one:
        return one["type"] if one["type"] in [*_OF_DPSYNTH] else ""
    return next((found for key, found in _CLASSES.items() if key in one), "")


def _categorical(one: Mapping[str, Any]) -> dict[str, Any]:
    values = list(one["possible_values"])
    other = values[one.get("out_of_domain_index", 0)]
    return {"type": "categorical", "categories": _with_missing(values), "other": other}


def _numerical(one: Mapping[str, Any]) -> dict[str, Any]:
    whole = one.get("dtype", "float") == "int"
    ends = {key: int(one[f"{key}_value"]) if whole else one[f"{key}_value"] for key in ("min", "max")}
    outside = "clip" if one.get("clip_to_range", True) else "missing"
    policies = {"nullable": True, "outside": outside, "unreadable": "missing"}
    return {"type": "numeric", **ends, "bins": "auto", **({"integer": True} if whole else {}), **policies}


def _open(one: Mapping[str, Any]) -> dict[str, Any]:
    other = one.get("default_value", "<OOD>")
    known = list(dict.fromkeys((*one.get("public_possible_values", ()), other)))
    return {"type": "categorical", "categories": _with_missing(known), "other": other, "open": True}


def _free_text(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "text", "drop": True}


def _with_missing(values: list[Any]) -> list[Any]:
    """Categories with a missing value among them: no row is refused for one."""
    return values if "" in values else [*values, ""]


_OF_DPSYNTH = {
    "CategoricalAttribute": _categorical,
    "NumericalAttribute": _numerical,
    "OpenSetCategoricalAttribute": _open,
    "FreeFormTextAttribute": _free_text,
}
"""By the class of an attribute, its entry."""

_CLASSES = {
    "possible_values": "CategoricalAttribute",
    "min_value": "NumericalAttribute",
    "max_tokens": "FreeFormTextAttribute",
    "default_value": "OpenSetCategoricalAttribute",
}
"""By a key that only its attributes have, a class."""


def _list_names(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown

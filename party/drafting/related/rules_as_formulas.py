"""Rules of columns that follow from computed ones, as expressions: no model holds what they follow from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....common.data.rules.elapsed import ELAPSED
from ....common.data.values import text_of
from ...sources.sql import as_name, quote

_PARTS = {"weekday": "isodow"}
"""Functions of SQL that are called otherwise than the parts of a date."""


def with_what_follows(
    entries: Mapping[str, Any], rules: Sequence[Mapping[str, Any]], computed: Mapping[str, Any]
) -> dict[str, Any]:
    """The entries of columns that are computed, and of those that follow from these by rules.

    Args:
        entries: of the table.
        rules: that its rows keep.
        computed: columns that are computed = their entries.
    """
    found, left = dict(computed), [one for rule in rules if (one := _formula(rule)) is not None]
    while ready := [one for one in left if one[1] & {*found} and one[0] not in found]:
        column, _, text = ready[0]
        entry = entries[column]
        listed = {"type": "categorical", "categories": entry, "reviewed": False}
        found[column] = {**(listed if isinstance(entry, list) else entry), "computed": text}
    return found


def _formula(rule: Mapping[str, Any]) -> tuple[str, set[str], str] | None:
    """The column that a rule computes, those from which, and the expression; None if it computes none."""
    match rule:
        case {"sum": str(column), "of": [*parts]} | {"product": str(column), "of": [*parts]}:
            sources = {part for part in parts if isinstance(part, str)}
            said = [as_name(part) if isinstance(part, str) else f"{part}" for part in parts]
            return column, sources, (" + " if "sum" in rule else " * ").join(said)
        case {"steps": str(column), "of": str(of), "at": [*steps], "values": [*values]}:
            pairs = zip(steps, values[:-1], strict=True)
            cases = " ".join(f"WHEN {as_name(of)} < {_step(one)} THEN {_value(held)}" for one, held in pairs)
            return column, {of}, f"CASE {cases} ELSE {_value(values[-1])} END"
        case {"part": str(part), "column": str(column), "of": str(of), **rest}:
            text = f"{_PARTS.get(part, part)}({as_name(of)})"
            if named := rest.get("map"):
                cases = " ".join(f"WHEN {number} THEN {_value(value)}" for number, value in named.items())
                text = f"CASE {text} {cases} END"
            return column, {of}, text
        case {"from": str(begin), "to": str(end)}:
            unit, column = next((unit, rule[unit]) for unit in ELAPSED if unit in rule)
            function = "date_diff" if unit == "days" else "date_sub"
            text = f"{function}('{unit[:-1]}', {as_name(begin)}, {as_name(end)})"
            return column, {begin, end}, text
    return None


def _step(step: Any) -> str:
    """A bound of numbers or dates."""
    return f"TIMESTAMP {quote(step)}" if isinstance(step, str) else text_of(step)


def _value(value: Any) -> str:
    return quote(value) if isinstance(value, str) else text_of(value)

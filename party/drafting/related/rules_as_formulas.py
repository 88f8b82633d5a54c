"""Rules of columns that follow from computed ones, as expressions: no model holds what they follow from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....common.data.rules.elapsed import Elapsed
from ....common.data.rules.follows import PartOf, StepsOf
from ....common.data.rules.order import Product, Sum
from ....common.data.rules.reading import read_rule
from ....common.data.rules.rule import Computing
from ....common.data.values import text_of
from ...sources.sql import as_name, quote
from ..draft import as_object

_PARTS = {"weekday": "isodow"}
"""Functions of SQL that are called otherwise than the parts of a date."""


def with_what_follows(
    entries: dict[str, Any], rules: Sequence[Mapping[str, Any]], computed: Mapping[str, Any]
) -> dict[str, Any]:
    """The entries of columns that are computed, and of those that follow from these by rules.

    Args:
        entries: of the table.
        rules: that its rows keep.
        computed: columns that are computed = their entries.
    """
    read = (read_rule(rule) for rule in rules)
    found, left = dict(computed), [rule for rule in read if isinstance(rule, Computing)]
    while ready := [one for one in left if {*one.sources} & {*found} and one.result not in found]:
        column = ready[0].result
        known = {name: as_object(entry) for name, entry in (entries | found).items()}
        missing = any(known[name].get("nullable", False) for name in ready[0].sources)
        follows = {"reviewed": False, "computed": _expression(ready[0], missing)}
        found[column] = known[column] | follows
    return found


def _expression(rule: Computing, missing: bool) -> str:
    """By which a rule computes its column.

    Args:
        rule: the rule.
        missing: whether what it is computed from may be missing.
    """
    match rule:
        case Sum(addends=parts):
            said = (as_name(part) if isinstance(part, str) else f"{part}" for part in parts)
            return (" * " if isinstance(rule, Product) else " + ").join(said)
        case StepsOf(of=of, at=steps, values=values):
            pairs = zip(steps, values[:-1], strict=True)
            cases = " ".join(f"WHEN {as_name(of)} < {_step(one)} THEN {_value(held)}" for one, held in pairs)
            last = f"WHEN {as_name(of)} >= {_step(steps[-1])} THEN" if missing else "ELSE"
            return f"CASE {cases} {last} {_value(values[-1])} END"
        case PartOf(of=of, part=part, names=names):
            text = f"{_PARTS.get(part, part)}({as_name(of)})"
            cases = " ".join(f"WHEN {number} THEN {_value(value)}" for number, value in names)
            return f"CASE {text} {cases} END" if cases else text
        case Elapsed(unit=unit, begin=begin, end=end):
            function = "date_diff" if unit == "days" else "date_sub"
            return f"{function}('{unit[:-1]}', {as_name(begin)}, {as_name(end)})"
    raise TypeError(f"{type(rule).__name__} has no expression")


def _step(step: Any) -> str:
    """A bound of numbers or dates."""
    return f"TIMESTAMP {quote(step)}" if isinstance(step, str) else text_of(step)


def _value(value: Any) -> str:
    return quote(value) if isinstance(value, str) else text_of(value)

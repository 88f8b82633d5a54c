"""The list of rules of a domain file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import DataError
from ..values import text_of
from .determines import Determines
from .elapsed import ELAPSED, Elapsed
from .follows import PARTS, PartOf, StepsOf
from .impossible import Impossible, NullWhen, read_conditions
from .order import AtMost, Product, Sum
from .rule import Rule
from .rule_form import RULE


def read_rules(form: object) -> tuple[Rule, ...]:
    """Reads the list `rules` of a domain file.

    Raises:
        DataError: it is no list of rules.
    """
    if not isinstance(form, list):
        raise DataError("rules: expected a list of rules; fix the domain")
    return tuple(map(read_rule, form))


def read_rule(form: object) -> Rule:
    """Reads one rule.

    Args:
        form: one of `{"impossible": {column: condition, ...}}`,
            `{"determines": {"from": column, "to": column}, "map": {value: value}}` ("map" optional),
            `{"at_most": [columns]}`, `{"sum": column, "of": [columns]}`,
            `{"product": column, "of": [columns]}` (parts of sums and products may be numbers),
            `{"part": part, "column": column, "of": column, "map": {part: value}}` ("map" optional),
            `{"steps": column, "of": column, "at": [steps], "values": [values]}`,
            `{"years": column, "from": column, "to": column}` (or months, days, hours, minutes),
            `{"null": column, "when": {column: condition}, "only": true}` ("only" optional).

    Raises:
        DataError: it is none.
    """
    fits = RULE.fits(form)
    # The readers of conditions and maps know better what is wrong with them.
    match form:
        case {"impossible": conditions, **rest} if fits or not rest:
            return Impossible(read_conditions(conditions))
        case {"determines": {"from": str(determinant), "to": str(dependent)}, "map": pairs, **rest} if (
            fits or not rest
        ):
            return Determines(determinant, dependent, _pairs(pairs))
        case {"determines": {"from": str(determinant), "to": str(dependent)}} if fits:
            return Determines(determinant, dependent, None)
        case {"at_most": [*names]} if fits:
            return AtMost(tuple(names))
        case {"sum": str(total), "of": [*parts]} if fits:
            return Sum(total, tuple(parts))
        case {"product": str(total), "of": [*parts]} if fits:
            return Product(total, tuple(parts))
        case {"part": str(part), "column": str(column), "of": str(other), **rest} if fits:
            return PartOf(column, other, part, _pairs(rest.get("map", {})))
        case {"steps": str(column), "of": str(other), "at": [*steps], "values": [*values]} if fits:
            return StepsOf(column, other, tuple(steps), tuple(values))
        case {"from": str(begin), "to": str(end), **rest} if fits:
            ((unit, number),) = rest.items()
            return Elapsed(str(number), str(unit), begin, end)
        case {"null": str(column), "when": conditions, **rest} if fits or not rest:
            return NullWhen(column, read_conditions(conditions), rest.get("only") is True)
    raise DataError(
        'rules: expected "impossible", "determines" with "from" and "to", "at_most", "sum" or "product" '
        f'with "of", "part", one of {", ".join(PARTS)}, with "column" and "of", "steps" with "of", "at" and '
        f'"values", one of {", ".join(ELAPSED)} with "from" and "to", or "null" with "when"; fix the rule'
    )


def _pairs(form: object) -> tuple[tuple[str, Any], ...]:
    if not isinstance(form, Mapping) or not all(isinstance(v, (str, int, float)) for v in form.values()):
        raise DataError("rules: expected as map an object, value -> value; fix the rule")
    return tuple((text_of(value), determined) for value, determined in form.items())

"""Values that obey inequalities and sums, drawn together from the bins of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...later import np
from .order import SUM_ROUNDING, AtMost, Sum, totals_in_order
from .plain import extent, not_below, numbers, plain, with_numbers
from .rule import Codes, Mask, components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Domain

Values: TypeAlias = "dict[str, NDArray[Any]]"

_VALUE_REDRAWS = 100
"""Times that values are drawn again from their bins where they break a rule."""


def drawn_together(
    domain: Domain,
    codes: Mapping[str, Codes],
    values: Mapping[str, NDArray[Any]],
    draw: Callable[[str, NDArray[np.int64]], NDArray[Any]],
) -> Values:
    """Values that break no inequality, no sum and no product of the domain.

    Values of a row that breaks one are drawn again, so that they are distributed as before, given the rule.
    What still breaks an inequality gets the least values that do not. A total is the sum of its parts; if
    that lies outside the total's bin even after redraws, the total leaves its bin.

    Args:
        domain: of the codes.
        codes: of each column, shape (N,).
        values: decoded values of each column, shape (N,).
        draw: draws values of a column for some of its rows.
    """
    found = dict(values)
    ruled = [rule for rule in domain.rules if isinstance(rule, (AtMost, Sum))]
    for together in components(ruled):
        names = domain.canonical({name for rule in together for name in rule.columns})
        part, rows = {name: found[name] for name in names}, np.arange(len(codes[names[0]]))
        for _ in range(_VALUE_REDRAWS):
            kept = {name: codes[name][rows] for name in names}
            breaking = _set_totals(domain, kept, part, together)
            breaking |= np.any([rule.broken(_plain(domain, part, rule.columns)) for rule in together], axis=0)
            for name in names:
                found[name] = _replace_values(found[name], rows, part[name])
            rows = rows[breaking]
            part = {name: draw(name, rows) for name in names}
            if not len(rows):
                break
        else:
            part = _least(domain, {name: codes[name][rows] for name in names}, part, together)
            for name in names:
                found[name] = _replace_values(found[name], rows, part[name])
    return found


def out_of_order(domain: Domain, rules: Sequence[AtMost], values: Mapping[str, NDArray[Any]]) -> Mask:
    """Which rows of decoded values break one of these inequalities, shape (N,)."""
    broken: Mask = np.any([rule.broken(_plain(domain, values, rule.columns)) for rule in rules], axis=0)
    return broken


def _replace_values(values: NDArray[Any], rows: NDArray[np.int64], part: NDArray[Any]) -> NDArray[Any]:
    changed = values.copy() if values.dtype.kind in "OM" else values.astype(np.result_type(values, part))
    changed[rows] = part
    return changed


def _set_totals(
    domain: Domain, codes: Mapping[str, Codes], values: Values, rules: Sequence[AtMost | Sum]
) -> Mask:
    """Sets totals to those of their parts; returns the rows with a total outside its bin."""
    outside = np.zeros(len(next(iter(values.values()))), dtype=np.bool_)
    for rule in totals_in_order(rules):
        found = _plain(domain, values, rule.columns)
        total = rule.of_parts(np.stack([numbers(found[part]) for part in rule.addends]))
        known = ~np.isnan(total) & ~np.isnan(numbers(found[rule.total]))
        total = rule.to_column(domain, total)
        values[rule.total] = with_numbers(domain[rule.total], values[rule.total], known, total)
        low, high = extent(domain[rule.total])[codes[rule.total]].T
        slack = SUM_ROUNDING * np.abs(total)
        outside |= known & ((total < low - slack) | (total > high + slack))
    return outside


def _least(
    domain: Domain, codes: Mapping[str, Codes], values: Values, rules: Sequence[AtMost | Sum]
) -> Values:
    """The least values of rows, raised as little as inequalities need."""
    found = dict(values)
    every = np.ones(len(next(iter(codes.values()))), dtype=np.bool_)
    orders = [rule for rule in rules if isinstance(rule, AtMost)]
    for name in {name for rule in orders for name in rule.names}:
        low = extent(domain[name])[codes[name], 0]
        found[name] = with_numbers(domain[name], found[name], every & ~np.isnan(low), low)
    # A raised value can be the lower one of another rule, so all are applied as often as there are rules.
    for rule in orders * len(orders):
        for place, upper in enumerate(rule.names[1:], start=1):
            reached = [numbers(plain(domain[name], found[name])) for name in rule.names[: place + 1]]
            least = np.fmax.reduce(reached[:-1])
            raised = not_below(domain[upper], least)
            found[upper] = with_numbers(domain[upper], found[upper], reached[-1] < least, raised)
    _set_totals(domain, codes, found, rules)
    return found


def _plain(domain: Domain, values: Mapping[str, NDArray[Any]], names: Sequence[str]) -> Values:
    return {name: plain(domain[name], values[name]) for name in names}

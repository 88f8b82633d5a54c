"""Values that obey inequalities and sums, drawn together from the bins of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .order import ROUNDING, AtMost, Sum
from .plain import extent, numbers, plain, with_numbers
from .rule import Codes, Mask

if TYPE_CHECKING:
    from ..domain import Domain

Values = dict[str, NDArray[Any]]

_REDRAWS = 100
"""Times that values are drawn again from their bins where they break a rule."""


def drawn_together(
    domain: Domain,
    codes: Mapping[str, Codes],
    values: Mapping[str, NDArray[Any]],
    draw: Callable[[str, NDArray[np.int64]], NDArray[Any]],
) -> Values:
    """Values that break no inequality and no sum of the domain.

    Values of a row that breaks one are drawn again, so that they are distributed as before, given the rule.
    What still breaks an inequality is raised as little as needed. A total is the sum of its parts; if that
    lies outside the total's bin even after redraws, the total leaves its bin.

    Args:
        domain: of the codes.
        codes: of each column, shape (N,).
        values: decoded values of each column, shape (N,).
        draw: draws values of a column for some of its rows.
    """
    sums = [rule for rule in domain.rules if isinstance(rule, Sum)]
    orders = [rule for rule in domain.rules if isinstance(rule, AtMost)]
    totals = {rule.total for rule in sums}
    drawn = domain.canonical({name for rule in (*sums, *orders) for name in rule.columns} - totals)
    ruled = (*drawn, *totals)
    found, rows = dict(values), np.arange(len(next(iter(codes.values()))))
    part = {name: found[name] for name in ruled}
    for _ in range(_REDRAWS if ruled else 0):
        breaking = _totalled(domain, {name: codes[name][rows] for name in totals}, part, sums)
        for order in orders:
            breaking |= order.broken(_plain(domain, part, order.names))
        for name in ruled:
            found[name] = _placed(found[name], rows, part[name])
        rows = rows[breaking]
        if not len(rows):
            return found
        part = {name: draw(name, rows) if name in drawn else found[name][rows] for name in ruled}
    # A raised value can be the lower one of another rule, so all are applied as often as there are rules.
    for order in orders * len(orders):
        _raise(domain, order, found)
    _totalled(domain, codes, found, sums)
    return found


def _placed(values: NDArray[Any], rows: NDArray[np.int64], part: NDArray[Any]) -> NDArray[Any]:
    changed = values.copy() if values.dtype.kind in "OM" else values.astype(np.result_type(values, part))
    changed[rows] = part
    return changed


def _totalled(domain: Domain, codes: Mapping[str, Codes], values: Values, sums: Sequence[Sum]) -> Mask:
    """Sets totals to the sums of parts; returns the rows with a total outside its bin."""
    outside = np.zeros(len(next(iter(values.values()))), dtype=np.bool_)
    for rule in sums:
        found = _plain(domain, values, rule.columns)
        total = np.sum([numbers(found[part]) for part in rule.addends], axis=0)
        known = ~np.isnan(total) & ~np.isnan(numbers(found[rule.total]))
        values[rule.total] = with_numbers(domain[rule.total], values[rule.total], known, total)
        low, high = extent(domain[rule.total])[codes[rule.total]].T
        slack = ROUNDING * np.abs(total)
        outside |= known & ((total < low - slack) | (total > high + slack))
    return outside


def _raise(domain: Domain, rule: AtMost, values: Values) -> None:
    """Raises each number to that of the column before."""
    for lower, upper in zip(rule.names, rule.names[1:], strict=False):
        found = _plain(domain, values, (lower, upper))
        broken = AtMost((lower, upper)).broken(found)
        values[upper] = with_numbers(domain[upper], values[upper], broken, numbers(found[lower]))


def _plain(domain: Domain, values: Values, names: Sequence[str]) -> Values:
    return {name: plain(domain[name], values[name]) for name in names}

"""Values that obey inequalities and sums, drawn together from the bins of a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..numeric import NumericAttribute
from .extent import extent, numbers
from .order import AtMost, Sum
from .rule import Codes, Mask

if TYPE_CHECKING:
    from ..domain import Domain

Values = dict[str, NDArray[Any]]

_REDRAWS = 30
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
        values: raw values of each column, shape (N,).
        draw: draws values of a column for some of its rows.
    """
    sums = [rule for rule in domain.rules if isinstance(rule, Sum)]
    orders = [rule for rule in domain.rules if isinstance(rule, AtMost)]
    totals = {rule.total for rule in sums}
    drawn = {name for rule in (*sums, *orders) for name in rule.columns} - totals
    found = dict(values)
    breaking = _totalled(domain, codes, found, sums)
    for _ in range(_REDRAWS if drawn else 0):
        for order in orders:
            breaking |= order.broken(found)
        rows = np.flatnonzero(breaking)
        if not len(rows):
            return found
        for name in domain.canonical(drawn):
            found[name] = found[name].copy()
            found[name][rows] = draw(name, rows)
        breaking = _totalled(domain, codes, found, sums)
    for _ in orders:
        for order in orders:
            _raise(domain, order, found)
    return found


def _totalled(domain: Domain, codes: Mapping[str, Codes], values: Values, sums: Sequence[Sum]) -> Mask:
    """Sets totals to sums of parts; returns the rows with a total outside its bin."""
    outside = np.zeros(len(next(iter(codes.values()))), dtype=np.bool_)
    for rule in sums:
        total = np.sum([numbers(part, values[part]) for part in rule.addends], axis=0)
        total = _rounded(total, [domain[part] for part in rule.addends])
        known = ~np.isnan(total) & ~np.isnan(numbers(rule.total, values[rule.total]))
        values[rule.total] = _with_numbers(values[rule.total], known, total)
        low, high = extent(domain[rule.total])[codes[rule.total]].T
        outside |= known & ((total < low) | (total > high))
    return outside


def _raise(domain: Domain, rule: AtMost, values: Values) -> None:
    """Raises each number to that of the column before."""
    for lower, upper in zip(rule.names, rule.names[1:], strict=False):
        broken = AtMost((lower, upper)).broken(values)
        if broken.any() and values[upper].dtype.kind == "M":
            values[upper] = np.where(broken, values[lower], values[upper])
        elif broken.any():
            least, attribute = numbers(lower, values[lower]), domain[upper]
            unit = attribute.unit if isinstance(attribute, NumericAttribute) else None
            if unit is not None:
                least = np.round(np.ceil(least / unit) * unit, _digits(unit))
            values[upper] = _with_numbers(values[upper], broken, least)


def _with_numbers(values: NDArray[Any], where: Mask, found: NDArray[np.float64]) -> NDArray[Any]:
    """Values with some replaced by numbers of the same type."""
    new: NDArray[Any] = found[where]
    if values.dtype.kind in "iuO" and np.array_equal(new, np.floor(new)):
        new = new.astype(np.int64)
    changed = values.astype(np.result_type(values, new)) if values.dtype != object else values.copy()
    changed[where] = new
    return changed


def _rounded(total: NDArray[np.float64], parts: Sequence[object]) -> NDArray[np.float64]:
    """Sums of multiples of units, without the last digits of floating-point addition."""
    units = [part.unit if isinstance(part, NumericAttribute) else 1.0 for part in parts]
    known = [unit for unit in units if unit is not None]
    return np.round(total, max(map(_digits, known))) if len(known) == len(units) else total


def _digits(unit: float) -> int:
    return max(0, math.ceil(-math.log10(unit))) + 6

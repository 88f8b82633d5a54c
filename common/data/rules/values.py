"""Values that obey rules beyond their codes, drawn together from the bins of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...later import np
from ..attributes.dates import GapAttribute
from .elapsed import Elapsed
from .follows import Follows
from .inside import draw_inside, rules_by_source
from .order import SUM_ROUNDING, AtMost, Sum
from .plain import extent, not_below, numbers, plain, with_numbers
from .rule import Codes, Mask, Rule, components, in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Domain

Values: TypeAlias = "dict[str, NDArray[Any]]"
Draw: TypeAlias = "Callable[[str, NDArray[np.int64]], NDArray[Any]]"

_VALUE_REDRAWS = 100
"""Times that values are drawn again from their bins where they break a rule."""


def drawn_together(
    domain: Domain,
    codes: Mapping[str, Codes],
    values: Mapping[str, NDArray[Any]],
    draw: Draw,
    counts: Mapping[str, NDArray[np.integer[Any]]],
    rng: np.random.Generator,
) -> Values:
    """Values that break no rule of the domain that relates values.

    A number or date from which other columns follow is drawn from those of its bin from which they do
    (`draw_inside`). Values of a row that breaks a rule are drawn again, so that they are distributed as
    before, given the rule. What still breaks an inequality gets the least values that do not. A column that
    is computed is so from the others; if that lies outside its bin even after redraws, it leaves its bin.

    Args:
        domain: of the codes.
        codes: of each column, shape (N,).
        values: decoded values of each column, shape (N,).
        draw: draws values of a column for some of its rows.
        counts: records of each code, for every attribute, by which numbers are spread within bins.
        rng: draws values from which others follow.
    """
    found = dict(values)
    for together in components(related_by_values(domain)):
        names = domain.canonical({name for rule in together for name in rule.columns})
        draws = _Draws(domain, codes, draw, counts, rng, together)
        rows = np.arange(len(codes[names[0]]))
        part = {name: draws(name, rows) if name in draws.inside else found[name] for name in names}
        tested = [rule for rule in together if not isinstance(rule, Follows)]
        for _ in range(_VALUE_REDRAWS):
            kept = {name: codes[name][rows] for name in names}
            breaking = _set_computed(domain, kept, part, together)
            for rule in tested:
                breaking |= rule.broken(_plain(domain, part, rule.columns), domain)
            for name in names:
                found[name] = _replace_values(found[name], rows, part[name])
            rows = rows[breaking]
            part = {name: draws(name, rows) for name in names}
            if not len(rows):
                break
        else:
            part = _least(domain, {name: codes[name][rows] for name in names}, part, together)
            for name in names:
                found[name] = _replace_values(found[name], rows, part[name])
    return found


def related_by_values(domain: Domain) -> list[Rule]:
    """The rules by which values are drawn together; what follows from gaps does so when times are known."""
    return [rule for rule in domain.rules if rule.of_values and not _follows_gap(domain, rule)]


def after_times(domain: Domain, values: Mapping[str, NDArray[Any]]) -> Values:
    """Values with times in place of gaps, and the columns that follow from these."""
    found = dict(values)
    for rule in in_order(domain.rules):
        if _follows_gap(domain, rule) and found.keys() >= {*rule.columns}:
            found[rule.result] = rule.compute(domain, found)
    return found


def out_of_order(domain: Domain, rules: Sequence[AtMost], values: Mapping[str, NDArray[Any]]) -> Mask:
    """Which rows of decoded values break one of these inequalities, shape (N,)."""
    broken: Mask = np.any(
        [rule.broken(_plain(domain, values, rule.columns), domain) for rule in rules], axis=0
    )
    return broken


class _Draws:
    """Draws values of columns for some rows: see `drawn_together` for the arguments."""

    def __init__(
        self,
        domain: Domain,
        codes: Mapping[str, Codes],
        draw: Draw,
        counts: Mapping[str, NDArray[np.integer[Any]]],
        rng: np.random.Generator,
        rules: Sequence[Rule],
    ) -> None:
        self._domain, self._codes, self._draw, self._counts, self._rng = domain, codes, draw, counts, rng
        self.inside = rules_by_source(domain, rules)

    def __call__(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        if name not in self.inside:
            return self._draw(name, rows)
        rules = self.inside[name]
        codes = {one: self._codes[one][rows] for one in (name, *(rule.column for rule in rules))}
        return draw_inside(self._domain, rules, codes, self._counts[name], self._rng)


def _follows_gap(domain: Domain, rule: Rule) -> bool:
    """Whether a column is computed from dates of which gaps alone are drawn."""
    return isinstance(rule, Follows | Elapsed) and any(
        isinstance(domain[name], GapAttribute) for name in rule.sources
    )


def _replace_values(values: NDArray[Any], rows: NDArray[np.int64], part: NDArray[Any]) -> NDArray[Any]:
    changed = values.copy() if values.dtype.kind in "OM" else values.astype(np.result_type(values, part))
    changed[rows] = part
    return changed


def _set_computed(domain: Domain, codes: Mapping[str, Codes], values: Values, rules: Sequence[Rule]) -> Mask:
    """Sets what is computed from others; returns the rows in which it is outside its bin, if others may be.

    What follows from a number or date that was drawn does so as far as its bin allows.
    """
    outside = np.zeros(len(next(iter(values.values()))), dtype=np.bool_)
    ordered = in_order(rules)
    computed = {rule.result for rule in ordered}
    for rule in ordered:
        if isinstance(rule, Follows) and rule.of in computed:
            outside |= rule.broken(_plain(domain, values, rule.columns), domain)
        values[rule.result] = rule.compute(domain, values)
        if isinstance(rule, Sum | Elapsed):
            total = numbers(plain(domain[rule.result], values[rule.result]))
            low, high = extent(domain[rule.result])[codes[rule.result]].T
            slack = SUM_ROUNDING * np.abs(total)
            outside |= (total < low - slack) | (total > high + slack)
    return outside


def _least(domain: Domain, codes: Mapping[str, Codes], values: Values, rules: Sequence[Rule]) -> Values:
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
    _set_computed(domain, codes, found, rules)
    return found


def _plain(domain: Domain, values: Mapping[str, NDArray[Any]], names: Sequence[str]) -> Values:
    return {name: plain(domain[name], values[name]) for name in names}

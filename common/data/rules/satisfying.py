"""Rows that obey all rules: whether there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import DataError
from ...later import np
from .rule import in_order

if TYPE_CHECKING:
    from ..domain import Domain
    from .rule import Rule

_VALUES_TRIED = 10_000
"""Most values that are tried; rules that contradict each other do so within few columns."""

_CODES = 1 << 26
"""Most codes of all columns of all rules, and so many are tested at most; some seconds."""

_FEW_CODES = 1 << 14
"""To test fewer takes as long."""


def check_satisfiable(domain: Domain) -> None:
    """Refuses rules that do not fit the domain, that no row can obey together, or that take too long to test.

    Raises:
        DataError: there are such rules.
    """
    sizes = dict(zip(domain.names, domain.sizes, strict=True))
    if sum(sizes.get(name, 0) for rule in domain.rules for name in rule.columns) > _CODES:
        raise DataError(
            f"rules: expected at most {_CODES} codes in the columns of all of them together; state fewer "
            "rules, or fewer bins"
        )
    for rule in domain.rules:
        rule.check(domain)
    in_order(domain.rules)
    if example(domain) is None:
        raise DataError("rules: no row can obey all of them together; remove or change one")


def example(domain: Domain) -> dict[str, int] | None:
    """The codes of one row that obeys all rules, or None; by backtracking over the columns of the rules.

    If the search takes too long, the row that it has then may break a rule.
    """
    names = list(dict.fromkeys(name for rule in domain.rules for name in rule.columns))
    # A rule is tested at the last of its columns.
    ends: dict[str, list[Rule]] = {name: [] for name in names}
    for rule in domain.rules:
        ends[max(rule.columns, key=names.index)].append(rule)
    found: dict[str, int] = {}
    tried: list[list[int]] = []
    left = _CODES
    for _ in range(_VALUES_TRIED):
        if len(tried) == len(found):
            if len(found) == len(names):
                break
            name = names[len(found)]
            left -= len(ends[name]) * max(_FEW_CODES, domain[name].size)
            if left < 0:
                break
            tried.append(_possible(domain, found, name, ends[name]))
        if tried[-1]:
            found[names[len(tried) - 1]] = tried[-1].pop()
        else:
            tried.pop()
            if not tried:
                return None
            found.popitem()
    return {name: found.get(name, 0) for name in domain.names}


def _possible(domain: Domain, found: dict[str, int], name: str, rules: list[Rule]) -> list[int]:
    """The codes of a column that break none of the rules about it and columns before."""
    free = np.ones(domain[name].size, dtype=np.bool_)
    for rule in rules:
        codes = {other: np.array(found.get(other, 0)) for other in rule.columns}
        free &= ~rule.forbids(domain, codes | {name: np.arange(len(free))})
    codes_left: list[int] = np.flatnonzero(free)[::-1].tolist()
    return codes_left

"""Rows that obey all rules: whether there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import DataError
from ...later import np

if TYPE_CHECKING:
    from ..domain import Domain

_STEPS = 10_000
"""Most values that are tried; rules that contradict each other do so within few columns."""


def check_satisfiable(domain: Domain) -> None:
    """Refuses rules that no row can obey together.

    Raises:
        DataError: there is no such row.
    """
    if domain.rules and example(domain) is None:
        raise DataError("rules: no row can obey all of them together; remove or change one")


def example(domain: Domain) -> dict[str, int] | None:
    """The codes of one row that obeys all rules, or None; by backtracking over the columns of the rules.

    If the search takes too long, the row that it has then may break a rule.
    """
    names = list(dict.fromkeys(name for rule in domain.rules for name in rule.columns))
    found: dict[str, int] = {}
    tried: list[list[int]] = []
    for _ in range(_STEPS):
        if len(tried) == len(found):
            if len(found) == len(names):
                break
            tried.append(_possible(domain, found, names[len(found)]))
        if tried[-1]:
            found[names[len(tried) - 1]] = tried[-1].pop()
        else:
            tried.pop()
            if not tried:
                return None
            found.popitem()
    return {name: found.get(name, 0) for name in domain.names}


def _possible(domain: Domain, found: dict[str, int], name: str) -> list[int]:
    """The codes of a column that break no rule about it and the columns before."""
    free = np.ones(domain[name].size, dtype=np.bool_)
    for rule in domain.rules:
        if name in rule.columns and set(rule.columns) <= {*found, name}:
            codes = {other: np.array(found.get(other, 0)) for other in rule.columns}
            free &= ~rule.forbids(domain, codes | {name: np.arange(len(free))})
    codes_left: list[int] = np.flatnonzero(free)[::-1].tolist()
    return codes_left

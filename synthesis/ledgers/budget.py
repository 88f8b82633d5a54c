"""What the releases of a table promise together, in Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...common.errors import DataError
from ...common.privacy.budget import DEFAULT_DELTA, Budget
from ...common.privacy.rounding import text_above
from ...simulations.tables.frames import Source
from .ledger import Content, Ledger, limit_values, release_values
from .places import LedgerLike, ledgers_of
from .spent import Composed, Spent, by_unit, epsilon_left

NOT_COUNTED = (
    "Not counted: releases with a seed, which are not for release, simulations, and releases of a copy of "
    "the table that lies elsewhere."
)


@dataclass(frozen=True)
class TableBudget:
    """What the releases of a table promise together; shown as lines of text.

    Attributes:
        path: file of the ledger; there is none before the first release or limit.
        limit: what all releases may promise together; None for no limit.
        releases: the releases, in the order in which they began.
        changed: whether rows are not those of each release: a table of the same name is the same table.
    """

    path: Path
    limit: Budget | None
    releases: tuple[Spent, ...]
    changed: bool

    @cached_property
    def together(self) -> tuple[Composed, ...]:
        """What the releases of each unit promise together."""
        return by_unit(self.releases)

    @cached_property
    def epsilon_left(self) -> float | None:
        """The epsilon of one more release that the limit allows, with its delta; None for no limit.

        The limit holds for all releases together, in the strictest of their adjacencies.
        """
        return None if self.limit is None else epsilon_left(self.releases, self.limit)

    def __str__(self) -> str:
        lines = [
            f"{one.at}  epsilon {text_above(one.budget.epsilon or 0.0, 6)} at delta {one.budget.delta:g}, "
            f"{one.cost.unit.phrase}{', ended early' if one.ended else ''}{'  ' + one.out if one.out else ''}"
            for one in self.releases
        ]
        for one in self.together:
            promise = "promises" if one.releases == 1 else "promise together"
            number = f"{one.releases} release{'' if one.releases == 1 else 's'}"
            lines.append(f"{number} ({one.unit.phrase}) {promise} {one}.")
        if len(self.together) > 1:
            lines.append("Promises for different units are not in one sum.")
        if not self.releases:
            lines.append("No release of this table is counted.")
        if self.changed:
            lines.append("The rows of the table have changed between releases, or since the last one.")
        if self.limit is not None:
            lines.append(
                f"Limit: epsilon {self.limit.epsilon:g} at delta {self.limit.delta:g}; one more release of "
                f"epsilon {self.epsilon_left:g} fits."
            )
        return "\n".join([*lines, NOT_COUNTED])

    __repr__ = __str__

    def summary(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "ledger": str(self.path),
            "releases": [release_values(one) for one in self.releases],
            "together": [
                {
                    "unit": one.unit.phrase,
                    "releases": one.releases,
                    "epsilon": one.epsilon,
                    "delta": one.delta,
                }
                for one in self.together
            ],
            "limit": limit_values(self.limit),
            "epsilon_left": self.epsilon_left,
            "changed": self.changed,
        }


def budget(
    data: Source | Mapping[str, Source],
    *,
    limit: float | None = None,
    delta: float = DEFAULT_DELTA,
    ledger: LedgerLike = True,
) -> TableBudget:
    """What the releases of a table promise together; sets a limit that `synthesize` keeps to.

    The noise of all releases for one unit composes as one Gaussian mechanism, so two of epsilon 1 promise
    less than 2. A release is counted with all that it may spend, before it begins.

    Args:
        data: the table, as `synthesize` has it.
        limit: the epsilon that all releases may promise together; `math.inf` for no limit. None leaves it as
            it is.
        delta: of the limit.
        ledger: the path of the ledger; by default that of the table.

    Returns:
        The releases, and what is left of the limit.

    Raises:
        DataError: there is no such file, or the ledger cannot be read or changed.
        BudgetError: the limit is out of range.

    Example:
        >>> release = dpmosaic.synthesize(patients, epsilon=1.0, domain=domain, ledger="patients.ledger")
        >>> dpmosaic.budget(patients, limit=3.0, ledger="patients.ledger").epsilon_left < 3.0
        True
    """
    if isinstance(data, Mapping) and (isinstance(ledger, bool) or not data):
        raise DataError("expected one table, got several, each with a ledger of its own; ask for one of them")
    if ledger is False:
        raise DataError("ledger: expected the path of one, or True, got False; leave it out")
    if isinstance(data, str | Path) and not Path(data).is_file():
        raise DataError(f"expected a table at {data}, found no file; fix the path")
    (found,) = ledgers_of(data, ledger)
    if found is None:
        raise DataError("expected a folder of state that can be written, got none; name a ledger")
    try:
        content = found.read() if limit is None else _with_limit(found, _limit(limit, delta))
    except OSError as cause:
        raise DataError(f"cannot write the ledger of the table: {cause}; name another") from cause
    before = {one.rows for one in content.spent if one.rows}
    rows = before | {found.rows(content.salt)} if before else before
    return TableBudget(found.path, content.limit, content.spent, len(rows) > 1)


def _limit(epsilon: float, delta: float) -> Budget | None:
    return None if epsilon == math.inf else Budget(epsilon, delta)


def _with_limit(ledger: Ledger, limit: Budget | None) -> Content:
    """Sets the limit of a ledger; what it says then."""
    with ledger.changing():
        content = replace(ledger.read(), limit=limit)
        ledger.write(content)
    return content

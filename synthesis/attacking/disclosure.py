"""Disclosure as statisticians of official statistics mean it: unique rows, rare groups, and equal rows.

Source: replicated uniques as in Raab, Nowok and Dibben, "Practical privacy metrics for synthetic data"
    (2024).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...common.data.table import Table
from .reading import Rows

_PAIRS = 300
"""Most pairs of columns in which rare groups are looked for."""

SIZES = ((1, 1), (2, 2), (3, 5))
"""Sizes of rare groups, from and to."""


@dataclass(frozen=True)
class Copies:
    """Released rows that equal the only real row of their kind, and how many chance explains.

    Attributes:
        unique: real rows that no other real row equals.
        replicated: released rows that equal one of them.
        drawn: the same of tables that were drawn anew from the published model.
        chance: how likely so many are if the released rows were drawn from the model, too.
        members: of the unique rows, the share that the release has; None without rows that were held out.
        held_out: the same of rows that were held out.
        chance_of_members: how likely such a difference is if both are alike to the release.
    """

    unique: int
    replicated: int
    drawn: tuple[int, ...]
    chance: float
    members: float | None = None
    held_out: float | None = None
    chance_of_members: float | None = None


@dataclass(frozen=True)
class RareGroups:
    """Combinations of values of two columns that few real rows have.

    Attributes:
        fewest: real rows of the smallest groups.
        most: of the largest.
        groups: their number, over all pairs of columns.
        released: share of them that some released row has.
        drawn: the same of a table that was drawn anew from the model.
    """

    fewest: int
    most: int
    groups: int
    released: float
    drawn: float


def copies(real: Rows, released: Rows, drawn: Sequence[Rows], held_out: Rows | None) -> Copies:
    """Compares equal rows with those of tables in which no row can be a copy.

    Tables that are drawn anew have as many equal rows as chance and the model explain. The difference is
    compared with their spread, or that of a Poisson number, whichever is larger.

    Args:
        real: the real rows.
        released: the released ones.
        drawn: at least two tables that were drawn anew.
        held_out: real rows that the release has not used.
    """
    only = real.unique()
    replicated, *others = (int(rows.equal_in(only).sum()) for rows in (released, *drawn))
    mean = float(np.mean(others))
    spread = max(mean, 1.0, float(np.var(others, ddof=1))) * (1 + 1 / len(others))
    chance = float(stats.t.sf((replicated - mean - 0.5) / spread**0.5, len(others) - 1))
    if held_out is None:
        return Copies(len(only.keys), replicated, tuple(others), chance)
    together = Rows.concatenate([real, held_out]).unique()
    if not len(together.keys):
        return Copies(0, replicated, tuple(others), chance)
    found, inside = together.equal_in(released) > 0, together.equal_in(real) > 0
    right, members, hits = int((found & inside).sum()), int(inside.sum()), int(found.sum())
    rest = len(together.keys) - members
    return Copies(
        len(only.keys),
        replicated,
        tuple(others),
        chance,
        right / max(1, members),
        (hits - right) / max(1, rest),
        float(stats.hypergeom.sf(right - 1, len(together.keys), members, hits)),
    )


def rare_groups(real: Table, released: Table, drawn: Table, rng: np.random.Generator) -> list[RareGroups]:
    """Rare groups of the real rows, and how many of them occur in released rows and in others."""
    domain = real.domain
    pairs = list(itertools.combinations(domain.varied, 2))
    if len(pairs) > _PAIRS:
        pairs = [pairs[place] for place in rng.choice(len(pairs), _PAIRS, replace=False)]
    held: list[NDArray[np.intp]] = [
        np.concatenate([table.marginal(pair) for pair in pairs] or [np.zeros(0, np.intp)])
        for table in (real, released, drawn)
    ]
    found = []
    for fewest, most in SIZES:
        rare = (held[0] >= fewest) & (held[0] <= most)
        shares = [float((counts[rare] > 0).mean()) if rare.any() else 0.0 for counts in held[1:]]
        found.append(RareGroups(fewest, most, int(rare.sum()), *shares))
    return found

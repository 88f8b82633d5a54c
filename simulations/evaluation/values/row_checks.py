"""Synthetic rows that equal real ones, and rows that break rules: not for publication."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .values import Values

_SEED = 0


@dataclass(frozen=True)
class EqualRows:
    """Shares of rows that equal a row of a reference table in every value.

    Without a holdout, the reference is a random half of the real rows.

    Attributes:
        synthetic: of the synthetic rows.
        expected: of real rows that are not in the reference: those of the holdout, or the other half.
        all_real: of the synthetic rows, those that equal any real row.
    """

    synthetic: float
    expected: float
    all_real: float


@dataclass(frozen=True)
class RuleBreaks:
    """How many rows break a rule of the domain.

    Attributes:
        rule: the kind of the rule, and its columns.
        real: share of the real rows.
        synthetic: share of the synthetic rows.
    """

    rule: str
    real: float
    synthetic: float


def rule_breaks(real: Values, synthetic: Values) -> list[RuleBreaks]:
    """How many rows break each rule, the rule that most synthetic rows break first."""
    found = [
        RuleBreaks(
            f"{next(iter(rule.to_json()))}: {', '.join(rule.columns)}", float(rows.mean()), float(made.mean())
        )
        for rule, rows, made in zip(real.table.domain.rules, real.broken, synthetic.broken, strict=True)
    ]
    return sorted(found, key=lambda breaks: -breaks.synthetic)


def equal_rows(
    real: Values, synthetic: Values, holdout: Values | None = None, seed: int = _SEED
) -> EqualRows:
    """How many synthetic rows equal real ones, beside how many real ones do.

    Args:
        real: the real table.
        synthetic: of the same domain.
        holdout: real rows that the release has not used.
        seed: of the halves.
    """
    keys = _keys(real, synthetic, *([holdout] if holdout else []))
    rows, made = keys[:2]
    if holdout:
        reference, others = rows, keys[2]
    else:
        order = np.random.default_rng(seed).permutation(len(rows))
        reference, others = rows[order[len(rows) // 2 :]], rows[order[: len(rows) // 2]]
    return EqualRows(_share(made, reference), _share(others, reference), _share(made, rows))


def _keys(*tables: Values) -> list[NDArray[np.int64]]:
    """For each row a number; equal rows, and only these, have equal numbers."""
    found = np.zeros(sum(values.table.record_count for values in tables), dtype=np.int64)
    for name in tables[0].table.domain:
        cells = np.concatenate([values.cells[name] for values in tables])
        _, places = np.unique(cells, return_inverse=True)
        _, found = np.unique(found * (int(places.max()) + 1) + places, return_inverse=True)
    return np.split(found, np.cumsum([values.table.record_count for values in tables])[:-1])


def _share(rows: NDArray[np.int64], reference: NDArray[np.int64]) -> float:
    return float(np.isin(rows, reference).mean()) if len(rows) else 0.0

"""Suggests rules that private rows keep: dependencies, impossible combinations, inequalities and sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .profile import Rows

_SAMPLE = 50_000
"""Number of rows that are looked at."""

_SEED = 1

_KEPT = 0.999
"""Share of the rows that keep a suggested rule."""

_EXPECTED = 50
"""A combination is suspicious if it never occurs and so many rows of independent columns would have it."""

_MOST = 30
"""At most so many rules of each kind."""

_SMALL = 12
"""Combinations are looked for among columns of at most so many values."""

Codes = NDArray[np.int64]


def suggested_rules(rows: Rows, entries: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rules that nearly all rows keep, though rows of independent columns would not.

    Args:
        rows: the rows.
        entries: the drafted entries.
    """
    sample = rows.sample(_SAMPLE, _SEED)
    if len(next(iter(sample.values()))) < 100:
        return
    numbers = {n: rows.numbers_of(sample[n], e) for n, e in entries.items() if e["type"] == "numeric"}
    labels = {
        name: np.unique(sample[name], return_inverse=True)
        for name, entry in entries.items()
        if entry["type"] in ("categorical", "codes", "boolean")
    }
    yield from _determined({name: codes for name, (_, codes) in labels.items()})

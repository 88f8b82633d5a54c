"""Errors of range queries. They are computed from private rows: not for publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from ...common.errors import DataError

_SEED = 0
_QUERIES = {3: 210, 5: 37}
"""Number of queries in the paper's experiments, by their number of attributes (section 5.1.2)."""


@dataclass(frozen=True)
class RangeQuery:
    """How many records lie between two codes, both included, in each of some attributes.

    Attributes:
        clique: the attributes, in domain order.
        ranges: for each the first code and the one after the last.
    """

    clique: Clique
    ranges: tuple[tuple[int, int], ...]

    def share(self, table: Table) -> float:
        """The share of a table's records that lie inside."""
        inside = np.ones(table.record_count, dtype=bool)
        for name, (low, high) in zip(self.clique, self.ranges, strict=True):
            codes = table.column(name)
            inside &= (codes >= low) & (codes < high)
        return float(np.average(inside, weights=table.weights))


@dataclass(frozen=True)
class RangeError:
    """Errors over range queries.

    Attributes:
        dimensions: number of attributes of each query.
        queries: number of queries.
        mean_squared: mean squared difference between shares of records.
        mean_absolute: mean absolute difference between them.
    """

    dimensions: int
    queries: int
    mean_squared: float
    mean_absolute: float


def range_queries(domain: Domain, dimensions: int, count: int, seed: int = _SEED) -> list[RangeQuery]:
    """Random queries, the same for every mechanism.

    Attributes are drawn with weights that are squares of exponential variables, so that some are more
    frequent. Both ends of a range are drawn uniformly.

    Source: PPSyn, section 5.1.2, which does not say how the ranges are drawn.

    Raises:
        DataError: the domain has fewer attributes.
    """
    if not 1 <= dimensions <= len(domain):
        raise DataError(
            f"range queries: expected 1 to {len(domain)} dimensions, as it has attributes, got "
            f"{dimensions}; use fewer"
        )
    rng = np.random.default_rng([seed, dimensions])
    weights = rng.exponential(size=len(domain)) ** 2
    # After rounding, enough attributes must have a positive weight.
    weights = weights / weights.sum() + 1e-6
    drawn = [
        rng.choice(len(domain), size=dimensions, replace=False, p=weights / weights.sum())
        for _ in range(count)
    ]
    queries = []
    for places in drawn:
        clique = tuple(domain.names[place] for place in sorted(places.tolist()))
        ends = [np.sort(rng.integers(0, size, 2)).tolist() for size in domain.shape(clique)]
        queries.append(RangeQuery(clique, tuple((low, high + 1) for low, high in ends)))
    return queries


def range_errors(
    real: Table, synthetic: Table, dimensions: Sequence[int] = (3, 5), seed: int = _SEED
) -> list[RangeError]:
    """Errors over random range queries: 210 of 3 attributes and 37 of 5, as in the paper.

    Source: PPSyn, section 5.1, metric 2, on shares of records, so that tables of different sizes compare.
    """
    found = []
    for count in dimensions:
        if count <= len(real.domain):
            queries = range_queries(real.domain, count, _QUERIES.get(count, 100), seed)
            off = np.array([query.share(real) - query.share(synthetic) for query in queries])
            error = RangeError(count, len(queries), float(np.mean(off**2)), float(np.abs(off).mean()))
            found.append(error)
    return found

"""A small table with all kinds of columns, and what a release of it looks like to queries."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table, encode_table
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.results.evidence import Evidence, Known

RECORDS = 3000

DOMAIN = Domain.from_json(
    {
        "sex": ["F", "M"],
        "size": {"type": "categorical", "categories": ["S", "M", "L"], "ordered": True},
        "job title": ["clerk", "cook", ""],
        "smoker": {"type": "boolean", "nullable": True},
        "age": {"type": "numeric", "min": 30, "max": 39, "bins": 10, "nullable": True},
        "since": {"type": "date", "min": "2020-01-01", "max": "2020-01-06", "bins": 6},
        "score": 4,
    }
)


def columns(rows=RECORDS, seed=1):
    """Raw columns in which every pair depends on each other."""
    rng = np.random.default_rng(seed)
    base = rng.random(rows)

    def near(count):
        return np.clip((base * count + rng.normal(0, 0.8, rows)).astype(int), 0, count - 1)

    def missing(values, share):
        return np.where(rng.random(rows) < share, None, values)

    return {
        "sex": np.array(["F", "M"], dtype=object)[near(2)],
        "size": np.array(["S", "M", "L"], dtype=object)[near(3)],
        "job title": missing(np.array(["clerk", "cook"], dtype=object)[near(2)], 0.1),
        "smoker": missing(np.array([False, True], dtype=object)[near(2)], 0.1),
        "age": missing((30 + near(10)).astype(object), 0.05),
        "since": np.datetime64("2020-01-01") + near(6),
        "score": near(4),
    }


@dataclass(frozen=True, eq=False)
class ModelOfTable:
    """A model with the marginals of a table; none of more than `most` attributes."""

    table: Table
    most: int = 99

    @property
    def domain(self):
        return self.table.domain

    def marginal(self, clique):
        if len(clique) > self.most:
            raise ModelError("too large")
        return self.table.marginal(clique).astype(float)


@dataclass(frozen=True, eq=False)
class SmallRelease:
    """What queries need of a release."""

    model: ModelOfTable
    evidence: Evidence | None
    rows: Table

    @property
    def domain(self):
        return self.rows.domain

    @property
    def records(self):
        return float(self.rows.record_count)

    def without_evidence(self):
        return replace(self, evidence=None)

    def from_rows(self):
        """The same, if the model can compute marginals of one attribute only."""
        return replace(self, model=replace(self.model, most=1))


def evidence_of(table, sigma, rng, orders):
    """Measurements of all interactions of so many attributes, with Gaussian noise."""
    known = {}
    for clique in itertools.chain(*(itertools.combinations(table.domain.names, k) for k in orders)):
        shape = table.domain.shape(clique)
        noise = sigma * rng.standard_normal(math.prod(shape))
        known[clique] = Known(interaction(table.marginal(clique) + noise, shape), sigma)
    return Evidence(table.domain, float(table.record_count), known)


def small_release(real=None, sigma=1e-3, orders=(1, 2, 3), seed=0, released=None):
    """A release of `real` whose rows are `released`, by default the same."""
    real = encode_table(DOMAIN, columns()) if real is None else real
    rows = real if released is None else released
    return SmallRelease(
        ModelOfTable(rows), evidence_of(real, sigma, np.random.default_rng(seed), orders), rows
    )

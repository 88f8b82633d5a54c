"""Public facts of a release without parties, and knowledge of a table as if it had been measured."""

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.measurers.measurer import Scores
from dpmosaic.curator.mechanisms.mosaic.grouping import Candidates
from dpmosaic.curator.mechanisms.mosaic.knowledge import Knowledge
from dpmosaic.curator.mechanisms.mosaic.released import references


@dataclass
class Remaining:
    """An accountant's rest, zCDP."""

    remaining: Fraction


@dataclass
class Facts:
    """Facts of a table in one place: noise of scale 1 / sqrt(2 rho), the same for every clique."""

    domain: Domain
    record_count: int
    granted: Fraction
    unmeasurable: tuple = ()
    words: int = 0
    openings: str = "own"
    scores_exactly: bool = True
    accountant: Remaining = field(init=False)

    def __post_init__(self):
        self.accountant = Remaining(self.granted)

    def needs_sum(self, view, zcdp_rho):
        return False

    def expected_sigma(self, view, zcdp_rho):
        return math.inf if view.clique in self.unmeasurable else 1 / math.sqrt(2 * zcdp_rho)

    def measurable_groups(self, groups):
        return groups

    def multiplied(self, view):
        """One matrix of `words` for each clique, or if `openings` is "shared", the same for all."""
        return {"shared" if self.openings == "shared" else view.clique: self.words} if self.words else {}


def measured(table, sigma=1e-3):
    """All one-way marginals and pairs as if measured with noise of this scale, which happens to be zero."""
    known = Knowledge(table.domain, table.record_count)

    def measure(cliques):
        known.measure([Measurement(View(c), table.marginal(c).astype(float), sigma, 1.0) for c in cliques])

    measure([(name,) for name in table.domain.names])
    shares = known.shares()
    pairs = list(itertools.combinations(table.domain.names, 2))
    for first, second in pairs:
        independent = table.record_count * np.outer(shares[first], shares[second])
        known.refer((first, second), independent.ravel())
    measure(pairs)
    known.learn_sizes()
    known.chosen = pairs
    return known


def chain_of_bits(records, seed):
    """Six bits, each equal to the one before in three quarters of the records."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, records)]
    for _ in range(5):
        columns.append(columns[-1] ^ (rng.random(records) < 0.25))
    return Table.from_codes(Domain.coded(dict.fromkeys("abcdef", 2)), np.column_stack(columns))


def scored_triples(known, rows, distances, sigma, most_cells=1e4):
    """Scores triples with these distances from rows; returns them in the order in which they are found."""
    found = list(Candidates(known).find(3, most_cells, ()))
    scores = Scores(np.array([distances.get(view.clique, 0.0) for view in found]), sigma)
    known.score_beside(found, references(found, rows, known.records), scores, rows.record_count)
    return known, [view.clique for view in found]


@pytest.fixture(scope="session", name="facts")
def _facts():
    return Facts


@pytest.fixture(scope="session", name="chain_of_bits")
def _chain_of_bits():
    return chain_of_bits


@pytest.fixture(scope="session", name="measured")
def _measured():
    return measured


@pytest.fixture(scope="session", name="scored_triples")
def _scored_triples():
    return scored_triples

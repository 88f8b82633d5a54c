"""Small tables, parties over them, and runs of mechanisms."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.simulations.contracts.trial import chain_table, measurer_over, run_mechanism


def wide_table(records=3000, seed=0):
    """Six attributes of ten codes that mostly depend on a latent attribute."""
    rng = np.random.default_rng(seed)
    shared = rng.integers(0, 10, records)
    columns = [np.where(rng.random(records) < 0.7, shared, rng.integers(0, 10, records)) for _ in range(6)]
    return Table.from_codes(Domain.coded({name: 10 for name in "uvwxyz"}), np.column_stack(columns))


def pairs_table(strength, records=2000, seed=0):
    """Attributes of four codes, where a equals b, and c equals d, in these shares of the records."""
    rng = np.random.default_rng(seed)
    columns = []
    for share in strength:
        first, other = rng.integers(0, 4, (2, records))
        columns += [first, np.where(rng.random(records) < share, first, other)]
    return Table.from_codes(Domain.coded({name: 4 for name in "abcd"}), np.column_stack(columns))


@pytest.fixture(scope="session", name="chain_table")
def _chain_table():
    return chain_table


@pytest.fixture(scope="session", name="measurer_over")
def _measurer_over():
    return measurer_over


@pytest.fixture(scope="session", name="run")
def _run():
    return run_mechanism


@pytest.fixture(scope="session", name="wide_table")
def _wide_table():
    return wide_table


@pytest.fixture(scope="session", name="pairs_table")
def _pairs_table():
    return pairs_table


@pytest.fixture
def scored(monkeypatch):
    """The calls of `score` by the mechanism: cliques, references, and scores."""
    calls = []

    def watch(score):
        def watched(self, views, references, rho, step):
            references = list(references)
            cliques = [view.clique for view in views]
            calls.append((cliques, references, score(self, views, references, rho, step)))
            return calls[-1][-1]

        return watched

    for kind in (FederationMeasurer, MaskedMeasurer):
        monkeypatch.setattr(kind, "score", watch(kind.score))
    return calls

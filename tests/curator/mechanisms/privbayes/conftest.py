"""A table of dependent attributes, and the queries of a run."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.masked import MaskedMeasurer

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "h": 30})


def table_of(records=3000, seed=0, domain=DOMAIN):
    """b and h mostly follow a, c mostly follows b."""
    rng = np.random.default_rng(seed)

    def mostly(values, size):
        return np.where(rng.random(records) < 0.8, values % size, rng.integers(0, size, records))

    a = rng.integers(0, 3, records)
    b = mostly(a, 2)
    columns = {"a": a, "b": b, "c": mostly(b, 4), "h": mostly(a * 9 + rng.integers(0, 9, records), 30)}
    return Table.from_codes(domain, {name: columns[name] for name in domain})


@pytest.fixture(scope="session", name="table_of")
def _table_of():
    return table_of


@pytest.fixture
def asked(monkeypatch):
    """Every query and every score of a run, with the noise of the latter."""
    seen = []
    for kind in (FederationMeasurer, MaskedMeasurer):

        def measured(self, queries, measure=kind.measure):
            seen.extend(queries)
            return measure(self, queries)

        def scored(self, views, references, rho, step, score=kind.score):
            references = list(references)
            cliques = [view.clique for view in views]
            seen.append((cliques, references, score(self, views, references, rho, step)))
            return seen[-1][-1]

        monkeypatch.setattr(kind, "measure", measured)
        monkeypatch.setattr(kind, "score", scored)
    return seen

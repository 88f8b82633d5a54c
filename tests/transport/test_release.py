"""A release over the network equals the release in one process, to the last byte."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.simulations.contracts.trial import Trial

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2, "d": 5})
TRIAL = Trial(Fraction(1), protocol="masked", grid="2x2")


def released(table, links):
    measurer = TRIAL.measurer(table, links)
    cliques = [("a", "b"), ("a", "c"), ("b", "c", "d")]
    marginals = measurer.measure([Query(View(clique), Fraction(1, 5), "test") for clique in cliques])
    references = [np.zeros(DOMAIN.cells(clique), dtype=np.int64) for clique in cliques]
    scores = measurer.score([*map(View, cliques)], references, Fraction(1, 5), "test")
    return [list(m.values) for m in marginals], list(scores.values)


@pytest.mark.slow
def test_masked_marginals_and_scores_are_the_same_over_tls(loopback):
    rng = np.random.default_rng(3)
    table = Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, 300) for n in DOMAIN.sizes]))
    over_tls = [[loopback(link.servicer).dial() for link in row] for row in TRIAL.parties(table)]
    assert released(table, over_tls) == released(table, TRIAL.parties(table))

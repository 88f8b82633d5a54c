"""A whole release over the network is the release in one process, to the last byte."""

from fractions import Fraction

import numpy as np
from support.parties import cut, policy_for, started

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.messages import PROTOCOL_VERSION, ReleaseTerms
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.measurers.masked import MaskedMeasurer, masked_plan
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2, "d": 5})
GRANTED = Fraction(1)


def released(links):
    federation = connect(DOMAIN, links)
    plan = masked_plan(federation, GRANTED, Adjacency.ZERO_OUT)
    terms = ReleaseTerms("r", PROTOCOL_VERSION, "masked", Adjacency.ZERO_OUT, 1.0, plan)
    dealer = RandomStream.from_seed(5)
    measurer = MaskedMeasurer(federation, terms, federation.accept(terms), GRANTED, dealer)
    cliques = [("a", "b"), ("a", "c"), ("b", "c", "d")]
    marginals = measurer.measure([Query(clique, Fraction(1, 5), "test") for clique in cliques])
    references = [np.zeros(DOMAIN.cells(clique), dtype=np.int64) for clique in cliques]
    scores = measurer.score(cliques, references, Fraction(1, 5), "test")
    return [list(m.values) for m in marginals], list(scores.values)


def test_masked_marginals_and_scores_are_the_same_over_tls(loopback):
    rng = np.random.default_rng(3)
    table = Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, 300) for n in DOMAIN.sizes]))

    def links():
        return started(cut(table, "2x2"), policy_for("masked"), RandomStream.from_seed(1))

    over_tls = [[loopback(link.servicer).dial() for link in row] for row in links()]
    assert released(over_tls) == released(links())

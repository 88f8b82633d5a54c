"""Different queries to parties give uniform sums, and an id is valid for one query only."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, grid_of
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.reveal import opened_sum
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from support.changed import changed
from support.masked_views import table_of
from support.taps import Curator
from support.terms import RELEASE_ID
from support.words import ALPHA, likely_noise, uniformity

ASKED = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("x",)), 2.0)
PAIR = Domain.coded({"x": 1200, "y": 1200})
INCONSISTENT = {
    "another sigma": replace(ASKED, sigma=4.0),
    "a slightly other sigma": replace(ASKED, sigma=np.nextafter(2.0, 3.0)),
    "another clique": changed(ASKED, clique=("y",)),
    "another id": replace(ASKED, query_id="p"),
    "boxes": changed(ASKED, boxes=tuple(((code, code + 1),) for code in range(1200))),
}


def sum_of(curator, queries):
    """The opened sum, in integers, of answers to these queries, one per party."""
    ring = curator.terms().masked_plan.ring
    answers = []
    for client, query in zip(curator.clients, queries, strict=False):
        (answer,) = client.answer(query, 1, 1199 if query.view.interaction else 1200, 1)
        answers.append(answer[0])
    return opened_sum(ring, answers)


@pytest.mark.slow
@pytest.mark.parametrize("other", INCONSISTENT.values(), ids=INCONSISTENT)
def test_answers_to_different_queries_with_one_id_sum_to_uniform_words(other, ledgers, monkeypatch):
    """Each query is charged for its noise: chi-square over 1,200 draws, p < 1e-6."""
    drawn, draw = [], DistributedNoise.draw

    def drawing(self, sigma, size, stream):
        drawn.append((sigma, draw(self, sigma, size, stream)))
        return drawn[-1][1]

    monkeypatch.setattr(DistributedNoise, "draw", drawing)
    curator = Curator(table_of("equal", PAIR), "3x1")
    noise = curator.measurer()._plan.noise
    queries = [ASKED, ASKED, other]
    nonsense = sum_of(curator, queries)
    assert uniformity(Ring(32).words(nonsense)) > ALPHA
    truth = grid_of(2.0) * curator.table.marginal(("x",))
    # One in 2,000 uniform words is within a million of the true count.
    assert (np.abs(nonsense - truth) < 10**6).mean() < 0.01
    for ledger, query, (sigma, values) in zip(ledgers, queries, drawn, strict=True):
        assert sigma == query.sigma
        assert ledger.cost_of(RELEASE_ID) == gaussian_cost(query.sigma, Adjacency.ZERO_OUT)
        assert likely_noise(values, noise.share_scale(query.sigma)) > ALPHA


def test_answers_to_the_same_query_sum_to_the_counts_and_repeat_at_no_cost(ledgers):
    curator = Curator(table_of("equal", PAIR), "3x1")
    sigma = curator.measurer()._plan.noise.total_sigma(2.0)
    opened = sum_of(curator, [ASKED] * 3)
    errors = opened / grid_of(2.0) - curator.table.marginal(("x",))
    assert likely_noise(errors, sigma) > ALPHA
    assert uniformity(Ring(32).words(opened)) < ALPHA
    assert sum_of(curator, [ASKED] * 3).tolist() == opened.tolist()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [gaussian_cost(2.0, Adjacency.ZERO_OUT)] * 3


def test_the_sum_without_one_party_is_uniform():
    curator = Curator(table_of("equal", PAIR), "3x1")
    curator.measurer()
    assert uniformity(Ring(32).words(sum_of(curator, [ASKED] * 2))) > ALPHA


@pytest.mark.parametrize("masked", [True, False])
def test_all_messages_of_an_interaction_except_the_opened_sum_are_uniform(masked, monkeypatch):
    """Answers of one and of two parties of three, all differences of neighbours; not without the masks."""
    if not masked:
        monkeypatch.setattr(
            "dpmosaic.common.protocols.masked.reveal.pairwise_mask",
            lambda ring, me, streams, query, cells: np.zeros(cells, dtype=ring.dtype),
        )
    curator = Curator(table_of("random", PAIR), "3x1")
    sigma = curator.measurer()._plan.noise.total_sigma(2.0)
    query = changed(ASKED, interaction=True)
    for count in (1, 2):
        assert (uniformity(Ring(32).words(sum_of(curator, [query] * count))) > ALPHA) == masked
    opened = sum_of(curator, [query] * 3) / grid_of(2.0)
    errors = opened - np.diff(curator.table.marginal(("x",)))
    # Every second difference has two cells that no other has.
    assert likely_noise(errors[::2], math.sqrt(2) * sigma) > ALPHA


@pytest.mark.parametrize("other", [INCONSISTENT[name] for name in INCONSISTENT if name != "another id"])
def test_refuses_another_query_with_a_used_id(other, ledgers):
    curator = Curator(table_of("equal", PAIR), "3x1")
    curator.measurer()
    sum_of(curator, [ASKED] * 3)
    with pytest.raises(ProtocolError, match="was used for another query"):
        list(curator.clients[0].answer(other, 1, 1200, 1))
    assert ledgers[0].cost_of(RELEASE_ID) == gaussian_cost(2.0, Adjacency.ZERO_OUT)

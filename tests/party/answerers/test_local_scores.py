"""Scores of one party that holds the whole table."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import Delivery, DeliveryKind, OpeningRequest
from dpmosaic.common.privacy.cost import Adjacency, grid_of, score_cost
from dpmosaic.common.protocols.scores.query import references_digest
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire.streams import decode_answer
from dpmosaic.party.accounts.ledger import Ledger
from support.parties import party_of
from support.terms import RELEASE_ID, id_of, terms_for

TABLE = Table.from_codes(Domain.coded({"a": 2, "c": 4}), np.array([[0, 1], [1, 3], [1, 3], [0, 0], [1, 2]]))
LOCAL = ScoreQuery(
    RELEASE_ID,
    "s",
    (View(("a",)), View(("a", "c"))),
    0.01,
    references_digest([np.ones(10, dtype=np.int64)]),
    1,
    8,
)


@pytest.fixture
def alone(masked):
    """A party that holds the whole table, in an accepted release by the protocol `trusted`."""
    policy = replace(masked.policy, protocols=frozenset({"trusted", "indicator"}))
    ledger = Ledger()
    party = party_of("p", TABLE, policy, ledger=ledger)
    party.accept(
        encode_terms(terms_for(party, protocol="trusted", adjacency=Adjacency.REPLACE_ONE, granted_rho=1e6))
    )
    party.ledger = ledger
    return party


def references_for(party, words):
    party.deliver(
        Delivery(RELEASE_ID, DeliveryKind.SCORE_REFERENCES, query_id="s"), [words.astype("<i8").tobytes()]
    )


def test_a_single_party_scores_by_itself_is_charged_once_and_repeats_its_bytes(alone):
    """Noise of a hundredth of a record: half a record would be 50 deviations."""
    alone.prepare_scores(LOCAL)
    references_for(alone, np.ones(10, dtype=np.int64))
    frames = list(alone.answer_scores(LOCAL))
    (scores,) = decode_answer(frames, 1, 2, 1)
    # Of a: 2 and 3 records, of the pair: 1 1 0 0 and 0 0 1 2.
    assert np.rint(scores[0] / grid_of(0.01)).tolist() == [3, 5]
    alone.prepare_scores(LOCAL)
    assert list(alone.answer_scores(LOCAL)) == frames
    cost = score_cost(0.01, Adjacency.REPLACE_ONE, 2)
    assert alone.ledger.cost_of(RELEASE_ID) == cost > Fraction(3) * score_cost(0.01, Adjacency.ZERO_OUT, 2)


def test_a_single_party_answers_after_it_has_the_references_and_opens_nothing(alone):
    with pytest.raises(ProtocolError, match="not prepared"):
        alone.answer_scores(LOCAL)
    alone.prepare_scores(LOCAL)
    with pytest.raises(ProtocolError, match="deliver them first"):
        alone.answer_scores(LOCAL)
    with pytest.raises(ProtocolError, match="not those of the score query"):
        references_for(alone, np.zeros(10, dtype=np.int64))
    with pytest.raises(ProtocolError, match="only the references"):
        alone.deliver(Delivery(RELEASE_ID, DeliveryKind.SCORE_STEP, query_id="s"), [])
    with pytest.raises(ProtocolError, match="opens nothing"):
        alone.open(OpeningRequest(RELEASE_ID, (), 0, DeliveryKind.SCORE_STEP, "s"))


def test_a_release_by_noisy_indicators_has_no_scores(alone):
    alone.accept(
        encode_terms(
            terms_for(alone, release_id=id_of("i"), adjacency=Adjacency.REPLACE_ONE, granted_rho=1e6)
        )
    )
    with pytest.raises(ProtocolError, match="'indicator' has no scores"):
        alone.prepare_scores(replace(LOCAL, release_id=id_of("i")))
    assert alone.ledger.cost_of(id_of("i")) == 0

"""A second curator that the party pinned too tries to use, certify or end a release of the first one."""

from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.messages import (
    AbandonRequest,
    AnswerRequest,
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
)
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.certificates.verify import sign_terms
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.party.accounts.ledger import Ledger
from support.lone_party import DOMAIN, IDENTITY, POLICY, QUERY, TERMS
from support.parties import Link, party_of
from support.terms import RELEASE_ID, id_of

FIRST, SECOND = Identity.from_seed(b"1" * 32), Identity.from_seed(b"2" * 32)
CALLS = {
    "Introduce": [codec.encode(Introduction(RELEASE_ID, ()))],
    "Open": [codec.encode(OpeningRequest(RELEASE_ID, (("a",),), 1))],
    "Deal": [codec.encode(DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, 0))],
    "Deliver": [streams.encode_delivery(Delivery(RELEASE_ID, DeliveryKind.DEALT_ROWS, (("a",),)))],
    "Multiply": [codec.encode(MultiplyRequest(RELEASE_ID, ((("a",), ("b",)),)))],
    "Charge": [codec.encode(QUERY)],
    "Answer": [codec.encode(AnswerRequest(QUERY))],
    "PrepareScores": [codec.encode(ScoreQuery(RELEASE_ID, "s", (View(("a",)),), 3.0, bytes(32), 1, 1))],
    "AnswerScores": [codec.encode(ScoreQuery(RELEASE_ID, "s", (View(("a",)),), 3.0, bytes(32), 1, 1))],
    "Certify": [codec.encode(Claim(RELEASE_ID, bytes(32), 1.0))],
    "Abandon": [codec.encode(AbandonRequest(RELEASE_ID))],
}


@pytest.fixture
def ledger():
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture
def party(table, ledger):
    curators = {FIRST.public: "first", SECOND.public: "second"}
    return party_of("north", table, POLICY, ledger=ledger, identity=IDENTITY, curators=curators)


@pytest.fixture
def table():
    return Table.from_codes(DOMAIN, np.zeros((700, 3), dtype=np.int64))


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("caller", [SECOND.public, b""], ids=["another pinned curator", "nobody"])
def test_only_the_curator_that_signed_the_terms_may_call(party, ledger, method, caller):
    PartyClient(Link(party, FIRST.public)).accept(TERMS, sign_terms(FIRST, TERMS))
    before = ledger.mark()
    with pytest.raises(PolicyError, match="not from the curator that signed the terms"):
        list(Link(party, caller).call(method, CALLS[method]))
    assert ledger.mark() == before
    assert ledger.open_releases() == {RELEASE_ID}


def test_another_pinned_curator_cannot_bring_terms_that_it_did_not_sign(party, ledger):
    with pytest.raises(PolicyError, match="not from the curator that signed the terms"):
        PartyClient(Link(party, SECOND.public)).accept(TERMS, sign_terms(FIRST, TERMS))
    assert ledger.total_reserved() == 0


def test_the_curator_of_the_release_asks_certifies_and_ends(party, ledger):
    client = PartyClient(Link(party, FIRST.public))
    client.accept(TERMS, sign_terms(FIRST, TERMS))
    list(client.answer(QUERY, 1, 6000, 1))
    client.abandon(RELEASE_ID)
    client.abandon(RELEASE_ID)
    assert [entry.state for entry in ledger.summaries()] == ["abandoned"]
    second = replace(TERMS, release_id=id_of("s"))
    client.accept(second, sign_terms(FIRST, second))
    client.certify(Claim(id_of("s"), bytes(32), 0.0))
    assert [entry.state for entry in ledger.summaries()] == ["abandoned", "certified"]

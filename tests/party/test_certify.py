from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, PolicyError, ProtocolError
from dpmosaic.common.promises.statement import Claim, check_statement
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.curator.certificates.verify import sign_terms
from dpmosaic.party.accounts.ledger import Ledger
from support.parties import party_of as make_party
from support.parties import policy_for
from support.terms import RELEASE_ID, alone, terms_of

TABLE = Table.from_codes(Domain.coded({"a": 4}), np.array([[0], [3], [1]]))
QUERY = MarginalQuery(RELEASE_ID, "q1", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
CURATOR, PARTY = (Identity.from_seed(bytes([n]) * 32) for n in (1, 2))
TERMS = terms_of(plan=alone(TABLE.domain, 3, "p", PARTY.public))


def party_of(ledger, curators=None):
    return make_party("p", TABLE, policy_for("indicator"), ledger=ledger, identity=PARTY, curators=curators)


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger.create(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def party(ledger):
    made = party_of(ledger)
    made.accept(encode_terms(TERMS))
    list(made.answer(QUERY))
    list(made.answer(replace(QUERY, query_id="q2", sigma=3.0)))
    return made


def claim(spent, certificate=bytes(32)):
    return Claim(RELEASE_ID, certificate, float(spent))


def test_a_party_signs_all_that_it_charged(party, ledger):
    spent = ledger.cost_of(RELEASE_ID)
    said = party.certify(claim(spent))
    assert [entry.query_id for entry in said.entries] == ["q1", "q2"]
    assert check_statement(said, PARTY.public, encode_terms(TERMS), bytes(32)) == spent


def test_after_a_restart_a_party_signs_the_same_and_continues_the_chain(party, ledger, tmp_path):
    ledger.close()
    reopened = Ledger(tmp_path / "ledger.sqlite")
    again = party_of(reopened)
    list(again.answer(replace(QUERY, query_id="q3", sigma=5.0)))
    said = again.certify(claim(reopened.cost_of(RELEASE_ID)))
    assert len(said.entries) == 3
    check_statement(said, PARTY.public, encode_terms(TERMS), bytes(32))
    assert again.certify(claim(reopened.cost_of(RELEASE_ID))) == said
    reopened.close()


def test_refuses_to_sign_a_certificate_with_a_lower_cost_than_was_charged(party, ledger):
    with pytest.raises(BudgetError, match="a lower cost"):
        party.certify(claim(float(ledger.cost_of(RELEASE_ID)) * 0.999))


def test_one_certificate_of_a_release_is_signed(party, ledger):
    party.certify(claim(ledger.cost_of(RELEASE_ID)))
    with pytest.raises(ProtocolError, match="another certificate"):
        party.certify(claim(ledger.cost_of(RELEASE_ID), bytes([1]) * 32))


@pytest.mark.parametrize("query_id", ["q1", "q3"], ids=["an old query", "a new query"])
def test_after_its_certificate_a_release_answers_nothing_more(party, ledger, query_id):
    party.certify(claim(ledger.cost_of(RELEASE_ID)))
    with pytest.raises(ProtocolError, match="is certified at this party: its keys are erased"):
        list(party.answer(replace(QUERY, query_id=query_id)))


def test_a_release_that_was_not_accepted_is_not_certified(ledger):
    with pytest.raises(ProtocolError, match="accept it first"):
        party_of(ledger).certify(claim(1))


def test_terms_need_the_signature_of_a_pinned_curator(ledger):
    party = party_of(ledger, {PARTY.public: "p", CURATOR.public: "cur"})
    stranger = Identity.from_seed(bytes([7]) * 32)
    for signature in (b"", sign_terms(stranger, TERMS), sign_terms(CURATOR, replace(TERMS, granted_rho=0.5))):
        with pytest.raises(PolicyError, match="not signed by a pinned curator"):
            party.accept(encode_terms(TERMS), signature, CURATOR.public)
    assert ledger.total_reserved() == 0
    party.accept(encode_terms(TERMS), sign_terms(CURATOR, TERMS), CURATOR.public)
    assert ledger.total_reserved() == Fraction(1)


def test_refuses_all_terms_if_no_curator_is_pinned(ledger):
    with pytest.raises(PolicyError, match="not signed by a pinned curator"):
        party_of(ledger, {}).accept(encode_terms(TERMS), sign_terms(CURATOR, TERMS), CURATOR.public)

"""Releases in a ledger: accepted once, introduced once."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.party.accounts.ledger import Ledger, LedgerRelease
from support.ledgers import DATA, HALF, INTRODUCTION, KEY, QUERY, SECOND_SECRET, SECRET, TERMS, anything
from support.terms import RELEASE_ID, id_of, terms_with


def test_reserved_budgets_add_up_exactly(ledger):
    ledger.reserve(replace(TERMS, release_id=id_of("s"), granted_rho=0.1), DATA, SECRET, anything)
    assert ledger.total_reserved() == 1 + Fraction(0.1)
    assert ledger.release(RELEASE_ID).terms == encode_terms(TERMS)
    assert ledger.cost_of(RELEASE_ID) == ledger.cost_of(id_of("s")) == 0


def test_a_release_is_kept_with_its_data_its_secret_and_no_introduction(ledger):
    kept = ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECOND_SECRET, anything)
    encoded = encode_terms(replace(TERMS, release_id=id_of("s")))
    assert kept == ledger.release(id_of("s")) == LedgerRelease(encoded, DATA, SECOND_SECRET, None)
    assert ledger.release(RELEASE_ID) == LedgerRelease(encode_terms(TERMS), DATA, SECRET, None)


def test_the_same_terms_again_change_nothing_and_return_what_was_kept(ledger):
    ledger.charge(QUERY, HALF, DATA, KEY)
    ledger.introduce(RELEASE_ID, *INTRODUCTION)
    again = ledger.reserve(TERMS, DATA, SECOND_SECRET, anything)
    assert again == LedgerRelease(encode_terms(TERMS), DATA, SECRET, INTRODUCTION[0])
    assert (ledger.total_reserved(), ledger.cost_of(RELEASE_ID)) == (1, HALF)


def test_repeated_terms_need_no_second_approval(ledger):
    def nothing(reserved):
        raise PolicyError("full")

    assert ledger.reserve(TERMS, DATA, SECOND_SECRET, nothing).secret == SECRET
    with pytest.raises(PolicyError, match="full"):
        ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECOND_SECRET, nothing)
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.release(id_of("s"))
    assert ledger.total_reserved() == 1


@pytest.mark.parametrize(
    ("change", "data"),
    [
        ({"granted_rho": 2.0}, DATA),
        ({"protocol": "trusted"}, DATA),
        ({"adjacency": Adjacency.REPLACE_ONE}, DATA),
        ({"protocol_version": 3}, DATA),
        ({}, "e" * 64),
    ],
)
def test_other_terms_or_other_data_under_a_used_release_id_are_refused(ledger, change, data):
    with pytest.raises(ProtocolError, match="other terms or other data"):
        ledger.reserve(terms_with(TERMS, **change), data, SECOND_SECRET, anything)
    assert ledger.total_reserved() == 1
    assert ledger.release(RELEASE_ID) == LedgerRelease(encode_terms(TERMS), DATA, SECRET, None)


def test_an_introduction_is_stored_only_with_its_release(ledger):
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECOND_SECRET, anything)
    ledger.introduce(RELEASE_ID, *INTRODUCTION)
    assert ledger.release(RELEASE_ID).introduction == INTRODUCTION[0]
    assert ledger.release(id_of("s")).introduction is None


def test_the_same_introduction_again_changes_nothing_also_after_a_restart(ledger, path):
    ledger.introduce(RELEASE_ID, *INTRODUCTION)
    ledger.introduce(RELEASE_ID, *INTRODUCTION)
    ledger.close()
    again = Ledger(path)
    again.introduce(RELEASE_ID, *INTRODUCTION)
    assert again.release(RELEASE_ID).introduction == INTRODUCTION[0]
    again.close()


def test_another_introduction_of_a_release_is_refused_and_the_first_one_kept(ledger):
    ledger.introduce(RELEASE_ID, *INTRODUCTION)
    with pytest.raises(ProtocolError, match="introduced with other parties or masks"):
        ledger.introduce(RELEASE_ID, INTRODUCTION[0], b"digest of other keys", {})
    assert ledger.release(RELEASE_ID).introduction == INTRODUCTION[0]


def test_an_introduction_of_an_unknown_release_is_refused(ledger):
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.introduce(id_of("s"), *INTRODUCTION)

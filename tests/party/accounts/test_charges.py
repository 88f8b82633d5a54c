"""Charges in a ledger: once for a query, never above the grant."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, ProtocolError
from dpmosaic.common.queries import AnswerForm, ScoreQuery
from dpmosaic.party.accounts.ledger import Ledger
from support.changed import changed
from support.ledgers import DATA, HALF, KEY, OTHER, QUERY, SECOND_KEY, SECRET, TERMS, anything
from support.terms import RELEASE_ID, id_of


def test_charges_add_up_within_their_release(ledger):
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    assert ledger.charge(QUERY, Fraction(1, 3), DATA, KEY).zcdp_rho == Fraction(1, 3)
    ledger.charge(OTHER, Fraction(2, 3), DATA, KEY)
    ledger.charge(replace(QUERY, release_id=id_of("s")), Fraction(1, 7), DATA, KEY)
    assert ledger.cost_of(RELEASE_ID) == 1
    assert ledger.cost_of(id_of("s")) == Fraction(1, 7)
    assert ledger.total_reserved() == 2


def test_a_charge_past_the_grant_by_the_last_digit_is_refused_and_nothing_is_recorded(ledger):
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(BudgetError, match="more than is left"):
        ledger.charge(OTHER, HALF + Fraction(1, 2**64), DATA, KEY)
    assert ledger.cost_of(RELEASE_ID) == HALF
    assert ledger.charge(OTHER, HALF, DATA, SECOND_KEY).noise_key == SECOND_KEY
    assert ledger.cost_of(RELEASE_ID) == 1


def test_the_same_query_again_gets_the_first_entry_and_is_charged_once(ledger):
    first = ledger.charge(QUERY, HALF, DATA, KEY)
    assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY) == first
    assert ledger.cost_of(RELEASE_ID) == HALF


def test_an_answered_query_is_answered_again_though_the_grant_is_used_up(ledger):
    first = ledger.charge(QUERY, Fraction(1), DATA, KEY)
    assert ledger.charge(QUERY, Fraction(1), DATA, SECOND_KEY) == first
    assert ledger.cost_of(RELEASE_ID) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"sigma": 3.0},
        {"clique": ("b",)},
        {"clique": ("a", "b")},
        {"form": AnswerForm.RECORD_WISE},
        {"boxes": (((0, 1),),)},
    ],
)
def test_another_query_under_a_used_id_is_refused(ledger, change):
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="query id was used for another query"):
        ledger.charge(changed(QUERY, **change), HALF, DATA, KEY)
    assert ledger.cost_of(RELEASE_ID) == HALF


def test_a_score_query_under_the_id_of_a_marginal_query_is_refused(ledger):
    score = ScoreQuery(RELEASE_ID, "q1", (View(("a",)),), 2.0, bytes(32), 1, 2)
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="query id was used for another query"):
        ledger.charge(score, HALF, DATA, KEY)
    first = ledger.charge(replace(score, query_id="q2"), HALF, DATA, KEY)
    assert ledger.charge(replace(score, query_id="q2"), HALF, DATA, SECOND_KEY) == first
    assert ledger.cost_of(RELEASE_ID) == 1


def test_an_id_may_be_used_once_in_each_release(ledger):
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    ledger.charge(QUERY, HALF, DATA, KEY)
    other = ledger.charge(replace(QUERY, release_id=id_of("s")), HALF, DATA, SECOND_KEY)
    assert other.noise_key == SECOND_KEY


@pytest.mark.parametrize("query", [QUERY, OTHER])
def test_other_data_are_refused_for_old_queries_and_for_new_ones(ledger, query):
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="data changed"):
        ledger.charge(query, HALF, "e" * 64, KEY)
    assert ledger.cost_of(RELEASE_ID) == HALF


def test_a_query_for_an_unknown_release_is_refused(ledger):
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.charge(replace(QUERY, release_id=id_of("s")), HALF, DATA, KEY)
    assert ledger.cost_of(id_of("s")) == 0


def test_the_time_of_a_charge_does_not_grow_with_the_number_of_entries():
    ledger, steps = Ledger(), []
    ledger.reserve(TERMS, DATA, SECRET, anything)
    for number in range(500):
        before = len(steps)
        ledger._database.set_progress_handler(lambda: steps.append(1), 1)
        ledger.charge(replace(QUERY, query_id=f"q{number}"), Fraction(1, 500), DATA, KEY)
        work = len(steps) - before
        if number == 20:
            early = work
    assert work <= 2 * early

"""Noisy histograms and indicator vectors of a party's own rows, each charged once."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import BudgetError, ProtocolError
from dpmosaic.common.history import START
from dpmosaic.common.messages import Acceptance, Introduction, OpeningRequest
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.common.queries import AnswerForm
from dpmosaic.party.accounts.ledger import Ledger
from support.lone_party import QUERY, RECORD_WISE, asked, started
from support.terms import RELEASE_ID, terms_for


@pytest.mark.parametrize("sigma", [0.3, 3.0, 400.0])
def test_a_histogram_is_unbiased_and_has_the_noise_of_its_sigma(table, ledger, sigma):
    """A correct party fails one of these six checks in fewer than 1 of 100,000 choices of the seed."""
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=10.0)))
    noise = asked(party, replace(QUERY, sigma=sigma))[0] - table.marginal(("a", "b"))
    assert abs(noise.mean()) < 5 * sigma / math.sqrt(noise.size)
    squares = stats.chi2(noise.size)
    assert squares.ppf(5e-7) < np.sum((noise / sigma) ** 2) < squares.isf(5e-7)


def test_a_record_wise_answer_is_unbiased_and_has_the_noise_of_its_sigma(table, party):
    """A correct party fails one of these two checks in fewer than 1 of 500,000 choices of the seed."""
    indicators = np.eye(180)[table.cell_codes(("b", "c"), 0, 700)]
    noise = asked(party, RECORD_WISE, rows=700) - indicators
    assert noise.shape == (700, 180)
    assert abs(noise.mean()) < 5 * 3.0 / math.sqrt(noise.size)
    squares = stats.chi2(noise.size)
    assert squares.ppf(5e-7) < np.sum((noise / 3.0) ** 2) < squares.isf(5e-7)


def test_a_record_wise_answer_has_one_indicator_per_record_in_order(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e8)))
    indicators = asked(party, replace(RECORD_WISE, sigma=1e-4), rows=700)
    assert np.array_equal(np.rint(indicators), np.eye(180)[table.cell_codes(("b", "c"), 0, 700)])
    assert np.abs(indicators.sum(axis=1) - 1).max() < 180 * 15 * 1e-4
    assert np.any(indicators != np.rint(indicators))


@pytest.mark.parametrize("query", [QUERY, RECORD_WISE])
def test_the_same_query_again_gets_the_same_bytes_and_is_charged_once(party, ledger, query):
    first = list(party.answer(query))
    assert list(party.answer(query)) == first
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_the_same_query_gets_the_same_bytes_after_a_restart(table, tmp_path):
    before = Ledger.create(tmp_path / "ledger.sqlite")
    party = started(table, before, seed=1)
    party.accept(encode_terms(terms_for(party)))
    first = list(party.answer(QUERY))
    before.close()
    after = Ledger(tmp_path / "ledger.sqlite")
    party = started(table, after, seed=2)
    party.accept(encode_terms(terms_for(party)))
    assert list(party.answer(QUERY)) == first
    assert after.cost_of(RELEASE_ID) == gaussian_cost(3.0, Adjacency.ZERO_OUT)
    after.close()


def test_another_id_and_another_party_get_other_noise(table, party):
    other = started(table, Ledger(), seed=2)
    other.accept(encode_terms(terms_for(other)))
    answers = [
        asked(party, QUERY)[0],
        asked(party, replace(QUERY, query_id="q2"))[0],
        asked(other, QUERY)[0],
    ]
    for one, two in [(0, 1), (0, 2), (1, 2)]:
        # Independent noise is equal in a cell with probability below 0.01, so not in half of the cells.
        assert np.mean(answers[one] == answers[two]) < 0.5


def test_a_large_sigma_is_sent_in_wider_words(table, party):
    noise = asked(party, replace(QUERY, sigma=1e9))[0]
    assert 2**31 < np.abs(noise).max() < 15e9


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("query", [QUERY, RECORD_WISE])
def test_the_party_charges_what_its_own_noise_costs(table, ledger, query, adjacency):
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, adjacency=adjacency)))
    sigma = gaussian_sigma(Fraction(1), adjacency)
    with pytest.raises(BudgetError, match="more than is left"):
        party.answer(replace(query, sigma=sigma * (1 - 1e-9)))
    assert ledger.cost_of(RELEASE_ID) == 0
    party.answer(replace(query, sigma=sigma))
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(sigma, adjacency)
    assert 1 - 1e-9 < ledger.cost_of(RELEASE_ID) <= 1


def test_a_query_is_charged_before_its_first_frame_is_read(party, ledger):
    party.answer(RECORD_WISE)
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_a_trusted_release_gets_histograms_and_no_record_wise_answers(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, protocol="trusted")))
    with pytest.raises(ProtocolError, match="'trusted' has no answers of the form RECORD_WISE"):
        party.answer(RECORD_WISE)
    assert ledger.cost_of(RELEASE_ID) == 0
    assert asked(party, QUERY).shape == (1, 6_000)


@pytest.mark.parametrize("protocol", ["trusted", "indicator"])
def test_a_release_without_masks_gets_no_masked_shares(table, ledger, protocol):
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, protocol=protocol)))
    with pytest.raises(ProtocolError, match=f"'{protocol}' has no answers of the form SHARE"):
        party.answer(replace(QUERY, form=AnswerForm.SHARE))
    with pytest.raises(ProtocolError, match=f"'{protocol}' has no products"):
        party.introduce(Introduction(RELEASE_ID, (Acceptance(b"", b"", START),)))
    with pytest.raises(ProtocolError, match="has no products"):
        party.open(OpeningRequest(RELEASE_ID, (("a",),), 1))
    assert ledger.release(RELEASE_ID).introduction is None
    assert ledger.cost_of(RELEASE_ID) == 0

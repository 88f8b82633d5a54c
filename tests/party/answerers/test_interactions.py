"""Histograms of interactions: differences of noisy cells, charged by their sensitivity."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, ProtocolError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from support.changed import changed
from support.lone_party import DOMAIN, POLICY, QUERY, RECORD_WISE, asked, started
from support.terms import RELEASE_ID, terms_for

INTERACTION = changed(QUERY, interaction=True)


def test_an_interaction_is_answered_with_the_differences_of_noisy_cells_and_nothing_else(table, ledger):
    """A correct party fails the last check in fewer than 1 of 500,000 choices of the seed.

    Every second difference along both axes has four cells to itself, and so independent noise.
    """
    counts = table.marginal(("a", "b")).reshape(100, 60)
    exact = np.diff(np.diff(counts, axis=0), axis=1)
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e8)))
    assert np.allclose(
        asked(party, replace(INTERACTION, query_id="p", sigma=1e-3))[0], exact.ravel(), atol=0.06
    )
    noise = (asked(party, INTERACTION)[0].reshape(99, 59) - exact)[::2, ::2]
    squares = stats.chi2(noise.size)
    assert squares.ppf(1e-6) < np.sum((noise / 6.0) ** 2) < squares.isf(1e-6)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("clique", [("a",), ("a", "b"), ("b", "c")])
def test_the_party_charges_an_interaction_for_how_far_a_record_moves_it(table, ledger, clique, adjacency):
    party, shape = started(table, ledger), DOMAIN.shape(clique)
    party.accept(encode_terms(terms_for(party, adjacency=adjacency)))
    sigma = gaussian_sigma(Fraction(1), adjacency, shape)
    query = changed(INTERACTION, clique=clique, sigma=sigma)
    with pytest.raises(BudgetError, match="more than is left"):
        party.answer(replace(query, sigma=sigma * (1 - 1e-9)))
    assert ledger.cost_of(RELEASE_ID) == 0
    first = list(party.answer(query))
    assert list(party.answer(query)) == first
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(sigma, adjacency, shape)
    assert 1 - 1e-9 < ledger.cost_of(RELEASE_ID) <= 1


@pytest.mark.parametrize(("one", "other"), [(QUERY, INTERACTION), (INTERACTION, QUERY)])
def test_an_interaction_and_its_marginal_have_noise_of_their_own(table, party, ledger, one, other):
    """The cells less the differences of one noise would be what is constant along an axis, uncharged."""
    cells = asked(party, replace(QUERY, query_id="p"))[0].reshape(100, 60)
    sent = asked(party, INTERACTION)[0].reshape(99, 59)
    assert np.mean(np.diff(np.diff(cells, axis=0), axis=1) == sent) < 0.5
    assert ledger.cost_of(RELEASE_ID) == sum(
        gaussian_cost(3.0, Adjacency.ZERO_OUT, shape) for shape in [(), (100, 60)]
    )
    party.answer(replace(one, query_id="s"))
    with pytest.raises(ProtocolError, match="was used for another query"):
        party.answer(replace(other, query_id="s"))


def test_indicator_vectors_have_no_interactions(party, ledger):
    with pytest.raises(ProtocolError, match="neither boxes nor interactions"):
        party.answer(changed(RECORD_WISE, interaction=True))
    assert ledger.cost_of(RELEASE_ID) == 0


@pytest.mark.parametrize("clique", [("one",), ("b", "one"), ("large",), ("b", "large")])
def test_an_interaction_that_the_charge_does_not_hold_for_is_refused_uncharged(ledger, clique):
    domain = Domain.coded({"b": 2, "one": 1, "large": 16_385})
    party = started(Table.from_codes(domain, np.zeros((9, 3), int)), ledger, replace(POLICY, max_cells=10**5))
    party.accept(encode_terms(terms_for(party)))
    with pytest.raises(BudgetError, match="measure the whole marginal"):
        party.answer(changed(INTERACTION, clique=clique))
    assert ledger.cost_of(RELEASE_ID) == 0
    party.answer(changed(QUERY, clique=clique))


@pytest.mark.parametrize(
    ("sigma", "bytes_of_cells", "bytes_of_differences"),
    [
        # 700 records on a grid of 2^21 stay below 2^31 with the noise of any number of cells.
        (2e-4, 4, 4),
        (1e-4, 8, 8),
        # 15 sigmas fit, four times as many do not.
        (1.3e8, 4, 8),
        (2e8, 8, 8),
    ],
)
def test_the_words_of_an_interaction_hold_all_records_and_the_noise_of_four_cells(
    ledger, sigma, bytes_of_cells, bytes_of_differences
):
    domain = Domain.coded({"a": 20, "b": 30})
    records = np.tile([3, 4], (700, 1))
    party = started(Table.from_codes(domain, records), ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e9)))
    cells, sent = (replace(query, sigma=sigma) for query in (replace(QUERY, query_id="p"), INTERACTION))
    for query, words, width in [(cells, 600, bytes_of_cells), (sent, 551, bytes_of_differences)]:
        size = sum(map(len, party.answer(query)))
        assert words * width < size < words * width + 20
    if sigma < 1:
        corner = asked(party, sent)[0].reshape(19, 29)[2:4, 3:5]
        assert np.allclose(corner, [[700, -700], [-700, 700]], atol=60 * sigma)

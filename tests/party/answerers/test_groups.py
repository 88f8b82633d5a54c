"""Histograms and interactions of groups of codes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, PolicyError, ProtocolError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.common.queries import ScoreQuery
from support.changed import changed
from support.lone_party import POLICY, QUERY, RECORD_WISE, asked, started
from support.terms import RELEASE_ID, terms_for

LEFT = tuple(code // 20 for code in range(100))
RIGHT = tuple(code % 3 for code in range(60))
GROUPED = changed(QUERY, groups=(LEFT, RIGHT))
INTERACTION = changed(GROUPED, interaction=True)


def exact(table):
    """The histogram of the mapped columns, shape (5, 3)."""
    places = (table.column("a") // 20).astype(int), (table.column("b") % 3).astype(int)
    return np.bincount(np.ravel_multi_index(places, (5, 3)), minlength=15).reshape(5, 3)


def test_a_histogram_of_groups_has_their_counts_and_the_noise_of_single_cells(table, ledger):
    """A correct party fails the last check in fewer than 1 of 500,000 choices of the seed."""
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e8)))
    assert np.allclose(asked(party, replace(GROUPED, sigma=1e-3))[0], exact(table).ravel(), atol=0.02)
    noise = [
        asked(party, replace(GROUPED, query_id=f"q{number}"))[0] - exact(table).ravel()
        for number in range(40)
    ]
    squares = stats.chi2(600)
    assert squares.ppf(1e-6) < np.sum((np.array(noise) / 3.0) ** 2) < squares.isf(1e-6)


def test_the_interaction_of_groups_is_that_of_their_histogram(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e8)))
    found = asked(party, replace(INTERACTION, sigma=1e-3))[0]
    assert np.allclose(found, np.diff(np.diff(exact(table), axis=0), axis=1).ravel(), atol=0.06)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_the_party_charges_an_interaction_for_the_shape_of_the_groups(table, ledger, adjacency):
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, adjacency=adjacency)))
    sigma = gaussian_sigma(Fraction(1), adjacency, (5, 3))
    with pytest.raises(BudgetError, match="more than is left"):
        party.answer(replace(INTERACTION, sigma=sigma * (1 - 1e-9)))
    party.answer(replace(INTERACTION, sigma=sigma))
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(sigma, adjacency, (5, 3))


def test_a_histogram_of_groups_costs_what_any_histogram_costs(party, ledger):
    party.answer(GROUPED)
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_other_groups_under_the_same_id_are_refused(party):
    party.answer(GROUPED)
    with pytest.raises(ProtocolError, match="was used for another query"):
        party.answer(changed(GROUPED, groups=(LEFT, ())))
    with pytest.raises(ProtocolError, match="was used for another query"):
        party.answer(QUERY)


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ((LEFT,), "one grouping for each of 2"),
        ((RIGHT, LEFT), "a group for each of 100 codes"),
        (((0,) * 100, ()), "at least two groups"),
        (((0, 2) * 50, ()), "without gaps"),
    ],
)
def test_groups_that_do_not_fit_are_refused_uncharged(party, ledger, groups, reason):
    with pytest.raises(DataError, match=reason):
        party.answer(changed(QUERY, groups=groups))
    query = ScoreQuery(RELEASE_ID, "s", (View(QUERY.clique, groups),), 3.0, bytes(32), 0, 0)
    with pytest.raises(DataError, match=reason):
        party.prepare_scores(query)
    assert ledger.cost_of(RELEASE_ID) == 0


def test_indicator_vectors_have_no_groups(party, ledger):
    with pytest.raises(ProtocolError, match="nor groups"):
        party.answer(changed(RECORD_WISE, groups=(RIGHT, ())))
    assert ledger.cost_of(RELEASE_ID) == 0


def test_the_policy_limits_the_cells_of_the_groups(table, ledger):
    party = started(table, ledger, replace(POLICY, max_cells=15))
    party.accept(encode_terms(terms_for(party)))
    with pytest.raises(PolicyError):
        party.answer(QUERY)
    with pytest.raises(PolicyError):
        party.answer(changed(GROUPED, groups=((*LEFT[:-1], 5), RIGHT)))
    party.answer(GROUPED)


def test_an_attribute_of_too_many_values_has_an_interaction_of_its_groups(ledger):
    domain = Domain.coded({"b": 2, "large": 16_385})
    party = started(Table.from_codes(domain, np.zeros((9, 2), int)), ledger, replace(POLICY, max_cells=10**5))
    party.accept(encode_terms(terms_for(party)))
    query = changed(INTERACTION, clique=("b", "large"), groups=())
    with pytest.raises(BudgetError, match="measure the whole marginal"):
        party.answer(query)
    party.answer(changed(query, groups=((), tuple(code % 2 for code in range(16_385)))))

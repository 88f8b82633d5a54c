"""Histograms of boxes of cells."""

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import DataError, PolicyError, ProtocolError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost
from dpmosaic.common.queries import AnswerForm
from support.changed import changed
from support.lone_party import QUERY, RECORD_WISE, asked, started
from support.terms import RELEASE_ID, terms_for

BOXES = (((0, 50), (0, 60)), ((50, 51), (7, 8)), ((60, 100), (30, 60)))


def test_a_histogram_of_boxes_has_their_sums_and_the_noise_of_single_cells(table, ledger):
    """A correct party fails the last check in fewer than 1 of 500,000 choices of the seed."""
    counts = table.marginal(("a", "b")).reshape(100, 60)
    exact = [counts[a:b, c:d].sum() for (a, b), (c, d) in BOXES]
    party = started(table, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e8)))
    assert np.allclose(asked(party, changed(QUERY, boxes=BOXES, sigma=1e-3)), exact, atol=0.02)
    noise = [
        asked(party, changed(QUERY, boxes=BOXES, query_id=f"q{number}"))[0] - exact for number in range(100)
    ]
    squares = stats.chi2(300)
    assert squares.ppf(1e-6) < np.sum((np.array(noise) / 3.0) ** 2) < squares.isf(1e-6)


def test_boxes_cost_what_one_histogram_costs(party, ledger):
    party.answer(changed(QUERY, boxes=BOXES))
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(3.0, Adjacency.ZERO_OUT)


@pytest.mark.parametrize(
    ("boxes", "reason"),
    [
        ((*BOXES, ((0, 1), (0, 1))), "box 3: it overlaps another box"),
        ((((0, 1), (5, 5)),), "non-empty range"),
        ((((0, 101), (0, 1)),), "non-empty range"),
        ((((0, 1),),), "for each attribute"),
        (((),), "for each attribute"),
    ],
)
@pytest.mark.parametrize("form", [AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE])
def test_boxes_that_do_not_fit_are_refused_before_anything_is_charged(party, ledger, boxes, reason, form):
    with pytest.raises(DataError, match=reason):
        party.answer(changed(QUERY, boxes=boxes, form=form))
    assert ledger.cost_of(RELEASE_ID) == 0


def test_boxes_of_a_clique_that_is_too_large_are_refused(party, ledger):
    boxes = (((0, 100), (0, 60), (0, 3)),)
    with pytest.raises(PolicyError, match="max_cells"):
        party.answer(changed(QUERY, clique=("a", "b", "c"), boxes=boxes))
    assert ledger.cost_of(RELEASE_ID) == 0


def test_indicator_vectors_have_no_boxes(party, ledger):
    with pytest.raises(ProtocolError, match="neither boxes nor interactions"):
        party.answer(changed(RECORD_WISE, boxes=(((0, 1), (0, 1)),)))
    assert ledger.cost_of(RELEASE_ID) == 0

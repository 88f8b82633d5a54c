"""A party's steps of score queries before the rounds: charges, deliveries and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.errors import BudgetError, DataError, PolicyError, ProtocolError
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.scores.query import references_digest
from support.changed import changed
from support.scoring import (
    ANYTHING,
    COST,
    EAST,
    EVALUATORS,
    NORTH,
    QUERY,
    SIGMA,
    SOUTH,
    TWO,
    WEST,
    ZERO,
    Scoring,
    assert_nothing_charged,
    plan_with,
)
from support.terms import id_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("evaluators", [EVALUATORS, (3, 1, 2), (0, 2, 3)], ids=str)
def test_steps_in_order_give_the_distances_with_noise(new_release, evaluators):
    """Within eight deviations of the noise: p < 1e-14 for a correct program."""
    scoring = Scoring(new_release(evaluators=evaluators)).multiply().prepare().share().steps()
    sigma = scoring.plan.noise.total_sigma(SIGMA)
    assert np.all(np.abs(scoring.scores() - scoring.distances()) < 8 * sigma)
    assert set(scoring.release.spent().values()) == {COST}


def test_a_query_is_charged_when_it_is_prepared_and_before_anything_is_opened(scoring):
    scoring.prepare(NORTH)
    assert scoring.release.spent() == {"north": COST, "east": 0, "west": 0, "south": 0}


def test_a_party_that_does_not_evaluate_answers_as_soon_as_it_prepared(scoring):
    scoring.prepare()
    assert list(scoring.party(WEST).answer_scores(QUERY))


@pytest.mark.parametrize("place", range(4))
def test_refuses_steps_of_a_score_query_before_it_is_prepared(scoring, place):
    scoring.prepare(*(other for other in range(4) if other != place))
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.sealed(0, place, ZERO)
    for kind in (DeliveryKind.SCORE_REFERENCES, DeliveryKind.SCORE_STEP):
        with pytest.raises(ProtocolError, match="not prepared"):
            scoring.deliver(place, kind, [])
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.party(place).answer_scores(QUERY)


def test_products_come_before_the_charge(new_release):
    scoring = Scoring(new_release())
    for place in range(3):  # the fourth party holds every clique
        with pytest.raises(ProtocolError, match="multiply first"):
            scoring.prepare(place)
    assert_nothing_charged(scoring)


REFUSED = {
    "an unknown attribute": ({"cliques": (("z",),)}, ProtocolError, "domain order"),
    "another order": ({"cliques": (("a",), ("c", "a"))}, ProtocolError, "domain order"),
    "an attribute twice": ({"cliques": (("a", "a"),)}, DataError, "named twice"),
    "references that overflow the ring": (
        {"largest_reference": 1 << 40, "largest_total": 1 << 40},
        ProtocolError,
        "larger ring",
    ),
    "a total that overflows the ring": ({"largest_total": 1 << 40}, ProtocolError, "larger ring"),
    "noise that overflows the ring": ({"sigma": 2.0**30}, ProtocolError, "larger ring"),
    "too fine a noise": ({"sigma": 2.0**-21}, BudgetError, "lower the budget"),
    "another release": ({"release_id": id_of("other")}, ProtocolError, "not accepted"),
}


@pytest.mark.parametrize(("change", "error", "reason"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("place", [NORTH, EAST])
def test_a_query_that_does_not_fit_is_refused_before_the_charge(scoring, place, change, error, reason):
    with pytest.raises(error, match=reason):
        scoring.party(place).prepare_scores(changed(QUERY, **change))
    assert_nothing_charged(scoring)


def test_a_clique_larger_than_the_policy_allows_is_refused_before_the_charge(masked):
    policy = replace(masked.policy, max_cells=7)
    scoring = Scoring(masked.Release(masked.terms_of(plan_with(masked)), policy=policy).accept().introduce())
    with pytest.raises(PolicyError):
        scoring.prepare(SOUTH)
    assert_nothing_charged(scoring)


def test_scores_past_the_grant_are_refused(new_release):
    scoring = Scoring(new_release(granted_rho=float(COST) * 0.99)).multiply()
    with pytest.raises(BudgetError, match="more than is left"):
        scoring.prepare(NORTH)
    assert_nothing_charged(scoring)
    with pytest.raises(ProtocolError, match="not prepared"):
        scoring.sealed(0, NORTH, ZERO)


def test_refuses_scores_if_the_plan_names_no_evaluators(new_release):
    scoring = Scoring(new_release(evaluators=())).multiply()
    for place in range(4):
        with pytest.raises(ProtocolError, match="no evaluators"):
            scoring.prepare(place)
    assert_nothing_charged(scoring)


OTHERS = {
    "another reference": (ANYTHING + np.eye(1, 32, 3, dtype=int)[0], {}),
    "two cells exchanged": (ANYTHING[np.r_[1, 0, 2:32]], {}),
    "a negative one": (ANYTHING - 1, {"references": references_digest([ANYTHING - 1])}),
    "a larger one than stated": (ANYTHING, {"largest_reference": 5}),
    "a larger total than stated": (ANYTHING, {"largest_total": 40}),
}


@pytest.mark.parametrize(("references", "change"), OTHERS.values(), ids=OTHERS)
def test_references_that_are_not_those_of_the_query_are_refused(scoring, references, change):
    scoring.query = changed(QUERY, **change)
    scoring.prepare()
    with pytest.raises(ProtocolError, match="not those of the score query"):
        scoring.send_references(references=references)
    with pytest.raises(ProtocolError, match="waits for references"):
        scoring.sealed(1, ZERO, TWO)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_references_of_another_length_are_refused(scoring, size):
    scoring.prepare()
    with pytest.raises(ProtocolError, match="another length than expected"):
        scoring.send_references(references=np.resize(ANYTHING, size))

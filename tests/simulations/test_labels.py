"""Open categories end to end: found under the budget, released as texts, and the rest as `other`."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import decode_table, encode_table
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import gaussian_delta
from dpmosaic.simulations.simulate import simulate

pytestmark = pytest.mark.slow

OPEN = {"type": "categorical", "categories": ["other"], "other": "other", "open": True}
NUMBERS = {"type": "numeric", "min": 0, "max": 100, "bins": "auto"}
DOMAIN = Domain.from_json({"a": 2, "job": OPEN, "age": NUMBERS, "town": OPEN})
RECORDS = 4000
RNG = np.random.default_rng(0)
JOBS = np.repeat(["nurse", "clerk", "farmer", "king of Spain"], [1800, 1500, 699, 1])
AGE = np.where(JOBS == "nurse", RNG.normal(30, 5, RECORDS), RNG.normal(60, 5, RECORDS))
TOWN = np.where(np.arange(RECORDS) % 5 == 0, "Rome", [f"house {row}" for row in range(RECORDS)])
ORDER = RNG.permutation(RECORDS)
COLUMNS = {"a": (JOBS == "nurse").astype(int), "job": JOBS, "age": AGE, "town": TOWN}
TABLE = encode_table(DOMAIN, {name: column[ORDER] for name, column in COLUMNS.items()})
BUDGET = Budget(5.0, 1e-6)
SETTINGS = [("trusted", "1x1"), ("indicator", "2x1"), ("masked", "2x2"), ("masked", "1x4")]


@pytest.fixture(scope="module", params=SETTINGS, ids=" ".join)
def made(request):
    protocol, grid = request.param
    return simulate(TABLE, epsilon=BUDGET, protocol=protocol, grid=grid, mechanism="independent", seed=1)


def test_frequent_texts_come_back_and_texts_of_one_person_never_do(made):
    domain = made.rows.domain
    assert domain["job"].categories == ("other", "clerk", "farmer", "nurse")
    assert domain["town"].categories == ("other", "Rome")
    assert not domain.open
    rows = decode_table(made.rows, np.random.default_rng(0))
    assert np.mean(rows["job"] == "nurse") == pytest.approx(0.45, abs=0.05)
    assert np.mean(rows["town"] == "other") == pytest.approx(0.8, abs=0.05)
    published = json.dumps([made.certificate.to_json(), made.bins.to_json(), domain.to_json()])
    assert "Spain" not in published
    assert "house" not in published


def test_both_releases_and_the_labels_together_keep_the_promise(made):
    plan = made.certificate.plan
    assert plan.bins.labels_delta == 1e-7
    assert plan.bins.attributes == ("age", "job", "town")
    rho = Fraction(made.certificate.promise.zcdp_rho_granted) + Fraction(plan.bins.zcdp_rho)
    assert gaussian_delta(math.sqrt(2 * rho), 5.0) + plan.bins.labels_delta <= 1e-6
    # Nothing is wasted either.
    assert gaussian_delta(math.sqrt(2 * rho * Fraction(101, 100)), 5.0) + plan.bins.labels_delta > 1e-6


def test_the_certificate_of_the_choice_says_what_labels_cost(made):
    plan = made.bins.plan
    assert (plan.labels.attributes, plan.labels.delta) == (("job", "town"), 1e-7)
    kinds = {charge.clique: charge.kind for charge in made.bins.charges}
    assert kinds == {("job",): "labels", ("town",): "labels", ("age",): "marginal"}
    costs = {
        name: sum(charge.zcdp_rho for charge in made.bins.charges if charge.clique == (name,))
        for name in ("job", "town", "age")
    }
    assert costs["job"] == pytest.approx(costs["age"], rel=1e-3)
    assert costs["job"] == costs["town"]


def test_observers_see_no_more_noise_on_labels_than_the_one_party_drew():
    made = simulate(TABLE, epsilon=BUDGET, grid="2x2", mechanism="independent", seed=1)
    spent = {one.who: one.zcdp_rho for one in made.bins.promise.observers}
    labels = sum(charge.zcdp_rho for charge in made.bins.charges if charge.kind == "labels")
    others = made.bins.promise.zcdp_rho_spent - labels
    # Three of four parties' noise is counted on, and the public sees that of all four on other answers.
    assert spent["the public"] == pytest.approx(labels + 0.75 * others, rel=1e-3)


def test_a_table_with_open_categories_alone_is_released():
    domain = DOMAIN.project(["a", "job"])
    made = simulate(TABLE.project(domain.names), epsilon=BUDGET, mechanism="independent", seed=2)
    assert made.rows.domain["job"].categories == ("other", "clerk", "farmer", "nurse")


@pytest.mark.parametrize("population", ["everywhere", "anywhere"])
def test_labels_of_aligned_parties_are_found(population):
    made = simulate(
        TABLE, epsilon=BUDGET, grid="1x2", mechanism="independent", overlap=0.9, population=population, seed=3
    )
    assert set(made.rows.domain["job"].categories) >= {"other", "clerk", "nurse"}
    assert ("absent" in made.rows.domain["job"].categories) == (population == "anywhere")


def test_a_person_with_many_rows_at_an_aligned_party_counts_once_in_a_label():
    """All farmers are rows of one person, of which an alignment uses the first."""
    people = [
        "one farmer" if job == "farmer" else f"person {row}" for row, job in enumerate(COLUMNS["job"][ORDER])
    ]
    made = simulate(
        TABLE, epsilon=BUDGET, grid="1x2", mechanism="independent", identifiers=people, shuffle=True, seed=3
    )
    assert made.rows.domain["job"].categories == ("other", "clerk", "nurse")


def test_known_categories_are_kept_beside_the_found_ones():
    listed = {**OPEN, "categories": ["other", "pilot", "clerk"]}
    domain = Domain.from_json({"a": 2, "job": listed})
    table = encode_table(domain, {"a": COLUMNS["a"], "job": JOBS})
    made = simulate(table, epsilon=BUDGET, mechanism="independent", seed=4)
    assert made.rows.domain["job"].categories == ("other", "pilot", "clerk", "farmer", "nurse")


def test_a_budget_without_delta_cannot_find_labels():
    with pytest.raises(BudgetError, match="labels of the open categories job, town"):
        simulate(TABLE, epsilon=Budget(zcdp_rho=1.0), mechanism="independent")


def test_codes_without_texts_are_refused():
    table = encode_table(DOMAIN, {name: column[:300] for name, column in COLUMNS.items()})
    bare = type(table)(table.domain, table.columns)
    with pytest.raises(DataError, match="texts of its open categories"):
        simulate(bare, epsilon=BUDGET, mechanism="independent", seed=5)

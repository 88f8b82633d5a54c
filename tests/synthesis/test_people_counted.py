"""How the people of a release are counted: first, once, from the budget of all tables."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import dpmosaic
from dpmosaic.curator.people.shape import number_name
from dpmosaic.synthesis.learning.asking import Rows
from dpmosaic.synthesis.related.frames import ROWS
from dpmosaic.synthesis.related.keyed import PEOPLE
from dpmosaic.synthesis.related.people_counted import FIRST_COUNT, MOST_COUNTING, second_rho
from support.related import patients, release

DOMAIN = {"ward": ["a", "b", "c"], "urgent": {"type": "boolean"}}


def visits(people=300, most=6, seed=1):
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    return pd.DataFrame(
        {
            "id": whose,
            "ward": rng.choice(["a", "b", "c"], len(whose)),
            "urgent": rng.random(len(whose)) < 0.2,
        }
    )


def keyed(data, epsilon, **options):
    settings = {"key": "id", "domain": DOMAIN, "mechanism": "independent", "progress": False}
    return dpmosaic.synthesize(data, epsilon, **settings | options)


@given(st.floats(-1e3, 1e7), st.floats(1e-3, 10))
def test_both_counts_have_a_tenth_of_the_budget_at_most(records, whole):
    found = second_rho(Rows(records, 1 / (2 * FIRST_COUNT * whole)), whole)
    assert 0 <= found <= (MOST_COUNTING - FIRST_COUNT) * whole * (1 + 1e-12)


def test_the_fewer_people_the_more_their_second_count_has():
    found = [second_rho(Rows(people, 100.0**2), 0.01) for people in (200.0, 2e3, 8e3, 2e4)]
    assert found == sorted(found, reverse=True)
    # A tenth of the budget is not enough for a deviation of a hundredth of so few people.
    assert found[0] == pytest.approx((MOST_COUNTING - FIRST_COUNT) * 0.01)
    assert found[-1] == 0


def test_the_second_count_brings_the_deviation_to_a_hundredth():
    first = Rows(4000.0, 100.0**2)
    more = second_rho(first, 1.0)
    assert (1 / first.variance + 2 * more) ** -0.5 == pytest.approx(0.01 * 3900)


def test_the_number_of_people_is_the_first_part_of_a_certificate():
    made = release(epsilon=1.0)
    first, *others = made.certificate.parts
    assert (first.table, first.of, first.certificate) == ("patients", "the number of people", "")
    spent = sum((part.zcdp_rho for part in made.certificate.parts), Fraction(0))
    assert made.certificate.zcdp_rho_spent == spent
    # Four hundred people at this budget are few.
    assert float(first.zcdp_rho / spent) == pytest.approx(MOST_COUNTING, rel=0.01)
    assert len(others) == 5
    # Their records have no count of their own.
    records = made.releases["patients"].certificate
    assert records.plan.bins is None
    assert records.plan.records_sigma > 0


@pytest.mark.parametrize("options", [{}, {"domain": None, "anyway": True}])
@pytest.mark.filterwarnings("ignore::dpmosaic.synthesis.synthesize.DomainWarning")
def test_everybody_whose_rows_a_table_holds_has_a_row(options):
    """However few people the bins of numbers of rows are counted from."""
    for seed in range(5):
        made = keyed(visits(60), 0.5, seed=seed, **options)
        number = made.family[PEOPLE].domain[number_name(ROWS)]
        assert number.ends[0] == 1
        assert made.table["id"].nunique() == made.releases[PEOPLE].rows.record_count


def test_people_of_a_table_of_their_own_may_have_no_rows():
    number = release(epsilon=2.0, seed=1).family["patients"].domain[number_name("stays")]
    assert number.ends[0] == 0


def test_people_with_one_row_each_have_one_in_a_release():
    made = keyed(visits(1000, 1), 2.0, seed=1)
    assert made.table["id"].is_unique
    assert len(made.table) == pytest.approx(1000, abs=50)


@pytest.mark.slow
def test_the_number_of_few_people_is_near():
    """A tenth of the budget: a deviation of 4.5 % of 300 people, and less with what their records say.

    Twelve times the variance were found in one of 10^4 correct programs.
    """
    found = [keyed(visits(), 1.0, delta=1e-6, seed=seed).table["id"].nunique() for seed in range(30)]
    away = np.array(found) / 300 - 1
    # Chi-squared of 30 degrees of freedom is below 64 with 1 - 3 * 10^-4.
    assert (away**2).sum() < 64 * 0.045**2


@pytest.mark.slow
def test_a_release_over_stopped_answers_counts_people_once(tmp_path):
    """A count that is recalled is not charged or drawn again."""
    whole = patients(100)
    first = release(whole, epsilon=1.0, out=tmp_path / "out", seed=3)
    again = release(whole, epsilon=1.0, seed=3)
    pd.testing.assert_frame_equal(first.tables["patients"], again.tables["patients"])

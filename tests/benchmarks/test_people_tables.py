"""Generated related tables are what their kinds promise, and what a small budget makes of them."""

import numpy as np
import pytest
from people_tables import GENERATED, chains

import dpmosaic
from dpmosaic.simulations.evaluation.related import evaluate, mean_distance

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", GENERATED)
def test_a_seed_determines_the_tables(name):
    first, again = (GENERATED[name](np.random.default_rng(4)).tables for _ in range(2))
    assert all(first[table].equals(again[table]) for table in first)


@pytest.mark.parametrize("name", GENERATED)
def test_every_row_has_a_parent_whose_key_stands_once(name):
    made = GENERATED[name](np.random.default_rng(4))
    for child, stated in made.relations.items():
        ((column, parent),) = stated.items()
        assert made.tables[parent][column].is_unique
        assert made.tables[child][column].isin(made.tables[parent][column]).all()


def test_shops_have_heavy_tails_and_clicks_light_ones():
    shares = {}
    for name, child, key in (("shops", "payments", "card"), ("clicks", "clicks", "user")):
        numbers = GENERATED[name](np.random.default_rng(4)).tables[child][key].value_counts()
        shares[name] = numbers.head(len(numbers) // 100).sum() / numbers.sum()
    assert shares["shops"] > 0.2 > 0.05 > shares["clicks"]


def distance_of_pairs(real, mechanism, seed):
    """Mean distance of all pairs of a release at epsilon 0.3."""
    domain = {name: dpmosaic.draft(rows.drop(columns="id")).domain for name, rows in real.tables.items()}
    made = dpmosaic.synthesize(
        real.tables,
        0.3,
        relations=real.relations,
        order=dict(real.order),
        domain=domain,
        mechanism=mechanism,
        seed=seed,
        progress=False,
    )
    found = evaluate(real.tables, made.tables, real.relations, real.order)["events"]
    return mean_distance([*found.within, *found.across, *found.before])


def test_with_little_budget_a_release_is_no_farther_than_independent_columns():
    # The logarithm of the ratio is -0.05 with a standard deviation of 0.03 over families, of which this is
    # the first of fewer than 2,500 people, so a limit of 1.1 is 4.8 standard deviations away: once in 10^6.
    small = (chains(np.random.default_rng(seed)) for seed in range(100))
    real = next(real for real in small if len(real.tables["people"]) < 2_500)
    released, independent = (distance_of_pairs(real, mechanism, 0) for mechanism in ("mosaic", "independent"))
    assert released < 1.1 * independent

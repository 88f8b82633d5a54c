"""Generated related tables are what their kinds promise."""

import numpy as np
import pytest
from people_tables import GENERATED

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

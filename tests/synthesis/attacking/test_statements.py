"""Ends and bins that are those of real rows."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.synthesis.attacking.statements import ends_and_bins

RNG = np.random.default_rng(3)
INCOMES = np.round(RNG.gamma(3, 100, 2000), 2)
EXTREME = np.append(INCOMES, 9876.54)


def chances(numbers, **numeric):
    domain = Domain.from_json({"income": {"type": "numeric", **numeric}})
    return [one.chance for one in ends_and_bins(domain, {"income": numbers}, 1.0)]


def test_an_end_that_one_row_alone_explains_is_unlikely_without_it():
    assert min(chances(EXTREME, min=0, max=9876.54, bins=20)) < 1e-4


@pytest.mark.parametrize("end", [10_000, 9876.55, 5000])
def test_other_ends_say_nothing(end):
    assert min(chances(EXTREME, min=0, max=end, bins=20)) == 1


def test_a_round_end_says_little_though_it_is_that_of_a_row():
    assert min(chances(np.append(INCOMES, 5000.0), min=0, max=5000, bins=20)) > 0.1


def test_an_end_that_many_rows_have_says_nothing():
    assert min(chances(np.append(INCOMES, [9876.54] * 9), min=0, max=9876.54, bins=20)) == 1


def test_bins_that_are_quantiles_of_the_rows_are_unlikely():
    assert min(chances(INCOMES, edges=np.quantile(INCOMES, np.linspace(0, 1, 11)).tolist())) < 1e-9


def test_bins_near_quantiles_of_the_rows_say_nothing():
    edges = np.quantile(INCOMES, np.linspace(0, 1, 11)) + np.append(0.0, np.full(10, 1.5))
    assert min(chances(INCOMES, edges=[-1.0, *edges[1:].tolist()])) == 1

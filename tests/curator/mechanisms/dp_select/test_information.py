"""Mutual information against scikit-learn and closed forms."""

import math

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.mechanisms.dp_select.information import mutual_information

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 3})


def test_two_attributes_have_the_value_of_scikit_learn():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 500)
    codes = np.column_stack([a, np.minimum(3, a + rng.integers(0, 2, 500)), rng.integers(0, 3, 500)])
    table = Table.from_codes(DOMAIN, codes)
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        expected = mutual_info_score(table.column(one), table.column(other))
        assert mutual_information(table, (one, other)) == pytest.approx(expected, abs=1e-12)


def test_three_equal_attributes_have_twice_their_entropy():
    codes = np.repeat(np.arange(3)[:, None], 3, axis=1)
    assert mutual_information(Table.from_codes(DOMAIN, codes), ("a", "b", "c")) == pytest.approx(
        2 * math.log(3)
    )

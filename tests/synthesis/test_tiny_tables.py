"""The default mechanism computes with numbers, and not with NaN, on tables of any size at any epsilon."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dpmosaic

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)
TABLES = {
    "a row": pd.DataFrame({"a": [1], "b": ["x"]}),
    "one value": pd.DataFrame({"a": [1] * 40, "b": ["x"] * 40, "c": [0.5] * 40}),
    "columns that follow from each other": pd.DataFrame(
        {name: RNG.permutation(3)[np.arange(60) % 3] for name in "abcd"}
    ),
    "values of one row each": pd.DataFrame(
        {"a": RNG.normal(size=55), "b": RNG.integers(3000, 9000, 55), "c": RNG.choice(list("wxyz"), 55)}
    ),
}


@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
@pytest.mark.parametrize("name", TABLES)
def test_no_number_of_a_release_is_undefined(name, epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        release = dpmosaic.synthesize(TABLES[name], epsilon, anyway=True, seed=1, progress=False)
    assert np.isfinite(release.table.select_dtypes("number").to_numpy(float, na_value=0)).all()

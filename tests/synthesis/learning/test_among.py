"""Numbers that lie on no even lattice, such as codes, prices and converted units: no others come back."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.synthesis.synthesize import synthesize

ROWS = 20_000
RNG = np.random.default_rng(4)

COLUMNS = {
    "codes of countries": lambda: RNG.choice(np.sort(RNG.choice(np.arange(4, 895), 90, replace=False)), ROWS),
    "degrees that were Fahrenheit": lambda: np.round((np.rint(RNG.normal(60, 12, ROWS)) - 32) * 5 / 9, 1),
    "heights that were inches": lambda: np.round(np.rint(RNG.normal(67, 4, ROWS)) * 2.54, 1),
    "squares": lambda: RNG.integers(1, 60, ROWS) ** 2,
    "prices that end in .99": lambda: np.floor(RNG.exponential(12, ROWS)) + 0.99,
    "thirds": lambda: RNG.integers(0, 300, ROWS) / 3,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpmosaic.common.errors.MosaicWarning")
@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_that_no_row_has_do_not_come_back(name):
    real = pd.DataFrame({"x": COLUMNS[name](), "y": "a"})
    made = synthesize(real, 100.0, seed=1, progress=False, ledger=False).table
    possible = np.unique(real["x"].to_numpy())
    near = possible[np.searchsorted(possible, made["x"]).clip(0, len(possible) - 1)]
    below = possible[(np.searchsorted(possible, made["x"]) - 1).clip(0)]
    distance = np.minimum(np.abs(near - made["x"]), np.abs(below - made["x"]))
    assert np.mean(distance > 1e-9) <= 0.03


@pytest.mark.parametrize("decimals", [0, 1])
def test_numbers_of_which_most_occur_are_any(learned, decimals):
    numbers = np.round(RNG.normal(500, 60, ROWS), decimals)
    assert learned(pd.DataFrame({"x": numbers}), zcdp_rho=10.0).columns["x"].reading.among == ()

"""Terms of formulas in a release: dates are days, logarithms need numbers above zero."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.estimators.formula import Term, read_formula

pytestmark = pytest.mark.slow
ROWS = 3000


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(2)
    days = rng.integers(0, 100, ROWS)
    table = pd.DataFrame(
        {
            "since": np.datetime64("2021-03-01") + days,
            "price": np.clip(np.round(20 + 0.3 * days + rng.normal(0, 5, ROWS)), 0, 79).astype(int),
        }
    )
    domain = {
        "since": {"type": "date", "min": "2021-03-01", "max": "2021-06-08", "bins": 100},
        "price": {"type": "numeric", "min": 0, "max": 79, "bins": 80, "integer": True},
    }
    return dpmosaic.synthesize(table, domain=domain, epsilon=50.0, seed=1, ledger=False)


def test_a_date_counts_as_days_since_the_first_of_its_bounds(release):
    found = release.linear("price ~ since")
    assert found.names == ("intercept", "since")
    assert found.low[0] < 20 < found.high[0]
    assert found.low[1] < 0.3 < found.high[1]
    assert found.high[1] - found.low[1] < 0.1


def test_the_logarithm_of_a_column_with_zeros_is_refused_unless_they_are_left_out(release):
    with pytest.raises(DataError, match=r"log\(price\): expected numbers above zero"):
        release.linear("log(price) ~ since")
    found = release.linear("log(price) ~ since", where={"price": (1, 79)})
    assert np.isfinite(found.estimate).all()


def test_a_formula_is_read_into_terms():
    assert read_formula("log(a) ~ b + C( c d )", None, ("a", "b", "c d")) == (
        Term("log(a)", "a", "log"),
        (Term("b", "b"), Term("C( c d )", "c d", "C")),
    )


def test_a_column_may_be_called_like_a_function():
    assert Term.of("log(a)", ("log(a)",)) == Term("log(a)", "log(a)")


def test_a_column_on_both_sides_is_refused():
    with pytest.raises(DataError, match="one twice"):
        read_formula("a ~ log(a)", None, ("a",))

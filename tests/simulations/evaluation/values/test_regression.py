"""Regressions, against closed forms and scikit-learn."""

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.evaluation.values.regression import MOST_REGRESSED_CODES, coefficients
from dpmosaic.simulations.evaluation.values.values import Values

DOMAIN = Domain(
    (
        NumericAttribute("x", -99, 99, 10, integer=False, nullable=True),
        CategoricalAttribute("kind", ("a", "b", "c")),
        NumericAttribute("y", -99, 99, 10, integer=False),
        CategoricalAttribute("sick", ("no", "yes")),
    )
)


def rows(slope, seed, records=3000):
    """y is slope * x, 3 more for kind b; the odds of sick rise with x."""
    rng = np.random.default_rng(seed)
    x = rng.normal(5, 2, records)
    kind = rng.choice(["a", "b", "c"], records, p=[0.5, 0.3, 0.2])
    y = slope * x + 3.0 * (kind == "b") + rng.normal(0, 0.1, records)
    sick = np.where(rng.random(records) < 1 / (1 + np.exp(7 - x)), "yes", "no")
    return Values.of(DOMAIN, [x, kind, y, sick])


def found_of(real, synthetic, label):
    return {(one.outcome, one.feature): one for one in coefficients(real, synthetic, label)}


def test_a_linear_label_has_the_slopes_by_which_it_was_made_in_standard_deviations():
    real, synthetic = rows(2.0, 0), rows(1.0, 1)
    found = found_of(real, synthetic, "y")
    deviation = real.numbers["y"].std()
    scale = real.numbers["x"].std() / deviation
    assert found["y", "x"].real == pytest.approx(2 * scale, rel=0.02)
    assert found["y", "x"].synthetic == pytest.approx(1 * scale, rel=0.02)
    assert found["y", "kind=b"].real == pytest.approx(3 / deviation, rel=0.02)
    assert found["y", "kind=c"].real == pytest.approx(0, abs=0.02)
    assert ("y", "kind=a") not in found


def test_the_largest_difference_comes_first():
    errors = [one.error for one in coefficients(rows(2.0, 0), rows(1.0, 1), "y")]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.3


def test_a_label_of_two_categories_has_logarithmic_odds_of_the_rarer_one():
    pytest.importorskip("sklearn")
    real = rows(0.0, 2)
    found = found_of(real, real, "sick")
    assert {outcome for outcome, _ in found} == {"sick=yes"}
    assert found["sick=yes", "x"].real == pytest.approx(real.numbers["x"].std(), rel=0.1)
    assert all(one.error == 0 for one in found.values())


def test_a_label_of_three_categories_compares_each_but_the_most_common():
    pytest.importorskip("sklearn")
    assert {outcome for outcome, _ in found_of(rows(1.0, 3), rows(1.0, 4), "kind")} == {"kind=b", "kind=c"}


def test_a_synthetic_label_that_is_constant_has_coefficients_of_zero():
    pytest.importorskip("sklearn")
    real, other = rows(1.0, 5), rows(1.0, 6)
    healthy = other.take(np.flatnonzero(other.table.column("sick") == 0))
    assert {one.synthetic for one in coefficients(real, healthy, "sick")} == {0.0}


def test_missing_numbers_count_as_the_mean():
    real = rows(2.0, 7)
    gaps = Values.of(DOMAIN, [[None, *real.numbers["x"][1:]], ["a"] * 3000, real.numbers["y"], ["no"] * 3000])
    assert all(np.isfinite(one.synthetic) for one in coefficients(real, gaps, "y"))


def test_many_codes_are_no_features_and_no_label():
    many = CategoricalAttribute("town", tuple(f"t{place}" for place in range(MOST_REGRESSED_CODES + 1)))
    domain = Domain((many, NumericAttribute("x", 0, 9, 10)))
    rows = Values.of(domain, [["t0", "t1", "t2"], [1, 2, 3]])
    assert coefficients(rows, rows, "town") == []
    assert coefficients(rows, rows, "x") == []

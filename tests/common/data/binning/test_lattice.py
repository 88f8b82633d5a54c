from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.binning.lattice import Lattice

units = st.sampled_from(
    ["0.1", "0.01", "0.001", "0.25", "0.05", "2.5", "1", "5", "25", "1000", "1e-9", "0.3"]
)


@given(units, st.integers(-(10**9), 10**9))
def test_a_multiple_is_the_number_nearest_to_its_decimal(unit, multiple):
    (value,) = Lattice(float(unit)).values(np.array([multiple]))
    assert value == float(Decimal(unit) * multiple)


@given(units, st.integers(-(10**6), 10**6), st.sampled_from([-np.inf, 0, np.inf]))
def test_the_first_multiple_from_a_number_is_the_smallest_that_is_not_below_it(unit, multiple, direction):
    lattice = Lattice(float(unit))
    number = lattice.values(np.array([multiple]))
    number = np.nextafter(number, direction) if direction else number
    (found,) = lattice.first_from(number)
    assert lattice.values(np.array([found])) >= number > lattice.values(np.array([found - 1]))


@pytest.mark.parametrize(
    ("unit", "number", "held"),
    [
        (0.1, 0.1 + 0.2, True),
        (0.1, 0.25, False),
        (25, 10**12, True),
        (25, 10**12 + 1, False),
        (1, 0.5, False),
    ],
)
def test_knows_multiples_up_to_errors_of_arithmetic(unit, number, held):
    assert Lattice(unit).holds(np.array([number, np.nan, np.inf])).tolist() == [held, False, False]


def test_errors_of_arithmetic_are_removed_from_multiples():
    numbers = np.array([0.1 + 0.2, 0.25, 1e300, np.nan, -0.7000000000000001])
    assert np.array_equal(Lattice(0.1).snap(numbers), [0.3, 0.25, 1e300, np.nan, -0.7], equal_nan=True)

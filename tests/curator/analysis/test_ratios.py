"""Differences of ratios, against the closed form."""

import numpy as np
import pytest

from dpmosaic.curator.analysis.estimators.ratios import Ratio, difference

Z = 1.959964


def test_a_difference_of_symmetric_intervals_has_the_variance_of_the_difference():
    one, other = Ratio(5.0, 5 - 3 * Z, 5 + 3 * Z), Ratio(2.0, 2 - 2 * Z, 2 + 2 * Z)
    found = difference(one, other, 0.25)
    half = Z * np.sqrt(9 + 4 - 2 * 0.25 * 6)
    assert found == pytest.approx((3.0, 3 - half, 3 + half))


def test_ends_of_skewed_intervals_come_from_the_sides_that_face_each_other():
    found = difference(Ratio(5.0, 4.0, 9.0), Ratio(2.0, -1.0, 2.5), 0.0)
    assert found == pytest.approx((3.0, 3 - np.hypot(1.0, 0.5), 3 + np.hypot(4.0, 3.0)))

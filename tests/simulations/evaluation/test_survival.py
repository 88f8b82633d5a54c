"""Curves of Kaplan and Meier, against another library and by hand."""

import numpy as np
import pytest

from dpmosaic.simulations.evaluation.survival import Band, curve, distance


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_is_that_of_statsmodels(seed):
    from statsmodels.duration.survfunc import SurvfuncRight

    rng = np.random.default_rng(seed)
    followed, seen = rng.integers(1, 40, 200).astype(float), rng.random(200) < 0.4
    expected = SurvfuncRight(followed, seen.astype(int))
    found = curve(followed, seen)
    np.testing.assert_allclose(found.at(np.array(expected.surv_times)), expected.surv_prob)
    assert found.events == seen.sum()


def test_who_has_no_time_is_left_out():
    found = curve(np.array([1.0, np.nan, 2.0]), np.array([True, False, False]))
    assert found.at(np.array([0.5, 1.0, 9.0])).tolist() == [1.0, 0.5, 0.5]


def test_the_distance_is_the_largest_difference():
    everybody = np.ones(4, dtype=bool)
    one, other = curve(np.array([1.0, 2, 3, 4]), everybody), curve(np.array([1.0, 1, 1, 4]), everybody)
    assert distance(one, one) == 0
    assert distance(one, other) == pytest.approx(0.5)


def test_curves_are_compared_while_a_tenth_is_followed():
    real = curve(np.append(np.full(95, 10.0), np.full(5, 100.0)), np.zeros(100, dtype=bool))
    late = curve(np.append(np.full(95, 10.0), np.full(5, 100.0)), np.arange(100) >= 95)
    assert distance(real, late) == 0
    assert distance(late, real) == 0


def test_a_curve_of_nobody_is_as_far_as_can_be():
    nobody = curve(np.zeros(0), np.zeros(0, dtype=bool))
    somebody = curve(np.ones(1), np.ones(1, dtype=bool))
    assert distance(nobody, somebody) == 1
    assert distance(nobody, nobody) == 0


def test_a_band_holds_a_curve_that_is_inside_at_all_of_its_times():
    real = curve(np.array([1.0, 2, 3, 4]), np.ones(4, dtype=bool))
    times = np.array([1.0, 3.0])
    assert Band(times, np.array([0.7, 0.2]), np.array([0.8, 0.3])).holds(real)
    assert not Band(times, np.array([0.7, 0.2]), np.array([0.8, 0.24])).holds(real)
    assert not Band(times, np.array([0.76, 0.2]), np.array([0.8, 0.3])).holds(real)

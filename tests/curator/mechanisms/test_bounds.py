import math

import numpy as np
import pytest

from dpmosaic.common.domain import Domain
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.bounds import noise_bound, weighted_average

DOMAIN = Domain.coded({"a": 2, "b": 3})


def test_the_average_is_the_best_linear_unbiased_estimate():
    """Theorem 5.2 against generalised least squares written out as a matrix."""
    pair = Measurement(("a", "b"), np.array([4.0, 1, 3, 8, 2, 5]), 2.0, 0.1)
    single = Measurement(("a",), np.array([9.0, 13]), 1.5, 0.1)
    average = weighted_average(DOMAIN, ("a",), [pair, single])
    design = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=float)
    observed = np.array([8.0, 15.0, 9.0, 13.0])
    weights = np.diag([1 / 12, 1 / 12, 1 / 2.25, 1 / 2.25])  # three cells of variance 4 add up to 12
    covariance = np.linalg.inv(design.T @ weights @ design)
    assert np.allclose(average.values, covariance @ design.T @ weights @ observed)
    assert average.sigma == pytest.approx(math.sqrt(covariance[0, 0]))


def test_measurements_that_do_not_contain_the_clique_say_nothing_of_it():
    assert weighted_average(DOMAIN, ("a", "b"), [Measurement(("a",), np.ones(2), 1.0, 0.1)]) is None


@pytest.mark.parametrize("cells", [1, 4, 100])
def test_the_bound_on_gaussian_noise_holds_as_often_as_it_says(cells):
    """20,000 draws at failure 5 %: a true rate of 5 % would exceed 5.8 % with a probability below 1e-6."""
    noise = np.abs(np.random.default_rng(3).normal(0, 2.0, (20_000, cells))).sum(axis=1)
    assert (noise > noise_bound(cells, 2.0, True, 0.05)).mean() < 0.058


def test_the_bound_on_other_noise_holds_for_heavy_tails():
    """Products of Gaussians, all cells equal: the worst case for an L1 norm at a given root mean square."""
    rng = np.random.default_rng(4)
    noise = np.repeat((rng.normal(size=20_000) * rng.normal(size=20_000))[:, None], 6, axis=1)
    assert (np.abs(noise).sum(axis=1) > noise_bound(6, 1.0, False, 0.05)).mean() < 0.058

"""Independent normal variables, and their classes."""

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.mosaic.components import DEVIATION_CLASSES, Component, classes_of


def test_the_posterior_is_the_mean_over_likely_scales():
    """By hand, for two sizes."""
    component = Component(profile=np.array([1.0, 2.0]), away=np.array([3.0, -5.0]), noise=4.0)
    means, variances = component.posterior(np.array([1.0, 3.0]), np.array([0.25, 0.75]))
    kept = np.array([[1 / 5, 4 / 8], [9 / 13, 36 / 40]])
    mean = 0.25 * kept[0] + 0.75 * kept[1]
    spread = 0.25 * 0.75 * (kept[0] - kept[1]) ** 2
    assert np.allclose(means, mean * component.away)
    assert np.allclose(variances, 4 * mean + spread * component.away**2)


@pytest.mark.parametrize("cells", [3, 24, 100])
def test_classes_keep_the_number_of_cells_and_the_sum_of_squares(cells):
    deviations = np.random.default_rng(6).gamma(1.0, 10.0, cells)
    levels, counts = classes_of(deviations)
    assert len(levels) == len(counts) == DEVIATION_CLASSES
    assert counts.sum() == cells
    assert (counts * levels**2).sum() == pytest.approx((deviations**2).sum())

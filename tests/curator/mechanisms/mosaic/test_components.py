"""Independent normal variables, and their classes."""

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.mosaic.components import (
    DEVIATION_CLASSES,
    Component,
    classes_of,
    log_prior_around,
)


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


@pytest.mark.parametrize("share", [0.0, np.finfo(np.float64).tiny, 1e-300, [0.0, 0.1]])
@pytest.mark.parametrize("spread", [0.05, 0.5, 2.0])
def test_whatever_share_is_expected_the_sizes_around_it_have_probabilities(share, spread):
    found = np.exp(log_prior_around(np.array(share), spread))
    assert found.sum(axis=-1) == pytest.approx(np.ones(np.shape(share)))
    assert np.atleast_2d(found)[0].argmax() == 0

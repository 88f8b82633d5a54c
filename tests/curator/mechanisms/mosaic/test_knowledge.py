"""What Mosaic knows of one-way marginals: its own measurements, and those that were published before."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.mosaic.knowledge import Knowledge

DOMAIN = Domain.coded({"a": 4, "b": 3})
COUNTS = np.array([500.0, 300.0, 150.0, 50.0])


def known(before, *measured):
    found = Knowledge(DOMAIN, 1000, before)
    found.measure(measured)
    return found


def marginal(values, sigma, sigmas=None):
    return Measurement(("a",), np.asarray(values, dtype=float), sigma, 0.1, sigmas=sigmas)


def test_cells_are_averaged_by_the_noise_of_each():
    noise = np.array([9.0, -9.0, 9.0, -9.0])
    before = marginal(COUNTS - noise, 10.0, np.array([1e-6, 1e6, 10.0, 10.0]))
    (target,) = known([before], marginal(COUNTS + noise, 10.0)).targets([])
    # One cell is known, one is as measured, and two are halfway, before the sum is made right.
    assert target.values[0] == pytest.approx(491, abs=0.01)
    assert target.values[1:].sum() == pytest.approx(509, abs=0.01)
    assert target.values[1] < target.values[2] + 150
    assert target.sigmas[0] < target.sigmas[2] < target.sigmas[1]


def test_another_attribute_is_known_as_measured():
    before = Measurement(("b",), np.array([500.0, 250.0, 250.0]), 1.0, 0.1)
    measured = marginal(COUNTS, 10.0)
    assert known([before], measured).targets([])[0].values == pytest.approx(
        known([], measured).targets([])[0].values
    )


def test_what_was_published_counts_when_budget_is_split():
    measured = marginal(COUNTS, 10.0)
    alone, both = known([], measured), known([marginal(COUNTS, 5.0)], measured)
    assert both.precision(("a",)) == pytest.approx(alone.precision(("a",)) + 1 / 25)
    assert both.precision(("b",)) == 0


def test_estimates_are_closer_with_what_was_published():
    """Means of 200 seeds: the squared error halves where both are as noisy; false alarm below 1e-6."""
    rng = np.random.default_rng(1)
    errors = np.zeros(2)
    for _ in range(200):
        measured, before = (marginal(COUNTS + rng.normal(0, 20, 4), 20.0) for _ in range(2))
        for place, published in enumerate(([], [before])):
            (target,) = known(published, measured).targets([])
            errors[place] += ((target.values - COUNTS) ** 2).sum()
    assert 0.35 < errors[1] / errors[0] < 0.7

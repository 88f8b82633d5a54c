"""Counts from sums at several resolutions: the least-squares estimate, and what is said of its noise."""

import math

import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.bins import RESOLUTIONS, boxes_of
from dpmosaic.curator.releasing.bins.noisy_counts import NoisyCounts


def measured(counts, sigma, rng):
    found = []
    for level in range(RESOLUTIONS):
        boxes = boxes_of(len(counts), level)
        sums = [counts[a:b].sum() for ((a, b),) in boxes] if boxes else counts
        found.append(
            Measurement(View(("a",), boxes=boxes), sums + rng.normal(0, sigma, len(sums)), sigma, 1.0)
        )
    return found


def least_squares(measurements, size, records):
    """Solves the normal equations with the constraint on the sum."""
    rows, values = [], []
    for one in measurements:
        for (a, b), value in zip(
            [box for (box,) in one.view.boxes] or [(k, k + 1) for k in range(size)], one.values, strict=True
        ):
            rows.append([a <= k < b for k in range(size)])
            values.append(value)
    matrix = np.array(rows, dtype=float)
    ones = np.ones((size, 1))
    system = np.block([[matrix.T @ matrix, ones], [ones.T, np.zeros((1, 1))]])
    return np.linalg.solve(system, np.append(matrix.T @ np.array(values), records))[:size]


@pytest.mark.parametrize("size", [27, 64, 125])
def test_is_the_least_squares_estimate_where_all_boxes_are_full(size):
    rng = np.random.default_rng(size)
    counts = rng.poisson(20.0, size).astype(float)
    found = measured(counts, 5.0, rng)
    estimate = np.diff(NoisyCounts.of(found, counts.sum()).sums)
    assert estimate == pytest.approx(least_squares(found, size, counts.sum()), abs=1e-6)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 30, 100, 641])
def test_exact_sums_give_exact_counts_of_any_size(size):
    counts = np.random.default_rng(1).poisson(3.0, size).astype(float)
    found = measured(counts, 1e-9, np.random.default_rng(2))
    noisy = NoisyCounts.of(found, counts.sum())
    for first, stop in [(0, size), (size // 3, size), (0, size // 2), (size // 4, size // 2 + 1)]:
        assert noisy.between(first, stop) == pytest.approx(counts[first:stop].sum(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [27, 100, 512])
@pytest.mark.parametrize("run", [(0.0, 0.3), (0.1, 0.9), (0.5, 1.0), (0.4, 0.45)])
def test_the_stated_deviation_of_a_run_bounds_its_noise(size, run):
    """Mean squares of 300 draws exceed the variance by a quarter with a probability below 1e-3."""
    rng = np.random.default_rng(3)
    counts = np.full(size, 10.0)
    first, stop = (int(place * size) for place in run)
    errors = []
    for _ in range(300):
        noisy = NoisyCounts.of(measured(counts, 4.0, rng), counts.sum())
        errors.append(noisy.between(first, stop) - counts[first:stop].sum())
    assert math.sqrt(np.mean(np.square(errors))) < 1.12 * noisy.sigma(first, stop)


def with_total(measurements, size, records, variance):
    """The weighted least-squares estimate of the counts, and the covariance of its noise."""
    rows, values, weights = [np.ones(size)], [records], [1 / variance]
    for one in measurements:
        boxes = [box for (box,) in one.view.boxes] or [(k, k + 1) for k in range(size)]
        for (a, b), value in zip(boxes, one.values, strict=True):
            rows.append(np.array([a <= k < b for k in range(size)], dtype=float))
            values.append(value)
            weights.append(1 / one.sigma**2)
    matrix, weight = np.array(rows), np.array(weights)
    covariance = np.linalg.inv(matrix.T @ (weight[:, None] * matrix))
    return covariance @ matrix.T @ (weight * np.array(values)), covariance


@pytest.mark.parametrize("size", [27, 64])
@pytest.mark.parametrize("variance", [1.0, 100.0, 1e6])
def test_a_noisy_number_of_all_records_is_one_more_measurement(size, variance):
    rng = np.random.default_rng(size)
    counts = rng.poisson(20.0, size).astype(float)
    found = measured(counts, 5.0, rng)
    noisy = NoisyCounts.of(found, counts.sum() + 7.0, variance)
    estimate, covariance = with_total(found, size, counts.sum() + 7.0, variance)
    assert np.diff(noisy.sums) == pytest.approx(estimate, abs=1e-6)
    for first, stop in [(0, size), (0, size // 3), (size // 2, size), (3, 5), (1, size - 1)]:
        run = np.arange(size)
        inside = ((run >= first) & (run < stop)).astype(float)
        assert noisy.sigma(first, stop) == pytest.approx(math.sqrt(inside @ covariance @ inside))


def test_all_records_have_no_deviation_where_their_number_is_public():
    counts = np.full(64, 10.0)
    noisy = NoisyCounts.of(measured(counts, 4.0, np.random.default_rng(5)), counts.sum(), 0.0)
    assert noisy.between(0, 64) == pytest.approx(counts.sum())
    assert noisy.sigma(0, 64) == pytest.approx(0.0, abs=1e-6)
    assert noisy.sigma(0, 40) == pytest.approx(noisy.sigma(40, 64))

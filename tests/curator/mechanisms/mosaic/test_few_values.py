"""Posterior of counts with a known sum, against integrals."""

import math

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.mosaic import one_way as module
from dpmosaic.curator.mechanisms.mosaic.one_way import dirichlet_posteriors, onto_simplex

pytestmark = pytest.mark.slow


def noise_of(count, sigma, seed):
    """Noise whose mean is taken away, and its variance."""
    noise = np.random.default_rng(seed).normal(0, sigma, count)
    return noise - noise.mean(), np.full(count, sigma**2 * (1 - 1 / count))


def dirichlet_posterior(noisy, variances, total):
    """That of one attribute alone."""
    (found,) = dirichlet_posteriors([(noisy, variances)], total)
    return found


def integrated(noisy, sigma, total, parameter):
    """Means and variances of three counts, and the log-likelihood of the noisy ones, by integration."""
    # The density may be steep at the ends of both axes, where the nodes are closest.
    u = (np.arange(1200) + 0.5) / 1200
    place, width = 3 * u**2 - 2 * u**3, 6 * u * (1 - u)
    first = place[:, None]
    second = (1 - first) * place
    shares = np.stack([first + 0 * second, second, (1 - first) * (1 - place)])
    prior = (shares ** (parameter - 1)).prod(axis=0) * (1 - first) * width[:, None] * width
    likelihood = np.exp(-0.5 * (((total * shares - noisy[:, None, None]) / sigma) ** 2).sum(axis=0))
    chance = prior * likelihood
    means = total * (shares * chance).sum(axis=(1, 2)) / chance.sum()
    squares = total**2 * (shares**2 * chance).sum(axis=(1, 2)) / chance.sum()
    return means, squares - means**2, math.log(chance.sum() / prior.sum())


@pytest.mark.parametrize("parameter", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("sigma", [5.0, 20.0, 60.0])
def test_three_counts_have_the_moments_that_integration_gives(monkeypatch, sigma, parameter):
    """Up to the error of the approximation."""
    monkeypatch.setattr(module, "_EVENNESS", np.array([parameter]))
    noise, variances = noise_of(3, sigma, seed=1)
    noisy = np.array([50.0, 30.0, 20.0]) + noise
    means, left, _ = integrated(noisy, sigma, 100.0, parameter)
    found, variance = dirichlet_posterior(noisy, variances, 100.0)
    assert found == pytest.approx(means, abs=2.5)
    assert np.sqrt(variance) == pytest.approx(np.sqrt(left), rel=0.1)


def test_parameters_are_weighed_by_their_likelihoods(monkeypatch):
    monkeypatch.setattr(module, "_EVENNESS", np.array([0.5, 16.0]))
    noise, variances = noise_of(3, 20.0, seed=2)
    noisy = np.array([60.0, 30.0, 10.0]) + noise
    means, _, logs = zip(
        *(integrated(noisy, 20.0, 100.0, parameter) for parameter in (0.5, 16.0)), strict=True
    )
    weights = np.exp(np.array(logs) - max(logs))
    assert weights.min() > 0.1 * weights.max()
    found, _ = dirichlet_posterior(noisy, variances, 100.0)
    assert found == pytest.approx(weights @ np.array(means) / weights.sum(), abs=2.5)


@pytest.mark.parametrize("sigma", [1e-7, 1e-2, 1.0, 1e2, 1e7])
@pytest.mark.parametrize("count", [2, 5, 31])
def test_estimates_are_counts_with_the_known_sum(count, sigma):
    noise, variances = noise_of(count, 1000 * sigma, seed=count)
    values, left = dirichlet_posterior(
        np.random.default_rng(1).dirichlet(np.ones(count)) * 1000 + noise, variances, 1000.0
    )
    assert values.sum() == pytest.approx(1000.0)
    assert values.min() >= 0
    assert np.isfinite(left).all()
    assert left.min() >= 0


def test_noise_that_is_small_leaves_counts_as_they_are():
    counts = np.array([700.0, 200.0, 95.0, 5.0])
    values, left = dirichlet_posterior(counts, np.full(4, 1e-4), 1000.0)
    assert values == pytest.approx(counts, abs=1e-3)
    assert left == pytest.approx(np.full(4, 1e-4), rel=0.01)


def test_noise_that_hides_all_counts_leaves_them_even():
    noise, variances = noise_of(8, 1e6, seed=3)
    values, _ = dirichlet_posterior(noise, variances, 1000.0)
    assert values == pytest.approx(np.full(8, 125.0), rel=0.01)


def tables(parameter, sigma, attributes, seed):
    """Counts of attributes of 8 values among 1000 records; noisy counts and variances of their noise."""
    rng = np.random.default_rng(seed)
    counts = [rng.dirichlet(np.full(8, parameter)) * 1000 for _ in range(attributes)]
    noise = [noise_of(8, sigma, 1000 * seed + place) for place in range(attributes)]
    return counts, [
        (known + added, variances) for known, (added, variances) in zip(counts, noise, strict=True)
    ]


@pytest.mark.parametrize(
    ("parameter", "most"), [(0.1, 0.95), (0.3, 0.98), (1.0, 0.85), (10.0, 0.25), (1e9, 0.08)]
)
def test_squared_errors_are_smaller_than_those_of_projected_counts(parameter, most):
    """Twenty tables of ten attributes; noise of a tenth of the records."""
    errors = []
    for seed in range(20):
        counts, noisy = tables(parameter, 100.0, 10, seed)
        projected = [onto_simplex(values, 1000.0, variances) for values, variances in noisy]
        means = [values for values, _ in dirichlet_posteriors(noisy, 1000.0)]
        errors.append([np.square(np.array(found) - counts).sum() for found in (means, projected)])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < most * theirs


def test_variances_are_those_of_the_errors():
    """The mean squared error of 4000 counts; its standard error is 3 %."""
    counts, noisy = tables(1.0, 60.0, 500, seed=7)
    means, left = zip(*dirichlet_posteriors(noisy, 1000.0), strict=True)
    assert np.square(np.array(means) - counts).mean() == pytest.approx(np.mean(left), rel=0.12)

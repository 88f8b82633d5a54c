"""Discrete Gaussian noise against exact probabilities.

Every chi-square test below uses one fixed seed and rejects at p < 1e-4: together they would reject a correct
sampler for fewer than 2 of 1,000 choices of the seeds.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy import noise
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.privacy.noise import discrete_gaussian, noisy_counts

SIGMAS = [0.2, 0.5, 0.75, 1.0, 2.5, 15.9, 16.0, 31.9, 33.0, 257.3, 4_000.0]


def exact_probabilities(sigma, support):
    reach = np.arange(-math.ceil(40 * sigma) - 2, math.ceil(40 * sigma) + 3)
    weights = np.exp(-((reach / sigma) ** 2) / 2)
    return np.exp(-((support / sigma) ** 2) / 2) / weights.sum()


@pytest.mark.parametrize("sigma", SIGMAS)
def test_draws_have_the_probabilities_of_the_discrete_gaussian(sigma):
    draws = discrete_gaussian(sigma, 400_000, RandomStream.from_seed(11))
    width = max(1, int(sigma // 8))
    edge = width * math.ceil(3.5 * sigma / width)
    support = np.arange(-edge, edge)
    expected = exact_probabilities(sigma, support).reshape(-1, width).sum(axis=1) * draws.size
    inside = draws[(draws >= -edge) & (draws < edge)]
    observed = np.bincount((inside + edge) // width, minlength=expected.size)
    observed = np.append(observed, draws.size - inside.size)
    expected = np.append(expected, draws.size - expected.sum())
    often = expected >= 5
    observed = np.append(observed[often], observed[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    keep = expected > 1e-9
    assert observed[~keep].sum() == 0
    assert (
        stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected[keep].sum()).pvalue > 1e-4
    )


@pytest.mark.parametrize("sigma", [1e6, 3.3e7])
def test_draws_of_a_large_scale_pass_a_test_for_gaussians(sigma):
    draws = discrete_gaussian(sigma, 200_000, RandomStream.from_seed(12))
    assert stats.kstest(draws / sigma, "norm").pvalue > 1e-4
    assert stats.chisquare(np.bincount(draws % 16, minlength=16)).pvalue > 1e-4


@pytest.mark.parametrize("sigma", [0.5, 3.0, 100.0])
def test_the_test_in_high_precision_takes_the_same_draws_as_the_one_in_floating_point(sigma):
    envelope = noise._envelope(sigma)
    quick = noise._draw_and_accept(envelope, 400, RandomStream.from_seed(13), doubt=1e-11)
    exact = noise._draw_and_accept(envelope, 400, RandomStream.from_seed(13), doubt=math.inf)
    assert quick.tolist() == exact.tolist()


@pytest.mark.parametrize("sigma", [0.05, 0.5, 7.0, 1e3, 1e6, 2.0**40])
def test_no_candidate_is_accepted_with_a_probability_above_one(sigma):
    envelope = noise._envelope(sigma)
    starts = np.arange(envelope.weights.size) * 2.0**envelope.block_bits
    assert np.all(np.exp(-((starts / sigma) ** 2) / 2) * envelope.scale <= envelope.weights)
    assert envelope.cumulative[-1] <= 2**60


def test_the_tail_that_is_cut_has_less_probability_than_the_stated_distance():
    assert 2 * math.erfc(noise.TAIL_SIGMAS / math.sqrt(2)) < noise.STATISTICAL_DISTANCE


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, 2.0**41])
def test_refuses_a_scale_out_of_range(sigma):
    with pytest.raises(ValueError, match="sigma must lie"):
        discrete_gaussian(sigma, 1, RandomStream.from_seed(1))


@pytest.mark.parametrize("sigma", [0.01, 1.7, 40.0, 700.0])
def test_noisy_counts_lie_on_the_grid_and_have_the_stated_deviation(sigma):
    counts = np.full(100_000, 1234)
    noisy = noisy_counts(counts, sigma, RandomStream.from_seed(14)) / grid_of(sigma)
    # The sample deviation of 1e5 Gaussian draws is within 1.2 % with probability 1 - 1e-7.
    assert noisy.std() == pytest.approx(sigma, rel=0.012)
    assert abs(noisy.mean() - 1234) < 5.4 * sigma / math.sqrt(counts.size)
    assert grid_of(sigma) * sigma >= 256


def test_equal_streams_give_equal_noise_and_other_streams_other_noise():
    first, again, other = (discrete_gaussian(9.0, 50, RandomStream.from_seed(s)) for s in (5, 5, 6))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()

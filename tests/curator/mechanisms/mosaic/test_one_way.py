"""Denoised one-way marginals."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from dpmosaic.curator.mechanisms.mosaic.one_way import (
    _forward_backward,
    denoise,
    dirichlet_posteriors,
    onto_simplex,
    sticky_levels,
)
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_closest_vector_of_the_simplex(seed):
    rng = np.random.default_rng(seed)
    noisy = rng.normal(3, 10, 12)
    projected = onto_simplex(noisy, 30.0, np.ones(12))
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(30)
    others = rng.dirichlet(np.full(12, 0.3), 2000) * 30
    near = np.maximum(projected + rng.normal(0, 0.1, (2000, 12)), 0)
    near *= 30 / near.sum(axis=1, keepdims=True)
    least = min(((others - noisy) ** 2).sum(axis=1).min(), ((near - noisy) ** 2).sum(axis=1).min())
    assert ((projected - noisy) ** 2).sum() <= least


@pytest.mark.slow
def test_the_projection_is_the_most_likely_vector_where_some_counts_are_less_noisy():
    """Against a general solver of the weighted least-squares problem."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        noisy, variances = rng.normal(3, 10, 8), rng.uniform(0.1, 50, 8)
        found = minimize(
            lambda x, noisy=noisy, variances=variances: (((x - noisy) ** 2) / variances).sum(),
            np.full(8, 30 / 8),
            bounds=[(0, None)] * 8,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 30},
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        assert onto_simplex(noisy, 30.0, variances) == pytest.approx(found.x, abs=1e-3)


def test_a_vector_of_the_simplex_stays():
    assert onto_simplex(np.array([1.0, 0.0, 5.0]), 6.0, np.ones(3)).tolist() == [1.0, 0.0, 5.0]


def test_the_passes_over_the_chain_agree_with_a_sum_over_all_its_paths():
    rng = np.random.default_rng(1)
    likelihood, weights, stays = rng.random((4, 3)), np.array([0.2, 0.5, 0.3]), 0.4
    posterior, jumps, stayed, total = np.zeros((4, 3)), np.zeros(3), 0.0, 0.0
    # A path: the levels, and whether each was reached by staying.
    for path in itertools.product(range(3), repeat=4):
        for kept in itertools.product([True, False], repeat=3):
            chance = weights[path[0]] * likelihood[0, path[0]]
            for i, stay in enumerate(kept, start=1):
                same = path[i] == path[i - 1]
                chance *= stays * same if stay else (1 - stays) * weights[path[i]]
                chance *= likelihood[i, path[i]]
            total += chance
            stayed += chance * sum(kept)
            jumps[path[0]] += chance
            for i in range(4):
                posterior[i, path[i]] += chance
            for i, stay in enumerate(kept, start=1):
                jumps[path[i]] += chance * (not stay)
    levels, posterior = np.array([0.0, 2.0, 7.0]), posterior / total
    found = _forward_backward(likelihood, weights, stays, levels)
    assert np.allclose(found[0], posterior @ levels)
    assert np.allclose(found[1], posterior @ levels**2 - (posterior @ levels) ** 2)
    assert np.allclose(found[2], jumps / total)
    assert found[3] == pytest.approx(stayed / total)
    assert found[4] == pytest.approx(np.log(total))


def test_attributes_of_few_values_are_estimated_together_and_the_others_alone():
    rng = np.random.default_rng(8)
    noisy = [(rng.normal(120 / n, 9, n), np.full(n, 81.0)) for n in (3, SETTINGS.chain_from, 5)]
    found = denoise(noisy, 120.0)
    short = dirichlet_posteriors([noisy[0], noisy[2]], 120.0)
    expected = [short[0], *denoise(noisy[1:2], 120.0), short[1]]
    assert [[each.tolist() for each in pair] for pair in found] == [
        [each.tolist() for each in pair] for pair in expected
    ]


@pytest.mark.parametrize(
    "counts",
    [
        np.where(np.arange(200) % 40 == 0, 500.0, 0.0),
        np.repeat([0.0, 300.0, 20.0, 90.0], 50),
        np.full(100, 50.0),
    ],
    ids=["sparse", "plateaus", "constant"],
)
def test_structure_removes_at_least_half_of_the_noise(counts):
    rng = np.random.default_rng(2)
    noisy = counts + rng.normal(0, 20, counts.size)
    ((values, variances),) = denoise([(noisy, np.full(len(noisy), 400.0))], counts.sum())
    assert counts.size >= SETTINGS.chain_from
    assert values.sum() == pytest.approx(counts.sum())
    assert (
        np.abs(values - counts).sum()
        < 0.5 * np.abs(onto_simplex(noisy, counts.sum(), np.ones(len(noisy))) - counts).sum()
    )
    assert variances.mean() < 400


def test_counts_without_structure_lose_little_accuracy():
    """The mean over five tables; the levels are learned, which costs a little."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(5):
        counts = rng.uniform(0, 1000, 64)
        noisy = counts + rng.normal(0, 20, 64)
        means, _, _ = sticky_levels(noisy, np.full(len(noisy), 400.0))
        ratios.append(np.abs(means - counts).sum() / np.abs(noisy - counts).sum())
    assert np.mean(ratios) < 1.2


def test_noise_that_is_small_beside_the_distance_of_the_levels_leaves_counts_as_they_are():
    counts = np.random.default_rng(5).uniform(0, 1e6, 2000)
    means, variances, _ = sticky_levels(counts, np.full(len(counts), 1e-4))
    assert np.abs(means - counts).max() < 0.05
    assert variances.max() < 1e-3


def test_thousands_of_values_have_few_levels():
    counts = np.arange(3000) % 7 * 10.0
    means, variances, _ = sticky_levels(counts + np.random.default_rng(4).normal(0, 1, 3000), np.ones(3000))
    assert np.isfinite(means).all()
    assert variances.min() >= 0


def test_the_likelihood_of_counts_prefers_the_order_in_which_they_are_smooth():
    """Of one level it is the likelihood of normal noise around this level, less what was learned of it."""
    rng = np.random.default_rng(8)
    counts = np.repeat([400.0, 20.0, 900.0, 100.0], 25)
    noise = rng.normal(0, 30, 100)
    told = [
        sticky_levels(order + noise, np.full(100, 900.0))[-1] for order in (counts, rng.permutation(counts))
    ]
    assert told[0] > told[1] + 50
    even = rng.normal(500, 30, 100)
    known = float(-0.5 * ((even - even.mean()) ** 2 / 900 + np.log(900)).sum())
    assert known - 15 < sticky_levels(even, np.full(100, 900.0))[-1] < known + 5

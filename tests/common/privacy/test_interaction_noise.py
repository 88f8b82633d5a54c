"""The noise of interactions, enumerated: what docs/adr/0020 proves, on lattices small enough to sum over.

Differences of independent discrete Gaussians are convolved exactly; nothing is drawn, so nothing here has
false alarms. Scales are far smaller than the grid allows, so that errors would show.
"""

import functools
import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.interactions import differences
from dpmosaic.common.privacy.conversion import gaussian_delta
from dpmosaic.common.privacy.cost import Adjacency

SHAPES = [(2,), (3,), (2, 2), (2, 3), (2, 2, 2)]


def difference_matrix(shape):
    """Shape (differences, cells)."""
    return np.array([differences(cell, shape) for cell in np.eye(math.prod(shape), dtype=int)]).T


@functools.cache
def noise(shape, scale):
    """Probabilities of the differences of only the noise; zero is in the middle of every axis."""
    reach = math.ceil(8.5 * scale)
    weights = np.exp(-((np.arange(-reach, reach + 1) / scale) ** 2) / 2)
    weights /= weights.sum()
    matrix = difference_matrix(shape)
    room = math.ceil(8.5 * scale * math.sqrt(2 ** len(shape)))
    total = np.zeros((2 * room + 1,) * len(matrix))
    total[(room,) * len(matrix)] = 1.0
    for column in matrix.T:
        # What is rolled past an end weighs less than 1e-15.
        total = sum(
            weight * np.roll(total, tuple(value * column), axis=tuple(range(len(matrix))))
            for value, weight in zip(range(-reach, reach + 1), weights, strict=True)
        )
    return total


def answers(shape, scale, counts):
    """Probabilities of the answer for a table of few records."""
    moved = difference_matrix(shape) @ counts
    return np.roll(noise(shape, scale), tuple(moved), axis=tuple(range(len(moved))))


def distances(shape, scale, counts):
    """Squared distance of every answer's interaction from the table's: shape of `answers`."""
    matrix = difference_matrix(shape)
    size = noise(shape, scale).shape[0]
    grid = np.indices((size,) * len(matrix)).reshape(len(matrix), -1) - size // 2
    interactions = np.linalg.pinv(matrix) @ (grid - (matrix @ counts)[:, None])
    return np.square(interactions).sum(axis=0).reshape((size,) * len(matrix))


def visible(shape, scale):
    """The e of the lemma: 2 pi^2 s^2 = ln(2 d (1 + 1/e)) max n_i, d the dimension of what falls out."""
    dimension = math.prod(shape) - math.prod(n - 1 for n in shape)
    return 1 / (math.exp(2 * math.pi**2 * scale**2 / max(shape)) / (2 * dimension) - 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [0.9, 1.1, 1.6])
def test_an_answer_is_a_discrete_gaussian_around_the_interaction_up_to_the_stated_factor(shape, scale):
    counts = np.arange(math.prod(shape)) % 2
    found = answers(shape, scale, counts)
    claimed = np.exp(-distances(shape, scale, counts) / (2 * scale**2))
    claimed /= claimed.sum()
    likely = found > 1e-8
    assert claimed[likely].sum() > 1 - 1e-5
    ratio = np.abs(np.log(found[likely] / claimed[likely]))
    assert visible(shape, scale) < 0.06
    assert ratio.max() <= 4 * visible(shape, scale) + 1e-6


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_at_scales_too_small_for_the_lemma_the_distribution_depends_on_the_grid(shape):
    """Otherwise the comparison above could not fail."""
    counts = np.zeros(math.prod(shape), dtype=int)
    found = answers(shape, 0.35, counts)
    claimed = np.exp(-distances(shape, 0.35, counts) / (2 * 0.35**2))
    claimed /= claimed.sum()
    likely = found > 1e-8
    assert np.abs(np.log(found[likely] / claimed[likely])).max() > 0.05


def changes(shape, adjacency):
    """Changes of the counts when a record of the first cell is replaced; the other cells are symmetric."""
    cells = np.eye(math.prod(shape), dtype=int)
    if adjacency is not Adjacency.REPLACE_ONE:
        return [-cells[0]]
    return [other - cells[0] for other in cells[1:]]


def delta(shape, scale, change, epsilon):
    """The least delta at which the answers of two tables are epsilon-close."""
    one, other = (answers(shape, scale, counts) for counts in (np.zeros_like(change), change))
    return max(
        np.maximum(first - math.exp(epsilon) * second, 0).sum()
        for first, second in itertools.permutations((one, other))
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_privacy_loss_of_an_answer_is_that_of_the_gaussian_that_it_is_charged_as(shape, adjacency):
    """A Gaussian of squared sensitivity D and variance s^2 - 2.5, as cost.py has it; no record costs more.

    A D smaller by a tenth would be detected for at least one epsilon.
    """
    scale = 3.0
    moved = float(adjacency.squared_interaction_sensitivity(shape))
    mu = math.sqrt(moved / (scale**2 - 2.5))
    caught = False
    for epsilon in (0.0, mu**2 / 2, mu**2 / 2 + mu, mu**2 / 2 + 2 * mu):
        found = max(delta(shape, scale, change, epsilon) for change in changes(shape, adjacency))
        assert 0 < found <= gaussian_delta(mu, epsilon) + 1e-12
        caught |= found > gaussian_delta(math.sqrt(0.9 * moved) / scale, epsilon)
    assert caught


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_noise_for_an_interaction_does_not_protect_its_marginal(shape):
    """The cells would have a far larger privacy loss than is charged for the differences."""
    scale = 3.0
    mu = math.sqrt(float(Adjacency.ZERO_OUT.squared_interaction_sensitivity(shape)) / (scale**2 - 2.5))
    single = np.exp(-((np.arange(-30, 31) / scale) ** 2) / 2)
    single /= single.sum()
    for epsilon in (0.0, mu, 2 * mu):
        telling = np.maximum(single - math.exp(epsilon) * np.roll(single, 1), 0).sum()
        assert telling > 1.3 * gaussian_delta(mu, epsilon)

"""Interactions against the projection and the differences written out as matrices."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.interactions import difference_count, differences, from_differences, interaction
from dpmosaic.common.protocols.arithmetic.ring import Ring

pytestmark = pytest.mark.slow

SHAPES = [(1,), (2,), (5,), (2, 2), (1, 3), (3, 4), (2, 3, 4), (2, 1, 3), (2, 3, 2, 3)]
SHAPED = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def kronecker(matrices):
    return functools.reduce(np.kron, matrices)


def projection(shape):
    """The projection on arrays that sum to zero along every axis."""
    return kronecker([np.eye(n) - 1 / n for n in shape])


def difference_matrix(shape):
    return kronecker([np.eye(n)[1:] - np.eye(n)[:-1] for n in shape])


def values_of(shape, seed=1):
    return np.random.default_rng(seed).integers(-99, 100, math.prod(shape)).astype(float)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_interaction_is_the_projection_on_what_sums_to_zero_along_every_axis(shape):
    values = values_of(shape)
    found = interaction(values, shape)
    np.testing.assert_allclose(found, projection(shape) @ values, atol=1e-12)
    for axis in range(len(shape)):
        np.testing.assert_allclose(found.reshape(shape).sum(axis=axis), 0, atol=1e-12)
    assert values.tolist() == values_of(shape).tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_marginal_is_the_sum_of_the_interactions_of_all_its_subsets(shape):
    """The mean over the axes that a subset leaves out, spread over them again, has its interaction."""
    cells = values_of(shape).reshape(shape)
    total = np.zeros(shape)
    for size in range(len(shape) + 1):
        for kept in itertools.combinations(range(len(shape)), size):
            left = tuple(axis for axis in range(len(shape)) if axis not in kept)
            mean = cells.mean(axis=left, keepdims=True)
            sizes = [shape[axis] for axis in kept]
            total += interaction(mean.ravel(), sizes).reshape(mean.shape) if kept else mean
    np.testing.assert_allclose(total, cells, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_differences_are_those_of_neighbours_along_every_axis(shape):
    values = values_of(shape)
    expected = difference_matrix(shape) @ values
    assert differences(values, shape).tolist() == expected.tolist()
    assert difference_count(shape) == len(expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_difference_sums_two_to_the_k_cells_with_equal_numbers_of_both_signs(shape):
    matrix = difference_matrix(shape)
    assert np.all((matrix == 1).sum(axis=1) == 2 ** len(shape) // 2)
    assert np.all((matrix == -1).sum(axis=1) == 2 ** len(shape) // 2)
    assert np.isin(matrix, [-1, 0, 1]).all()


@given(SHAPED, st.integers(0, 2**32), st.integers(-(10**9), 10**9))
def test_differences_determine_the_interaction_and_not_what_is_constant_along_an_axis(shape, seed, largest):
    values = values_of(shape, seed)
    sent = differences(values, shape)
    np.testing.assert_allclose(from_differences(sent, shape), projection(shape) @ values, atol=1e-9)
    for axis in range(len(shape)):
        rest = [1 if i == axis else n for i, n in enumerate(shape)]
        constant = np.broadcast_to(largest * values_of(rest, seed + 1).reshape(rest), shape)
        assert differences(values + constant.ravel(), shape).tolist() == sent.tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_vector_of_differences_belongs_to_one_interaction(shape):
    """As many differences as the projection has dimensions, and each of them comes back."""
    sent = np.random.default_rng(2).integers(-99, 100, difference_count(shape)).astype(float)
    found = from_differences(sent, shape)
    assert found.shape == (math.prod(shape),)
    np.testing.assert_allclose(projection(shape) @ found, found, atol=1e-9)
    np.testing.assert_allclose(differences(found, shape), sent, atol=1e-9)
    assert round(np.trace(projection(shape))) == difference_count(shape)


@given(SHAPED, st.integers(0, 2**32), st.sampled_from([32, 64]))
def test_differences_of_words_wrap_around_so_that_those_of_shares_add_up(shape, seed, bits):
    ring, rng, cells = Ring(bits), np.random.default_rng(seed), math.prod(shape)
    counts = rng.integers(-(2**27), 2**27, cells)
    shares = [rng.integers(0, 2**bits, cells, dtype=ring.dtype, endpoint=False) for _ in range(3)]
    shares.append(ring.words(counts) - sum(shares))
    sent = [differences(share, shape) for share in shares]
    assert {words.dtype for words in sent} == {ring.dtype}
    assert ring.as_signed(sum(sent)).tolist() == differences(counts, shape).tolist()


def test_cells_that_are_sums_of_thousands_of_differences_come_back():
    """Counts and noise on a grid are dyadic: their sums are exact for any number of terms."""
    shape, grid = (2, 16_384), 2**12
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 10**6, math.prod(shape)) + rng.integers(-99, 100, math.prod(shape)) / grid
    mean = cells.reshape(shape).mean(axis=0)
    ends = from_differences(differences(cells, shape), shape).reshape(shape)
    exact = (cells.reshape(shape) - mean)[0]
    np.testing.assert_allclose(ends[0], exact - exact.mean(), atol=1e-9)


def test_an_attribute_of_one_value_leaves_no_difference():
    assert difference_count((4, 1)) == 0
    assert differences(np.arange(4.0), (4, 1)).size == 0
    assert from_differences(np.empty(0), (4, 1)).tolist() == [0.0] * 4


def test_the_differences_of_a_table_too_large_to_hold_are_counted_exactly():
    assert difference_count((2**40 + 1,) * 3) == 2**120

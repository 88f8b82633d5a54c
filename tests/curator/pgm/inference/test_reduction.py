import itertools

import numpy as np
import pytest

from dpmosaic.curator.pgm.inference.reduction import Reduction

SHAPES = [(), (3,), (1, 4), (2, 3, 4), (30, 40, 20), (85, 3, 7, 2, 5), (9, 1, 50, 2, 12), (5000,), (2, 5000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_maxima_are_numpys_for_every_choice_of_axes(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).normal(size=shape)
    for count in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            reduction = Reduction.of(shape, axes)
            np.testing.assert_allclose(
                reduction.sum(array), array.sum(axis=axes, keepdims=True), rtol=1e-12, atol=1e-10
            )
            np.testing.assert_array_equal(reduction.max(array), array.max(axis=axes, keepdims=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_widened_array_broadcasts_to_the_same(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    for count in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            reduction = Reduction.of(shape, axes)
            reduced = rng.normal(size=reduction.kept)
            np.testing.assert_array_equal(
                np.broadcast_to(reduction.widen(reduced), shape), np.broadcast_to(reduced, shape)
            )


def test_short_last_axes_are_widened_where_that_costs_little() -> None:
    assert Reduction.of((100, 50, 2), [0, 2]).wide == (1, 50, 2)
    assert Reduction.of((100, 50, 2), [2]).wide is None
    assert Reduction.of((50, 2, 100), [1, 2]).wide is None

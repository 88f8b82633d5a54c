"""Groups of codes: sums over them against counting a mapped table."""

from __future__ import annotations

import numpy as np
import pytest

from dpmosaic.common.data.grouping import (
    check_groups,
    group_labels,
    group_sums,
    grouped_shape,
    last_code_apart,
    with_last_code_apart,
)
from dpmosaic.common.errors import DataError

SHAPE = (4, 3, 5)
GROUPS = ((0, 1, 1, 0), (), (0, 0, 1, 2, 2))


def test_sums_over_groups_are_the_marginal_of_mapped_codes():
    rng = np.random.default_rng(5)
    codes = [rng.integers(n, size=1000) for n in SHAPE]
    fine = np.bincount(np.ravel_multi_index(codes, SHAPE), minlength=60)
    mapped = [np.asarray(labels)[c] if labels else c for labels, c in zip(GROUPS, codes, strict=True)]
    shape = grouped_shape(SHAPE, GROUPS)

    assert shape == (2, 3, 3)
    expected = np.bincount(np.ravel_multi_index(mapped, shape), minlength=18)
    np.testing.assert_array_equal(group_sums(fine, SHAPE, GROUPS), expected)


def test_every_cell_is_in_the_cell_of_its_groups():
    values = np.arange(60.0)
    sums = np.bincount(group_labels(SHAPE, GROUPS), values, 18)
    np.testing.assert_array_equal(group_sums(values, SHAPE, GROUPS), sums)
    np.testing.assert_array_equal(group_labels(SHAPE, ()), np.arange(60))


def test_sums_wrap_around_as_words_do():
    words = np.full(4, 2**32 - 1, dtype=np.uint32)
    np.testing.assert_array_equal(group_sums(words, (4,), ((0, 0, 1, 1),)), np.full(2, 2**32 - 2))


@pytest.mark.parametrize(
    ("labels", "apart"),
    [
        ((0, 1, 1, 0), (0, 1, 1, 2)),
        ((1, 0, 0, 1), (1, 0, 0, 2)),
        ((2, 1, 1, 0), (1, 0, 0, 2)),
        ((0, 0, 0, 1), (0, 0, 0, 1)),
        ((1, 1, 1, 0), (0, 0, 0, 1)),
        ((), ()),
    ],
)
def test_the_last_code_is_set_apart_and_the_others_stay_together(labels, apart):
    assert with_last_code_apart(labels) == apart
    assert last_code_apart(with_last_code_apart(labels))
    assert last_code_apart(labels) == (labels == apart)


def test_no_groups_are_the_cells_themselves():
    values = np.arange(60)

    assert grouped_shape(SHAPE, ()) == SHAPE
    np.testing.assert_array_equal(group_sums(values, SHAPE, ()), values)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (((0, 1, 1, 0),), "one grouping for each of 3 attributes"),
        (((0, 1), (), ()), "a group for each of 4 codes"),
        (((0, 2, 2, 0), (), ()), "without gaps"),
        (((0, 0, 0, 0), (), ()), "at least two groups"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, message):
    with pytest.raises(DataError, match=message):
        check_groups(SHAPE, groups)

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpmosaic.common.data.boxes import box_labels, box_sums
from dpmosaic.common.errors import DataError

pytestmark = pytest.mark.slow

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def contains(box, cell):
    return all(start <= code < stop for (start, stop), code in zip(box, cell, strict=True))


def overlap(one, other):
    return all(max(a, c) < min(b, d) for (a, b), (c, d) in zip(one, other, strict=True))


@st.composite
def ranges(draw, size):
    start = draw(st.integers(0, size - 1))
    return start, draw(st.integers(start + 1, size))


@st.composite
def partitions(draw):
    """A shape and disjoint boxes in it, in any order; they may leave cells out."""
    shape = draw(SHAPES)
    candidates = draw(st.lists(st.tuples(*map(ranges, shape)), max_size=8))
    boxes = []
    for box in candidates:
        if not any(overlap(box, other) for other in boxes):
            boxes.append(box)
    return shape, boxes


@given(partitions())
def test_every_cell_has_the_label_of_the_box_that_it_lies_in(partition):
    shape, boxes = partition
    labels = box_labels(shape, boxes)
    assert (labels.shape, labels.dtype) == ((math.prod(shape),), np.int64)
    for cell, label in zip(itertools.product(*map(range, shape)), labels, strict=True):
        inside = [number for number, box in enumerate(boxes) if contains(box, cell)]
        assert [label] == (inside or [len(boxes)])


@given(partitions(), st.integers(0, 2**32), st.sampled_from([np.int64, np.float64, np.uint32, np.uint64]))
def test_every_sum_is_that_of_the_cells_in_its_box(partition, seed, dtype):
    shape, boxes = partition
    values = np.random.default_rng(seed).integers(0, 100, math.prod(shape)).astype(dtype)
    sums = box_sums(values, shape, boxes)
    assert sums.dtype == dtype
    cells = list(itertools.product(*map(range, shape)))
    for box, total in zip(boxes, sums, strict=True):
        assert total == sum(value for cell, value in zip(cells, values, strict=True) if contains(box, cell))


@given(SHAPES)
def test_boxes_of_one_cell_each_are_the_cells(shape):
    cells = itertools.product(*map(range, shape))
    boxes = [tuple((code, code + 1) for code in cell) for cell in cells]
    values = np.arange(math.prod(shape))
    assert np.array_equal(box_sums(values, shape, boxes), values)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_sums_of_ring_words_wrap_around_as_the_ring_does(dtype):
    largest = np.iinfo(dtype).max
    words = np.array([largest, 2, 3, largest], dtype=dtype)
    assert box_sums(words, (4,), [((0, 2),), ((2, 4),)]).tolist() == [1, 2]
    # Shares of a table add up to its sums: sums over boxes and sums of shares commute.
    shares = np.random.default_rng(1).integers(0, largest, (3, 4), dtype=dtype, endpoint=True)
    summed = sum(box_sums(share, (4,), [((1, 4),)]) for share in shares)
    assert np.array_equal(summed, box_sums(shares[0] + shares[1] + shares[2], (4,), [((1, 4),)]))


def test_no_box_has_no_sum_and_every_cell_lies_outside():
    assert box_labels((2, 2), []).tolist() == [0, 0, 0, 0]
    assert box_sums(np.arange(4), (2, 2), []).shape == (0,)


@pytest.mark.parametrize(
    "box",
    [
        pytest.param(((1, 1), (0, 3)), id="empty"),
        pytest.param(((0, 2), (2, 1)), id="backwards"),
        pytest.param(((-1, 2), (0, 3)), id="a negative code"),
        pytest.param(((-2, -1), (0, 3)), id="negative codes"),
        pytest.param(((0, 3), (0, 3)), id="past the first attribute"),
        pytest.param(((0, 2), (3, 4)), id="past the second attribute"),
        pytest.param(((0, 2), (0, 2**32 - 1)), id="far past an attribute"),
        pytest.param(((0, 2),), id="too few ranges"),
        pytest.param(((0, 2), (0, 3), (0, 1)), id="too many ranges"),
        pytest.param((), id="no range"),
    ],
)
def test_refuses_a_box_outside_the_domain_by_its_number(box):
    good = ((0, 1), (0, 1))
    with pytest.raises(DataError, match="box 1: expected for each attribute a non-empty range of its codes"):
        box_labels((2, 3), [good, box])
    with pytest.raises(DataError, match="box 0: expected"):
        box_sums(np.arange(6), (2, 3), [box])


@pytest.mark.parametrize(
    "boxes",
    [
        pytest.param([((0, 1), (0, 1)), ((1, 2), (0, 3)), ((0, 1), (0, 1))], id="twice the same"),
        pytest.param([((0, 1), (0, 2)), ((1, 2), (0, 3)), ((0, 2), (1, 3))], id="a corner in common"),
        pytest.param([((0, 1), (1, 2)), ((1, 2), (1, 2)), ((0, 2), (0, 3))], id="one inside the other"),
    ],
)
def test_refuses_overlapping_boxes_by_the_number_of_the_later_one(boxes):
    with pytest.raises(DataError, match="box 2: it overlaps another box"):
        box_labels((2, 3), boxes)


@given(SHAPES, st.data())
def test_refuses_boxes_exactly_if_a_record_would_count_twice(shape, data):
    boxes = data.draw(st.lists(st.tuples(*map(ranges, shape)), min_size=2, max_size=4))
    meeting = any(overlap(one, other) for one, other in itertools.combinations(boxes, 2))
    counted = np.zeros(shape, dtype=int)
    for box in boxes:
        counted[tuple(slice(*pair) for pair in box)] += 1
    assert meeting == (counted.max() > 1)
    if meeting:
        with pytest.raises(DataError, match="overlaps another box"):
            box_labels(shape, boxes)
    else:
        box_labels(shape, boxes)


@given(partitions())
def test_a_record_counts_in_at_most_one_sum(partition):
    """Sums over boxes have the sensitivity of the marginal: one record changes one of them by one."""
    shape, boxes = partition
    assume(boxes)
    for cell in range(math.prod(shape)):
        record = np.eye(math.prod(shape), dtype=np.int64)[cell]
        assert np.abs(box_sums(record, shape, boxes)).sum() <= 1

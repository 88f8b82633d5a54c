"""Hierarchies of coarsened attributes."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.boxes import box_labels
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.privbayes.levels import Levels, Node, meet, within

DOMAIN = Domain.coded({"a": 30, "b": 4, "c": 9, "d": 1})
LEVELS = Levels(DOMAIN, 3)


def test_an_attribute_is_coarsened_until_group_squared_codes_or_fewer_are_left():
    sizes = {name: [LEVELS.size(Node(name, k)) for k in range(LEVELS.coarsest(name) + 1)] for name in DOMAIN}
    assert sizes == {"a": [30, 10, 4], "b": [4], "c": [9], "d": [1]}


def test_boxes_are_the_cells_of_the_coarse_table_in_row_major_order():
    nodes = (Node("a", 2), Node("c", 0))
    boxes = LEVELS.boxes(nodes)
    assert len(boxes) == LEVELS.cells(nodes) == 36
    assert boxes[0] == ((0, 9), (0, 1))
    assert boxes[-1] == ((27, 30), (8, 9))
    cells = box_labels(DOMAIN.shape(("a", "c")), boxes)
    assert cells.tolist() == LEVELS.labels((Node("a", 0), Node("c", 0)), nodes).tolist()
    assert cells.max() == 35


def test_a_table_of_single_cells_needs_no_boxes():
    assert LEVELS.boxes((Node("a", 0), Node("b", 0))) == ()


def test_labels_sum_out_attributes_and_join_codes():
    nodes, coarser = (Node("a", 1), Node("b", 0), Node("c", 0)), (Node("a", 2), Node("c", 0))
    labels = LEVELS.labels(nodes, coarser).reshape(LEVELS.shape(nodes))
    for a, b, c in itertools.product(range(10), range(4), range(9)):
        assert labels[a, b, c] == (a // 3) * 9 + c
    assert np.all(LEVELS.labels(nodes, ()) == 0)


def test_the_meet_takes_the_coarser_level_of_what_both_have():
    first, second = (Node("a", 0), Node("b", 0)), (Node("a", 2), Node("c", 0))
    assert meet(first, second) == meet(second, first) == (Node("a", 2),)
    assert within((Node("a", 2),), first)
    assert within((), first)
    assert not within((Node("a", 0),), second)
    assert not within((Node("c", 0),), first)


def test_refuses_a_group_of_one():
    with pytest.raises(DataError, match="at least 2"):
        Levels(DOMAIN, 1)

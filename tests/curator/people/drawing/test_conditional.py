"""The distribution of a column given others, from pairs, against closed forms."""

import numpy as np
import pytest

from dpmosaic.curator.people.drawing.conditional import Conditional

ROWS = 200_000


def pairs_of(joint):
    """The pairs of a joint table."""

    def pair(a, b):
        kept = joint.sum(axis=tuple({*range(joint.ndim)} - {a, b}))
        return kept if a < b else kept.T

    return pair


def shares(conditional, given, size, low=0, high=None):
    codes = np.tile(np.array([*given, 0], dtype=np.int32), (ROWS, 1))
    drawn = conditional.draw(codes, low, size if high is None else high, np.random.default_rng(3))
    return np.bincount(drawn, minlength=size) / ROWS


def test_given_one_column_it_is_the_line_of_the_pair():
    joint = np.array([[10.0, 30.0, 60.0], [50.0, 25.0, 25.0]])
    found = Conditional.of(1, [0], 0, joint.shape, pairs_of(joint))
    for code in (0, 1):
        # Five standard deviations: one of 10^6 runs fails by chance.
        assert np.abs(shares(found, [code], 3) - joint[code] / joint[code].sum()).max() < 5 * 0.5 / ROWS**0.5


def test_given_two_independent_columns_it_is_the_product_of_odds():
    # A log-linear model without an interaction of three has exactly its pairs' maximum entropy.
    one, two, both = np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([[1.0, 4.0], [2.0, 1.0]])
    joint = np.einsum("a,b,ac,bc->abc", one, two, both, both[::-1])
    found = Conditional.of(2, [0, 1], 0, joint.shape, pairs_of(joint))
    for a in (0, 1):
        for b in (0, 1):
            wanted = joint[a, b] / joint[a, b].sum()
            assert np.abs(shares(found, [a, b], 2) - wanted).max() < 0.01


def test_draws_no_code_outside_its_bounds():
    joint = np.array([[1.0, 0.0, 3.0, 6.0], [4.0, 0.0, 1.0, 0.0]])
    found = Conditional.of(1, [0], 0, joint.shape, pairs_of(joint))
    assert shares(found, [0], 4, 2, 4)[:2].sum() == 0
    assert shares(found, [0], 4, 2, 4)[3] == pytest.approx(2 / 3, abs=0.01)
    # Without mass inside the bounds every code of them is as likely.
    assert shares(found, [1], 4, 1, 2)[1] == 1


def test_a_column_of_which_nothing_is_known_is_uniform():
    joint = np.zeros((2, 4))
    found = Conditional.of(1, [0], 0, joint.shape, pairs_of(joint))
    assert np.abs(shares(found, [0], 4) - 0.25).max() < 0.01

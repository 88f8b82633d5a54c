"""What two attributes of a public table have to do with each other, without sampling error."""

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.parts.contingency import halves, strongest_scores, without_sampling


def counted(seed, correlation, rows):
    """Counts of two normal variables in 12 x 12 bins."""
    one, other = np.random.default_rng(seed).normal(size=(2, rows))
    other = correlation * one + np.sqrt(1 - correlation**2) * other
    codes = (np.clip([one, other], -2.99, 2.99) + 3) * 2
    return np.bincount(np.ravel_multi_index(codes.astype(int), (12, 12)), minlength=144) + 1 / 144


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
def test_few_rows_are_nearer_to_what_they_were_drawn_from_without_their_sampling_error(correlation):
    true, few = counted(6, correlation, 1_000_000) * 0.002, counted(7, correlation, 2000)
    found, left = without_sampling(few, (12, 12))
    assert np.abs(found - true).sum() < 0.8 * np.abs(few - true).sum()
    assert 0 < left < 0.7
    assert found.min() > 0


def test_counts_of_columns_that_say_nearly_everything_of_each_other_are_kept():
    counts = counted(7, 0.9, 2000)
    found, left = without_sampling(counts, (12, 12))
    assert found is counts
    assert left == 1


def test_of_columns_that_are_independent_hardly_anything_but_that_is_left():
    rng = np.random.default_rng(8)
    counts = rng.poisson(8.0, (16, 16)).ravel() + 0.1
    table = counts.reshape(16, 16)
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel() / counts.sum()
    found, left = without_sampling(counts, (16, 16))
    assert np.abs(found - alone).sum() < 0.1 * np.abs(counts - alone).sum()
    assert left < 0.2


def test_the_strongest_scores_put_the_codes_of_an_order_in_that_order():
    one, other = strongest_scores(counted(7, 0.6, 50_000), (12, 12))
    turned = np.sign(one[8] - one[3])
    assert (np.diff(turned * one[2:10]) > 0).all()
    assert (np.diff(turned * other[2:10]) > 0).all()


def test_halves_are_of_codes_with_low_and_with_high_scores():
    assert halves(np.array([3.0, 1.0, 2.0, 0.0]), np.array([0.3, 0.2, 0.2, 0.3])) == (1, 0, 1, 0)


@pytest.mark.parametrize("shares", [[0.98, 0.01, 0.01], [0.01, 0.01, 0.98]])
def test_both_halves_have_a_code_whatever_the_shares(shares):
    assert set(halves(np.array([0.0, 1.0, 2.0]), np.array(shares))) == {0, 1}

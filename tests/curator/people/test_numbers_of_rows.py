"""The bins of numbers of rows."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.people.numbers_of_rows import ROW_CLASSES, number_of_rows
from dpmosaic.curator.people.numbers_of_rows import classes_of as classes_of_numbers
from dpmosaic.curator.people.shape import classes_of
from dpmosaic.synthesis.learning.private_counts import PrivateCounts

HUGE, SMALL = 1e10, 1e-6


def found(numbers, rho=HUGE, seed=1):
    counts = PrivateCounts(Fraction(rho), PrivacyUnit(Adjacency.ADD_REMOVE), RandomStream.from_seed(seed))
    held = np.bincount(classes_of_numbers(np.array(numbers, dtype=np.int64)), minlength=ROW_CLASSES)
    noisy = counts.histograms("numbers of rows", {"n": lambda: held}, rho)["n"]
    return number_of_rows("n", noisy.values, noisy.sigma), counts.accountant


@pytest.mark.parametrize(
    ("numbers", "bins", "most"),
    [
        ([], 2, 1),
        ([0] * 9, 2, 1),
        ([1] * 9, 2, 1),
        ([0, 1, 2], 6, 15),
        ([7], 9, 31),
        ([8], 10, 63),
        ([300] * 9, 15, 2047),
    ],
)
def test_bins_reach_two_classes_above_the_largest_number(numbers, bins, most):
    attribute, _ = found(numbers)
    assert (attribute.size, attribute.maximum) == (bins, most)


@pytest.mark.parametrize("most", [1, 3, 7, 8, 100, 5000, 2**20])
def test_a_number_has_the_class_of_its_bin_and_comes_back_within_it(most):
    numbers = np.unique(np.geomspace(1, most, 200).astype(int))
    attribute, _ = found(np.repeat([0, *numbers], 50))
    codes = encode_table(Domain((attribute,)), {"n": numbers}).column("n")
    np.testing.assert_array_equal(classes_of(attribute)[codes], np.floor(np.log2(numbers)) + 1)
    back = attribute.decode(codes, np.random.default_rng(1)).astype(float)
    np.testing.assert_array_equal(np.floor(np.log2(back)), np.floor(np.log2(numbers)))


def test_one_person_with_many_rows_is_not_seen():
    rho = float(Budget(1.0, 1e-9).granted(gaussian_only=True))
    plain = [found([2] * 1000, rho, seed)[0] for seed in range(30)]
    heavy = [found([2] * 1000 + [2**19], rho, seed)[0] for seed in range(30)]
    assert plain == heavy


@pytest.mark.parametrize(("numbers", "least", "most"), [([1] * 9, 1, 1), ([1, 2], 1, 15), ([9] * 9, 1, 63)])
def test_a_number_that_everybody_has_begins_with_one(numbers, least, most):
    held = np.bincount(classes_of_numbers(np.array(numbers)), minlength=ROW_CLASSES).astype(np.float64)
    attribute = number_of_rows("n", held, SMALL, 1)
    assert attribute.ends == (least, most)
    every = encode_table(Domain((attribute,)), {"n": np.arange(1, most + 1)}).column("n")
    assert {*every.tolist()} == {*range(attribute.size)}
    assert classes_of(attribute).min() == 1
    assert attribute.decode(every, np.random.default_rng(1)).astype(int).min() == 1


def test_more_than_all_classes_count_as_the_largest():
    attribute, _ = found([2**40] * 100)
    assert attribute.maximum == 2**21 - 1


def one_row_at_most(counts):
    return number_of_rows("n", np.pad(np.array(counts), (0, ROW_CLASSES - len(counts))), 1.0).maximum == 1


def test_noise_seldom_makes_several_rows_where_many_have_one():
    # One of two classes is above 2.5 deviations in one of 80 tables: in 30 of 500 with less than 10^-10.
    noise = np.random.default_rng(1).normal(size=(500, 2))
    assert sum(not one_row_at_most([0, 100.0, *some]) for some in noise) < 30


def test_few_with_several_rows_are_used_where_noise_may_hide_half_of_those_with_one():
    """Six deviations of people with one row: half of them is likelier than none from 1.5 deviations on."""
    assert one_row_at_most([0, 6.0, 1.4])
    assert not one_row_at_most([0, 6.0, 1.6])
    assert one_row_at_most([0, 60.0, 1.6])
    assert one_row_at_most([0, -2.0, 0.9])
    assert not one_row_at_most([0, -2.0, 1.1])


def test_a_class_has_bins_of_at_least_two_deviations_on_average():
    attribute = number_of_rows("n", np.pad([9.0, 9, 4.5, 4.5, 3.5], (0, ROW_CLASSES - 5)), 1.0)
    assert attribute.edges == (0, 1, 2, 3, 4, 6, 8, 16, 32, 63)


def test_a_class_far_above_the_others_needs_more_people_than_the_next_ones():
    # 130 people are 3.3 deviations of noise: next to others four of five times, far from them one of four.
    rho = 1 / (2 * 39**2)
    next_ones = [found([1] * 500 + [3] * 130, rho, seed)[0].maximum for seed in range(60)]
    far = [found([1] * 500 + [3000] * 130, rho, seed)[0].maximum for seed in range(60)]
    assert sum(most >= 3 for most in next_ones) > 40
    assert sum(most >= 2048 for most in far) < 40


def test_people_who_all_have_about_as_many_rows_are_seen_together():
    """300 devices of 20 to 79 rows, of which the noise hides each class alone in one of eight releases."""
    numbers, rho = np.random.default_rng(0).integers(20, 80, 300), 1 / (2 * 30**2)
    assert sum(found(numbers, rho, seed)[0].maximum < 64 for seed in range(100)) <= 4


def test_costs_its_budget_at_most():
    _, accountant = found([1, 2], 0.25)
    assert accountant.spent <= Fraction(0.25)
    assert accountant.spent > Fraction(0.249)

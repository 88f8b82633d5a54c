"""The field against Python's integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic import field
from dpmosaic.common.protocols.arithmetic.field import PRIME

BORDERS = [0, 1, 2**30, 2**31 - 1, 2**31, 2**42, 2**60, PRIME - 2, PRIME - 1]
ELEMENT = st.one_of(st.integers(0, PRIME - 1), st.sampled_from(BORDERS))
PAIRS = st.lists(st.tuples(ELEMENT, ELEMENT), min_size=1, max_size=20)


@settings(max_examples=30)
@given(PAIRS)
def test_sums_differences_and_products_are_those_of_the_integers(pairs):
    left, right = (field.elements(values) for values in zip(*pairs, strict=True))
    assert field.plus(left, right).tolist() == [(a + b) % PRIME for a, b in pairs]
    assert field.minus(left, right).tolist() == [(a - b) % PRIME for a, b in pairs]
    assert field.times(left, right).tolist() == [a * b % PRIME for a, b in pairs]
    assert field.dot(left, right) == sum(a * b for a, b in pairs) % PRIME
    assert field.total(left) == sum(a for a, _ in pairs) % PRIME


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 4), st.data())
def test_a_matrix_product_is_that_of_the_integers(rows, inner, columns, data):
    left = data.draw(
        st.lists(st.lists(ELEMENT, min_size=inner, max_size=inner), min_size=rows, max_size=rows)
    )
    right = data.draw(
        st.lists(st.lists(ELEMENT, min_size=columns, max_size=columns), min_size=inner, max_size=inner)
    )
    found = field.product(np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64))
    assert found.tolist() == [
        [sum(a * b for a, b in zip(row, column, strict=True)) % PRIME for column in zip(*right, strict=True)]
        for row in left
    ]


@pytest.mark.parametrize("inner", [1, 240, 1000])
def test_the_largest_matrix_product_is_exact(inner):
    """Elements of only ones in all limbs: every partial sum is as large as it can be."""
    ones = np.full((2, inner), PRIME - 1, dtype=np.uint64)
    assert field.product(ones, ones.T).tolist() == [[inner * (PRIME - 1) ** 2 % PRIME] * 2] * 2


def test_the_largest_inner_product_of_many_elements_is_exact():
    ones = np.full(100_000, PRIME - 1, dtype=np.uint64)
    assert field.dot(ones, ones) == ones.size * (PRIME - 1) ** 2 % PRIME


def test_matrices_of_any_sizes_are_multiplied():
    rng = np.random.default_rng(0)
    left, right = (rng.integers(0, PRIME, shape, dtype=np.uint64) for shape in ((3, 500), (500, 200)))
    expected = (left.astype(object) @ right.astype(object)) % PRIME
    assert field.product(left, right).tolist() == expected.tolist()


def test_many_elements_are_multiplied_as_few_are_and_stay_as_they_are():
    elements = np.random.default_rng(0).integers(0, PRIME, 20_000, dtype=np.uint64)
    before = elements.tolist()
    assert field.times(elements, elements).tolist() == [x * x % PRIME for x in before]
    field.plus(elements, elements)
    field.minus(elements, elements)
    assert elements.tolist() == before


@settings(max_examples=15)
@given(st.lists(ELEMENT, min_size=1, max_size=8), st.integers(8, PRIME - 1))
def test_interpolation_gives_the_polynomial_at_another_point(coefficients, point):
    def value(x):
        return sum(c * x**power for power, c in enumerate(coefficients)) % PRIME

    known = field.elements([value(x) for x in range(8)])
    (row,) = field.interpolation(8, [point])
    assert field.dot(row, known) == value(point)


def test_uniform_elements_are_the_words_of_the_stream_without_their_upper_bits():
    words = RandomStream.from_seed(1).words(100)
    assert field.uniform(RandomStream.from_seed(1), 100).tolist() == [int(w) & PRIME for w in words]


def test_a_word_that_is_no_element_is_drawn_again():
    class Stream:
        drawn = iter([np.array([5, PRIME, 7 << 61 | 9], dtype=np.uint64), np.array([6], dtype=np.uint64)])

        def words(self, count):
            found = next(self.drawn)
            assert found.size == count
            return found

    assert field.uniform(Stream(), 3).tolist() == [5, 6, 9]


@pytest.mark.parametrize("step", [21, 16])
def test_limbs_are_put_together_again(step):
    pieces = [np.array([2.0**53 - 1, 3.0]), np.array([2.0**53 - 1, 5.0]), np.array([1.0, 2.0**20])]
    expected = [sum(int(p[i]) << step * j for j, p in enumerate(pieces)) % PRIME for i in (0, 1)]
    assert field.from_limbs(pieces, [step * j for j in range(3)]).tolist() == expected

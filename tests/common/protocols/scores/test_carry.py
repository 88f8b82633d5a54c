"""The carry from shared digits, against adding integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.scores.bits import planes_of, unpack_bits
from dpmosaic.common.protocols.scores.carry import (
    digit_products,
    digit_wires,
    digits_below,
    factors,
    layers_of,
    merge_digits,
    products_of,
    table_bits,
    table_rows,
    table_steps,
)


def carries(one, other, bit, seed=0):
    """Whether the sum of the lower bits carries into a bit: shared digits, then layers on plain wires."""
    digits, (one, other) = digits_below(bit), np.array([one, other], dtype=np.uint64)
    products, added = (with_one(digit_products(digits, planes_of(number))) for number in (one, other))
    assert len(products) == 1 + table_rows(digits)
    share = RandomStream.from_seed(seed).bytes(products.size).reshape(products.shape)
    wires = digit_wires(digits, added, share) ^ digit_wires(digits, added, share ^ products)
    for count in layers_of(len(digits)):
        assert len(wires) == 2 * count - 1
        left, right = factors(wires, count)
        assert len(left) == len(right) == products_of(count)
        wires = merge_digits(wires, left & right, count)
    assert len(wires) == 1
    return unpack_bits(wires[0], one.size)


def with_one(products):
    """The empty product first."""
    return np.vstack([np.full_like(products[:1], 0xFF), products])


@pytest.mark.parametrize("bit", range(1, 8))
def test_products_of_bits_are_numbered_as_the_steps_that_multiply_them(bit):
    digits = digits_below(bit)
    bits = planes_of(np.arange(1 << bit, dtype=np.uint64))
    products = with_one(digit_products(digits, bits))
    assert np.array_equal(products[list(table_bits(digits))], bits[:bit])
    steps = table_steps(digits)
    assert {one for _, _, one in steps} | set(table_bits(digits)) == set(range(1, len(products)))
    for rest, last, one in steps:
        assert last in table_bits(digits)
        assert np.array_equal(products[one], products[rest] & products[last])


@pytest.mark.parametrize("bit", range(1, 8))
def test_the_carry_is_right_for_all_numbers_of_few_bits(bit):
    one, other = (numbers.ravel() for numbers in np.indices((1 << bit, 1 << bit)))
    assert np.array_equal(carries(one, other, bit), (one + other) >> bit == 1)


@pytest.mark.slow
@given(data=st.data(), bit=st.integers(1, 63))
def test_the_carry_is_right_for_numbers_of_any_width(data, bit):
    one = data.draw(st.integers(0, 2**bit - 1))
    borders = st.sampled_from([2**bit - 1 - one, max(0, 2**bit - one - 2), min(2**bit - one, 2**bit - 1)])
    other = data.draw(st.one_of(st.integers(0, 2**bit - 1), borders))
    assert carries([one], [other], bit)[0] == one + other >> bit


@pytest.mark.parametrize("bit", range(1, 64))
def test_digits_contain_every_lower_bit_once_and_layers_are_as_few_as_possible(bit):
    digits = digits_below(bit)
    assert [place for digit in digits for place in digit] == list(range(bit))
    assert max(map(len, digits)) <= 3
    assert max(map(len, digits)) - min(map(len, digits)) <= 1
    assert len(list(layers_of(len(digits)))) == (len(digits) - 1).bit_length()

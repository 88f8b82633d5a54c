"""Packed bits, tables and products of shared bits, against bits one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.bits import (
    bit_of,
    carry_table,
    digit_wires,
    layer_outputs,
    mask_products,
    packed,
    unpacked,
)
from dpmosaic.common.protocols.scores.carry import Layer

RINGS = [Ring(32), Ring(64)]
ONES = [np.full(2, fill, dtype=np.uint8) for fill in (0xFF, 0)]
"""Shares of 1, of two bytes."""


def words_of(ring, cells):
    return st.lists(st.integers(0, 2**ring.bits - 1), min_size=cells, max_size=cells).map(
        lambda words: np.array(words, dtype=ring.dtype)
    )


def uniform_planes(seed, rows):
    return RandomStream.from_seed(seed).bytes(2 * rows).reshape(rows, 2)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_bits_are_packed_from_the_lowest_on_and_come_back(bits):
    plane = packed(np.array([bits]))[0]
    assert int.from_bytes(plane.tobytes(), "little") == sum(bit << i for i, bit in enumerate(bits))
    assert len(plane) == -(-len(bits) // 8)
    assert unpacked(plane, len(bits)).tolist() == bits


@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data())
def test_a_bit_of_words_is_that_of_the_integers(ring, data):
    words = data.draw(words_of(ring, 3))
    for place in range(ring.bits):
        assert bit_of(words, place).tolist() == [bool(word >> place & 1) for word in words.tolist()]


@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data(), size=st.integers(1, 3))
def test_a_table_states_which_digits_carry(ring, data, size):
    words = data.draw(words_of(ring, 11))
    start = data.draw(st.integers(0, ring.bits - size))
    table = carry_table(words, range(start, start + size))
    base = 2**size
    assert [unpacked(row, 11).tolist() for row in table] == [
        [(word >> start) % base + added >= base for word in words.tolist()] for added in range(1, base)
    ]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_shares_of_a_table_give_shares_of_both_wires_for_every_pair_of_digits(size):
    base = 2**size
    for public in range(base):
        table = carry_table(np.arange(base, dtype=np.uint32), range(size))
        table = np.pad(table, ((0, 0), (0, 2 - table.shape[1])))
        left = uniform_planes(public, len(table))
        added = packed(np.array([[bool(public >> place & 1)] * 16 for place in range(size)]))
        wires = [
            digit_wires(share, added, one) for share, one in zip((left, left ^ table), ONES, strict=True)
        ]
        carry, propagate = (unpacked(one ^ other, base).tolist() for one, other in zip(*wires, strict=True))
        assert carry == [value + public >= base for value in range(base)]
        assert propagate == [value + public == base - 1 for value in range(base)]


@pytest.mark.parametrize("sizes", [(2,), (3,), (1, 2), (3, 3), (2, 2, 2), (3, 3, 1), (3, 2, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_shares_of_outputs_add_up_to_the_polynomials_of_the_inputs(sizes, seed):
    layer = Layer.merging(sizes)
    count = 2 * sum(sizes) - 1
    wires = [uniform_planes(2 * seed + i, count) for i in range(2)]
    masks = [uniform_planes(100 + 2 * seed + i, len(layer.opened)) for i in range(2)]
    left = uniform_planes(200 + seed, len(layer.dealt))
    products = [left, left ^ mask_products(layer, masks[0] ^ masks[1])]
    opened = (wires[0] ^ wires[1])[list(layer.opened)] ^ masks[0] ^ masks[1]
    outputs = [layer_outputs(layer, wires[i], opened, masks[i], products[i], ONES[i]) for i in range(2)]
    plain = [unpacked(row, 16) for row in wires[0] ^ wires[1]]
    expected = [
        [
            sum(all(plain[wire][cell] for wire in monomial) for monomial in output) % 2 == 1
            for cell in range(16)
        ]
        for output in layer.outputs
    ]
    assert [unpacked(row, 16).tolist() for row in outputs[0] ^ outputs[1]] == expected

"""The circuit of the carry on plain bits, against adding integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.protocols.scores.carry import RADIX, Layer, carry_into


def carry_of(one, other, bit):
    """The circuit's output for two numbers, bit by bit in Python's integers."""
    circuit = carry_into(bit)
    carries, propagates = [], []
    for digit in circuit.digits:
        base = 1 << len(digit)
        total = (one >> digit.start) % base + (other >> digit.start) % base
        carries.append(int(total >= base))
        propagates.append(int(total == base - 1))
    wires = carries + propagates[1:]
    for layer in circuit.layers:
        wires = [
            sum(all(wires[wire] for wire in monomial) for monomial in output) % 2 for output in layer.outputs
        ]
    assert len(wires) == 1
    return wires[0]


@pytest.mark.parametrize("bit", range(1, 7))
def test_the_carry_is_right_for_all_numbers_of_few_bits(bit):
    for one in range(1 << bit):
        for other in range(1 << bit):
            assert carry_of(one, other, bit) == one + other >> bit


@given(data=st.data(), bit=st.integers(1, 63))
def test_the_carry_is_right_for_numbers_of_any_width(data, bit):
    one = data.draw(st.integers(0, 2**bit - 1))
    borders = st.sampled_from([2**bit - 1 - one, max(0, 2**bit - one - 2), min(2**bit - one, 2**bit - 1)])
    other = data.draw(st.one_of(st.integers(0, 2**bit - 1), borders))
    assert carry_of(one, other, bit) == one + other >> bit


@pytest.mark.parametrize("bit", range(1, 64))
def test_digits_contain_every_lower_bit_once_and_layers_are_as_few_as_possible(bit):
    circuit = carry_into(bit)
    assert [place for digit in circuit.digits for place in digit] == list(range(bit))
    assert {len(digit) for digit in circuit.digits} <= {1, 2, 3}
    depth = len(circuit.layers)
    assert RADIX**depth >= len(circuit.digits)
    assert depth == 0 or RADIX ** (depth - 1) < len(circuit.digits)


@pytest.mark.parametrize("bit", range(4, 64))
def test_every_layer_has_products_of_at_most_three_factors_and_deals_all_their_parts(bit):
    for layer in carry_into(bit).layers:
        products = [monomial for output in layer.outputs for monomial in output if len(monomial) > 1]
        assert {len(monomial) for monomial in products} <= {2, 3}
        assert {wire for monomial in products for wire in monomial} == set(layer.opened)
        assert set(products) <= set(layer.dealt)
        for product in products:
            for left_out in product if len(product) == 3 else ():
                assert tuple(wire for wire in product if wire != left_out) in layer.dealt
        assert list(layer.opened) == sorted(set(layer.opened))
        assert len(set(layer.dealt)) == len(layer.dealt)


def test_the_lowest_group_of_a_layer_has_no_p():
    layer = Layer.merging((3, 2))
    # Wires 0 to 4 are g of the digits 0 to 4, wires 5 to 8 are p of the digits 1 to 4.
    assert layer.outputs == (((0, 5, 6), (1, 6), (2,)), ((3, 8), (4,)), ((7, 8),))
    assert layer.opened == (0, 1, 3, 5, 6, 7, 8)
    assert layer.dealt == ((0, 5), (0, 6), (1, 6), (3, 8), (5, 6), (7, 8), (0, 5, 6))

"""Bits of many cells, eight to a byte, and how two evaluators compute on their shares.

A bit is shared when the exclusive or of both evaluators' bits is it. A sum is then local. A product, once
each factor is opened under a mask, is a polynomial of what was opened and of dealt products of masks:

    (e_1 xor a_1) (e_2 xor a_2)  =  e_1 e_2  xor  e_1 a_2  xor  e_2 a_1  xor  a_1 a_2,

and so for three factors. An evaluator puts in its shares of masks and of their products; one of the two alone
puts in its share of 1, which is 1.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import and_, xor

import numpy as np
from numpy.typing import NDArray

from ..masked.ring import Words
from .carry import Layer, Monomial

Plane = NDArray[np.uint8]
"""One bit of every cell, the first cell in the lowest bit of the first byte, shape (bytes,)."""

Planes = NDArray[np.uint8]
"""Shape (rows, bytes)."""


def packed(bits: NDArray[np.bool_]) -> Planes:
    """The planes of bits of shape (rows, cells); what fills the last byte is 0."""
    return np.packbits(bits, axis=-1, bitorder="little")


def unpacked(plane: Plane, cells: int) -> NDArray[np.bool_]:
    """The bits of a plane, shape (cells,)."""
    return np.unpackbits(plane, count=cells, bitorder="little").view(np.bool_)


def bit_of(words: Words, place: int) -> NDArray[np.bool_]:
    """One bit of every word, shape (cells,)."""
    return (words & words.dtype.type(1 << place)).astype(np.bool_)


def carry_table(words: Words, digit: range) -> Planes:
    """Run by the dealer: whether a digit of its words carries when v is added to it, for v = 1, 2, ...

    Returns:
        Shape (2^(bits of the digit) - 1, bytes).
    """
    base = 1 << len(digit)
    values = ((words >> words.dtype.type(digit.start)) & words.dtype.type(base - 1)).astype(np.uint8)
    return packed(values >= np.arange(base - 1, 0, -1, dtype=np.uint8)[:, None])


def digit_wires(table: Planes, added: Planes, one: Plane) -> tuple[Plane, Plane]:
    """Run by an evaluator: its shares of g and p of a digit to which a public digit is added.

    g is the table's bit for what is added; p is how a carry from below, one more, changes that bit.

    Args:
        table: its share of `carry_table`.
        added: the bits of the public digit, lowest first, shape (bits of the digit, bytes).
        one: its share of 1.
    """
    whole = np.vstack([np.zeros_like(one), table, one])
    carry = _looked_up(whole[:-1], added)
    return carry, carry ^ _looked_up(whole[1:], added)


def _looked_up(rows: Planes, index: Planes) -> Plane:
    """In every cell the bit of the row that its index names, shape (bytes,)."""
    for bit in index:
        even, odd = rows[0::2], rows[1::2]
        rows = even ^ (bit & (even ^ odd))
    found: Plane = rows[0]
    return found


def mask_products(layer: Layer, masks: Planes) -> Planes:
    """Run by the dealer: the products of masks that a layer needs, shape (dealt, bytes).

    Args:
        layer: of the circuit.
        masks: of its opened wires, shape (opened, bytes).
    """
    of = dict(zip(layer.opened, masks, strict=True))
    return np.stack([reduce(and_, [of[wire] for wire in monomial]) for monomial in layer.dealt])


def layer_outputs(
    layer: Layer, wires: Planes, opened: Planes, masks: Planes, products: Planes, one: Plane
) -> Planes:
    """Run by an evaluator: its shares of a layer's outputs, once both have opened its factors.

    Args:
        layer: of the circuit.
        wires: its shares of the inputs.
        opened: the opened wires under both evaluators' masks, public to the two.
        masks: its shares of these masks.
        products: its shares of `mask_products`.
        one: its share of 1.

    Returns:
        Shape (outputs, bytes).
    """
    public = dict(zip(layer.opened, opened, strict=True))
    shares: dict[Monomial, Plane] = {(): one}
    shares.update(zip([(wire,) for wire in layer.opened], masks, strict=True))
    shares.update(zip(layer.dealt, products, strict=True))

    def share(monomial: Monomial) -> Plane:
        if len(monomial) == 1:
            linear: Plane = wires[monomial[0]]
            return linear
        parts = (part for size in range(len(monomial) + 1) for part in combinations(monomial, size))
        return reduce(
            xor,
            [reduce(and_, [public[w] for w in monomial if w not in part], shares[part]) for part in parts],
        )

    return np.stack([reduce(xor, [share(monomial) for monomial in output]) for output in layer.outputs])

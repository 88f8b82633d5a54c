"""Bits of many cells, packed eight to a byte, and the computation of two evaluators on their shares.

A bit is the exclusive or of the evaluators' shares, so sums are local. A product, when each factor is opened
under a mask, is a polynomial of the opened bits and of dealt products of masks:

    (e_1 xor a_1) (e_2 xor a_2)  =  e_1 e_2  xor  e_1 a_2  xor  e_2 a_1  xor  a_1 a_2,

and likewise for three factors. An evaluator inserts its shares of masks and of their products, and of the
constant 1: 1 for evaluator 0 and 0 for evaluator 1.
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
"""One bit of every cell, shape (bytes,); the first cell is the lowest bit of the first byte."""

Planes = NDArray[np.uint8]
"""Shape (rows, bytes)."""


def packed(bits: NDArray[np.bool_]) -> Planes:
    """The planes of bits of shape (rows, cells); the last byte is padded with 0."""
    return np.packbits(bits, axis=-1, bitorder="little")


def unpacked(plane: Plane, cells: int) -> NDArray[np.bool_]:
    """The bits of a plane, shape (cells,)."""
    return np.unpackbits(plane, count=cells, bitorder="little").view(np.bool_)


def bit_of(words: Words, place: int) -> NDArray[np.bool_]:
    """One bit of every word, shape (cells,)."""
    return (words & words.dtype.type(1 << place)).astype(np.bool_)


def carry_table(words: Words, digit: range) -> Planes:
    """Run by the dealer: whether adding v to a digit of its words carries, for v = 1, 2, ...

    Returns:
        Shape (2^(bits of the digit) - 1, bytes).
    """
    base = 1 << len(digit)
    values = ((words >> words.dtype.type(digit.start)) & words.dtype.type(base - 1)).astype(np.uint8)
    return packed(values >= np.arange(base - 1, 0, -1, dtype=np.uint8)[:, None])


def digit_wires(table: Planes, added: Planes, one: Plane) -> tuple[Plane, Plane]:
    """Run by an evaluator: its shares of g and p of a digit to which a public digit is added.

    g is the table's bit for the added digit; p is the change of that bit if a carry adds one more.

    Args:
        table: its share of `carry_table`.
        added: bits of the public digit, lowest first, shape (bits of the digit, bytes).
        one: its share of 1.
    """
    whole = np.vstack([np.zeros_like(one), table, one])
    carry = _looked_up(whole[:-1], added)
    return carry, carry ^ _looked_up(whole[1:], added)


def _looked_up(rows: Planes, index: Planes) -> Plane:
    """For every cell, the bit in the row of its index, shape (bytes,)."""
    for bit in index:
        even, odd = rows[0::2], rows[1::2]
        rows = even ^ (bit & (even ^ odd))
    found: Plane = rows[0]
    return found


def mask_products(layer: Layer, masks: Planes) -> Planes:
    """Run by the dealer: the products of masks that a layer needs, shape (dealt, bytes).

    Args:
        layer: layer of the circuit.
        masks: masks of its opened wires, shape (opened, bytes).
    """
    of = dict(zip(layer.opened, masks, strict=True))
    return np.stack([reduce(and_, [of[wire] for wire in monomial]) for monomial in layer.dealt])


def layer_outputs(
    layer: Layer, wires: Planes, opened: Planes, masks: Planes, products: Planes, one: Plane
) -> Planes:
    """Run by an evaluator: its shares of a layer's outputs, after both opened the factors.

    Args:
        layer: layer of the circuit.
        wires: its shares of the inputs.
        opened: opened wires under both evaluators' masks, known to both.
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

"""The carry of a + b into a bit, from tables of digits and a tree that merges them.

The bits below are divided into digits. A digit generates a carry (bit g), propagates one (bit p), or neither.
With x and y a digit of a and of b, [.] the bit of a condition, and m the digit's largest value,

    g = xor over v = 1 .. m of [x = v] [y >= m + 1 - v],
    p = [y = m] xor, over v = 1 .. m, of [x = v] ([y = m - v] xor [y = m]),

both linear in the bits [x = v], which one role knows, with coefficients that depend on b. A layer merges
pairs of neighbouring digits, lowest first,

    g = g_2 xor p_2 g_1,        p = p_2 p_1,

until one g is left, the carry. The p of the lowest digit is not needed. *Wires* are the g of all digits,
lowest first, then the p of all but the lowest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from .bits import Planes

DIGIT_BITS = 3
"""Largest number of bits of a digit: with 2 there are more wires to merge, with 4 larger tables to share."""


@cache
def digits_below(bit: int) -> tuple[range, ...]:
    """Places of the bits of every digit below a bit, lowest digit first; equal in size, larger ones first."""
    count = -(-bit // DIGIT_BITS)
    sizes = [bit // count + (digit < bit % count) for digit in range(count)]
    starts = [sum(sizes[:digit]) for digit in range(count)]
    return tuple(range(start, start + size) for start, size in zip(starts, sizes, strict=True))


def layers_of(digits: int) -> Iterator[int]:
    """For every layer, the number of digits that it merges."""
    while digits > 1:
        yield digits
        digits -= digits // 2


def table_rows(digits: tuple[range, ...]) -> int:
    """Number of rows of `digit_values`."""
    return sum((1 << len(digit)) - 1 for digit in digits)


def digit_values(digits: tuple[range, ...], bits: Planes) -> Planes:
    """Run by the role that knows a: for every digit the bits [x = 1], [x = 2], ..., shape (rows, bytes).

    Args:
        digits: places of the digits.
        bits: bits of a.
    """
    return np.vstack([_values(bits[digit.start : digit.stop])[1:] for digit in digits])


def digit_wires(digits: tuple[range, ...], bits: Planes, values: Planes, *, constant: bool) -> Planes:
    """Run by a role that knows b: its shares of the wires, shape (2 digits - 1, bytes).

    Args:
        digits: places of the digits.
        bits: bits of b.
        values: its shares of `digit_values`.
        constant: whether it adds the part that depends on b alone; one role does.
    """
    carries, propagates, start = [], [], 0
    for digit in digits:
        top, *below = _values(bits[digit.start : digit.stop])[::-1]
        at_least, carry = top.copy(), np.zeros_like(top)
        passed = top.copy() if constant else np.zeros_like(top)
        for value, equal in zip(values[start:], below, strict=False):
            carry ^= value & at_least
            passed ^= value & (equal ^ top)
            at_least ^= equal
        start += len(below)
        carries.append(carry)
        propagates.append(passed)
    return np.stack([*carries, *propagates[1:]])


def factors(wires: Planes, digits: int) -> tuple[Planes, Planes]:
    """What a layer multiplies: for every pair p_2 with g_1, then for all but the lowest p_2 with p_1.

    Args:
        wires: wires of so many digits, shape (..., 2 digits - 1, bytes).
        digits: number of digits before the layer.

    Returns:
        Left and right factors, each of shape (..., `products_of`, bytes).
    """
    pairs = digits // 2
    upper = wires[..., digits : digits + 2 * pairs - 1 : 2, :]
    lower = wires[..., digits + 1 : digits + 2 * pairs - 2 : 2, :]
    left = np.concatenate([upper, upper[..., 1:, :]], axis=-2)
    return left, np.concatenate([wires[..., 0 : 2 * pairs : 2, :], lower], axis=-2)


def products_of(digits: int) -> int:
    """Number of products of a layer that merges so many digits."""
    return 2 * (digits // 2) - 1


def merged(wires: Planes, products: Planes, digits: int) -> Planes:
    """The wires after a layer.

    Args:
        wires: wires before it, shape (..., 2 digits - 1, bytes).
        products: products of its `factors`.
        digits: number of digits before the layer; an odd one out, the highest, stays.
    """
    pairs = digits // 2
    carries = wires[..., 1 : 2 * pairs : 2, :] ^ products[..., :pairs, :]
    odd_carry, odd_pass = wires[..., 2 * pairs : digits, :], wires[..., digits - 1 + 2 * pairs :, :]
    return np.concatenate([carries, odd_carry, products[..., pairs:, :], odd_pass], axis=-2)


def _values(bits: Planes) -> Planes:
    """For a digit of these bits, lowest first: in row v the bit of the digit's being v."""
    rows = np.full((1, bits.shape[1]), 0xFF, dtype=np.uint8)
    for bit in bits:
        rows = np.vstack([rows & ~bit, rows & bit])
    return rows

"""The carry of a + b into a bit, from products of bits of digits and a tree that merges them.

The bits below are divided into digits. A digit generates a carry (bit g), propagates one (bit p), or neither.
With x and y a digit of a and of b, and m the digit's largest value, g = [x + y > m] and p = [x + y = m]. Both
are sums modulo 2 of products m_s(x) m_t(y), where m_s is the product of the bits of a digit that the set s
names: linear in the m_s(x), which one role knows, with coefficients that depend on b. A layer merges pairs of
neighbouring digits, lowest first,

    g = g_2 xor p_2 g_1,        p = p_2 p_1,

until one g is left, the carry. The p of the lowest digit is not needed. *Wires* are the g of all digits,
lowest first, then the p of all but the lowest.

Products are numbered: 0 is the empty one, which is 1; then come those of each digit, a set being a number
whose bits are its members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from .bits import Planes

DIGIT_BITS = 3
"""Largest number of bits of a digit: with 2 there are more wires to merge, with 4 more products to share."""

Digits = tuple[range, ...]
"""Places of the bits of each digit, the lowest digit first."""

Terms = tuple[tuple[int, int], ...]
"""Pairs of numbers of products, whose products are added up."""


@cache
def digits_below(bit: int) -> Digits:
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


def table_rows(digits: Digits) -> int:
    """Number of products of all digits, without the empty one."""
    return sum((1 << len(digit)) - 1 for digit in digits)


def digit_products(digits: Digits, bits: Planes) -> Planes:
    """Run by a role that knows the bits: their products, without the empty one, shape (rows, bytes).

    Args:
        digits: places of the digits.
        bits: bits of a or of b.
    """
    return np.vstack([_products(bits[digit.start : digit.stop])[1:] for digit in digits])


@cache
def table_bits(digits: Digits) -> tuple[int, ...]:
    """For each bit, lowest first, the number of the product that is this bit alone."""
    return tuple(first + (1 << i) for first, digit in _firsts(digits) for i in range(len(digit)))


@cache
def table_steps(digits: Digits) -> tuple[tuple[int, int, int], ...]:
    """For every product of two and more bits, numbers of: the product of all but the last, this bit, it."""
    steps = []
    for first, digit in _firsts(digits):
        for number in range(1 << len(digit)):
            last = 1 << max(number.bit_length() - 1, 0)
            if number > last:
                steps.append((first + number - last, first + last, first + number))
    return tuple(steps)


@cache
def wire_terms(digits: Digits) -> tuple[Terms, ...]:
    """For every wire, what it is the sum of: products of bits of a times products of bits of b."""
    carries: list[Terms] = []
    passes: list[Terms] = []
    for first, digit in _firsts(digits):
        for wires, condition in ((carries, int.__gt__), (passes, int.__eq__)):
            terms = _normal_form(len(digit), condition)
            wires.append(tuple((s and first + s, t and first + t) for s, t in terms))
    return (*carries, *passes[1:])


def digit_wires(digits: Digits, products: Planes, shares: Planes) -> Planes:
    """Run by a role that knows b: its shares of the wires, shape (2 digits - 1, bytes).

    Args:
        digits: places of the digits.
        products: products of bits of b, the empty one first.
        shares: its shares of the products of bits of a, that of the empty one first.
    """
    wires = [
        np.bitwise_xor.reduce([shares[s] & products[t] for s, t in terms]) for terms in wire_terms(digits)
    ]
    return np.stack(wires)


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


def merge_digits(wires: Planes, products: Planes, digits: int) -> Planes:
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


def _firsts(digits: Digits) -> Iterator[tuple[int, range]]:
    """Every digit with the number before that of its first product."""
    first = 0
    for digit in digits:
        yield first, digit
        first += (1 << len(digit)) - 1


@cache
def _normal_form(size: int, condition: Callable[[int, int], bool]) -> Terms:
    """The products whose sum modulo 2 says whether x + y and the largest digit of this size satisfy it."""
    numbers = range(1 << size)
    true = [(x, y) for x in numbers for y in numbers if condition(x + y, numbers[-1])]
    # The coefficient of a product counts what is true where no other bit is set.
    return tuple((s, t) for s in numbers for t in numbers if sum(not (x & ~s or y & ~t) for x, y in true) % 2)


def _products(bits: Planes) -> Planes:
    """The products of bits, lowest first, the empty one first, shape (2^bits, bytes)."""
    rows = np.full((1, bits.shape[1]), 0xFF, dtype=np.uint8)
    for bit in bits:
        rows = np.vstack([rows, rows & bit])
    return rows

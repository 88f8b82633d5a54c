"""What must hold between messages of an evaluator, in terms of what the other two know.

Whatever an evaluator sends after resharing is, in every cell, a sum modulo 2 of bits that one of the other
two knows, and of products of a bit that the one knows and a bit that the other knows. So each message gives
equations

    sum over the terms (i, j) of  x_i y_j  =  r + r',

with factors x and rest r of one *side*, y and r' of the other. An equation is one plane: it holds in every
cell. `evaluator` collects the sides, `proof` proves the equations.

    wires      of evaluators 1 and 2: opened shares are those of the products of a, times those of b;
    layers     of all three: components of products are those of the factors;
    signs      of the assistant: products of bits of a are products, and the words t and t' that it shares
               last have the sum x, of which the bits are shared. With k = x xor t xor t' as carries, k_0 = 0
               and k_(j+1) is the majority of t_j, t'_j and k_j. If one side has the bits x_j and k_j, and the
               other x'_j and k'_j, that is (x_j xor k'_j)(x'_j xor k_j) xor k_j xor k'_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..arithmetic.ring import Words
from .bits import Plane, Planes, planes_of
from .carry import Digits, Terms, products_of, table_bits, table_rows, table_steps, wire_terms

Equations = tuple[Terms, ...]
"""For each equation, pairs of numbers of factors, one of each side."""


@dataclass(frozen=True, eq=False)
class Side:
    """What one evaluator knows of some equations.

    Attributes:
        factors: planes, shape (factors, bytes).
        rest: for each equation the sum of all that is no product, shape (equations, bytes).
    """

    factors: Planes
    rest: Planes


def join_sides(sides: Sequence[Side]) -> Side:
    """One side of the equations of several others, one after the other."""
    return Side(np.vstack([side.factors for side in sides]), np.vstack([side.rest for side in sides]))


@dataclass(frozen=True)
class Block:
    """Equations with common factors.

    Attributes:
        factors: number of factors, the same on both sides.
        equations: equations between them.
    """

    factors: int
    equations: Equations


@cache
def blocks_of(digits: Digits, bits: int, layers: tuple[int, ...]) -> tuple[tuple[Block, ...], ...]:
    """For every evaluator, the equations of its messages.

    Args:
        digits: places of the digits.
        bits: bits of a word.
        layers: for every layer, the number of digits that it merges.
    """
    opened = Block(1 + table_rows(digits), wire_terms(digits))
    layered = _layers(layers)
    return (layered, _signs(digits, bits)), (opened, layered), (opened, layered)


def sign_side(digits: Digits, products: Planes, sign: Plane, words: Words) -> Side:
    """What an evaluator knows of the equations of the assistant's products and last words.

    Args:
        digits: places of the digits.
        products: its shares of the products of bits of a, the empty one first, and the highest bit last.
        sign: its share of u.
        words: its shares of a, with all bits inverted where u is 1, and of u, shape (2, cells).
    """
    inverted = products[[*table_bits(digits), -1]] ^ sign
    unit = np.zeros_like(inverted)
    unit[0] = sign
    steps = [(products[a] & products[b]) ^ products[c] for a, b, c in table_steps(digits)]
    carries = [summed ^ planes_of(word) for summed, word in zip((inverted, unit), words, strict=True)]
    factors = [products[list(_table_factors(digits))], sign[None], *(carry[:-1] for carry in carries)]
    rests = [
        np.vstack([carry[:1], (summed[:-1] & carry[:-1]) ^ carry[:-1] ^ carry[1:]])
        for summed, carry in zip((inverted, unit), carries, strict=True)
    ]
    return Side(np.vstack(factors), np.vstack([*steps, *rests]))


def _layers(layers: tuple[int, ...]) -> Block:
    equations: list[Terms] = []
    start = 0
    for digits in layers:
        count = products_of(digits)
        left = range(start, start + count)
        equations += (((i, i + count), (i + count, i)) for i in left)
        start += 2 * count
    return Block(start, tuple(equations))


def _signs(digits: Digits, bits: int) -> Block:
    place = {number: i for i, number in enumerate(_table_factors(digits))}
    sign = len(place)
    first, second = sign + 1, sign + bits
    equations: list[Terms] = [((place[a], place[b]), (place[b], place[a])) for a, b, _ in table_steps(digits)]
    equations.append(())
    for j, number in enumerate(table_bits(digits)):
        pair = (place[number], sign)
        equations.append((*((i, k) for i in pair for k in pair), (first + j, first + j)))
    equations += [(), ((sign, sign), (second, second))]
    equations += (((second + j, second + j),) for j in range(1, bits - 1))
    return Block(second + bits - 1, tuple(equations))


@cache
def _table_factors(digits: Digits) -> tuple[int, ...]:
    """Numbers of the products of bits of a that are factors."""
    factors = {*table_bits(digits), *(a for a, _, _ in table_steps(digits))}
    return tuple(sorted(factors))

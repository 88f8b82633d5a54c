"""The circuit of the carry of two numbers into a bit, as layers of polynomials of bits.

The lower bits are divided into digits. A digit generates a carry (bit g), propagates one (bit p), or neither;
g and p come from tables (`bits`). A layer merges neighbouring digits, lowest first,

    g = g_2 xor p_2 g_1 xor p_2 p_1 g_0,        p = p_2 p_1 p_0,

until one g is left, the carry. The p of the lowest digit is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

Monomial = tuple[int, ...]
"""Wires that are multiplied, in ascending order."""

RADIX = 3
"""Largest number of bits of a digit and of digits merged at once.

Four would save a round for some widths; tables and products would be twice as long.
"""


@dataclass(frozen=True)
class Layer:
    """Polynomials modulo 2 of the bits on wires, evaluated on shares in one round.

    Attributes:
        outputs: monomials of each output wire, which is their sum.
    """

    outputs: tuple[tuple[Monomial, ...], ...]

    @classmethod
    def merging(cls, sizes: tuple[int, ...]) -> Layer:
        """The layer that merges groups of neighbouring digits of these sizes, lowest first.

        Its input and output wires are the g of every digit, then the p of all but the lowest.
        """
        digits = sum(sizes)
        carries: list[tuple[Monomial, ...]] = []
        propagates: list[tuple[Monomial, ...]] = []
        for group in _ranges(sizes):
            above = [tuple(digits - 1 + digit for digit in range(low, group.stop)) for low in group]
            carries.append(tuple((low, *above[i][1:]) for i, low in enumerate(group)))
            if group.start > 0:
                propagates.append((above[0],))
        return cls((*carries, *propagates))

    @cached_property
    def opened(self) -> tuple[int, ...]:
        """The wires that are factors, which are opened under masks."""
        return tuple(sorted({wire for monomial in self._products for wire in monomial}))

    @cached_property
    def dealt(self) -> tuple[Monomial, ...]:
        """The products of masks of opened wires that the dealer shares."""
        parts = {
            part
            for monomial in self._products
            for size in range(2, len(monomial) + 1)
            for part in combinations(monomial, size)
        }
        return tuple(sorted(parts, key=lambda part: (len(part), part)))

    @property
    def _products(self) -> list[Monomial]:
        return [monomial for output in self.outputs for monomial in output if len(monomial) > 1]


@dataclass(frozen=True)
class Carry:
    """The circuit of the carry into a bit.

    Attributes:
        digits: bits of every digit, lowest first.
        layers: layers in order; the last one has one output wire.
    """

    digits: tuple[range, ...]
    layers: tuple[Layer, ...]


@cache
def carry_into(bit: int) -> Carry:
    """The circuit of the carry of two numbers into a bit of place 1 or higher."""
    count = -(-bit // RADIX)
    digits = tuple(_ranges(_parts(bit, count)))
    depth = next(depth for depth in range(bit) if RADIX**depth >= count)
    layers = []
    for groups in (RADIX**level for level in reversed(range(depth))):
        layers.append(Layer.merging(_parts(count, groups)))
        count = groups
    return Carry(digits, tuple(layers))


def _parts(whole: int, count: int) -> tuple[int, ...]:
    """Parts as equal as possible, larger first: costs grow faster than sizes, least at the lowest part."""
    return tuple(whole // count + (part < whole % count) for part in range(count))


def _ranges(sizes: tuple[int, ...]) -> Iterator[range]:
    start = 0
    for size in sizes:
        yield range(start, start + size)
        start += size

"""The circuit that finds the carry of two numbers into a bit, as layers of polynomials of bits.

The bits below are cut into digits. A digit carries, or hands on a carry from below, or neither: bits g and p,
which tables give (`bits`). A layer merges neighbouring digits, lowest first,

    g = g_2 xor p_2 g_1 xor p_2 p_1 g_0,        p = p_2 p_1 p_0,

until one g is left, the carry. Nothing is below the lowest digit, so its p is never needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

Monomial = tuple[int, ...]
"""The wires that are multiplied, ascending."""

RADIX = 3
"""The most bits of a digit and the most digits merged at once.

Four would spare a round for some widths; tables and products would be twice as long.
"""


@dataclass(frozen=True)
class Layer:
    """Polynomials modulo 2 of the bits on wires; evaluated on shares in one round.

    Attributes:
        outputs: of each output wire the monomials that it adds up.
    """

    outputs: tuple[tuple[Monomial, ...], ...]

    @classmethod
    def merging(cls, sizes: tuple[int, ...]) -> Layer:
        """The layer that merges that many neighbours each, lowest first.

        Its wires, in and out, are the g of every digit and then the p of all but the lowest.
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
        """The wires that are factors: they are opened, under masks."""
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
        digits: the bits of every digit, lowest first.
        layers: the last one has one output wire.
    """

    digits: tuple[range, ...]
    layers: tuple[Layer, ...]


@cache
def carry_into(bit: int) -> Carry:
    """The circuit of the carry of two numbers into this bit, at least 1."""
    count = -(-bit // RADIX)
    digits = tuple(_ranges(_parts(bit, count)))
    depth = next(depth for depth in range(bit) if RADIX**depth >= count)
    layers = []
    for groups in (RADIX**level for level in reversed(range(depth))):
        layers.append(Layer.merging(_parts(count, groups)))
        count = groups
    return Carry(digits, tuple(layers))


def _parts(whole: int, count: int) -> tuple[int, ...]:
    """As equal as can be, the larger ones first: lengths grow faster than sizes, least so at the lowest."""
    return tuple(whole // count + (part < whole % count) for part in range(count))


def _ranges(sizes: tuple[int, ...]) -> Iterator[range]:
    start = 0
    for size in sizes:
        yield range(start, start + size)
        start += size

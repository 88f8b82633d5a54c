"""Public facts of a batch of scores: its cells, the width of its numbers, the lengths of its messages."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ProtocolError
from ..masked.ring import Ring
from .carry import Carry, carry_into


@dataclass(frozen=True)
class ScoreShape:
    """Shape of a batch of cliques that are scored together.

    Attributes:
        cells: number of cells of each clique.
        bits: width of every d in two's complement, so that |d| < 2^(bits - 1).
        ring: ring of the shares of d and of the scores.
    """

    cells: tuple[int, ...]
    bits: int
    ring: Ring

    def __post_init__(self) -> None:
        if not self.cells or min(self.cells) < 1:
            raise ValueError("a batch needs cliques of at least one cell")
        if not 2 <= self.bits <= self.ring.bits:
            raise ValueError(f"expected 2 to {self.ring.bits} bits for differences, not {self.bits}")

    @classmethod
    def holding(
        cls, cells: tuple[int, ...], largest: int, ring: Ring, largest_sum: int | None = None
    ) -> ScoreShape:
        """The shape with the fewest bits in which no d overflows.

        Args:
            cells: number of cells of each clique.
            largest: upper bound of |d|.
            ring: ring of the shares.
            largest_sum: upper bound of a score with its noise; if None, the cells of the largest clique times
                `largest`.

        Raises:
            ProtocolError: a d or a score could overflow the ring.
        """
        if largest_sum is None:
            largest_sum = largest * max(cells, default=0)
        if min(largest, largest_sum) < 0:
            raise ValueError("bounds of absolute values must not be negative")
        if not ring.holds(max(largest, largest_sum)):
            raise ProtocolError(
                f"expected differences and scores that fit {ring.bits} bits, got larger bounds; "
                "use a larger ring or score smaller cliques"
            )
        return cls(cells, max(2, largest.bit_length() + 1), ring)

    @property
    def total(self) -> int:
        """Number of cells of all cliques."""
        return sum(self.cells)

    @property
    def carry(self) -> Carry:
        """The circuit evaluated for every cell."""
        return carry_into(self.bits - 1)

    @property
    def plane_bytes(self) -> int:
        """Bytes of one bit of every cell."""
        return -(-self.total // 8)

    @property
    def rounds(self) -> int:
        """Number of messages that each evaluator sends."""
        return len(self.carry.layers) + 2

    def opened_bytes(self, round: int) -> int:
        """Length of each evaluator's message of a round, counted from 0."""
        if not 0 <= round < self.rounds:
            raise ValueError(f"expected a round from 0 to {self.rounds - 1}, not {round}")
        if round == 0:
            return self.total * self.ring.word_bytes
        if round == self.rounds - 1:
            return self.plane_bytes
        return len(self.carry.layers[round - 1].opened) * self.plane_bytes

    @property
    def dealt_planes(self) -> tuple[int, ...]:
        """Numbers of dealt planes: of the table of every digit, then of the products of every layer."""
        tables = [(1 << len(digit)) - 1 for digit in self.carry.digits]
        return (*tables, *(len(layer.dealt) for layer in self.carry.layers))

    @property
    def dealt_bytes(self) -> int:
        """Length of the dealer's message."""
        return 2 * self.total * self.ring.word_bytes + sum(self.dealt_planes) * self.plane_bytes

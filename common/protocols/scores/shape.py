"""What is public about a batch of scores: its cells, the width of its numbers, how long its messages are."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ProtocolError
from ..masked.ring import Ring
from .carry import Carry, carry_into


@dataclass(frozen=True)
class ScoreShape:
    """The cliques that are scored together.

    Attributes:
        cells: how many cells each clique has.
        bits: those of every d in two's complement, so that |d| < 2^(bits - 1).
        ring: of the shares of d and of the scores.
    """

    cells: tuple[int, ...]
    bits: int
    ring: Ring

    def __post_init__(self) -> None:
        if not self.cells or min(self.cells) < 1:
            raise ValueError("a batch needs cliques, and each at least one cell")
        if not 2 <= self.bits <= self.ring.bits:
            raise ValueError(f"differences have 2 to {self.ring.bits} bits in this ring, not {self.bits}")

    @classmethod
    def holding(
        cls, cells: tuple[int, ...], largest: int, ring: Ring, largest_sum: int | None = None
    ) -> ScoreShape:
        """The shape with the fewest bits that no d can overflow.

        Args:
            cells: how many cells each clique has.
            largest: no |d| exceeds it.
            ring: of the shares.
            largest_sum: no score exceeds it, with what the caller adds to it (noise); if None, the largest
                clique times `largest`.

        Raises:
            ProtocolError: the ring cannot hold every d and every score.
        """
        if largest_sum is None:
            largest_sum = largest * max(cells, default=0)
        if min(largest, largest_sum) < 0:
            raise ValueError("bounds of absolute values are not negative")
        if not ring.holds(max(largest, largest_sum)):
            raise ProtocolError(
                f"expected differences and scores that fit {ring.bits} bits, got larger bounds; "
                "agree on a larger ring or score smaller cliques"
            )
        return cls(cells, max(2, largest.bit_length() + 1), ring)

    @property
    def total(self) -> int:
        """Cells of all cliques together."""
        return sum(self.cells)

    @property
    def carry(self) -> Carry:
        """The circuit that every cell goes through."""
        return carry_into(self.bits - 1)

    @property
    def plane_bytes(self) -> int:
        """Bytes of one bit of every cell."""
        return -(-self.total // 8)

    @property
    def rounds(self) -> int:
        """Messages that each evaluator sends."""
        return len(self.carry.layers) + 2

    def opened_bytes(self, round: int) -> int:
        """Length of each evaluator's message of a round, counted from 0."""
        if not 0 <= round < self.rounds:
            raise ValueError(f"there are {self.rounds} rounds, counted from 0, and no round {round}")
        if round == 0:
            return self.total * self.ring.word_bytes
        if round == self.rounds - 1:
            return self.plane_bytes
        return len(self.carry.layers[round - 1].opened) * self.plane_bytes

    @property
    def dealt_planes(self) -> tuple[int, ...]:
        """Planes that are dealt: of every digit its table, of every layer its products."""
        tables = [(1 << len(digit)) - 1 for digit in self.carry.digits]
        return (*tables, *(len(layer.dealt) for layer in self.carry.layers))

    @property
    def dealt_bytes(self) -> int:
        """Length of the dealer's message."""
        return 2 * self.total * self.ring.word_bytes + sum(self.dealt_planes) * self.plane_bytes

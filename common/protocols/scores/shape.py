"""Public facts of a batch of scores: its cells, and the steps of the evaluators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...crypto.digests import DIGEST_BYTES
from ...crypto.randomness import KEY_BYTES
from ...errors import ProtocolError
from ..arithmetic.ring import Ring
from .carry import Digits, digits_below, layers_of, products_of, table_rows
from .proof import proof_bytes, response_bytes
from .relations import Block, blocks_of

ROLES = 3
"""Number of evaluators."""

VERIFIERS = {0: (1, 2), 1: (0, 2), 2: (0, 1)}
"""Evaluator -> helper and verifier of the proof of its messages."""

_EVALUATED, _KEPT = (44, 5), (6, 2)
"""Bounds of what an evaluator needs, and of what it keeps, in words for each cell and in proofs."""


@dataclass(frozen=True)
class Step:
    """One message.

    Attributes:
        sender: index of the evaluator that sends it.
        recipient: index of the evaluator that receives it.
        size: its length in bytes.
    """

    sender: int
    recipient: int
    size: int


@dataclass(frozen=True)
class ScoreShape:
    """Shape of a batch of cliques that are scored together.

    Attributes:
        cells: number of cells of each clique.
        ring: ring of the shares of d and of the scores.
    """

    cells: tuple[int, ...]
    ring: Ring

    def __post_init__(self) -> None:
        if not self.cells or min(self.cells) < 1:
            raise ValueError("a batch needs cliques of at least one cell")

    @classmethod
    def holding(cls, cells: tuple[int, ...], largest: int, ring: Ring) -> ScoreShape:
        """The shape of a batch in which nothing overflows.

        Args:
            cells: number of cells of each clique.
            largest: upper bound of |d| and of a score with its noise.
            ring: ring of the shares.

        Raises:
            ProtocolError: a d or a score could overflow the ring.
        """
        if not ring.holds(largest):
            raise ProtocolError(
                f"expected differences and scores that fit {ring.bits} bits, got larger bounds; "
                "use a larger ring or score smaller cliques"
            )
        return cls(cells, ring)

    @property
    def total(self) -> int:
        """Number of cells of all cliques."""
        return sum(self.cells)

    @property
    def plane_bytes(self) -> int:
        """Bytes of one bit of every cell."""
        return -(-self.total // 8)

    @property
    def word_bytes(self) -> int:
        """Bytes of one word of every cell."""
        return self.total * self.ring.word_bytes

    @property
    def evaluated_bytes(self) -> int:
        """Upper bound of the memory of an evaluator until its last step."""
        return self._memory(*_EVALUATED)

    @property
    def kept_bytes(self) -> int:
        """Upper bound of the memory of an evaluator after its last step, with its own cells."""
        return self._memory(*_KEPT)

    def _memory(self, words: int, proofs: int) -> int:
        return words * self.word_bytes + proofs * max(step.size for step in self.proofs)

    @property
    def digits(self) -> Digits:
        """Places of the digits below the sign bit."""
        return digits_below(self.ring.bits - 1)

    @property
    def wires(self) -> int:
        """Number of wires of the digits."""
        return 2 * len(self.digits) - 1

    @property
    def layers(self) -> tuple[int, ...]:
        """For every layer, the number of digits that it merges."""
        return tuple(layers_of(len(self.digits)))

    @property
    def tables(self) -> int:
        """Number of planes that the assistant shares first: products of bits, and the highest bit."""
        return table_rows(self.digits) + 1

    @property
    def blocks(self) -> tuple[tuple[Block, ...], ...]:
        """For every evaluator the equations of its messages, in blocks."""
        return blocks_of(self.digits, self.ring.bits, self.layers)

    @cached_property
    def stages(self) -> tuple[tuple[Step, ...], ...]:
        """The messages before the proofs in order, by stage: tables, carries, each layer, signs.

        In a stage an evaluator sends at most one message and receives at most one.
        """
        carries = self.wires * self.plane_bytes
        layers = [products_of(digits) * self.plane_bytes for digits in self.layers]
        return (
            (Step(0, 2, self.tables * self.plane_bytes),),
            (Step(1, 2, carries), Step(2, 1, carries)),
            *((Step(0, 2, size), Step(2, 1, size), Step(1, 0, size)) for size in layers),
            (Step(0, 2, 2 * self.word_bytes),),
        )

    @cached_property
    def proofs(self) -> tuple[Step, ...]:
        """The messages of the proofs: all proofs, all challenges, all responses."""
        proofs, challenges, responses = [], [], []
        for prover, (helper, verifier) in VERIFIERS.items():
            blocks = self.blocks[prover]
            proofs.append(Step(prover, verifier, DIGEST_BYTES + proof_bytes(blocks)))
            challenges += [Step(verifier, to, 2 * KEY_BYTES) for to in (prover, helper)]
            response = KEY_BYTES + response_bytes(blocks, self.plane_bytes)
            responses += [Step(prover, verifier, response), Step(helper, verifier, DIGEST_BYTES)]
        return (*proofs, *challenges, *responses)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All messages in order."""
        return (*(step for stage in self.stages for step in stage), *self.proofs)

"""How an evaluator sends and receives the messages of a stage, and the digest of all that it sent."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence

from ..arithmetic.ring import Words
from .bits import Planes
from .shape import Step

AWAITS = b""
"""Yielded where an evaluator awaits a message."""


class Exchange:
    """The messages of one evaluator before the proofs.

    Args:
        role: index of the evaluator.
    """

    def __init__(self, role: int) -> None:
        self._role = role
        self._digests: dict[tuple[int, int], hashlib._Hash] = {}

    def stage(
        self, steps: Sequence[Step], message: Planes | Words | None = None
    ) -> Generator[bytes, bytes, bytes]:
        """Sends and receives what an evaluator does in a stage; returns what it receives, or `AWAITS`."""
        received = AWAITS
        for step in steps:
            if step.sender == self._role and message is not None:
                sent = message.tobytes()
                yield sent
                self._note(step, sent)
            elif step.recipient == self._role:
                received = yield AWAITS
                self._note(step, received)
        return received

    def digest(self, sender: int, recipient: int) -> bytes:
        """SHA-256 of all messages so far of an evaluator to another one, of which this one is either."""
        return self._of(sender, recipient).digest()

    def _note(self, step: Step, message: bytes) -> None:
        self._of(step.sender, step.recipient).update(message)

    def _of(self, sender: int, recipient: int) -> hashlib._Hash:
        return self._digests.setdefault((sender, recipient), hashlib.sha256())

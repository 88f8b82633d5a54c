"""The messages of one evaluator: what it sends again on request, and what it still awaits."""

from __future__ import annotations

from collections.abc import Mapping

from ...crypto.randomness import RandomStream
from ...errors import DeliveriesLost, ProtocolError
from ..arithmetic.ring import Words
from .evaluator import evaluate
from .exchange import AWAITS
from .shape import ScoreShape


class EvaluatorRun:
    """One evaluator's part of one batch of scores.

    Steps are numbered as in `ScoreShape.steps`. A message that was delivered before is ignored, and every
    message is sent again on request: the same inputs and streams give the same messages.

    Args:
        shape: shape of the batch.
        role: index of the evaluator.
        words: its part of d; see `evaluate`.
        streams: index of each other evaluator -> stream of the pair, fresh.
    """

    def __init__(
        self, shape: ScoreShape, role: int, words: Words, streams: Mapping[int, RandomStream]
    ) -> None:
        self._sizes = {number: step.size for number, step in enumerate(shape.steps) if step.recipient == role}
        self._to_send = [number for number, step in enumerate(shape.steps) if step.sender == role]
        self._awaited = list(self._sizes)
        self._sent: dict[int, bytes] = {}
        self._steps = evaluate(shape, role, words, streams)
        self.ended = False
        """Whether it needs no further message."""
        self._scores: Words | None = None
        self._refused = ""
        self._advance(None)

    @property
    def scores(self) -> Words | None:
        """Its share of the scores, shape (cliques,), once it has ended; None for evaluator 0.

        Raises:
            ProtocolError: another evaluator deviates.
        """
        if self._refused:
            raise ProtocolError(self._refused)
        return self._scores

    def open(self, step: int) -> bytes:
        """The message that it sends in a step.

        Raises:
            ProtocolError: it sends none.
            DeliveriesLost: it awaits an earlier message.
        """
        if step in self._sent:
            return self._sent[step]
        if step in self._to_send:
            raise _out_of_order()
        raise ProtocolError("expected a step in which this evaluator sends a message; compare the plan")

    def size(self, step: int) -> int:
        """Bytes of the message that it receives in a step.

        Raises:
            ProtocolError: it receives none.
        """
        if step not in self._sizes:
            raise ProtocolError(
                "expected a step in which this evaluator receives a message; compare the plan"
            )
        return self._sizes[step]

    def deliver(self, step: int, message: bytes) -> None:
        """Takes the message of another evaluator.

        Raises:
            ProtocolError: it receives none in this step, or one of another length; an evaluator deviates.
            DeliveriesLost: it awaits an earlier message.
        """
        size = self.size(step)
        if len(message) != size:
            raise ProtocolError(
                f"expected {size} bytes from another evaluator, got {len(message)}; score the same batch at "
                "all roles"
            )
        if self._refused:
            raise ProtocolError(self._refused)
        if step not in self._awaited:
            return
        if step != self._awaited[0]:
            raise _out_of_order()
        del self._awaited[0]
        self._advance(message)

    def _advance(self, message: bytes | None) -> None:
        """Computes until the next message is awaited."""
        try:
            sent = next(self._steps) if message is None else self._steps.send(message)
            while sent != AWAITS:
                self._sent[self._to_send[len(self._sent)]] = sent
                sent = self._steps.send(AWAITS)
        except StopIteration as end:
            self._scores, self.ended = end.value, True
        except ProtocolError as refused:
            self._refused = str(refused)
            raise


def _out_of_order() -> DeliveriesLost:
    return DeliveriesLost("a step of a score query is out of order; deliver the previous one first")

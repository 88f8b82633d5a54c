"""A party's role in one score query: resharing, the steps of an evaluator, and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.digests import content_digest
from ....common.crypto.randomness import RandomStream
from ....common.dealing.evaluator import Resharing, ScoreEvaluator
from ....common.errors import ProtocolError
from ....common.messages import Delivery
from .session import MaskedSession


class SharedScores:
    """Scores over the parties of a masked release.

    Every party but the assistant reshares its cells to the evaluators (see `common/dealing/evaluator`); all
    parties add noise and a mask.

    Args:
        session: the party's session of the release.
        resharing: step 0 of the score query.

    Raises:
        DeliveriesLost: a product was not computed.
    """

    def __init__(self, session: MaskedSession, resharing: Resharing) -> None:
        plan = session.plan
        self.query = resharing.query
        self._session = session
        self._resharing = resharing
        self._shape = resharing.shape
        for view in dict.fromkeys(self.query.views_compared):
            session.check_share(view)
        self._cells = np.zeros(0, dtype=plan.ring.dtype)
        self._evaluates = session.me in plan.evaluators
        self._evaluator: ScoreEvaluator | None = None

    @property
    def word_bytes(self) -> int:
        """Bytes of a word of the plan's ring."""
        return self._shape.ring.word_bytes

    @property
    def memory_bytes(self) -> int:
        """See `ScoreRun`; an evaluator keeps only cells and messages after its last step."""
        ended = not self._evaluates or (self._evaluator is not None and self._evaluator.has_ended)
        return self._shape.kept_bytes if ended else self._shape.evaluated_bytes

    @property
    def delivery_bytes(self) -> int:
        """See `ScoreRun`."""
        return 3 * max(self._shape.total * 8, *(step.size for step in self._shape.steps))

    def begin(self) -> None:
        """Computes the party's cells of all cliques, and binds them to the query, whose pads hide them."""
        session, shares = self._session, {}
        for view in dict.fromkeys(self.query.views_compared):
            session.processors.check()
            shares[view] = session.share(view)
        self._cells = np.concatenate([shares[view] for view in self.query.views_compared])
        session.binding.use("cells of scores", self.query.query_id, content_digest([self._cells.data]))
        if self._evaluates:
            self._evaluator = ScoreEvaluator(self._resharing, self._cells)

    def open(self, step: int, recipient: int) -> Iterator[bytes]:
        """A part of the cells or the seeds in step 0, a step of the evaluator after it."""
        if step == 0:
            return self._resharing.open(recipient, self._cells)
        return self._own_evaluator().open(step, recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores what an evaluator receives."""
        self._own_evaluator().deliver(delivery, chunks)

    def answer(self, stream: RandomStream) -> NDArray[np.int64]:
        """This party's share of the scores plus its noise and its mask."""
        share = np.zeros(len(self._shape.cells), dtype=self._shape.ring.dtype)
        if self._evaluator is not None:
            share = self._evaluator.scores
        return self._session.answer(self._resharing.digest, self.query.sigma, share, stream)

    def _own_evaluator(self) -> ScoreEvaluator:
        if self._evaluator is None:
            raise ProtocolError("expected an evaluator of scores, and this party is none; compare the plan")
        return self._evaluator

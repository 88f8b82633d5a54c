"""A party's role in one score query: resharing, the rounds of an evaluator, and the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ....common.canonical.queries import query_digest
from ....common.crypto.randomness import RandomStream
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import Delivery, DeliveryKind, ScoreQuery
from ....common.protocols.masked.ring import Words
from ....common.protocols.scores.evaluator import evaluate
from ....common.protocols.scores.query import reshared, score_shape
from ....common.wire.streams import row_blocks
from ..scores import read_references
from .session import MaskedSession

KEPT_WORDS, EVALUATED_WORDS = 6, 24
"""Words for each cell of a run: what is kept, and what an evaluator needs until its last round."""


class SharedScores:
    """Scores over the parties of a masked release.

    Two parties are evaluators (see `common/protocols/scores`). Every other party reshares its cells to them;
    all parties add noise and a mask.

    Args:
        session: the party's session of the release.
        query: the score query.

    Raises:
        DeliveriesLost: a product was not computed.
        ProtocolError: the plan names no evaluators, or its ring is too small.
    """

    def __init__(self, session: MaskedSession, query: ScoreQuery) -> None:
        plan = session.plan
        if not plan.evaluators:
            raise ProtocolError("the plan names no evaluators of scores; measure marginals")
        self._session = session
        self._query = query
        self._digest = query_digest(query)
        cells = tuple(plan.domain.cells(clique) for clique in query.cliques)
        self._shape = score_shape(plan, cells, query.sigma, query.largest_reference, query.largest_total)
        for clique in dict.fromkeys(query.cliques):
            session.check_share(clique)
        self._cells = np.zeros(0, dtype=plan.ring.dtype)
        self._others = set(range(len(plan.roster))) - set(plan.evaluators)
        evaluates = session.me in plan.evaluators
        self._index = plan.evaluators.index(session.me) if evaluates else None
        self._peer = plan.evaluators[1 - self._index] if self._index is not None else plan.evaluators[0]
        self._shared: dict[int, Words] = {}
        self._references: NDArray[np.int64] | None = None
        self._dealt: bytes | None = None
        self._rounds: Generator[bytes, bytes, Words] | None = None
        self._sent: list[bytes] = []
        self._score: Words | None = None

    @property
    def word_bytes(self) -> int:
        """Bytes of a word of the plan's ring."""
        return self._shape.ring.word_bytes

    @property
    def memory_bytes(self) -> int:
        """See `ScoreRun`; an evaluator keeps only cells and messages after its last round."""
        words = self._shape.total * self._shape.ring.word_bytes
        if self._index is None or self._score is not None:
            return KEPT_WORDS * words
        return (EVALUATED_WORDS + len(self._others)) * words

    @property
    def delivery_bytes(self) -> int:
        """See `ScoreRun`."""
        return 3 * max(self._shape.dealt_bytes, self._shape.total * 8)

    def begin(self) -> None:
        """Computes the party's cells of all cliques."""
        shares = []
        for clique in self._query.cliques:
            self._session.processors.check()
            shares.append(self._session.share(clique))
        self._cells = np.concatenate(shares)

    def open(self, step: int, recipient: int) -> Iterator[bytes]:
        """Step 0: the party's cells, for evaluator 0. Step k: its opening of round k - 1, for its peer."""
        if recipient != self._peer:
            raise ProtocolError(
                "expected the evaluator that receives this step as recipient; compare the plan"
            )
        if self._index is None:
            if step:
                raise ProtocolError("only evaluators take part in rounds; compare the plan")
            stream = self._session.peers.streams()[self._session.plan.evaluators[1]]
            sent, _ = reshared(self._shape.ring, self._cells, stream, self._digest)
            return self._sealed(step, recipient, sent.tobytes())
        self._begun()
        if not 1 <= step <= len(self._sent):
            raise DeliveriesLost("a round of a score query is out of order; deliver the previous one first")
        return self._sealed(step, recipient, self._sent[step - 1])

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores another party's cells or round, the references or the dealer's message."""
        if self._index is None:
            raise ProtocolError("only evaluators receive deliveries; compare the plan")
        if delivery.kind is DeliveryKind.SCORE_REFERENCES:
            self._references = read_references(self._query, self._session.plan.domain.cells, chunks)
        elif delivery.kind is DeliveryKind.DEALT_SCORES:
            self._dealt = _joined(chunks, self._shape.dealt_bytes)
        elif delivery.step == 0:
            if self._index != 0 or delivery.sender not in self._others:
                raise ProtocolError("expected cells from a party that is not an evaluator; compare the plan")
            size = self._shape.total * self._shape.ring.word_bytes
            sent = self._unsealed(delivery, chunks, size)
            self._shared[delivery.sender] = np.frombuffer(sent, dtype=self._shape.ring.dtype)
        else:
            self._receive(delivery, chunks)

    def bound(self) -> dict[str, str]:
        """The cells, and an evaluator's share of the scores after its last round."""
        values = {"cells": self._cells} | ({} if self._score is None else {"scores": self._score})
        return {name: hashlib.sha256(words.data).hexdigest() for name, words in values.items()}

    def answer(self, stream: RandomStream) -> NDArray[np.int64]:
        """This party's share of the scores plus its noise and its mask."""
        share = np.zeros(len(self._shape.cells), dtype=self._shape.ring.dtype)
        if self._index is not None:
            if self._score is None:
                raise DeliveriesLost("the scores need all rounds of the evaluators; deliver them first")
            share = self._score
        return self._session.answer(self._digest, self._query.sigma, share, stream)

    def _begun(self) -> Generator[bytes, bytes, Words]:
        """The rounds; started when all cells, or references and dealt randomness, were delivered."""
        if self._rounds is not None:
            return self._rounds
        ring = self._shape.ring
        if self._index == 0:
            if set(self._shared) != self._others:
                raise DeliveriesLost("an evaluator waits for the cells of all parties; deliver them first")
            cells = sum(self._shared.values(), start=self._cells)
        else:
            if self._references is None or self._dealt is None:
                raise DeliveriesLost("an evaluator waits for references and randomness; deliver them first")
            streams = self._session.peers.streams()
            parts = [reshared(ring, self._cells, streams[p], self._digest)[1] for p in self._others]
            cells = sum(parts, start=self._cells - ring.words(self._references))
        randomness = self._session.masks.child("scores", self._digest)
        self._rounds = evaluate(self._shape, self._index or 0, cells, randomness, self._dealt)
        self._sent.append(next(self._rounds))
        return self._rounds

    def _receive(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Processes the other evaluator's message of a round; ignores one that was processed before."""
        rounds = self._begun()
        if delivery.sender != self._peer or delivery.step > len(self._sent):
            raise DeliveriesLost("a round of a score query is out of order; deliver the previous one first")
        sent = self._unsealed(delivery, chunks, self._shape.opened_bytes(delivery.step - 1))
        if delivery.step < len(self._sent) or self._score is not None:
            return
        try:
            self._sent.append(rounds.send(sent))
        except StopIteration as end:
            self._score = end.value
            self._shared.clear()
            self._references = self._dealt = None

    def _what(self, step: int) -> list[str]:
        return ["score", self._digest, str(step)]

    def _sealed(self, step: int, recipient: int, payload: bytes) -> Iterator[bytes]:
        return self._session.peers.seal(recipient, self._what(step), [payload])

    def _unsealed(self, delivery: Delivery, chunks: Iterable[bytes], size: int) -> bytes:
        return _joined(self._session.peers.unseal(delivery.sender, self._what(delivery.step), chunks), size)


def _joined(chunks: Iterable[bytes], size: int) -> bytes:
    """A message of this length from its chunks."""
    (message,) = row_blocks(chunks, np.dtype("u1"), 1, size, 1)
    return message.tobytes()

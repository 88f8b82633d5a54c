"""A party's role in one score query: resharing, the steps of an evaluator, and the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ....common.canonical.queries import query_digest
from ....common.crypto.randomness import KEY_BYTES, RandomStream
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import Delivery, DeliveryKind, ScoreQuery
from ....common.protocols.masked.ring import Words
from ....common.protocols.scores.evaluator import ASSISTANT
from ....common.protocols.scores.query import (
    known_part,
    pair_stream_of,
    reshared,
    resharing_seed,
    score_shape,
)
from ....common.protocols.scores.run import EvaluatorRun
from ....common.wire.streams import row_blocks
from ..scores import read_references
from .session import MaskedSession

KEPT_WORDS, EVALUATED_WORDS = 6, 16
"""Words for each cell of a run: what is kept, and what an evaluator needs until its last step."""


class SharedScores:
    """Scores over the parties of a masked release.

    Three roles are evaluators (see `common/protocols/scores`). Every party but evaluator 0 reshares its
    cells: it sends evaluator 0 one part; evaluators 1 and 2 derive the other part from a seed, which
    evaluator 1 shares with the party and sends to evaluator 2. So no party but an evaluator can make the
    evaluators disagree. All parties add noise and a mask.

    Step 0 is resharing, step k is step k - 1 of `ScoreShape.steps`.

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
        self.query = query
        self._digest = query_digest(query)
        self._places = plan.evaluators
        self._role = self._places.index(session.me) if session.me in self._places else None
        self._resharing = [place for place in range(len(plan.roster)) if place != self._places[ASSISTANT]]
        cells = tuple(plan.domain.cells(clique) for clique in query.cliques)
        self._shape = score_shape(plan, cells, query.sigma, query.largest_reference, query.largest_total)
        for clique in dict.fromkeys(query.cliques):
            session.check_share(clique)
        self._cells = np.zeros(0, dtype=plan.ring.dtype)
        self._sum: Words | None = None
        self._received: set[int] = set()
        self._seeds: list[bytes] | None = None if self._others() else []
        self._references: NDArray[np.int64] | None = None
        self._run: EvaluatorRun | None = None
        self._bound: dict[str, str] = {}

    @property
    def word_bytes(self) -> int:
        """Bytes of a word of the plan's ring."""
        return self._shape.ring.word_bytes

    @property
    def memory_bytes(self) -> int:
        """See `ScoreRun`; an evaluator keeps only cells and messages after its last step."""
        ended = self._role is None or (self._run is not None and self._run.ended)
        return (KEPT_WORDS if ended else EVALUATED_WORDS) * self._shape.word_bytes

    @property
    def delivery_bytes(self) -> int:
        """See `ScoreRun`."""
        return 3 * max(self._shape.total * 8, *(step.size for step in self._shape.steps))

    def begin(self) -> None:
        """Computes the party's cells of all cliques."""
        shares = {}
        for clique in dict.fromkeys(self.query.cliques):
            self._session.processors.check()
            shares[clique] = self._session.share(clique)
        self._cells = np.concatenate([shares[clique] for clique in self.query.cliques])
        self._bound = {"cells": _digest(self._cells)}

    def open(self, step: int, recipient: int) -> Iterator[bytes]:
        """Step 0: a part of the cells for evaluator 0, or seeds of evaluator 1 for 2; else an evaluator's."""
        if step == 0:
            return self._sealed(step, recipient, self._reshared(recipient))
        if self._role is None:
            raise ProtocolError("only evaluators take part in steps after resharing; compare the plan")
        sent = self._begun().open(step - 1)
        if recipient != self._places[self._shape.steps[step - 1].recipient]:
            raise _wrong_recipient()
        return self._sealed(step, recipient, sent)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores a part of another party's cells, seeds, an evaluator's message, or the references."""
        if self._role is None:
            raise ProtocolError("only evaluators receive deliveries; compare the plan")
        if delivery.kind is DeliveryKind.SCORE_REFERENCES:
            if self._role != ASSISTANT:
                raise ProtocolError("expected references for evaluator 0 only; compare the plan")
            references = read_references(self.query, self._session.plan.domain.cells, chunks)
            self._references = references if self._run is None else None
        elif delivery.step == 0:
            self._receive_reshared(delivery, chunks)
        else:
            run = self._begun()
            size = run.size(delivery.step - 1)
            if delivery.sender != self._places[self._shape.steps[delivery.step - 1].sender]:
                raise ProtocolError("expected a step of the evaluator that sends it; compare the plan")
            run.deliver(delivery.step - 1, self._unsealed(delivery, chunks, size))

    def bound(self) -> dict[str, str]:
        """The cells; an evaluator's part of the differences, at the end its share of the scores."""
        scores = None if self._run is None else self._run.scores
        return self._bound | ({} if scores is None else {"scores": _digest(scores)})

    def answer(self, stream: RandomStream) -> NDArray[np.int64]:
        """This party's share of the scores plus its noise and its mask."""
        share = np.zeros(len(self._shape.cells), dtype=self._shape.ring.dtype)
        if self._role not in (None, ASSISTANT):
            if self._run is None or self._run.scores is None:
                raise DeliveriesLost("the scores need all steps of the evaluators; deliver them first")
            share = self._run.scores
        return self._session.answer(self._digest, self.query.sigma, share, stream)

    def _reshared(self, recipient: int) -> bytes:
        """What this party sends in step 0."""
        if recipient == self._places[ASSISTANT] and self._role != ASSISTANT:
            return reshared(self._shape.ring, self._cells, self._seed(self._session.me)).tobytes()
        if recipient == self._places[2] and self._role == 1:
            return b"".join(map(self._seed, self._others()))
        raise _wrong_recipient()

    def _receive_reshared(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Adds a party's part to those received, or stores the seeds; ignores what was received before."""
        if self._role == ASSISTANT and delivery.sender in self._resharing:
            sent = self._unsealed(delivery, chunks, self._shape.word_bytes)
            if delivery.sender not in self._received:
                self._received.add(delivery.sender)
                part = np.frombuffer(sent, dtype=self._shape.ring.dtype)
                self._sum = (self._cells if self._sum is None else self._sum) + part
        elif self._role == 2 and delivery.sender == self._places[1]:
            sent = self._unsealed(delivery, chunks, KEY_BYTES * len(self._others()))
            self._seeds = [sent[i : i + KEY_BYTES] for i in range(0, len(sent), KEY_BYTES)]
        else:
            raise ProtocolError(
                "expected cells for evaluator 0, or seeds of evaluator 1 for 2; compare the plan"
            )

    def _begun(self) -> EvaluatorRun:
        """The evaluator's run; started when all parts and the references, or the seeds, were delivered."""
        if self._run is None:
            streams = self._session.peers.streams()
            pairs = {
                role: pair_stream_of(streams[place], self._digest)
                for role, place in enumerate(self._places)
                if role != self._role
            }
            assert self._role is not None
            part = self._part()
            self._run = EvaluatorRun(self._shape, self._role, part, pairs)
            self._bound["part"] = _digest(part)
            self._sum = self._references = None
        return self._run

    def _part(self) -> Words:
        """This evaluator's part of the differences."""
        if self._role == ASSISTANT:
            if self._sum is None or self._references is None or self._received != set(self._resharing):
                raise DeliveriesLost(
                    "an evaluator waits for references and the cells of all parties; deliver them first"
                )
            return self._sum - self._shape.ring.words(self._references)
        seeds = list(map(self._seed, self._others())) if self._role == 1 else self._seeds
        if seeds is None:
            raise DeliveriesLost("an evaluator waits for the seeds of others; deliver them first")
        return known_part(self._shape.ring, [*seeds, *map(self._seed, self._places[1:])], self._shape.total)

    def _others(self) -> list[int]:
        """The parties that are not evaluators."""
        return [place for place in self._resharing if place not in self._places]

    def _seed(self, place: int) -> bytes:
        """The seed of a party's resharing, from a key that this party has."""
        ends = {place, self._places[1]} if place != self._places[1] else set(self._places[1:])
        (other,) = ends - {self._session.me}
        return resharing_seed(self._session.peers.streams()[other], self._digest, place)

    def _what(self, step: int) -> list[str]:
        return ["score", self._digest, str(step)]

    def _sealed(self, step: int, recipient: int, payload: bytes) -> Iterator[bytes]:
        return self._session.peers.seal(recipient, self._what(step), [payload])

    def _unsealed(self, delivery: Delivery, chunks: Iterable[bytes], size: int) -> bytes:
        frames = self._session.peers.unseal(delivery.sender, self._what(delivery.step), chunks)
        (message,) = row_blocks(frames, np.dtype("u1"), 1, size, 1)
        return message.tobytes()


def _digest(words: Words) -> str:
    return hashlib.sha256(words.data).hexdigest()


def _wrong_recipient() -> ProtocolError:
    return ProtocolError("expected the evaluator that receives this step as recipient; compare the plan")

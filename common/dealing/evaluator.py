"""What an evaluator of scores does in one query, be it a party or a dealer: sealed messages in and out.

Step 0 is resharing. Every party but the assistant sends it one part of its cells. Evaluators 1 and 2 derive
the other part from a seed, which evaluator 1 shares with the party and passes on to evaluator 2: so nobody
but an evaluator can make the evaluators disagree. Step k is step k - 1 of `ScoreShape.steps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..canonical.queries import query_digest
from ..crypto.randomness import KEY_BYTES
from ..errors import DeliveriesLost, ProtocolError
from ..frames import join_chunks
from ..messages import Delivery, DeliveryKind
from ..protocols.arithmetic.ring import Words
from ..protocols.masked.plan import MaskedPlan
from ..protocols.scores.evaluator import ASSISTANT
from ..protocols.scores.query import (
    check_references,
    known_part,
    pair_stream_of,
    resharing_seed,
    share_to_send,
)
from ..protocols.scores.run import EvaluatorRun
from ..queries import ScoreQuery
from .peers import Peers


class Resharing:
    """The messages of step 0 of a score query.

    Args:
        plan: plan of the release.
        query: the score query.
        me: place of this participant in the plan.
        peers: the other participants.

    Raises:
        ProtocolError: the plan names no evaluators, or its ring is too small.
    """

    def __init__(self, plan: MaskedPlan, query: ScoreQuery, me: int, peers: Peers) -> None:
        if not plan.evaluators:
            raise ProtocolError("the plan names no evaluators of scores; measure marginals")
        self.query = query
        """The query."""
        self.places = plan.evaluators
        """Places of the evaluators."""
        self.digest = query_digest(query)
        """Digest of the query."""
        self.shape = query.shape(plan)
        """Shape of the batch."""
        self.parts = plan.parts
        """Parts of one in which the cells are counted."""
        self.senders = [place for place in range(len(plan.roster)) if place != self.places[ASSISTANT]]
        """Places of the parties that send the assistant a part of their cells."""
        self.others = [place for place in self.senders if place not in self.places]
        """Places of those of them that are no evaluators."""
        self.me = me
        """Place of this participant."""
        self.peers = peers
        """The other participants."""

    def open(self, recipient: int, cells: Words) -> Iterator[bytes]:
        """What a party sends in step 0: a part of its cells, or seeds if evaluator 1 sends them to 2.

        Args:
            recipient: place of the recipient.
            cells: the party's share of all cells.
        """
        assistant, one, two = self.places
        if recipient == assistant and self.me in self.senders:
            part = share_to_send(self.shape.ring, cells, self.seed(self.me))
            return self.seal(0, recipient, part.tobytes())
        if recipient == two and self.me == one:
            return self.seal(0, recipient, b"".join(map(self.seed, self.others)))
        raise wrong_recipient()

    def seed(self, place: int) -> bytes:
        """The seed of a party's resharing, from a key that this participant has."""
        _, one, two = self.places
        ends = {one, two if place == one else place}
        (other,) = ends - {self.me}
        return resharing_seed(self.peers.streams()[other], self.digest, place)

    def seal(self, step: int, recipient: int, payload: bytes) -> Iterator[bytes]:
        """The frames of a message for another participant."""
        return self.peers.seal(recipient, self._what(step), [payload])

    def unseal(self, delivery: Delivery, chunks: Iterable[bytes], size: int) -> bytes:
        """The message of another participant in these frames, which has so many bytes."""
        return join_chunks(self.peers.unseal(delivery.sender, self._what(delivery.step), chunks), size)

    def _what(self, step: int) -> list[str]:
        return ["score", self.digest, str(step)]


class ScoreEvaluator:
    """One evaluator of one score query.

    Args:
        resharing: step 0 of the query, at a participant that is an evaluator.
        cells: its own share of all cells, if it is a party; None of a dealer.
    """

    def __init__(self, resharing: Resharing, cells: Words | None) -> None:
        self.role = resharing.places.index(resharing.me)
        """Index of the evaluator."""
        self._resharing = resharing
        ring, total = resharing.shape.ring, resharing.shape.total
        self._sum = np.zeros(total, dtype=ring.dtype) if cells is None else cells
        self._received: set[int] = set()
        self._seeds: list[bytes] | None = None if resharing.others else []
        self._references: NDArray[np.int64] | None = None
        self._run: EvaluatorRun | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it needs no further message."""
        return self._run is not None and self._run.ended

    @property
    def scores(self) -> Words:
        """Its share of the scores, shape (cliques,); zeros for the assistant.

        Raises:
            DeliveriesLost: not all messages were delivered.
        """
        shape = self._resharing.shape
        if self.role == ASSISTANT:
            return np.zeros(len(shape.cells), dtype=shape.ring.dtype)
        if self._run is None or self._run.scores is None:
            raise DeliveriesLost("the scores need all steps of the evaluators; deliver them first")
        return self._run.scores

    def open(self, step: int, recipient: int) -> Iterator[bytes]:
        """The sealed frames of a step after resharing."""
        sent = self._begun().open(step - 1)
        if recipient != self._resharing.places[self._resharing.shape.steps[step - 1].recipient]:
            raise wrong_recipient()
        return self._resharing.seal(step, recipient, sent)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores a part of a party's cells, seeds, another evaluator's message, or the references."""
        if delivery.kind is DeliveryKind.SCORE_REFERENCES:
            self._receive_references(chunks)
        elif delivery.step == 0:
            self._receive_reshared(delivery, chunks)
        else:
            run, number = self._begun(), delivery.step - 1
            size = run.size(number)
            if delivery.sender != self._resharing.places[self._resharing.shape.steps[number].sender]:
                raise ProtocolError("expected a step of the evaluator that sends it; compare the plan")
            run.deliver(number, self._resharing.unseal(delivery, chunks, size))

    def _receive_references(self, chunks: Iterable[bytes]) -> None:
        if self.role != ASSISTANT:
            raise ProtocolError("expected references for evaluator 0 only; compare the plan")
        shape, query = self._resharing.shape, self._resharing.query
        sent = np.frombuffer(join_chunks(chunks, 8 * shape.total), dtype="<i8").astype(np.int64)
        check_references(sent, shape.cells, query.references, query.largest_reference, query.largest_total)
        if self._run is None:
            self._references = sent

    def _receive_reshared(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Adds a party's part to those received, or stores the seeds; ignores what was received before."""
        shape, sender = self._resharing.shape, delivery.sender
        if self.role == ASSISTANT and sender in self._resharing.senders:
            sent = self._resharing.unseal(delivery, chunks, shape.word_bytes)
            if sender not in self._received:
                self._received.add(sender)
                self._sum = self._sum + np.frombuffer(sent, dtype=shape.ring.dtype)
        elif self.role == 2 and sender == self._resharing.places[1]:
            sent = self._resharing.unseal(delivery, chunks, KEY_BYTES * len(self._resharing.others))
            self._seeds = [sent[i : i + KEY_BYTES] for i in range(0, len(sent), KEY_BYTES)]
        else:
            raise ProtocolError(
                "expected cells for evaluator 0, or seeds of evaluator 1 for 2; compare the plan"
            )

    def _begun(self) -> EvaluatorRun:
        """The evaluator's run; started when all parts and the references, or the seeds, were delivered."""
        if self._run is None:
            streams, places = self._resharing.peers.streams(), self._resharing.places
            pairs = {
                role: pair_stream_of(streams[place], self._resharing.digest)
                for role, place in enumerate(places)
                if role != self.role
            }
            part = self._part()
            self._run = EvaluatorRun(self._resharing.shape, self.role, part, pairs)
            self._sum, self._references = part[:0], None
        return self._run

    def _part(self) -> Words:
        """This evaluator's part of the differences."""
        shape, resharing = self._resharing.shape, self._resharing
        if self.role == ASSISTANT:
            if self._references is None or self._received != set(resharing.senders):
                raise DeliveriesLost(
                    "an evaluator waits for references and the cells of all parties; deliver them first"
                )
            return self._sum - shape.ring.words(resharing.parts * self._references)
        seeds = list(map(resharing.seed, resharing.others)) if self.role == 1 else self._seeds
        if seeds is None:
            raise DeliveriesLost("an evaluator waits for the seeds of others; deliver them first")
        own = map(resharing.seed, resharing.places[1:])
        return known_part(shape.ring, [*seeds, *own], shape.total)


class DealerScores:
    """The latest score query of a dealer that is evaluator 0, of a release of two parties.

    Args:
        plan: plan of the release.
        place: place of the dealer in it.
        peers: the other participants.
    """

    def __init__(self, plan: MaskedPlan, place: int, peers: Peers) -> None:
        self._plan = plan
        self._place = place
        self._peers = peers
        self._latest: tuple[ScoreQuery, ScoreEvaluator] | None = None

    def prepare(self, query: ScoreQuery) -> None:
        """Begins a score query instead of an earlier one; a repeated query goes on.

        Raises:
            ProtocolError: the plan names another evaluator.
        """
        if self._plan.evaluators[:1] != (self._place,):
            raise ProtocolError("a dealer evaluates scores only if the plan names it; compare the plan")
        if self._latest is None or self._latest[0] != query:
            resharing = Resharing(self._plan, query, self._place, self._peers)
            self._latest = query, ScoreEvaluator(resharing, None)

    def evaluator(self, query_id: str) -> ScoreEvaluator:
        """The evaluator of the latest query.

        Raises:
            DeliveriesLost: this query was not prepared, or another one after it.
        """
        if self._latest is None or self._latest[0].query_id != query_id:
            raise DeliveriesLost("a step of a score query comes before the query; prepare the scores again")
        return self._latest[1]


def wrong_recipient() -> ProtocolError:
    """The refusal to send a step to somebody else."""
    return ProtocolError("expected the evaluator that receives this step as recipient; compare the plan")

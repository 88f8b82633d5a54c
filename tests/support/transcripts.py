"""What a curator sees of a release: every query that parties answered, their words, and their replies again."""

from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.common.data.interactions import difference_count
from dpmosaic.common.messages import DeliveryKind, MarginalQuery, ScoreQuery
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.wire import codec, queries, streams


@dataclass(eq=False)
class Answered:
    """A query, and the integers that each party answered, by its place in the roster."""

    query: MarginalQuery | ScoreQuery
    words: dict[int, np.ndarray] = field(default_factory=dict)

    def values(self, ring):
        """The noisy values, in counts; the sum over parties in the ring, or a single party's answer."""
        words = list(self.words.values())
        if ring is None:
            (total,) = words
        else:
            total = ring.signed(sum((ring.words(w) for w in words), start=np.zeros(1, dtype=ring.dtype)))
        return total / grid_of(self.query.sigma)


class Transcript:
    """Answers and public references of one release, read from the messages."""

    def __init__(self, domain):
        self.domain = domain
        self.answered: dict[bytes, Answered] = {}
        self.references: dict[str, np.ndarray] = {}
        self.replies = defaultdict(deque)
        self.terms = None

    def note(self, place, method, requests, replies):
        self.replies[place, method, tuple(requests)].append(replies)
        if method == "Accept":
            self.terms = decode_terms(codec.decode_signed_terms(requests[0])[0])
        elif method == "Answer":
            query = queries.decode_query(requests[0])
            self._note_answer(place, requests[0], query, self._words_of(query), replies)
        elif method == "AnswerScores":
            query = queries.decode_score_query(requests[0])
            self._note_answer(place, requests[0], query, len(query.cliques), replies)
        elif method == "Deliver":
            header, chunks = streams.decode_delivery(iter(requests))
            if header.kind is DeliveryKind.SCORE_REFERENCES:
                self.references[header.query_id] = np.frombuffer(b"".join(chunks), dtype="<i8")

    def _words_of(self, query):
        if query.interaction:
            return difference_count(self.domain.shape(query.clique))
        return len(query.boxes) or self.domain.cells(query.clique)

    def _note_answer(self, place, key, query, words, replies):
        (block,) = streams.decode_answer(iter(replies), 1, words, 1)
        self.answered.setdefault(key, Answered(query)).words[place] = block[0]


class Recorded:
    """A connection that notes what passes."""

    def __init__(self, connection, place, transcript):
        self.connection, self.place, self.transcript = connection, place, transcript

    def call(self, method, requests):
        requests = list(requests)
        replies = list(self.connection.call(method, requests))
        self.transcript.note(self.place, method, requests, replies)
        yield from replies


class Replayed:
    """A connection without a party: it replies to a noted request as the party did, and to no other."""

    def __init__(self, place, transcript):
        self.place, self.transcript = place, transcript

    def call(self, method, requests):
        noted = self.transcript.replies[self.place, method, tuple(requests)]
        assert noted, f"{method}: this request was not sent in the release that is replayed"
        yield from noted.popleft()

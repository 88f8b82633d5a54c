"""What a curator sees of a release: every answered query, and the parties' replies to hear again."""

from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.common.data.interactions import differences
from dpmosaic.common.messages import AnswerRequest, SignedTerms
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.queries import MarginalQuery, ScoreQuery
from dpmosaic.common.wire import codec, streams


@dataclass(eq=False)
class Answered:
    """A query, and the integers that each party answered, by its place in the roster.

    Attributes:
        query: the query.
        words: words of each party.
        noise: noise of each party of a masked release, before differences are taken; no curator sees it.
    """

    query: MarginalQuery | ScoreQuery
    words: dict[int, np.ndarray] = field(default_factory=dict)
    noise: dict[int, np.ndarray] = field(default_factory=dict)

    def values(self, ring, shape=(), colluder=None):
        """The noisy values, in counts; the sum over parties in the ring, or a single party's answer.

        Args:
            ring: ring of a masked release, or None.
            shape: shape of the marginal, if the query is for its interaction.
            colluder: a party that tells the curator its noise, or None.
        """
        words = list(self.words.values())
        if ring is None:
            (total,) = words
        else:
            total = ring.as_signed(sum((ring.words(w) for w in words), start=np.zeros(1, dtype=ring.dtype)))
        if colluder is not None:
            known = self.noise[colluder]
            total = total - (differences(known, shape) if shape else known)
        return total / grid_of(self.query.sigma)


class Transcript:
    """Answers of one release, read from the messages, and public references."""

    def __init__(self, domain):
        self.domain = domain
        self.answered: dict[bytes, Answered] = {}
        self.references: dict[str, np.ndarray] = {}
        self.replies = defaultdict(deque)
        self.terms = None
        self.drawn = None

    def note(self, place, method, requests, replies):
        self.replies[place, method, tuple(requests)].append(replies)
        if method == "Accept":
            self.terms = decode_terms(codec.decode(SignedTerms, requests[0]).terms)
        elif method == "Answer":
            query = codec.decode(AnswerRequest, requests[0]).query
            self._note_answer(place, requests[0], query, query.view.sent_count(self.domain), replies)
        elif method == "AnswerScores":
            query = codec.decode(ScoreQuery, requests[0])
            self._note_answer(place, requests[0], query, len(query.views), replies)

    def _note_answer(self, place, key, query, words, replies):
        (block,) = streams.decode_answer(iter(replies), 1, words, 1)
        answered = self.answered.setdefault(key, Answered(query))
        answered.words[place], answered.noise[place] = block[0], self.drawn


class Recorded:
    """A connection that notes what passes."""

    def __init__(self, connection, place, transcript):
        self.connection, self.place, self.transcript = connection, place, transcript

    def call(self, method, requests):
        requests = list(requests)
        replies = list(self.connection.call(method, requests))
        self.transcript.note(self.place, method, requests, replies)
        yield from replies


class AnotherRequest(Exception):
    """A replayed release sends a request that was not sent before."""


class Replayed:
    """A connection without a party: it replies to a noted request as the party did, and to no other."""

    def __init__(self, place, transcript):
        self.place, self.transcript = place, transcript

    def call(self, method, requests):
        noted = self.transcript.replies[self.place, method, tuple(requests)]
        if not noted:
            raise AnotherRequest(method)
        yield from noted.popleft()

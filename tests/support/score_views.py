"""The views of curator, dealer and evaluators of scores over 2 x 2 parties."""

import itertools
from collections import defaultdict

import numpy as np

from dpmosaic.common.canonical.queries import query_digest
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores import dealer as dealing
from dpmosaic.common.protocols.scores import evaluator as evaluating
from dpmosaic.common.protocols.scores.query import score_shape
from dpmosaic.common.wire import queries, streams
from dpmosaic.party.answerers.masked import scores as steps
from support import taps
from support.parties import measurer_over
from support.taps import GRANTED

DOMAIN = Domain.coded({"a": 6, "d": 3, "b": 8, "c": 5})
"""In both slices one party holds a and d, another b and c."""

RECORDS = 400
CLIQUES = [("a",), ("b",), ("a", "b"), ("a", "d"), ("d", "c"), ("d", "b", "c")] * 40
"""Inside one party and over two; one word of an answer for each."""

CELLS = [DOMAIN.cells(clique) for clique in CLIQUES]
REFERENCES = [np.full(cells, RECORDS // cells, dtype=np.int64) for cells in CELLS]
ZERO, ONE = 0, 3
"""The evaluators: the first party of the first slice and the last of the last."""


def table_of(kind):
    """A table whose records are all equal, or all drawn at random."""
    return taps.table_of(kind, DOMAIN, RECORDS)


class Tap:
    """A connection of a curator that records its messages."""

    def __init__(self, connection, place, crossed):
        self.connection, self.place, self.crossed = connection, place, crossed

    def call(self, method, requests):
        requests = list(requests)
        replies = list(self.connection.call(method, requests))
        self.crossed.append((self.place, method, requests, replies))
        yield from replies


def measurer_of(table, granted, seed):
    """A release over 2 x 2 parties whose messages are tapped, and the messages so far."""
    crossed, places = [], itertools.count()
    dealer = RandomStream.from_seed(seed).child("dealer")
    measurer = measurer_over(
        table, "2x2", granted, seed=seed, dealer=dealer, tapped=lambda link: Tap(link, next(places), crossed)
    )
    assert measurer._plan.evaluators == (ZERO, ONE)
    return measurer, crossed


def views_of(table, monkeypatch, *, bits=32, seed=1):
    """Scores the same cliques twice and returns the views of curator, dealer and evaluators.

    Returns:
        Name of a view -> key of its message -> words, shape (words,); and the scores of both queries.
    """
    measurer, crossed = measurer_of(table, GRANTED[bits], seed)
    ring, plan, dealer = measurer._plan.ring, measurer._plan, measurer._dealer
    assert ring == Ring(bits)
    received, shares = {}, {}
    unsealed, evaluate = steps.SharedScores._unsealed, steps.evaluate

    def seen(self, delivery, chunks, size):
        sent = unsealed(self, delivery, chunks, size)
        received[self._query.query_id, self._session.me, delivery.sender, delivery.step] = sent
        return sent

    def evaluated(shape, index, share, stream, dealt):
        shares.setdefault(plan.evaluators[index], []).append(share)
        return evaluate(shape, index, share, stream, dealt)

    with monkeypatch.context() as patched:
        patched.setattr(steps.SharedScores, "_unsealed", seen)
        patched.setattr(steps, "evaluate", evaluated)
        rho = measurer.accountant.granted / 2
        found = [measurer.score(CLIQUES, REFERENCES, rho, "scores") for _ in range(2)]

    asked_ids = list(dict.fromkeys(key[0] for key in received))
    answers, sealed, salts = defaultdict(dict), {}, []
    views = defaultdict(dict)
    asked = {}
    for place, method, requests, replies in crossed:
        if method == "AnswerScores":
            query = queries.decode_score_query(requests[0])
            asked[query.query_id] = query
            (answer,) = streams.decode_answer(replies, 1, len(CLIQUES), 1)
            answers[query.query_id][place] = ring.words(answer[0])
        elif method == "Deliver":
            delivery, chunks = streams.decode_delivery(iter(requests))
            if delivery.kind is DeliveryKind.SCORE_STEP:
                salt, *frames = chunks
                salts.append(salt)
                octets = b"".join(frames)[
                    : len(received[delivery.query_id, place, delivery.sender, delivery.step])
                ]
                sealed[delivery.query_id, place, delivery.sender, delivery.step] = octets
            elif delivery.kind is DeliveryKind.DEALT_SCORES:
                views["dealt"][delivery.query_id] = wide(b"".join(chunks))
    assert len(set(salts)) == len(salts) == len(received)

    for key, octets in sealed.items():
        views["sealed"][key] = wide(octets)
    for (query, to, sender, step), octets in received.items():
        words = np.frombuffer(octets, dtype=ring.dtype) if step < 2 else wide(octets)
        views["received"][query, to, sender, step] = words
    for number, query in enumerate(asked_ids):
        shape = score_shape(
            plan, tuple(CELLS), asked[query].sigma, asked[query].largest_reference, asked[query].largest_total
        )
        rounds = {step: [received[query, ONE, ZERO, step], received[query, ZERO, ONE, step]] for step in
                  range(1, 1 + shape.rounds)}  # fmt: skip
        delta = sum(np.frombuffer(octets, dtype=ring.dtype) for octets in rounds[1])
        views["opened by both"][query, 1] = delta
        signs = [np.frombuffer(octets, dtype=np.uint8) for octets in rounds[shape.rounds]]
        for step in range(2, 1 + shape.rounds):
            one, other = (np.frombuffer(octets, dtype=np.uint8) for octets in rounds[step])
            views["opened by both"][query, step] = wide((one ^ other).tobytes())
        top = evaluating.packed(evaluating.bit_of(delta, shape.bits - 1))
        views["signs opened, with the difference's"][query] = wide((signs[0] ^ signs[1] ^ top).tobytes())
        for to, sender in ((ZERO, ONE), (ONE, ZERO)):
            difference = np.frombuffer(received[query, to, sender, 1], dtype=ring.dtype)
            views["received, with the receiver's share"][query, to] = difference + shares[to][number]
        masking = [dealer.masks[place].child("scores", query_digest(asked[query])) for place in (ZERO, ONE)]
        masks = sum(dealing.draw_masks(shape, stream).words for stream in masking)
        relayed = sum(
            np.frombuffer(sealed[query, to, sender, 1], dtype=ring.dtype)
            for to, sender in ((ZERO, ONE), (ONE, ZERO))
        )
        views["sealed differences, with the dealer's masks"][query] = relayed + masks
        for size in (1, 2, 3):
            for some in itertools.combinations(range(4), size):
                total = sum(answers[query][place] for place in some)
                views["answers of some parties"][query, some] = total
    first, second = asked_ids
    for name in ("received", "dealt", "answers of some parties"):
        for key, words in list(views[name].items()):
            if (key if isinstance(key, str) else key[0]) == first:
                again = views[name][second if isinstance(key, str) else (second, *key[1:])]
                views["one query's, less another's"][name, key] = words - again
    return dict(views), found


def wide(octets):
    """Bytes as words of 32 bits, without up to three bytes at the end."""
    return np.frombuffer(octets[: len(octets) // 4 * 4], dtype=np.uint32)


EVERYTHING = {
    "sealed",
    "sealed differences, with the dealer's masks",
    "received",
    "received, with the receiver's share",
    "opened by both",
    "signs opened, with the difference's",
    "dealt",
    "answers of some parties",
    "one query's, less another's",
}


def distances(table):
    return np.array([np.abs(table.marginal(c) - r).sum() for c, r in zip(CLIQUES, REFERENCES, strict=True)])

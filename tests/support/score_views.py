"""The views of the curator and of the evaluators of scores over 2 x 2 parties."""

import itertools
from collections import defaultdict

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing import evaluator as steps
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores import evaluator as evaluating
from dpmosaic.common.protocols.scores.shape import ScoreShape
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire import codec, streams
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
ZERO, ONE, TWO = EVALUATORS = 2, 0, 3
"""The evaluators: the first party of each slice, and the last one."""


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
    measurer = measurer_over(
        table, "2x2", granted, seed=seed, tapped=lambda link: Tap(link, next(places), crossed)
    )
    assert measurer._plan.evaluators == EVALUATORS
    return measurer, crossed


def views_of(table, monkeypatch, *, bits=32, seed=1):
    """Scores the same cliques twice and returns the views of the curator and the evaluators.

    Returns:
        Name of a view -> key of its message -> words, shape (words,); and the scores of both queries.
    """
    measurer, crossed = measurer_of(table, GRANTED[bits], seed)
    ring = measurer._plan.ring
    assert ring == Ring(bits)
    received, held, computing = {}, {}, []
    unsealed, begun, component = (
        steps.Resharing.unseal,
        steps.ScoreEvaluator._begun,
        evaluating.product_component,
    )

    def seen(self, delivery, chunks, size):
        sent = unsealed(self, delivery, chunks, size)
        received[delivery.query_id, self.me, delivery.sender, delivery.step] = sent
        return sent

    def beginning(self):
        computing[:] = [self._resharing.query.query_id, EVALUATORS[self.role]]
        return begun(self)

    def multiplied(left, right, zero):
        layer = sum(key[:2] == tuple(computing) for key in held)
        # A wire that is a factor of several products counts once: its words would not be independent.
        wires = dict.fromkeys(wire.tobytes() for side in (left, right) for wire in side[0] ^ side[1])
        held[(*computing, layer)] = wide(b"".join(wires))
        return component(left, right, zero)

    with monkeypatch.context() as patched:
        patched.setattr(steps.Resharing, "unseal", seen)
        patched.setattr(steps.ScoreEvaluator, "_begun", beginning)
        patched.setattr(evaluating, "product_component", multiplied)
        rho = measurer.accountant.granted / 2
        found = [measurer.score([*map(View, CLIQUES)], REFERENCES, rho, "scores") for _ in range(2)]

    first, second = dict.fromkeys(key[0] for key in received)
    stages = ScoreShape(tuple(CELLS), ring).stages
    last = sum(map(len, stages))
    sealed, answers, salts = {}, defaultdict(dict), []
    for place, method, requests, replies in crossed:
        if method == "AnswerScores":
            (answer,) = streams.decode_answer(replies, 1, len(CLIQUES), 1)
            answers[codec.decode(ScoreQuery, requests[0]).query_id][place] = ring.words(answer[0])
        elif method == "Deliver":
            delivery, chunks = streams.decode_delivery(iter(requests))
            if delivery.kind is DeliveryKind.SCORE_STEP:
                salt, *frames = chunks
                salts.append(salt)
                key = delivery.query_id, place, delivery.sender, delivery.step
                sealed[key] = b"".join(frames)[: len(received[key])]
    assert len(set(salts)) == len(salts) == len(received)

    views = defaultdict(dict, {"what an evaluator holds, added up": held})
    for key, octets in sealed.items():
        # Seeds are too short for a test.
        if key[1:] != (TWO, ONE, 0):
            words = key[3] in (0, last)
            views["sealed"][key] = wide(octets)
            views["received"][key] = (
                np.frombuffer(received[key], ring.dtype) if words else wide(received[key])
            )
    for query in (first, second):
        number = 1
        for stage in stages:
            if len(stage) == 3:
                parts = [
                    wide(sealed[query, EVALUATORS[step.recipient], EVALUATORS[step.sender], number + i])
                    for i, step in enumerate(stage)
                ]
                views["sealed components, added up"][query, number] = parts[0] ^ parts[1] ^ parts[2]
            number += len(stage)
        for size in (1, 2, 3):
            for some in itertools.combinations(range(4), size):
                total = sum(answers[query][place] for place in some)
                views["answers of some parties"][query, some] = total
    for name in ("received", "answers of some parties"):
        for key, words in list(views[name].items()):
            if key[0] == first:
                views["one query's, less another's"][name, key] = words - views[name][second, *key[1:]]
    return dict(views), found


def wide(octets):
    """Bytes as words of 32 bits, without up to three bytes at the end."""
    return np.frombuffer(octets[: len(octets) // 4 * 4], dtype=np.uint32)


EVERYTHING = {
    "sealed",
    "sealed components, added up",
    "received",
    "what an evaluator holds, added up",
    "answers of some parties",
    "one query's, less another's",
}


def distances(table):
    return np.array([np.abs(table.marginal(c) - r).sum() for c, r in zip(CLIQUES, REFERENCES, strict=True)])

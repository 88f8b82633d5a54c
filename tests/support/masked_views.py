"""The views of curator and parties of a masked release over three parties."""

import itertools
from collections import defaultdict

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.messages import AnswerRequest, DeliveryKind
from dpmosaic.common.protocols.arithmetic.ring import WIDE, Ring
from dpmosaic.common.protocols.masked import sacrifice
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.protocols.masked.sacrifice import inner
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.answerers.masked.dealt import DealtShare
from dpmosaic.party.answerers.masked.openings import Openings
from support import taps
from support.taps import GRANTED, Curator

DOMAIN = Domain.coded({"a": 6, "d": 3, "b": 8, "c": 5})
"""Three parties hold a and d, b, c."""

RECORDS = 400
LONG = ("a", "b", "c")
CLIQUES = [("a",), ("a", "b"), ("a", "c"), ("b", "c"), ("d", "b"), ("a", "d", "b"), LONG]
REPEATS = 4
EVERYTHING = {
    "sealed",
    "sealed, with the masks",
    "sealed by a dealer",
    "opened",
    "opened, with a party's own masks",
    "opened shares of one matrix, added up",
    "opened by a party, less one another",
    "dealt rows",
    "sealed checks",
    "checks",
    "dealt products",
    "answers of some parties",
    "answers to one question, less one another",
}


def table_of(kind, domain=DOMAIN, records=RECORDS):
    """A table whose records are all equal, or all drawn at random."""
    return taps.table_of(kind, domain, records)


def views_of(table, monkeypatch, *, bits=32, seed=1, dealers=0):
    """Runs a release over three parties and returns the views of curator and parties.

    Args:
        table: table that the parties share.
        monkeypatch: observes what parties receive.
        bits: bits of the ring.
        seed: seed of all keys.
        dealers: number of dealers; if zero, the curator deals.

    Returns:
        Name of a view -> key of its message -> words, shape (rows, columns); and the measurements.
    """
    views = defaultdict(dict)
    curator = Curator(table, "1x3", GRANTED[bits], seed, dealers=dealers)
    measurer = curator.measurer()
    ring, plan = measurer._plan.ring, measurer._plan
    assert ring == Ring(bits)
    opened, dealt, answers, salts = {}, [], defaultdict(list), []
    put, add = Openings.put, DealtShare.add

    def seen(self, key, ring, rows, cells, chunks, within=None):
        chunks = list(chunks)
        words = np.frombuffer(b"".join(chunks), dtype=ring.dtype).reshape(rows, cells)
        if key[0] is DeliveryKind.DEALT_ROWS:
            views["dealt rows"][curator.wire.receiver, *key[1:]] = words
        else:
            opened[curator.wire.receiver, *key] = words
        put(self, key, ring, rows, cells, chunks, within)

    def compared(left, right):
        views["checks"][curator.wire.receiver, len(views["checks"])] = left
        return inner(left, right)

    def added(self, dealer, words):
        dealt.append(((curator.wire.receiver, dealer), words.copy()))
        add(self, dealer, words)

    rho = curator.granted / (len(CLIQUES) * REPEATS)
    with monkeypatch.context() as patched:
        patched.setattr(Openings, "put", seen)
        patched.setattr(DealtShare, "add", added)
        patched.setattr(sacrifice, "inner", compared)
        found = measurer.measure([Query(View(clique), rho, "test") for clique in CLIQUES * REPEATS])

    def mask(party, chain, rows):
        masks = curator.session(party)._seeds.masks
        return masks.child("mask", *labels(chain)).uniform(ring, 0, rows, plan.cells(chain))

    for place, method, requests, replies in curator.wire.crossed:
        if method == "Answer":
            cells = plan.domain.cells(codec.decode(AnswerRequest, requests[0]).query.clique)
            (answer,) = streams.decode_answer(replies, 1, cells, 1)
            answers[place].append(ring.words(answer[0]))
        elif method == "Deliver":
            delivery, chunks = streams.decode_delivery(iter(requests))
            if delivery.kind is DeliveryKind.RECORD_ORDER:
                continue
            salt, *frames = chunks
            salts.append(salt)
            if delivery.kind in (DeliveryKind.MASK_SEEDS, DeliveryKind.DEALT_CHECK):
                # Too short for a test.
                continue
            if delivery.kind is DeliveryKind.CHECK:
                octets = b"".join(frames)[: RECORDS * WIDE.word_bytes]
                words = np.frombuffer(octets, dtype=WIDE.dtype).reshape(RECORDS, 1)
                views["sealed checks"][place, delivery.sender, delivery.chain, len(salts)] = words
                continue
            several = delivery.kind is DeliveryKind.DEALT_PRODUCTS
            rows, chains = (1, delivery.chains) if several else (RECORDS, (delivery.chain,))
            cells = sum(map(plan.cells, chains))
            octets = b"".join(frames)[: rows * cells * ring.word_bytes]  # a sealed stream ends in a tag
            words = np.frombuffer(octets, dtype=ring.dtype).reshape(rows, cells)
            if delivery.kind is DeliveryKind.OPENING:
                key = (place, delivery.sender, delivery.chain)
                views["sealed"][key] = words
                views["sealed, with the masks"][key] = words + mask(delivery.sender, delivery.chain, rows)
            else:
                views["sealed by a dealer"][place, delivery.sender, chains] = words.reshape(-1, 1)
    assert len(set(salts)) == len(salts)
    assert {len(salt) for salt in salts} == {32}
    for ends in {ends for ends, _ in dealt}:
        words = [words for both, words in dealt if both == ends]
        views["dealt products"][ends] = np.concatenate(words)[:, None]

    matrices, senders = defaultdict(list), defaultdict(dict)
    for (place, sender, chain), words in opened.items():
        views["opened"][place, sender, chain] = words
        views["opened, with a party's own masks"][place, sender, chain] = words + mask(place, chain, RECORDS)
        matrices[place, chain].append(words)
        senders[sender][chain] = words.ravel()
    for key, shares in matrices.items():
        if len(shares) > 1:
            views["opened shares of one matrix, added up"][key] = sum(shares)
    for sender, held in senders.items():
        for one, other in itertools.combinations(sorted(held), 2):
            size = min(len(held[one]), len(held[other]))
            difference = held[one][:size] - held[other][:size]
            views["opened by a party, less one another"][sender, one, other] = difference[:, None]

    for size in (1, 2):
        for some in itertools.combinations(range(3), size):
            sums = [sum(words) for words in zip(*(answers[i] for i in some), strict=True)]
            views["answers of some parties"][some] = np.concatenate(sums)[:, None]
            # The same queries were repeated REPEATS times, round by round.
            repeated = [one - other for one, other in zip(sums, sums[len(CLIQUES) :], strict=False)]
            views["answers to one question, less one another"][some] = np.concatenate(repeated)[:, None]
    return views, found

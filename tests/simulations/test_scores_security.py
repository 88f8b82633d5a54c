"""What curator, dealer and evaluators see of scores over parties.

Everything but the sum of all answers is uniform words. Tests of uniformity and of likeness are functions that
reject at p < 1e-6; about 2,400 of them have to accept, so a correct program would fail for fewer than 1 in
400 choices of the seeds, which are fixed. For every mask, a run without it has to be rejected: a test that
could not see a missing mask would prove nothing of one that is there.
"""

import itertools
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.messages import PROTOCOL_VERSION, DeliveryKind, ReleaseTerms
from dpmosaic.common.privacy.cost import Adjacency, grid_of
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores import dealer as dealing
from dpmosaic.common.protocols.scores import evaluator as evaluating
from dpmosaic.common.protocols.scores.query import score_shape
from dpmosaic.common.wire import queries, streams
from dpmosaic.curator.measurers.masked import MaskedMeasurer, masked_plan
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.answerers.masked import peers
from dpmosaic.party.answerers.masked import scores as steps
from dpmosaic.simulations import network
from dpmosaic.simulations.partition import Grid, partition

ALPHA = 1e-6
GRANTED = {32: Fraction(1), 64: Fraction(3 * 10**11)}
"""Budgets that make a release choose the ring."""

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
    rng = np.random.default_rng(11)
    sizes = DOMAIN.sizes
    columns = [np.full(RECORDS, 1) if kind == "equal" else rng.integers(0, n, RECORDS) for n in sizes]
    return Table.from_codes(DOMAIN, np.column_stack(columns))


class Tap:
    """A connection of a curator that keeps what crosses it."""

    def __init__(self, connection, place, crossed):
        self.connection, self.place, self.crossed = connection, place, crossed

    def call(self, method, requests):
        requests = list(requests)
        replies = list(self.connection.call(method, requests))
        self.crossed.append((self.place, method, requests, replies))
        yield from replies


def measurer_of(table, granted, seed):
    """A release over 2 x 2 parties whose messages are tapped, and what crossed so far."""
    keys, crossed, places = RandomStream.from_seed(seed), [], itertools.count()
    policy = network.policy_for("masked", Adjacency.ZERO_OUT, float(granted))
    links = network.start_parties(partition(table, Grid.parse("2x2", DOMAIN, RECORDS)), policy, keys)
    federation = connect(DOMAIN, [[Tap(link, next(places), crossed) for link in row] for row in links])
    plan = masked_plan(federation, granted, Adjacency.ZERO_OUT)
    assert plan.evaluators == (ZERO, ONE)
    terms = ReleaseTerms("release", PROTOCOL_VERSION, "masked", Adjacency.ZERO_OUT, float(granted), plan)
    acceptances = federation.accept(terms)
    return MaskedMeasurer(federation, terms, acceptances, granted, keys.child("dealer")), crossed


# What is tested of words: functions that give the probability of something as odd or odder.


def uniformity(words):
    """Of words this far from uniform ones, in size, in all digits to base 16, in first and in last ones."""
    bits = 8 * words.itemsize
    digits = np.stack(
        [(words >> words.dtype.type(shift)) & words.dtype.type(15) for shift in range(0, bits, 4)]
    )
    odds = [stats.kstest(words / 2.0**bits, "uniform", method="asymp").pvalue]
    odds += [
        stats.chisquare(np.bincount(some.ravel().astype(int), minlength=16)).pvalue
        for some in (digits, digits[0], digits[-1])
    ]
    return min(1.0, len(odds) * min(odds))


def likeness(one, other):
    """Of words this different, if both came from one distribution."""
    return stats.ks_2samp(one.astype(float), other.astype(float), method="asymp").pvalue


def rejected(views):
    """The names of what is seen of which some words are not uniform."""
    return {name for name, seen in views.items() if any(uniformity(words) < ALPHA for words in seen.values())}


# What each role sees.


def views_of(table, monkeypatch, *, bits=32, seed=1):
    """Scores the same cliques twice; what curator, dealer and evaluators saw.

    Returns:
        What is seen, by name -> what it is of -> words, shape (words,); and the scores of both queries.
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

    queries = list(dict.fromkeys(key[0] for key in received))
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
    for number, query in enumerate(queries):
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
        streams = [
            RandomStream(dealer.seeds[place]).child("scores", digest_of(asked[query]))
            for place in (ZERO, ONE)
        ]
        masks = sum(dealing.draw_masks(shape, stream).words for stream in streams)
        relayed = sum(
            np.frombuffer(sealed[query, to, sender, 1], dtype=ring.dtype)
            for to, sender in ((ZERO, ONE), (ONE, ZERO))
        )
        views["sealed differences, with the dealer's masks"][query] = relayed + masks
        for size in (1, 2, 3):
            for some in itertools.combinations(range(4), size):
                total = sum(answers[query][place] for place in some)
                views["answers of some parties"][query, some] = total
    first, second = queries
    for name in ("received", "dealt", "answers of some parties"):
        for key, words in list(views[name].items()):
            if (key if isinstance(key, str) else key[0]) == first:
                again = views[name][second if isinstance(key, str) else (second, *key[1:])]
                views["one query's, less another's"][name, key] = words - again
    return dict(views), found


def digest_of(query):
    return steps.hashlib.sha256(queries.encode_score_query(query)).hexdigest()


def wide(octets):
    """Bytes as words of 32 bits, for tests; up to three at the end are left out."""
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


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_all_that_anybody_sees_but_the_sum_over_all_parties_is_uniform(kind, bits, monkeypatch):
    views, _ = views_of(table_of(kind), monkeypatch, bits=bits)
    assert set(views) == EVERYTHING
    assert rejected(views) == set()
    # The cells of the two other parties go to evaluator 0, and as many rounds each way.
    received = {(to, sender, step) for _, to, sender, step in views["received"]}
    rounds = range(1, 1 + max(step for _, _, step in received))
    assert len(rounds) >= 3
    assert received == {(ZERO, 1, 0), (ZERO, 2, 0)} | {
        (to, sender, step) for to, sender in ((ZERO, ONE), (ONE, ZERO)) for step in rounds
    }
    assert len(views["received"]) == 2 * len(received)


@pytest.mark.parametrize("bits", [32, 64])
def test_nothing_that_anybody_sees_tells_two_tables_apart(bits, monkeypatch):
    one, _ = views_of(table_of("equal"), monkeypatch, bits=bits, seed=1)
    other, _ = views_of(table_of("random"), monkeypatch, bits=bits, seed=2)
    for name in EVERYTHING:
        assert one[name].keys() == other[name].keys()
        for key in one[name]:
            assert likeness(one[name][key], other[name][key]) > ALPHA


def test_the_sum_over_all_parties_is_the_distances_with_the_stated_noise(monkeypatch):
    """Chi-square over 480 scores: two-sided, p < 1e-6."""
    table = table_of("random")
    _, found = views_of(table, monkeypatch)
    errors = np.concatenate([scores.values - distances(table) for scores in found]) / found[0].sigma
    below = stats.chi2.cdf(np.sum(errors**2), errors.size)
    assert 5e-7 < below < 1 - 5e-7
    grid = grid_of(found[0].sigma)
    assert uniformity(Ring(32).words((found[0].values * grid).astype(np.int64))) < ALPHA


class Zeros:
    """A stream of zeros: what is left of a mask that somebody forgot."""

    def bytes(self, count):
        return np.zeros(count, dtype=np.uint8)


def forget(monkeypatch, kind):
    """Lets every role take zeros for the words of this kind."""
    child = RandomStream.child
    monkeypatch.setattr(
        RandomStream, "child", lambda self, *names: Zeros() if names[0] == kind else child(self, *names)
    )


def shorten(monkeypatch, kind):
    """Lets every role derive the streams of this kind without the query."""
    child = RandomStream.child
    monkeypatch.setattr(
        RandomStream,
        "child",
        lambda self, *names: child(self, *(names[:1] if names[0] == kind else names)),
    )


def forget_masks(monkeypatch, **parts):
    """Lets evaluators and dealer take zeros for some of the masks that they draw."""
    draw = dealing.draw_masks

    def drawn(shape, stream):
        masks = draw(shape, stream)
        return replace(masks, **{name: change(getattr(masks, name)) for name, change in parts.items()})

    monkeypatch.setattr(dealing, "draw_masks", drawn)
    monkeypatch.setattr(evaluating, "draw_masks", drawn)


def forget_complement(monkeypatch):
    """Lets evaluator 0 and the dealer take zeros for the share of what is dealt."""

    def read(shape, octets, whole=dealing.read_complement):
        return whole(shape, np.zeros_like(octets))

    monkeypatch.setattr(dealing, "read_complement", read)
    monkeypatch.setattr(
        evaluating,
        "read_complement",
        lambda shape, octets, whole=evaluating.read_complement: whole(
            # What evaluator 0 draws can be written to; what evaluator 1 is sent cannot.
            shape,
            np.zeros_like(octets) if octets.flags.writeable else octets,
        ),
    )


def forget_sealing(monkeypatch):
    monkeypatch.setattr(peers, "seal", lambda key, context, payload: (bytes(piece) for piece in payload))
    monkeypatch.setattr(peers, "unseal", lambda key, context, frames: frames)


FORGOTTEN = {
    "the part of evaluator 1 in what is shared anew": (
        lambda m: forget(m, "score shares"),
        {"received", "one query's, less another's"},
    ),
    "the query in what is shared anew": (
        lambda m: shorten(m, "score shares"),
        {"one query's, less another's"},
    ),
    "the words under which differences are opened": (
        lambda m: forget_masks(m, words=np.zeros_like),
        {"opened by both", "received, with the receiver's share"},
    ),
    "the masks of the layers": (
        lambda m: forget_masks(m, layers=lambda layers: [np.zeros_like(planes) for planes in layers]),
        {"opened by both", "received"},
    ),
    "the mask of the sign": (
        lambda m: forget_masks(m, sign=np.zeros_like),
        {"signs opened, with the difference's"},
    ),
    "the share of what is dealt": (forget_complement, {"dealt", "one query's, less another's"}),
    "the query in the evaluators' streams": (
        lambda m: shorten(m, "scores"),
        {"one query's, less another's"},
    ),
    "the pairwise mask": (
        lambda m: forget(m, "pairwise mask"),
        {"answers of some parties", "one query's, less another's"},
    ),
    "the query in the pairwise mask": (
        lambda m: shorten(m, "pairwise mask"),
        {"one query's, less another's"},
    ),
    "sealing": (forget_sealing, {"sealed differences, with the dealer's masks"}),
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("remove", "noticed"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_mask_that_is_missing_or_used_twice_shows_in_what_it_was_to_hide(
    remove, noticed, bits, monkeypatch
):
    remove(monkeypatch)
    table = table_of("random")
    views, found = views_of(table, monkeypatch, bits=bits)
    assert rejected(views) == noticed
    # Every role forgot it, so the scores are as they were and nobody would notice.
    for scores in found:
        assert np.all(np.abs(scores.values - distances(table)) < 8 * scores.sigma)


def test_two_tables_are_told_apart_by_cells_that_are_not_shared_anew(monkeypatch):
    forget(monkeypatch, "score shares")
    one, other = (
        views_of(table_of(kind), monkeypatch, seed=seed)[0]["received"]
        for kind, seed in (("equal", 1), ("random", 2))
    )
    for key in one:
        assert (likeness(one[key], other[key]) < ALPHA) == (key[3] == 0)

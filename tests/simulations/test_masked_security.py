"""What curator and parties see of a masked release, and what a curator that cheats gets out of it.

Curator and parties see uniform words and noisy sums. Tests of uniformity, of likeness and of noise are
functions that reject at p < 1e-6; about 1,400 of them have to accept, so a correct program would fail for
fewer than 1 in 700 choices of the seeds, which are fixed. For every mask, a run without it has to be
rejected: a test that could not see a missing mask would prove nothing of one that is there.
"""

import hashlib
import itertools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.messages import (
    PROTOCOL_VERSION,
    Acceptance,
    AnswerForm,
    Delivery,
    DeliveryKind,
    Introduction,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    ReleaseTerms,
)
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.protocols.masked.reveal import opened_sum
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.wire import queries, streams
from dpmosaic.curator.measurers.masked import MaskedMeasurer, masked_plan
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.dealer import Dealer
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.answerers.masked import peers
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.simulations import network
from dpmosaic.simulations.partition import Grid, partition

ALPHA = 1e-6
GRANTED = {32: Fraction(1), 64: Fraction(3 * 10**11)}
"""Budgets that make a release choose the ring."""

DOMAIN = Domain.coded({"a": 6, "d": 3, "b": 8, "c": 5})
"""Three parties hold a and d, b, c."""

RECORDS = 400
LONG = ("a", "b", "c")
CLIQUES = [("a",), ("a", "b"), ("a", "c"), ("b", "c"), ("d", "b"), ("a", "d", "b"), LONG]
REPEATS = 4


def table_of(kind, domain=DOMAIN, records=RECORDS):
    """A table whose records are all equal, or all drawn at random."""
    rng = np.random.default_rng(11)
    columns = [
        np.full(records, n - 1) if kind == "equal" else rng.integers(0, n, records) for n in domain.sizes
    ]
    return Table.from_codes(domain, np.column_stack(columns))


class Tap:
    """A connection of a curator that keeps what crosses it and may alter what a party opens.

    Args:
        connection: to the party.
        place: of the party in the roster.
        wire: what all taps share.
    """

    def __init__(self, connection, place, wire):
        self.connection, self.place, self.wire = connection, place, wire

    def call(self, method, requests):
        if method == "Deliver":
            self.wire.receiver = self.place
            requests = list(requests)
        replies = self.connection.call(method, requests)
        if method in ("Open", "Answer"):
            replies = list(replies)
        if method == "Open" and self.wire.alter is not None:
            replies = list(streams.encode_payload(self.wire.alter(list(streams.decode_payload(replies)))))
        self.wire.crossed.append((self.place, method, requests, replies))
        yield from replies


class Wire:
    """What a curator has seen so far, and how it alters openings."""

    def __init__(self):
        self.crossed, self.alter, self.receiver = [], None, None

    def methods(self):
        return {method for _, method, _, _ in self.crossed}


class Curator:
    """A release whose messages its curator taps.

    Args:
        table: cut into the grid.
        grid: parties.
        granted: budget of the release.
        seed: of all keys.
        tolerated: collusions.
    """

    def __init__(self, table, grid, granted=Fraction(1), seed=1, tolerated=None):
        self.table, self.granted, self.tolerated = table, granted, tolerated
        policy = network.policy_for("masked", Adjacency.ZERO_OUT, float(granted))
        policy = replace(policy, lifetime_rho=3 * policy.lifetime_rho)
        pieces = partition(table, Grid.parse(grid, table.domain, table.record_count))
        links = network.start_parties(pieces, policy, RandomStream.from_seed(seed))
        self.wire, places = Wire(), itertools.count()
        taps = [[Tap(link, next(places), self.wire) for link in row] for row in links]
        self.federation = connect(table.domain, taps)
        self.links = [tap for row in taps for tap in row]
        self.clients = [member.client for member in self.federation.members]
        self.dealing = RandomStream.from_seed(seed).child("dealer")

    def terms(self, release_id="release"):
        plan = masked_plan(self.federation, self.granted, Adjacency.ZERO_OUT, self.tolerated)
        return ReleaseTerms(
            release_id, PROTOCOL_VERSION, "masked", Adjacency.ZERO_OUT, float(self.granted), plan
        )

    def measurer(self, release_id="release"):
        """Starts a release as the protocol says."""
        terms = self.terms(release_id)
        acceptances = self.federation.accept(terms)
        return MaskedMeasurer(self.federation, terms, acceptances, self.granted, self.dealing)

    def open(self, sender, chain, recipient, release_id="release"):
        """The sealed frames of an opening."""
        request = OpeningRequest(release_id, chain, recipient)
        return list(self.links[sender].call("Open", [queries.encode_opening_request(request)]))

    def deliver(self, recipient, delivery, frames):
        """Delivers frames as whatever the delivery says that they are."""
        list(self.links[recipient].call("Deliver", [streams.encode_delivery(delivery), *frames]))


@pytest.fixture
def ledgers(monkeypatch):
    """The ledgers of all parties that the test starts, in the roster's order."""
    opened = []

    class Kept(network.Ledger):
        def __init__(self):
            super().__init__()
            opened.append(self)

    monkeypatch.setattr(network, "Ledger", Kept)
    return opened


# What is tested of words: functions that give the probability of something as odd or odder.


def uniformity(words):
    """Of words this far from uniform ones, in size, in all digits to base 16, in last and first ones."""
    words = np.ascontiguousarray(words).ravel()
    bits = 8 * words.itemsize
    digits = np.stack(
        [(words >> words.dtype.type(shift)) & words.dtype.type(15) for shift in range(0, bits, 4)]
    )
    odds = [
        stats.kstest(words / 2.0**bits, "uniform", method="asymp").pvalue,
        stats.chisquare(np.bincount(digits.ravel().astype(int), minlength=16)).pvalue,
        stats.chisquare(np.bincount(digits[0].astype(int), minlength=16)).pvalue,
        stats.chisquare(np.bincount(digits[-1].astype(int), minlength=16)).pvalue,
    ]
    return min(1.0, len(odds) * min(odds))


def likeness(one, other):
    """Of words this different, column by column, if both came from one distribution."""
    odds = [
        stats.ks_2samp(left.astype(float), right.astype(float), method="asymp").pvalue
        for left, right in zip(one.T, other.T, strict=True)
    ]
    return min(1.0, len(odds) * min(odds))


def likely_noise(errors, sigma):
    """Of squares this far from those of independent Gaussian noise of this deviation, either way."""
    below = stats.chi2.cdf(np.sum(np.square(errors)) / sigma**2, errors.size)
    return 2 * min(below, 1 - below)


# What each role sees.


def views_of(table, monkeypatch, *, bits=32, seed=1):
    """Runs a release over three parties; what curator and parties saw.

    Returns:
        What is seen, by name -> what it is of -> words, shape (rows, columns); and the measurements.
    """
    curator = Curator(table, "1x3", GRANTED[bits], seed)
    measurer = curator.measurer()
    ring, plan = measurer._plan.ring, measurer._plan
    assert ring == Ring(bits)
    opened, dealt, answers, salts = {}, [], defaultdict(list), []
    put = Openings.put

    def seen(self, key, rows, cells, chunks):
        chunks = list(chunks)
        if key[0] is not DeliveryKind.DEALT_ROWS:
            words = np.frombuffer(b"".join(chunks), dtype=ring.dtype).reshape(rows, cells)
            opened[curator.wire.receiver, *key] = words
        put(self, key, rows, cells, chunks)

    rho = curator.granted / (len(CLIQUES) * REPEATS)
    with monkeypatch.context() as patched:
        patched.setattr(Openings, "put", seen)
        found = measurer.measure([Query(clique, rho, "test") for clique in CLIQUES * REPEATS])

    def mask(party, chain, rows):
        stream = RandomStream(measurer._dealer.seeds[party]).child("mask", *labels(chain))
        return ring.uniform(stream, rows, plan.cells(chain))

    views = defaultdict(dict)
    for place, method, requests, replies in curator.wire.crossed:
        if method == "Answer":
            cells = plan.domain.cells(queries.decode_query(requests[0]).clique)
            (answer,) = streams.decode_answer(replies, 1, cells, 1)
            answers[place].append(ring.words(answer[0]))
        elif method == "Deliver":
            delivery, chunks = streams.decode_delivery(iter(requests))
            rows = 1 if delivery.kind is DeliveryKind.DEALT_PRODUCT else RECORDS
            cells = plan.cells(delivery.chain)
            chunks = list(chunks)
            if delivery.kind is DeliveryKind.OPENING:
                salts.append(chunks.pop(0))
            octets = b"".join(chunks)[: rows * cells * ring.word_bytes]  # a sealed stream ends in a tag
            words = np.frombuffer(octets, dtype=ring.dtype).reshape(rows, cells)
            if delivery.kind is DeliveryKind.OPENING:
                key = (place, delivery.sender, delivery.chain)
                views["sealed"][key] = words
                views["sealed, with the masks"][key] = words + mask(delivery.sender, delivery.chain, rows)
            elif delivery.kind is DeliveryKind.DEALT_ROWS:
                views["dealt rows"][place, delivery.chain] = words
            else:
                dealt.append((place, words.ravel()))
    assert len(set(salts)) == len(views["sealed"])
    assert {len(salt) for salt in salts} == {32}
    for place in {place for place, _ in dealt}:
        words = [words for to, words in dealt if to == place]
        views["dealt products"][place] = np.concatenate(words)[:, None]

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
            # The same questions were asked REPEATS times, one round after the other.
            repeated = [one - other for one, other in zip(sums, sums[len(CLIQUES) :], strict=False)]
            views["answers to one question, less one another"][some] = np.concatenate(repeated)[:, None]
    return views, found


def rejected(views):
    """The names of what is seen of which some words are not uniform."""
    return {name for name, seen in views.items() if any(uniformity(words) < ALPHA for words in seen.values())}


EVERYTHING = {
    "sealed",
    "sealed, with the masks",
    "opened",
    "opened, with a party's own masks",
    "opened shares of one matrix, added up",
    "opened by a party, less one another",
    "dealt rows",
    "dealt products",
    "answers of some parties",
    "answers to one question, less one another",
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_all_that_anybody_sees_but_the_sum_over_all_parties_is_uniform(kind, bits, monkeypatch):
    views, _ = views_of(table_of(kind), monkeypatch, bits=bits)
    assert set(views) == EVERYTHING
    assert rejected(views) == set()
    # a, b and c to two parties each, d and both of a, d to one, two shares of a product to the third.
    assert len(views["sealed"]) == len(views["opened"]) == 10
    assert {len(chain) for _, _, chain in views["opened"]} == {1, 2}


@pytest.mark.parametrize("bits", [32, 64])
def test_nothing_that_anybody_sees_tells_two_tables_apart(bits, monkeypatch):
    one, _ = views_of(table_of("equal"), monkeypatch, bits=bits, seed=1)
    other, _ = views_of(table_of("random"), monkeypatch, bits=bits, seed=2)
    for name in EVERYTHING:
        assert one[name].keys() == other[name].keys()
        for key in one[name]:
            assert likeness(one[name][key], other[name][key]) > ALPHA


def test_the_sum_over_all_parties_is_not_uniform(monkeypatch):
    _, found = views_of(table_of("random"), monkeypatch)
    grid = grid_of(gaussian_sigma(Fraction(1, len(CLIQUES) * REPEATS), Adjacency.ZERO_OUT))
    opened = np.concatenate([one.values * grid for one in found]).astype(np.int64)
    assert uniformity(Ring(32).words(opened)) < ALPHA


class Zeros:
    """A stream of zeros: what is left of a mask that somebody forgot."""

    def bytes(self, count):
        return np.zeros(count, dtype=np.uint8)


def forget(monkeypatch, kind, parts=None):
    """Lets every role take zeros for the words of this kind, for chains of so many parts."""
    child = RandomStream.child

    def forgotten(self, *names):
        if names[0] == kind and (parts is None or len(chain_of(names[1:])) in parts):
            return Zeros()
        return child(self, *names)

    monkeypatch.setattr(RandomStream, "child", forgotten)


def chain_of(names):
    """The chain that these labels are of."""
    chain, rest = [], list(names)
    while rest:
        size = int(rest.pop(0))
        chain.append(tuple(rest[:size]))
        del rest[:size]
    return tuple(chain)


def shorten(monkeypatch, kind, names):
    """Lets every role derive the streams of this kind from so many labels alone."""
    child = RandomStream.child
    monkeypatch.setattr(
        RandomStream,
        "child",
        lambda self, *texts: child(self, *(texts[:names] if texts[0] == kind else texts)),
    )


def same_seeds(monkeypatch):
    """Lets the dealer give all parties one seed."""
    child_key = RandomStream.child_key
    monkeypatch.setattr(
        RandomStream,
        "child_key",
        lambda self, *texts: child_key(self, *(texts[:1] if texts[0] == "mask seed" else texts)),
    )


def forget_sealing(monkeypatch):
    monkeypatch.setattr(peers, "seal", lambda key, context, payload: (bytes(piece) for piece in payload))
    monkeypatch.setattr(peers, "unseal", lambda key, context, frames: frames)


FORGOTTEN = {
    "the mask of a part": (
        lambda m: forget(m, "mask", parts={1}),
        {"opened", "opened, with a party's own masks", "opened by a party, less one another"},
    ),
    "the mask of a row-wise share": (
        lambda m: forget(m, "mask", parts={2}),
        {"opened shares of one matrix, added up"},
    ),
    "the left party's row-wise share": (lambda m: forget(m, "row-wise share"), {"dealt rows"}),
    "the pairwise mask": (
        lambda m: forget(m, "pairwise mask"),
        {"answers of some parties", "answers to one question, less one another"},
    ),
    "the query in the pairwise mask": (
        lambda m: shorten(m, "pairwise mask", 1),
        {"answers to one question, less one another"},
    ),
    "the chain in the mask": (lambda m: shorten(m, "mask", 1), {"opened by a party, less one another"}),
    "the party in its seed": (
        same_seeds,
        {
            "opened, with a party's own masks",
            "opened shares of one matrix, added up",
            "dealt products",
        },
    ),
    "sealing": (forget_sealing, {"sealed, with the masks"}),
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("remove", "noticed"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_mask_that_is_missing_or_used_twice_shows_in_what_it_was_to_hide(
    remove, noticed, bits, monkeypatch
):
    remove(monkeypatch)
    table = table_of("random")
    views, found = views_of(table, monkeypatch, bits=bits)
    odd = rejected(views)
    if "answers of some parties" not in noticed:
        # Shares of products are uniform by themselves: under a mask used twice they may pass or not.
        odd.discard("answers of some parties")
    assert odd == noticed
    # Every role forgot it, so the counts are as they were and nobody would notice.
    for one in found:
        assert np.all(np.abs(one.values - table.marginal(one.clique)) < 8 * one.sigma)


def test_two_tables_are_told_apart_by_openings_without_masks(monkeypatch):
    forget(monkeypatch, "mask", parts={1})
    views = [
        views_of(table_of(kind), monkeypatch, seed=seed)[0]["opened"]
        for kind, seed in (("equal", 1), ("random", 2))
    ]
    for key in views[0]:
        assert (likeness(views[0][key], views[1][key]) < ALPHA) == (len(key[-1]) == 1)


def dealt_words(monkeypatch, kind, *, share):
    """What the dealer sends for one chain in 300 runs with the same masks, shape (runs, words).

    Args:
        monkeypatch: for the streams.
        kind: "product share" or "row-wise share".
        share: the left parties draw fresh shares in every run; else none.
    """
    plan = Curator(table_of("random", records=4), "1x3").terms().masked
    child, runs = RandomStream.child, []
    for run in range(300):

        def drawn(self, *names, run=run):
            if names[0] != kind:
                return child(self, *names)
            return child(self, *names, str(run)) if share else Zeros()

        with monkeypatch.context() as patched:
            patched.setattr(RandomStream, "child", drawn)
            dealer = Dealer(plan, "release", RandomStream.from_seed(5))
            if kind == "row-wise share":
                runs.append(np.vstack(list(dealer.rows((("c",), ("a",)), 0))).ravel())
            else:
                pairs = dealer.products([(("a",), ("b",)), (("c",), ("a",), ("b",))], 0)
                runs.append(np.concatenate([words for _, words in pairs]))
    return np.array(runs)


@pytest.mark.parametrize("kind", ["product share", "row-wise share"])
def test_dealt_words_are_uniform_whatever_the_masks_are(kind, monkeypatch):
    words = dealt_words(monkeypatch, kind, share=True)
    assert min(uniformity(word) for word in words.T) * words.shape[1] > ALPHA
    # Two words under one share would change by the same from run to run; by accident with p < 1e-4.
    changes = words[1] - words[0]
    assert len(np.unique(changes)) == changes.size


@pytest.mark.parametrize("kind", ["product share", "row-wise share"])
def test_without_the_left_partys_share_dealt_words_are_a_function_of_the_masks(kind, monkeypatch):
    words = dealt_words(monkeypatch, kind, share=False)
    assert np.all(words == words[0])
    assert all(uniformity(word) < ALPHA for word in words.T)


def errors_of(monkeypatch, quiet=()):
    """Errors of 2,000 cells in units of their stated deviation, where these draws of noise are zeros."""
    draw, drawn = DistributedNoise.draw, itertools.count()

    def drawing(self, sigma, size, stream):
        noise = draw(self, sigma, size, stream)
        return noise * (next(drawn) % 3 not in quiet)

    monkeypatch.setattr(DistributedNoise, "draw", drawing)
    table = table_of("random", Domain.coded({"x": 1000, "y": 2, "z": 1}))
    (found,) = Curator(table, "1x3").measurer().measure([Query(("x", "y"), Fraction(1, 2), "test")])
    return (found.values - table.marginal(("x", "y"))) / found.sigma


def test_released_counts_have_the_stated_noise(monkeypatch):
    assert likely_noise(errors_of(monkeypatch), 1) > ALPHA


@pytest.mark.parametrize("quiet", [{0}, {1}, {2}, {0, 1, 2}])
def test_noise_that_one_party_or_all_forget_is_noticed(quiet, monkeypatch):
    assert likely_noise(errors_of(monkeypatch, quiet), 1) < ALPHA


# A curator that cheats.

WIDE = Domain.coded({"x": 400, "y": 3})


def flipped(payloads, frame, bit):
    octets = bytearray(payloads[frame])
    octets[bit // 8] ^= 1 << bit % 8
    return [*payloads[:frame], bytes(octets), *payloads[frame + 1 :]]


ALTERED = {
    "a bit of the salt": lambda p: flipped(p, 0, 100),
    "a bit of the first frame": lambda p: flipped(p, 1, 12345),
    "a bit of the last frame": lambda p: flipped(p, 3, 0),
    "a bit of the last tag": lambda p: flipped(p, 3, 8 * len(p[3]) - 1),
    "two frames change places": lambda p: [p[0], p[2], p[1], p[3]],
    "the last frame comes first": lambda p: [p[0], p[3], p[1], p[2]],
    "the salt comes last": lambda p: [*p[1:], p[0]],
    "the salt is dropped": lambda p: p[1:],
    "the first frame is dropped": lambda p: [p[0], *p[2:]],
    "a frame is dropped": lambda p: [*p[:2], p[3]],
    "the last frame is dropped": lambda p: p[:3],
    "all frames but the salt are dropped": lambda p: p[:1],
    "all frames are dropped": lambda p: [],
    "the salt is repeated": lambda p: [p[0], *p],
    "the first frame is repeated": lambda p: [*p[:2], *p[1:]],
    "the last frame is repeated": lambda p: [*p, p[3]],
    "the stream is repeated": lambda p: [*p, *p],
    "the salt is cut": lambda p: [p[0][:-1], *p[1:]],
    "the salt is longer": lambda p: [p[0] + b"0", *p[1:]],
    "the last frame is cut": lambda p: [*p[:3], p[3][:-4]],
    "the last frame is cut to its tag": lambda p: [*p[:3], p[3][-16:]],
    "the first frame is cut": lambda p: [p[0], p[1][:-4], *p[2:]],
    "two frames run together": lambda p: [p[0], p[1][:-4], p[1][-4:] + p[2], p[3]],
    "salt and frame run together": lambda p: [p[0] + p[1], *p[2:]],
    "an empty frame follows": lambda p: [*p, b""],
    "zeros of the same length": lambda p: [bytes(len(one)) for one in p],
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED)
def test_an_altered_opening_is_noticed_and_no_value_is_released(alter, ledgers):
    curator = Curator(table_of("random", WIDE, records=1500), "1x2")
    measurer = curator.measurer()
    first = iter([alter])
    curator.wire.alter = lambda payloads: next(first, lambda same: same)(payloads)
    with pytest.raises(ProtocolError):
        measurer.measure([Query(("x", "y"), Fraction(1, 2), "test")])
    assert "Answer" not in curator.wire.methods()
    assert_nothing_is_answered(curator, ledgers, (("x",), ("y",)))


def assert_nothing_is_answered(curator, ledgers, chain):
    """No party multiplies what was not delivered whole, answers from it, or is charged for it."""
    curator.wire.alter = None
    domain = curator.table.domain
    clique = domain.canonical(name for part in chain for name in part)
    cells, ring = domain.cells(clique), curator.terms().masked.ring
    dealt = Delivery("release", DeliveryKind.DEALT_PRODUCT, chain)
    curator.clients[1].deal(dealt, [np.zeros(cells, dtype=ring.dtype)])
    query = MarginalQuery("release", "q", AnswerForm.SHARE, clique, 1.0)
    for client in curator.clients:
        with pytest.raises(ProtocolError, match="deliver all openings"):
            client.multiply(MultiplyRequest("release", (chain,)))
        with pytest.raises(ProtocolError, match="a product that was not computed"):
            list(client.answer(query, 1, cells, 1))
    assert [ledger.spent("release") for ledger in ledgers] == [0] * len(ledgers)


def test_the_altered_openings_come_in_a_salt_and_three_frames_and_are_taken_if_they_are_not_altered():
    curator = Curator(table_of("random", WIDE, records=1500), "1x2")
    measurer = curator.measurer()
    counted = []
    curator.wire.alter = lambda payloads: counted.append(len(payloads)) or payloads
    measurer.measure([Query(("x", "y"), Fraction(1, 2), "test")])
    assert counted == [4, 2]


TWINS = Domain.coded({"a": 4, "b": 4, "c": 4, "d": 4, "e": 4, "f": 4})


def part(text):
    return (tuple(text),)


def opening(held, sender, release_id="release"):
    return Delivery(release_id, DeliveryKind.OPENING, part(held), sender)


REPLAYED = {
    "swapped with another party's": ((0, "a", 2), opening("c", 1), 2),
    "as another party's of the same part": ((0, "a", 2), opening("a", 1), 2),
    "to another recipient": ((0, "a", 1), opening("a", 0), 2),
    "back to its sender": ((0, "a", 1), opening("a", 1), 0),
    "as from the recipient": ((0, "a", 1), opening("a", 1), 1),
    "as another part": ((0, "a", 2), opening("b", 0), 2),
    "as a larger part": ((0, "a", 2), opening("ab", 0), 2),
    "in another release": ((0, "a", 2), opening("a", 0, "another"), 2),
    "as the dealer's rows": ((0, "a", 2), Delivery("release", DeliveryKind.DEALT_ROWS, (("a",), ("e",))), 2),
}


@pytest.mark.parametrize(("taken", "delivery", "recipient"), REPLAYED.values(), ids=REPLAYED)
def test_an_opening_is_taken_only_as_what_it_is_by_whom_it_is_for(taken, delivery, recipient):
    curator = Curator(table_of("random", TWINS, records=20), "1x3")
    curator.measurer()
    curator.measurer("another")
    sender, held, meant_for = taken
    frames = curator.open(sender, part(held), meant_for)
    with pytest.raises(ProtocolError):
        curator.deliver(recipient, delivery, frames)
    curator.deliver(meant_for, opening(held, sender), frames)


def test_openings_of_two_parties_that_are_swapped_are_noticed_and_no_value_is_released(ledgers):
    curator = Curator(table_of("random", TWINS, records=20), "1x2")
    curator.measurer()
    first, second = curator.open(0, part("a"), 1), curator.open(1, part("d"), 0)
    with pytest.raises(ProtocolError, match="does not open"):
        curator.deliver(1, opening("a", 0), second)
    with pytest.raises(ProtocolError, match="does not open"):
        curator.deliver(0, opening("d", 1), first)
    assert_nothing_is_answered(curator, ledgers, (("a",), ("d",)))


@pytest.mark.parametrize("other", [0, 2, 3, 9], ids=["itself", "another slice", "another", "nobody"])
def test_a_party_exchanges_openings_with_the_other_parties_of_its_slice_alone(other):
    curator = Curator(table_of("random", TWINS, records=20), "2x2")
    curator.measurer()
    frames = curator.open(0, part("a"), 1)
    with pytest.raises(ProtocolError, match="compare the plan"):
        curator.open(0, part("a"), other)
    with pytest.raises(ProtocolError, match="compare the plan"):
        curator.deliver(0, opening("d", other), frames)


@pytest.mark.parametrize("held", ["d", "ad", "ba", "z", ""], ids=str)
def test_a_party_opens_nothing_but_parts_that_it_holds(held):
    curator = Curator(table_of("random", TWINS, records=20), "1x2")
    curator.measurer()
    with pytest.raises(ProtocolError, match="compare the plan"):
        curator.open(0, part(held), 1)


OUTSIDER = Identity.from_seed(bytes(range(32)))
OUTSIDERS_KEY = EphemeralKey.from_seed(bytes(range(32))).public


def forged(terms, acceptance):
    """The outsider's own key under the outsider's signature."""
    digest = hashlib.sha256(encode_terms(terms)).digest()
    return Acceptance(OUTSIDERS_KEY, OUTSIDER.sign("acceptance of a release", digest + OUTSIDERS_KEY))


INTRODUCED = {
    "another ephemeral key": lambda terms, a: [replace(a[0], ephemeral=OUTSIDERS_KEY), *a[1:]],
    "another party's ephemeral key": lambda terms, a: [replace(a[0], ephemeral=a[1].ephemeral), *a[1:]],
    "another party's signature": lambda terms, a: [replace(a[0], signature=a[1].signature), *a[1:]],
    "a signature of nobody": lambda terms, a: [replace(a[0], signature=bytes(64)), *a[1:]],
    "no signature": lambda terms, a: [replace(a[0], signature=b""), *a[1:]],
    "a key that the curator signed": lambda terms, a: [forged(terms, a[0]), *a[1:]],
    "parties in another order": lambda terms, a: [a[1], a[0], a[2]],
    "one party twice": lambda terms, a: [a[0], a[0], a[2]],
    "a party too few": lambda terms, a: a[:2],
    "a party too many": lambda terms, a: [*a, a[0]],
    "nobody": lambda terms, a: [],
}


@pytest.mark.parametrize("substitute", INTRODUCED.values(), ids=INTRODUCED)
def test_an_introduction_of_anybody_else_is_refused_and_nothing_is_answered(substitute, ledgers):
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    acceptances = curator.federation.accept(terms)
    wrong = Introduction("release", tuple(substitute(terms, list(acceptances))), bytes(32))
    query = MarginalQuery("release", "q", AnswerForm.SHARE, ("a",), 1.0)
    for client in curator.clients:
        with pytest.raises(ProtocolError):
            client.introduce(wrong)
        with pytest.raises(ProtocolError, match="introduce them first"):
            list(client.answer(query, 1, 6, 1))
    assert [ledger.release("release").introduction for ledger in ledgers] == [None] * 3
    assert [ledger.spent("release") for ledger in ledgers] == [0] * 3


def test_acceptances_of_another_release_are_refused():
    curator = Curator(table_of("random"), "1x3")
    curator.federation.accept(curator.terms("release"))
    others = curator.federation.accept(curator.terms("another"))
    with pytest.raises(ProtocolError, match="does not verify"):
        curator.clients[0].introduce(Introduction("release", others, bytes(32)))


def test_parties_that_were_told_different_terms_do_not_take_each_others_acceptances():
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    other = replace(terms, masked=replace(terms.masked, tolerated=0))
    acceptances = tuple(
        client.accept(t) for client, t in zip(curator.clients, [terms, terms, other], strict=True)
    )
    for client in curator.clients:
        with pytest.raises(ProtocolError, match="does not verify"):
            client.introduce(Introduction("release", acceptances, bytes(32)))


@pytest.mark.parametrize("place", range(3))
def test_a_plan_with_an_identity_that_is_not_pinned_is_refused_by_every_party(place):
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    roster = list(terms.masked.roster)
    roster[place] = replace(roster[place], identity=OUTSIDER.public)
    terms = replace(terms, masked=replace(terms.masked, roster=tuple(roster)))
    for i, client in enumerate(curator.clients):
        kind, reason = (ProtocolError, "this party") if i == place else (PolicyError, "not pinned")
        with pytest.raises(kind, match=reason):
            client.accept(terms)


def test_a_second_introduction_with_other_masks_is_refused():
    curator = Curator(table_of("random"), "1x3")
    curator.measurer()
    acceptances = curator.federation.accept(curator.terms())
    with pytest.raises(ProtocolError, match="introduced with other parties or masks"):
        curator.clients[0].introduce(Introduction("release", acceptances, bytes(32)))


ASKED = MarginalQuery("release", "q", AnswerForm.SHARE, ("x",), 2.0)
PAIR = Domain.coded({"x": 1200, "y": 1200})
INCONSISTENT = {
    "another sigma": replace(ASKED, sigma=4.0),
    "a slightly other sigma": replace(ASKED, sigma=np.nextafter(2.0, 3.0)),
    "another clique": replace(ASKED, clique=("y",)),
    "another id": replace(ASKED, query_id="p"),
    "boxes": replace(ASKED, boxes=tuple(((code, code + 1),) for code in range(1200))),
}


def sum_of(curator, queries):
    """The opened sum of answers to these queries, one for each party that is asked; integers."""
    ring = curator.terms().masked.ring
    answers = []
    for client, query in zip(curator.clients, queries, strict=False):
        (answer,) = client.answer(query, 1, 1199 if query.interaction else 1200, 1)
        answers.append(answer[0])
    return opened_sum(ring, answers)


@pytest.mark.parametrize("other", INCONSISTENT.values(), ids=INCONSISTENT)
def test_parties_that_are_asked_different_things_under_one_id_give_uniform_nonsense(
    other, ledgers, monkeypatch
):
    """And each of them is charged for the noise that it adds: chi-square over 1,200 draws, p < 1e-6."""
    drawn, draw = [], DistributedNoise.draw

    def drawing(self, sigma, size, stream):
        drawn.append((sigma, draw(self, sigma, size, stream)))
        return drawn[-1][1]

    monkeypatch.setattr(DistributedNoise, "draw", drawing)
    curator = Curator(table_of("equal", PAIR), "3x1")
    noise = curator.measurer()._plan.noise
    queries = [ASKED, ASKED, other]
    nonsense = sum_of(curator, queries)
    assert uniformity(Ring(32).words(nonsense)) > ALPHA
    truth = grid_of(2.0) * curator.table.marginal(("x",))
    # Of uniform words, one in 2,000 lies as near to the truth as a million.
    assert (np.abs(nonsense - truth) < 10**6).mean() < 0.01
    for ledger, query, (sigma, values) in zip(ledgers, queries, drawn, strict=True):
        assert sigma == query.sigma
        assert ledger.spent("release") == gaussian_cost(query.sigma, Adjacency.ZERO_OUT)
        assert likely_noise(values, noise.share_scale(query.sigma)) > ALPHA


def test_parties_that_are_asked_the_same_give_the_counts_and_repeat_them_for_nothing(ledgers):
    curator = Curator(table_of("equal", PAIR), "3x1")
    sigma = curator.measurer()._plan.noise.total_sigma(2.0)
    opened = sum_of(curator, [ASKED] * 3)
    errors = opened / grid_of(2.0) - curator.table.marginal(("x",))
    assert likely_noise(errors, sigma) > ALPHA
    assert uniformity(Ring(32).words(opened)) < ALPHA
    assert sum_of(curator, [ASKED] * 3).tolist() == opened.tolist()
    assert [ledger.spent("release") for ledger in ledgers] == [gaussian_cost(2.0, Adjacency.ZERO_OUT)] * 3


def test_the_answers_of_all_parties_but_one_are_uniform_nonsense():
    curator = Curator(table_of("equal", PAIR), "3x1")
    curator.measurer()
    assert uniformity(Ring(32).words(sum_of(curator, [ASKED] * 2))) > ALPHA


@pytest.mark.parametrize("masked", [True, False])
def test_all_but_the_sum_of_the_differences_of_an_interaction_is_uniform_nonsense(masked, monkeypatch):
    """Answers of one and of two parties of three, all differences of neighbours; not without the masks."""
    if not masked:
        monkeypatch.setattr(
            "dpmosaic.common.protocols.masked.reveal.pairwise_mask",
            lambda ring, me, streams, query, cells: np.zeros(cells, dtype=ring.dtype),
        )
    curator = Curator(table_of("random", PAIR), "3x1")
    sigma = curator.measurer()._plan.noise.total_sigma(2.0)
    query = replace(ASKED, interaction=True)
    for count in (1, 2):
        assert (uniformity(Ring(32).words(sum_of(curator, [query] * count))) > ALPHA) == masked
    opened = sum_of(curator, [query] * 3) / grid_of(2.0)
    errors = opened - np.diff(curator.table.marginal(("x",)))
    # Every second one has two cells to itself.
    assert likely_noise(errors[::2], math.sqrt(2) * sigma) > ALPHA


@pytest.mark.parametrize("other", [INCONSISTENT[name] for name in INCONSISTENT if name != "another id"])
def test_a_party_answers_one_question_under_one_id(other, ledgers):
    curator = Curator(table_of("equal", PAIR), "3x1")
    curator.measurer()
    sum_of(curator, [ASKED] * 3)
    with pytest.raises(ProtocolError, match="stands for another query"):
        list(curator.clients[0].answer(other, 1, 1200, 1))
    assert ledgers[0].spent("release") == gaussian_cost(2.0, Adjacency.ZERO_OUT)


def test_a_product_that_the_dealer_deals_wrongly_shifts_the_counts_by_what_it_knows_anyway(monkeypatch):
    shift = np.arange(30, dtype=np.uint32) * np.uint32(100_000)
    deal, query = Dealer.products, Query(("a", "c"), Fraction(1, 2), "test")
    for kind in ("equal", "random"):
        (honest,) = Curator(table_of(kind), "1x3").measurer().measure([query])
        with monkeypatch.context() as patched:
            patched.setattr(
                Dealer,
                "products",
                lambda self, *args: ((chain, words + shift) for chain, words in deal(self, *args)),
            )
            (shifted,) = Curator(table_of(kind), "1x3").measurer().measure([query])
        assert (shifted.values - honest.values).astype(np.int64).tolist() == shift.tolist()


RECORD = 17


def test_the_dealer_is_trusted_to_deal_rows_for_one_wrong_word_shows_a_code_of_its_record(monkeypatch):
    """One word that is wrong in one record's row lands in the cell of that record's code in the last part.

    Nothing tells such words from right ones: this documents what the dealer's honesty is needed for.
    """
    rows = Dealer.rows

    def wrong(self, chain, number):
        for block in rows(self, chain, number):  # one block holds all records
            block[RECORD, 0] += np.uint32(1 << 20)
            yield block

    monkeypatch.setattr(Dealer, "rows", wrong)
    table = table_of("random")
    (found,) = Curator(table, "1x3").measurer().measure([Query(LONG, Fraction(1, 2), "test")])
    read = np.argmax(found.values.reshape(DOMAIN.shape(LONG)).max(axis=(0, 2)))
    assert read == table.column("b")[RECORD]


def dies(curator):
    """All parties lose what they kept in memory alone; they go on from their ledgers."""
    for link in curator.links:
        link.connection.servicer._party._sessions.clear()


@pytest.mark.parametrize("kind", ["rows", "products"])
def test_after_a_restart_a_party_that_was_dealt_other_words_does_not_answer_the_same_query_again(
    kind, ledgers, monkeypatch
):
    """Two different sums under one noise would show their difference, a function of one record."""
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    query = Query(LONG, Fraction(1, 2), "test")
    measurer.measure([query])
    spent = [ledger.spent("release") for ledger in ledgers]
    dies(curator)
    measurer._opened.clear()
    measurer._multiplied.clear()
    deal = getattr(Dealer, kind)

    def wrong(self, *args):
        for number, dealt in enumerate(deal(self, *args)):
            words = dealt[1] if kind == "products" else dealt
            if number == 0:
                words.ravel()[0] += np.uint32(1 << 20)
            yield dealt

    monkeypatch.setattr(Dealer, kind, wrong)
    measurer._asked = 0
    charge = measurer.accountant.charges[0]
    measurer._prepare([LONG])
    with pytest.raises(ProtocolError, match="answered from other products"):
        measurer._answer(query, charge)
    assert [ledger.spent("release") for ledger in ledgers] == spent


def test_after_a_restart_parties_that_were_dealt_the_same_words_give_the_same_sum(ledgers):
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    query = Query(LONG, Fraction(1, 2), "test")
    (first,) = measurer.measure([query])
    spent = [ledger.spent("release") for ledger in ledgers]
    dies(curator)
    measurer._opened.clear()
    measurer._multiplied.clear()
    measurer._asked = 0
    measurer._prepare([LONG])
    again = measurer._answer(query, measurer.accountant.charges[0])
    assert again.values.tolist() == first.values.tolist()
    assert [ledger.spent("release") for ledger in ledgers] == spent


@pytest.mark.parametrize("salted", [True, False])
def test_what_a_party_opens_is_read_off_by_dealing_to_it_twice_only_without_salts(salted, monkeypatch):
    """Codes of the middle part of a chain, from the XOR of two sealed openings; chance reads a sixth of them.

    The curator deals the mask itself, then the mask less one. The opened words are y and y - 1, with y = 0
    wherever the record has another code, and there alone every bit of the two differs, were both sealed
    under one key stream.
    """
    if not salted:
        seal = peers.seal
        monkeypatch.setattr(peers, "seal", lambda key, context, payload: seal(key, context[:-32], payload))
    table = table_of("random")
    curator = Curator(table, "1x3")
    measurer = curator.measurer()
    chain = measurer._plan.chain(LONG, 0)[:2]
    left, right = measurer._plan.holders(chain, 0)
    if not salted:
        unseal = peers.unseal
        monkeypatch.setattr(peers, "unseal", lambda key, context, frames: unseal(key, context[:-32], frames))
    measurer._exchange(chain[:1], chain[1], 0)
    mask = RandomStream(measurer._dealer.seeds[right]).child("mask", *labels(chain))
    words = Ring(32).uniform(mask, RECORDS, measurer._plan.cells(chain))
    sealed = []
    for offset in (0, 1):
        dealt = Delivery("release", DeliveryKind.DEALT_ROWS, chain)
        curator.clients[right].deal(dealt, [words - np.uint32(offset)])
        _, *frames = streams.decode_payload(curator.open(right, chain, 3 - left - right))
        sealed.append(np.frombuffer(b"".join(frames)[: words.nbytes], dtype=np.uint32))
    other = (sealed[0] ^ sealed[1] == 2**32 - 1).reshape(RECORDS, *map(DOMAIN.cells, chain))
    read = np.argmin(other.all(axis=1), axis=1)
    assert ((read == table.column(chain[1][0])).mean() < 1 / 2) == salted

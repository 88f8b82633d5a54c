"""A dealer that deals one seed in two releases, to a party that compares what was opened for it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.wire import streams
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from support.masked_views import RECORDS, table_of
from support.taps import Curator
from support.terms import id_of, terms_with

CHAIN, SENDER, RECEIVER = (("a",),), 0, 1
SEEDS = (b"A" * 32, b"B" * 32, b"C" * 32)


@pytest.fixture(autouse=True)
def same_seeds(monkeypatch):
    """Every dealer deals each party the same seed in every release."""
    monkeypatch.setattr(Dealing, "_seeds", lambda self, party, number: {0: SEEDS[party]})


def opened(curator, release_id, ring):
    """What party 1 decrypts of party 0's column a in a release over this ring, from the same seeds."""
    terms = curator.terms(release_id)
    terms = terms_with(terms, plan=replace(terms.plan, ring=ring))
    acceptances = curator.federation.accept(terms)
    MaskedMeasurer(curator.federation, terms, acceptances, curator.granted)
    frames = streams.decode_payload(curator.open(SENDER, CHAIN, RECEIVER, release_id))
    receiver = curator.links[RECEIVER].connection.party
    peers = receiver._releases.of(release_id)._introduced_session().peers
    words = b"".join(peers.unseal(SENDER, ["opening", "0", *labels(CHAIN)], frames))
    return np.frombuffer(words, dtype=ring.dtype).astype(np.uint64)


@pytest.mark.parametrize("bits", [32, 64])
def test_one_seed_in_two_releases_hides_a_matrix_under_unrelated_masks(bits):
    """Equal masks would give equal words; the first 64 unrelated ones are equal with probability 2^-2048."""
    curator = Curator(table_of("random"), "1x3")
    first, second = (opened(curator, id_of(label), Ring(bits)) for label in ("first", "second"))
    assert not np.array_equal(first[:64], second[:64])


def test_one_seed_over_two_rings_tells_a_party_nothing_of_another_ones_indicators():
    """One mask word of 64 bits was two of 32, so three bits solved an equation that the receiver knew.

    An equation between unrelated masks has a solution with probability 8 / 2^64.
    """
    curator = Curator(table_of("random"), "1x3")
    narrow, wide = (opened(curator, id_of(str(bits)), Ring(bits)) for bits in (32, 64))
    pairs = narrow.reshape(-1, 2)
    difference = wide[: len(pairs)] - pairs[:, 0] - (pairs[:, 1] << np.uint64(32))
    # The lower word borrows from the upper one when its mask is subtracted.
    borrowed = difference + np.uint64(1 << 32)
    bits = itertools.product((0, 1), repeat=3)
    solutions = [(v - low - (high << 32)) % 2**64 for v, low, high in bits]
    solved = np.isin(borrowed, np.array(solutions, dtype=np.uint64))
    assert len(pairs) == RECORDS * 6 // 2
    assert not solved.any()

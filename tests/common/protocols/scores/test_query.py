"""Steps of score queries other than the rounds: digests, checks, shapes, resharing."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.protocols.scores.query import (
    check_references,
    exact_scores,
    known_part,
    references_digest,
    resharing_seed,
    score_shape,
    share_to_send,
)
from dpmosaic.common.protocols.scores.shape import ScoreShape

CELLS = (2, 3, 1)
REFERENCES = np.array([4, 0, 1, 7, 2, 9], dtype=np.int64)
DIGEST = references_digest([REFERENCES])


def test_the_digest_is_of_little_endian_integers_of_eight_bytes_one_after_the_other():
    octets = b"".join(int(value).to_bytes(8, "little") for value in REFERENCES)
    assert DIGEST == hashlib.sha256(octets).digest()


@given(cuts=st.sets(st.integers(1, 5)))
def test_the_digest_does_not_depend_on_how_references_are_cut(cuts):
    assert references_digest(np.split(REFERENCES, sorted(cuts))) == DIGEST


def test_the_digest_is_that_of_the_values_however_they_are_stored():
    strided = np.repeat(REFERENCES, 2)[::2].astype(">i8")
    assert references_digest([strided]) == DIGEST


def test_references_of_the_query_within_its_bounds_are_accepted():
    check_references(REFERENCES, CELLS, DIGEST, 9, 10)


OTHERS = {
    "another value": (REFERENCES + np.eye(1, 6, 2, dtype=np.int64)[0], None, 100, 100),
    "another order": (REFERENCES[::-1].copy(), None, 100, 100),
    "a negative one": (REFERENCES - 1, references_digest([REFERENCES - 1]), 100, 100),
    "a cell past the bound": (REFERENCES, None, 8, 100),
    "a clique past the bound": (REFERENCES, None, 9, 9),
}


@pytest.mark.parametrize(("references", "digest", "largest", "total"), OTHERS.values(), ids=OTHERS)
def test_other_references_than_the_querys_are_refused(references, digest, largest, total):
    with pytest.raises(ProtocolError, match="not those of the score query"):
        check_references(references, CELLS, digest or DIGEST, largest, total)


@pytest.mark.parametrize("count", [4, 8, 1000])
def test_references_whose_sum_leaves_the_integers_are_refused(count):
    largest = (1 << 62) - 1
    references = np.full(count, largest, dtype=np.int64)
    with pytest.raises(ProtocolError, match="not those of the score query"):
        check_references(references, (count,), references_digest([references]), largest, largest)


def plan_of(bits=32, records=1000, parties=3, tolerated=1):
    domain = Domain.coded({"a": 2})
    roster = tuple(RosterEntry(f"p{i}", i, ("a",), records // parties, bytes(32)) for i in range(parties))
    return MaskedPlan(domain, roster, tolerated, Ring(bits), (1, 0, parties - 1))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("sigma", [0.5, 10.0, 1e5])
def test_a_shape_is_refused_from_the_first_noisy_score_on_that_its_ring_does_not_hold(bits, sigma):
    """Grid times the largest distance, plus the noise of all parties."""
    plan = plan_of(bits, records=999)
    room = (1 << (bits - 1)) - 1 - plan.noise.largest(sigma)
    largest_total = room // grid_of(sigma) - 999
    assert score_shape(plan, CELLS, sigma, 0, largest_total) == ScoreShape(CELLS, plan.ring)
    with pytest.raises(ProtocolError, match="larger ring"):
        score_shape(plan, CELLS, sigma, 0, largest_total + 1)


def test_noise_alone_that_the_ring_does_not_hold_is_refused():
    with pytest.raises(ProtocolError, match="larger ring"):
        score_shape(plan_of(), CELLS, 2.0**30, 0, 0)


@pytest.mark.parametrize("bits", [32, 64])
def test_what_is_sent_and_what_is_known_add_up_to_the_shares(bits):
    ring = Ring(bits)
    shares = ring.words(np.arange(-9, 9).reshape(3, 6) * 12345)
    seeds = [bytes([place]) * 32 for place in range(3)]
    sent = [share_to_send(ring, share, seed) for share, seed in zip(shares, seeds, strict=True)]
    total = sum(sent) + known_part(ring, seeds, 6)
    assert total.tolist() == shares.sum(axis=0, dtype=ring.dtype).tolist()
    drawn = [ring.uniform(RandomStream(seed), 1, 6)[0] for seed in seeds]
    assert [part.tolist() for part in sent] == (shares - drawn).tolist()


def test_every_query_party_and_pair_reshares_with_other_words():
    """Of 28 x 100 pairs of words of 32 bits some are equal with p < 1e-6."""
    share = np.zeros(100, dtype=np.uint32)
    parts = [
        share_to_send(Ring(32), share, resharing_seed(RandomStream.from_seed(pair), query, place))
        for pair in (1, 2)
        for query in "pq"
        for place in (0, 3)
    ]
    for one, other in itertools.combinations(parts, 2):
        assert not np.any(one == other)


@pytest.mark.slow
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), min_size=1, max_size=5)
)
def test_exact_scores_are_the_distances_of_each_clique(cliques):
    counts = [np.array([count for count, _ in cells], dtype=np.int64) for cells in cliques]
    references = np.array([to for cells in cliques for _, to in cells], dtype=np.int64)
    expected = [sum(abs(count - to) for count, to in cells) for cells in cliques]
    assert exact_scores(counts, references).tolist() == expected

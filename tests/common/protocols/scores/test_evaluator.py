"""Scores from parts of d against sums of absolute values; what constants added to shares do; refusals."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores.evaluator import evaluate
from dpmosaic.common.protocols.scores.shape import ScoreShape

pytestmark = pytest.mark.slow

RINGS = [pytest.param(Ring(bits), id=f"{bits} bits") for bits in (32, 64)]
EXAMPLE = ScoreShape((3, 1, 9), Ring(32))
DIFFERENCES = np.array([0, 1, -1, 2**17 - 1, 1 - 2**17, 5, -5, 100, -100, 0, 0, 77, -65536])


@dataclass(frozen=True)
class SmallRing(Ring):
    """A ring so small that all its words can be tried; releases have none."""

    def __post_init__(self):
        assert self.bits in (8, 16)


def split(ring, differences, seed=0):
    """a and b of differences in Python's integers."""
    words = np.array([int(number) % 2**ring.bits for number in differences], dtype=ring.dtype)
    one = ring.uniform(RandomStream.from_seed(seed).child("parts"), 1, len(words))[0]
    return one, words - one


def brute_force(cells, differences, ring):
    """Scores modulo 2^bits, in Python's integers: the distance to 0 on the circle of residues."""
    sums, rest = [], [int(number) % 2**ring.bits for number in differences]
    for count in cells:
        sums.append(sum(min(word, 2**ring.bits - word) for word in rest[:count]) % 2**ring.bits)
        rest = rest[count:]
    return sums


def scores(meet, pairs, shape, words, seed=0, **kwargs):
    (one, two), _ = meet(shape, words, pairs(seed), **kwargs)
    assert one.dtype == two.dtype == shape.ring.dtype
    assert one.shape == two.shape == (len(shape.cells),)
    return (one + two).tolist()


def test_all_pairs_of_parts_of_eight_bits_give_the_absolute_value(meet, pairs):
    ring = SmallRing(8)
    one, other = (numbers.ravel().astype(np.uint8) for numbers in np.indices((256, 256)))
    shape = ScoreShape((1,) * one.size, ring)
    found = scores(meet, pairs, shape, (one, other))
    assert found == np.abs((one + other).view(np.int8).astype(np.int64)).tolist()


@pytest.mark.parametrize("ring", RINGS)
@settings(max_examples=30)
@given(data=st.data())
def test_scores_are_sums_of_absolute_differences(meet, pairs, ring, data):
    cells = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
    top = 2 ** (ring.bits - 1) - 1
    number = st.one_of(st.integers(-top, top), st.sampled_from([-top - 1, -top, -1, 0, 1, top - 1, top]))
    differences = data.draw(st.lists(number, min_size=sum(cells), max_size=sum(cells)))
    seed = data.draw(st.integers(0, 2**32))
    found = scores(meet, pairs, ScoreShape(cells, ring), split(ring, differences, seed), seed)
    assert found == brute_force(cells, differences, ring)


def test_many_cliques_are_scored_at_once(meet, pairs):
    rng = np.random.default_rng(1)
    cells = tuple(rng.integers(1, 40, 500).tolist())
    differences = rng.integers(-(2**16), 2**16, sum(cells))
    shape = ScoreShape(cells, Ring(32))
    assert scores(meet, pairs, shape, split(shape.ring, differences)) == brute_force(
        cells, differences, shape.ring
    )


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("known", [0, 1])
def test_scores_do_not_depend_on_who_knows_the_differences(meet, pairs, ring, known):
    shape = ScoreShape(EXAMPLE.cells, ring)
    words = [np.zeros(13, dtype=ring.dtype), ring.words(DIFFERENCES)]
    found = scores(meet, pairs, shape, words if known else words[::-1])
    assert found == brute_force(shape.cells, DIFFERENCES, ring)


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize("known", [0, 1])
def test_a_record_changes_a_score_by_one_whatever_constant_is_added_to_the_shares(meet, pairs, known, change):
    """All constants modulo 2^16, in one batch; with a circuit of fewer bits some jump at its border."""
    ring = SmallRing(16)
    constants = np.arange(1 << 16).astype(np.uint16)
    shape = ScoreShape((1,) * constants.size, ring)
    shares = ring.uniform(RandomStream.from_seed(3), 1, constants.size)[0]
    neighbours = []
    for record in (0, change):
        words = [shares, constants - shares]
        words[known] = words[known] + np.uint16(record % 2**16)
        neighbours.append(np.array(scores(meet, pairs, shape, words), dtype=np.uint16))
    changed = (neighbours[1] - neighbours[0]).view(np.int16)
    assert set(changed.tolist()) == {-1, 1}


@pytest.mark.parametrize("ring", RINGS)
def test_a_record_changes_the_score_of_a_clique_by_one_next_to_the_border_of_the_ring(meet, pairs, ring):
    half = 1 << (ring.bits - 1)
    for shift in (half - 2, half - 1, half, half + 1, 0, -1):
        differences = [half - 1, shift, -half, 3]
        shape = ScoreShape((4,), ring)
        one, other = (
            scores(meet, pairs, shape, split(ring, [*differences[:1], shift + record, *differences[2:]]))[0]
            for record in (0, 1)
        )
        assert (other - one) % 2**ring.bits in (1, 2**ring.bits - 1)


def test_shares_of_scores_are_other_words_under_other_streams(meet, pairs):
    words = split(EXAMPLE.ring, DIFFERENCES)
    results = [meet(EXAMPLE, words, pairs(seed))[0] for seed in (0, 1)]
    for one, other in zip(*results, strict=True):
        assert np.all(one != other)


@pytest.mark.parametrize(("role", "others"), [(0, (1,)), (1, (1, 2)), (3, (0, 1)), (-1, (0, 1)), (2, ())])
def test_there_are_three_evaluators_and_each_shares_a_stream_with_the_others(role, others):
    streams = dict.fromkeys(others, RandomStream.from_seed(0))
    with pytest.raises(ValueError, match="expected an evaluator from 0 to 2"):
        next(evaluate(EXAMPLE, role, np.zeros(13, dtype=np.uint32), streams))


@pytest.mark.parametrize(
    "words",
    [np.zeros(12, dtype=np.uint32), np.zeros((1, 13), dtype=np.uint32), np.zeros(13, dtype=np.uint64)],
)
def test_words_of_another_batch_or_ring_are_refused(words):
    streams = dict.fromkeys((1, 2), RandomStream.from_seed(0))
    with pytest.raises(ValueError, match="expected 13 words of 32 bits"):
        next(evaluate(EXAMPLE, 0, words, streams))

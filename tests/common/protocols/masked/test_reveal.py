"""Opening of answers: masks cancel only over all parties, and only for the same query.

A word that must differ from the true one is equal by chance with probability 2^-32. All keys are fixed; over
their choice, a correct program would fail any assertion with probability below 2^-22.
"""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.reveal import masked_answer, opened_sum, pairwise_mask

RINGS = [pytest.param(Ring(bits), id=f"{bits} bits") for bits in (32, 64)]
VECTORS = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "vectors").iterdir())]
SUMS = [
    pytest.param(vector, case, id=f"{vector['bits']} bits, {case['query']}")
    for vector in VECTORS
    for case in vector["sums"]
]
CELLS = 5


def pair_streams(me, parties, release="release"):
    """The streams of the keys that a party shares with every other one; the same on both sides."""
    keys = RandomStream.from_seed(4)
    return {
        other: keys.child(release, *map(str, sorted((me, other)))) for other in range(parties) if other != me
    }


def masks(ring, parties, queries=None):
    """The masks of all parties; `queries` has the query of each party if they differ."""
    asked = queries or ["query"] * parties
    return [pairwise_mask(ring, i, pair_streams(i, parties), asked[i], CELLS) for i in range(parties)]


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("parties", range(1, 7))
def test_the_masks_of_all_parties_add_up_to_zero(ring, parties):
    found = masks(ring, parties)
    assert {mask.dtype for mask in found} == {ring.dtype}
    assert sum(found).tolist() == [0] * CELLS
    assert all(mask.any() for mask in found) == (parties > 1)


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("parties", range(2, 7))
def test_no_mask_of_fewer_parties_adds_up_to_zero_anywhere(ring, parties):
    found = masks(ring, parties)
    for size in range(1, parties):
        for some in itertools.combinations(found, size):
            assert sum(some).all()


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("parties", range(2, 7))
def test_masks_do_not_cancel_if_one_party_was_asked_another_query(ring, parties):
    for other in range(parties):
        queries = ["another" if i == other else "query" for i in range(parties)]
        assert sum(masks(ring, parties, queries)).all()


@pytest.mark.parametrize("ring", RINGS)
def test_masks_do_not_cancel_if_the_parties_were_asked_as_two_groups(ring):
    assert sum(masks(ring, 4, ["query", "query", "another", "another"])).all()


@pytest.mark.parametrize("ring", RINGS)
def test_two_parties_hold_one_mask_with_two_signs(ring):
    one, other = masks(ring, 2)
    assert np.array_equal(one, np.negative(other))


@pytest.mark.parametrize("ring", RINGS)
def test_masks_differ_for_every_query_and_every_key(ring):
    first = pairwise_mask(ring, 0, pair_streams(0, 3), "query", CELLS)
    assert np.array_equal(first, pairwise_mask(ring, 0, pair_streams(0, 3), "query", CELLS))
    for streams, query in [
        (pair_streams(0, 3), "query "),
        (pair_streams(0, 3, "another release"), "query"),
    ]:
        assert np.all(first != pairwise_mask(ring, 0, streams, query, CELLS))


@pytest.mark.slow
@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data(), parties=st.integers(1, 5), grid=st.sampled_from([1, 2, 256, 2**20]))
def test_the_opened_sum_is_the_counts_plus_the_noise_of_all_parties(ring, data, parties, grid):
    largest = (2 ** (ring.bits - 1) - 1) // (4 * grid)
    counts = np.array(data.draw(st.lists(st.integers(0, largest), min_size=CELLS, max_size=CELLS)))
    noise = data.draw(
        st.lists(
            st.lists(st.integers(-largest // parties, largest // parties), min_size=CELLS, max_size=CELLS),
            min_size=parties,
            max_size=parties,
        )
    )
    noise = np.array(noise, dtype=np.int64)
    dealing = RandomStream.from_seed(data.draw(st.integers(0, 1000)))
    shares = [ring.uniform(dealing, 1, CELLS)[0] for _ in range(parties - 1)]
    shares.append(ring.words(counts.astype(np.int64)) - sum(shares, start=np.zeros(CELLS, dtype=ring.dtype)))
    answers = [
        ring.as_signed(masked_answer(ring, share, grid, own, mask))
        for share, own, mask in zip(shares, noise, masks(ring, parties), strict=True)
    ]
    assert opened_sum(ring, answers).tolist() == (grid * counts + noise.sum(axis=0)).tolist()


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("shape", [(6,), (2, 4), (3, 3)])
def test_an_interaction_is_opened_as_the_differences_of_what_would_have_been_opened(ring, shape):
    """And its masks have as many words as there are differences: five, three or four."""
    rng, cells, sent = np.random.default_rng(5), math.prod(shape), math.prod(n - 1 for n in shape)
    noise = rng.integers(-99, 100, (3, cells))
    shares = list(rng.integers(0, 2**ring.bits, (3, cells), dtype=ring.dtype))
    masked = [mask[:sent] for mask in masks(ring, 3)]
    answers = [
        ring.as_signed(masked_answer(ring, share, 16, own, mask, shape))
        for share, own, mask in zip(shares, noise, masked, strict=True)
    ]
    expected = (sum(shares) * ring.dtype.type(16) + ring.words(noise.sum(axis=0))).reshape(shape)
    for axis in range(len(shape)):
        expected = np.diff(expected, axis=axis)
    assert opened_sum(ring, answers).tolist() == ring.as_signed(expected.ravel()).tolist()


@pytest.mark.parametrize("ring", RINGS)
def test_an_answer_has_the_width_of_the_ring_and_wraps_around(ring):
    top = 2**ring.bits - 1
    share, mask = (np.array([top, 2], dtype=ring.dtype) for _ in range(2))
    answer = masked_answer(ring, share, 3, np.array([-1, 5]), mask)
    assert answer.dtype == ring.dtype
    assert answer.tolist() == [(3 * top - 1 + top) % (top + 1), 13]


@pytest.mark.parametrize(("vector", "case"), SUMS)
def test_masks_answers_and_the_opened_sum_are_those_of_the_vector(vector, case):
    ring = Ring(vector["bits"])
    answers = []
    for me, role in enumerate(case["answers"]):
        share, expected_mask, expected = (words(ring, role[key]) for key in ("share", "mask", "answer"))
        mask = vector_mask(vector, me, case["query"], len(share))
        assert np.array_equal(mask, expected_mask)
        answer = masked_answer(ring, share, case["grid"], np.array(role["noise"]), mask)
        assert np.array_equal(answer, expected)
        answers.append(ring.as_signed(answer))
    assert opened_sum(ring, answers).tolist() == case["opened"]
    noise = np.sum([role["noise"] for role in case["answers"]], axis=0)
    assert case["opened"] == (case["grid"] * np.array(case["counts"]) + noise).tolist()


def words(ring, hexadecimal):
    return np.array([int(text, 16) for text in hexadecimal], dtype=ring.dtype)


def vector_mask(vector, me, query, cells):
    """The mask of a party of the vectors."""
    keys = {tuple(map(int, pair.split())): bytes.fromhex(key) for pair, key in vector["pair_keys"].items()}
    streams = {sum(pair) - me: RandomStream(key) for pair, key in keys.items() if me in pair}
    return pairwise_mask(Ring(vector["bits"]), me, streams, query, cells)


def failing(name):
    found = [(v, case) for v in VECTORS for case in v["failing"] if case["name"] == name]
    assert found
    return [pytest.param(*pair, id=f"{pair[0]['bits']} bits") for pair in found]


@pytest.mark.parametrize(
    ("vector", "case"), failing("a party of whose records nothing is asked does not answer")
)
def test_without_one_answer_the_sum_is_uniform_even_if_its_share_is_zero(vector, case):
    ring, asked = Ring(vector["bits"]), vector["sums"][case["sum"]]
    assert not words(ring, asked["answers"][case["missing"]]["share"]).any()
    answers = [ring.as_signed(words(ring, role["answer"])) for role in asked["answers"]]
    del answers[case["missing"]]
    found = opened_sum(ring, answers)
    assert found.tolist() == case["opened"]
    assert np.all(found != np.array(asked["opened"]))


@pytest.mark.parametrize(("vector", "case"), failing("a party was asked another query"))
def test_an_answer_to_another_query_makes_the_sum_uniform(vector, case):
    ring, asked = Ring(vector["bits"]), vector["sums"][case["sum"]]
    answers = [ring.as_signed(words(ring, role["answer"])) for role in asked["answers"]]
    role = asked["answers"][case["party"]]
    mask = vector_mask(vector, case["party"], case["query"], len(role["share"]))
    answer = masked_answer(ring, words(ring, role["share"]), asked["grid"], np.array(role["noise"]), mask)
    answers[case["party"]] = ring.as_signed(answer)
    found = opened_sum(ring, answers)
    assert found.tolist() == case["opened"]
    assert np.all(found != np.array(asked["opened"]))


@pytest.mark.parametrize(("vector", "case"), failing("counts and noise exceed the ring"))
def test_a_sum_beyond_the_ring_is_wrong_so_a_ring_reports_its_range(vector, case):
    ring = Ring(vector["bits"])
    shares = [ring.words(np.array(case["counts"])), np.zeros(len(case["counts"]), dtype=ring.dtype)]
    answers = [
        ring.as_signed(masked_answer(ring, share, case["grid"], np.array(noise), mask[: len(share)]))
        for share, noise, mask in zip(shares, case["noise"], masks(ring, 2), strict=True)
    ]
    found = opened_sum(ring, answers).tolist()
    assert found == case["opened"]
    assert [ring.holds(abs(true)) for true in case["true"]] == [False, True, False]
    assert [one == true for one, true in zip(found, case["true"], strict=True)] == [False, True, False]

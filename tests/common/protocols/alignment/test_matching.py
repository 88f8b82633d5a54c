"""The matcher against joins by dictionaries, and the noise of what it publishes.

Each chi-square test uses one fixed seed and rejects at p < 1e-4: together they would reject right code for
fewer than 2 of 10,000 choices of the seeds.
"""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.alignment.dummies import DummyNoise, dummy_counts, patterns
from dpmosaic.common.protocols.alignment.matching import match
from dpmosaic.common.protocols.alignment.tokens import party_tokens
from support import alignment_reference as reference

pytestmark = pytest.mark.slow

EXACT = 1e-3
"""A scale at which the discrete Gaussian is zero but with probability exp(-500,000)."""

KEY = bytes(range(32))


def words(rows):
    """Tokens of a party from numbers: for each row one number for each match key."""
    found = np.zeros((len(rows), len(rows[0]) if rows else 1, 2), dtype=np.uint64)
    for row, keys in enumerate(rows):
        for level, number in enumerate(keys):
            # Numbers that agree modulo 3 agree in the first word.
            found[row, level] = number % 3, number
    return found


def bytes_of(rows):
    return [[number.to_bytes(16, "little") for number in keys] for keys in rows]


def together(positions):
    """The rows at each position that has any, as sets of (party, row)."""
    held = defaultdict(set)
    for party, own in enumerate(positions):
        for row, position in enumerate(own.tolist()):
            held[position].add((party, row))
    return sorted(held.values(), key=min)


def people(matching):
    return [count + DummyNoise(EXACT).shift for count in matching.people]


SIMPLE = st.lists(st.lists(st.integers(0, 30), unique=True), min_size=1, max_size=5)


@given(SIMPLE)
def test_with_one_match_key_rows_share_a_position_if_and_only_if_their_tokens_are_equal(held):
    found = match([words([[n] for n in own]) for own in held], EXACT, RandomStream(KEY))
    where = defaultdict(set)
    for numbers, positions in zip(held, found.positions, strict=True):
        for number, position in zip(numbers, positions.tolist(), strict=True):
            where[number].add(position)
    assert all(len(positions) == 1 for positions in where.values())
    assert len(set().union(*where.values())) == len(where)


@given(SIMPLE)
def test_with_one_match_key_the_number_of_people_of_each_pattern_is_that_of_a_join(held):
    found = match([words([[n] for n in own]) for own in held], EXACT, RandomStream(KEY))
    counts = dict.fromkeys(patterns(len(held)), 0)
    for number in set().union(*held):
        counts[sum(1 << j for j, own in enumerate(held) if number in own)] += 1
    assert people(found) == list(counts.values())
    assert found.size == len(set().union(*held)) + DummyNoise(math.sqrt(2) * EXACT).shift


@settings(max_examples=200)
@given(st.data())
def test_rows_join_as_in_the_slow_reference(data):
    parties, levels = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 5), min_size=levels, max_size=levels)
    held = data.draw(st.lists(st.lists(row, max_size=6), min_size=parties, max_size=parties))
    tokens = [np.zeros((0, levels, 2), dtype=np.uint64) if not own else words(own) for own in held]
    found = match(tokens, 0.7, RandomStream(KEY))
    positions, size, counts = reference.matched([bytes_of(own) for own in held], 0.7, KEY)
    assert [own.tolist() for own in found.positions] == positions
    assert (found.size, list(found.people)) == (size, counts)


@given(
    st.lists(
        st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), max_size=6), min_size=2, max_size=4
    )
)
def test_positions_of_a_party_are_distinct_and_below_the_size(held):
    tokens = [np.zeros((0, 2, 2), dtype=np.uint64) if not own else words(own) for own in held]
    found = match(tokens, 0.7, RandomStream(KEY))
    for own, positions in zip(held, found.positions, strict=True):
        assert positions.dtype == np.uint32
        assert len(set(positions.tolist())) == len(own)
        assert all(position < found.size for position in positions.tolist())


def test_a_token_that_a_party_sends_twice_matches_at_no_other_party():
    found = match([words([[7]]), words([[7], [7]]), words([[7]])], EXACT, RandomStream(KEY))
    assert together(found.positions) == [{(0, 0), (2, 0)}, {(1, 0)}, {(1, 1)}]


def test_a_row_that_the_first_match_key_leaves_alone_is_matched_by_the_second():
    found = match([words([[1, 50], [2, 60]]), words([[9, 60], [1, 61]])], EXACT, RandomStream(KEY))
    assert together(found.positions) == [{(0, 0), (1, 1)}, {(0, 1), (1, 0)}]


def test_a_row_that_the_first_match_key_has_matched_takes_no_part_in_the_second():
    found = match([words([[1, 50]]), words([[1, 51], [2, 50]])], EXACT, RandomStream(KEY))
    assert together(found.positions) == [{(0, 0), (1, 0)}, {(1, 1)}]


def test_two_rows_of_one_party_never_share_a_position_through_a_third_row():
    first, second = [[1, 50]], [[9, 50], [8, 70]]
    third = [[1, 70]]
    found = match([words(first), words(second), words(third)], EXACT, RandomStream(KEY))
    assert together(found.positions) == [{(0, 0), (1, 0), (2, 0)}, {(1, 1)}]


def test_tokens_for_different_numbers_of_match_keys_are_refused():
    with pytest.raises(ProtocolError, match="for each match key of the plan"):
        match([words([[1]]), words([[1, 2]])], EXACT, RandomStream(KEY))


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_people_of_all_parties_get_their_positions_among_dummies(parties):
    sigma, rng = 2.0, np.random.default_rng(parties)
    held = [sorted(rng.choice(400, 250, replace=False).tolist()) for _ in range(parties)]
    own = [
        party_tokens(KEY, 0, parties, j, sigma, [[b"%d" % n for n in held[j]]], RandomStream.from_seed(j))
        for j in range(parties)
    ]
    found = match([one.tokens for one in own], sigma, RandomStream.from_seed(99))
    rows = [one.rows(positions).tolist() for one, positions in zip(own, found.positions, strict=True)]
    where = {}
    for numbers, positions in zip(held, rows, strict=True):
        for number, position in zip(numbers, positions, strict=True):
            assert where.setdefault(number, position) == position
    assert len(set(where.values())) == len(where)

    # What the matcher sees, less the dummies, is the truth.
    seen = dict.fromkeys(patterns(parties), 0)
    sets = [set(positions.tolist()) for positions in found.positions]
    for position in set().union(*sets):
        seen[sum(1 << j for j in range(parties) if position in sets[j])] += 1
    true = dict.fromkeys(patterns(parties), 0)
    for number in where:
        true[sum(1 << j for j in range(parties) if number in held[j])] += 1
    dummies = dummy_counts(KEY, 0, parties, sigma)
    assert [count - added for count, added in zip(seen.values(), dummies, strict=True)] == list(true.values())


def test_the_same_tokens_and_stream_give_the_same_matching_again():
    tokens = [words([[n] for n in range(20)]), words([[n] for n in range(10, 30)])]
    stream = RandomStream(KEY)
    one, again, other = (
        match(tokens, 2.0, stream),
        match(tokens, 2.0, stream),
        match(tokens, 2.0, RandomStream(bytes(32))),
    )
    assert [own.tolist() for own in one.positions] == [own.tolist() for own in again.positions]
    assert (one.size, one.people) == (again.size, again.people)
    assert one.positions[0].tolist() != other.positions[0].tolist()


def pvalue(sigma, drawn):
    edge = math.ceil(2.5 * sigma)
    observed = np.bincount(np.clip(drawn, -edge, edge) + edge, minlength=2 * edge + 1)
    numbers = np.arange(-20 * edge, 20 * edge + 1)
    weights = np.exp(-((numbers / sigma) ** 2) / 2)
    expected = np.bincount(np.clip(numbers, -edge, edge) + edge, weights) / weights.sum() * len(drawn)
    return stats.chisquare(observed, expected).pvalue


def test_numbers_of_people_and_of_positions_have_noise_of_twice_the_dummies_variance():
    sigma = 2.0
    empty = [np.zeros((0, 1, 2), dtype=np.uint64)] * 3
    found = [match(empty, sigma, RandomStream.from_seed(seed)) for seed in range(2_000)]
    wide = math.sqrt(2) * sigma
    counts = np.array([one.people for one in found]).reshape(-1) + DummyNoise(sigma).shift
    assert pvalue(wide, counts) > 1e-4
    assert pvalue(wide, np.array([one.size for one in found]) - DummyNoise(wide).shift) > 1e-4


def test_a_row_is_at_each_position_equally_often():
    # A cell is off by 6 standard deviations for fewer than 1 of 10^6 choices of the seeds.
    tokens = [words([[1], [2], [3]]), words([[3], [4]])]
    places = np.zeros((2, 40))
    for seed in range(2_000):
        found = match(tokens, EXACT, RandomStream.from_seed(seed))
        for row in range(2):
            places[row, found.positions[1][row]] += 1
    expected = 2_000 / found.size
    assert np.abs(places[:, : found.size] - expected).max() < 6 * math.sqrt(expected)
    assert places[:, found.size :].sum() == 0

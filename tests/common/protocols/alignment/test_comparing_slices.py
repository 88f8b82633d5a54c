"""People in several slices: who counts where, and what one person changes in each view."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import DataError
from dpmosaic.common.protocols.alignment.dummies import AlignmentNoise, DummyNoise
from dpmosaic.common.protocols.alignment.matching import match, match_across
from dpmosaic.common.protocols.alignment.plan import DDH, HMAC
from dpmosaic.common.protocols.alignment.tokens import party_tokens

pytestmark = pytest.mark.slow

KEY = bytes(range(32))
EXACT = 1e-3
"""A scale at which all noise is zero but with probability below exp(-1,000)."""

SHAPES = [(2,), (3,), (2, 2), (3, 2), (2, 2, 2), (2, 4)]

NUMBERS = st.lists(st.integers(0, 12), unique=True, max_size=9)
SLICES = st.lists(st.lists(NUMBERS, min_size=2, max_size=3), min_size=1, max_size=3).filter(
    lambda slices: sum(map(len, slices)) <= 8
)


def matched(slices, sigma=EXACT, seed=0, keying=HMAC):
    tokens = [
        [np.array([[[0, number]] for number in own], dtype=np.uint64).reshape(-1, 1, 2) for own in members]
        for members in slices
    ]
    return match_across(tokens, sigma, RandomStream.from_seed(seed), keying)


def complete(members):
    return set.intersection(*map(set, members))


def placed(members, found):
    """For each number the positions of its rows, party by party."""
    where = {}
    for own, positions in zip(members, found.positions, strict=True):
        assert len(set(positions.tolist())) == len(own)
        for number, position in zip(own, positions.tolist(), strict=True):
            assert position < found.size
            where.setdefault(number, []).append(position)
    return where


@given(SLICES)
def test_a_person_has_one_position_in_a_slice_unless_an_earlier_slice_is_complete(slices):
    before = set()
    for members, found in zip(slices, matched(slices), strict=True):
        where = placed(members, found)
        taken = []
        for number, positions in where.items():
            apart = number in complete(members) & before
            assert len(set(positions)) == (len(members) if apart else 1)
            taken += set(positions)
        assert len(set(taken)) == len(taken)
        before |= complete(members)


@given(SLICES)
def test_numbers_of_people_are_those_of_people_who_count(slices):
    before, parties = set(), sum(map(len, slices))
    shift = DummyNoise(EXACT).shift
    first = 0
    for number, (members, found) in enumerate(zip(slices, matched(slices), strict=True)):
        size = len(members)
        gone = complete(members) & before
        counts = [0] * (1 << size)
        for person in set().union(*members) - gone:
            counts[sum(1 << j for j, own in enumerate(members) if person in own)] += 1
        # Dummies of a pattern over all parties are people like others.
        full = [(1 << len(earlier)) - 1 for earlier in slices[:number]]
        starts = np.cumsum([0, *map(len, slices)])
        dropped = 0
        for pattern in range(1, 1 << parties):
            held = pattern >> first & ((1 << size) - 1)
            earlier = any(pattern >> starts[n] & whole == whole for n, whole in enumerate(full))
            if held == (1 << size) - 1 and earlier:
                dropped += shift
            else:
                counts[held] -= shift
        assert list(found.people) == counts[1:]
        assert found.left_out == len(gone) - dropped
        before |= complete(members)
        first += size


def test_one_slice_is_matched_as_by_itself():
    members = [[1, 2, 3], [3, 4]]
    (found,) = matched([members], 2.0)
    tokens = [np.array([[[0, number]] for number in own], dtype=np.uint64) for own in members]
    alone = match(tokens, 2.0, RandomStream.from_seed(0))
    assert [own.tolist() for own in found.positions] == [own.tolist() for own in alone.positions]
    assert (found.size, found.people, found.left_out) == (alone.size, alone.people, 0)


def test_slices_with_people_in_common_count_each_of_them_once_among_dummies():
    sigma, names = 1.0, [[[1, 2, 3], [2, 3, 4]], [[2, 3, 5, 6], [6, 3, 5]]]
    parties = [(number, own) for number, members in enumerate(names) for own in members]
    sent = [
        party_tokens(KEY, 0, 4, j, sigma, [[b"%d" % n for n in own]], RandomStream.from_seed(j))
        for j, (_, own) in enumerate(parties)
    ]
    tokens = [[sent[j].tokens for j in range(4) if parties[j][0] == number] for number in range(2)]
    found = match_across(tokens, sigma, RandomStream.from_seed(9))
    first, second = (
        [sent[2 * number + j].rows(found[number].positions[j]).tolist() for j in range(2)]
        for number in range(2)
    )
    assert first[0][1:] == first[1][:2]
    assert (second[0][2], second[0][3]) == (second[1][2], second[1][0])
    assert second[0][1] != second[1][1]
    assert len({*second[0], *second[1]}) == 5


@pytest.mark.parametrize("shape", [(1, 2), (2, 1)])
def test_a_slice_of_one_party_is_refused(shape):
    with pytest.raises(DataError, match="at least two parties in each slice that is compared"):
        matched([[[1]] * size for size in shape])


def views(shape, held, keying):
    """What every party can see if one person is in these parties, in multiples of its noise's scale.

    The same words are drawn for all, so differences are those of the numbers without noise.
    """
    members = np.split(np.array([bool(held >> j & 1) for j in range(sum(shape))]), np.cumsum(shape)[:-1])
    found = matched([[[7] if there else [] for there in own] for own in members], keying=keying)
    noise = AlignmentNoise(EXACT, sum(shape), keying, len(shape))
    seen = []
    for number, one in enumerate(found):
        seen.append(one.size / noise.empty(shape[number] if number else 1).sigma)
        seen += [count / noise.published_sigma for count in (*one.people, one.left_out)]
    lengths = [(held >> j & 1) / noise.padding.sigma for j in range(sum(shape))] if noise.padding else []
    return np.array(seen), np.array(lengths)


def cost(one, other):
    """Half the squared distance of two views, for the party that sees most."""
    (seen, lengths), (seen_other, lengths_other) = one, other
    passed = np.sort((lengths - lengths_other) ** 2)[1:].sum()
    return (((seen - seen_other) ** 2).sum() + passed) / 2


@pytest.mark.parametrize("keying", [HMAC, DDH])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_person_costs_in_the_view_of_a_party_at_most_what_is_charged(shape, keying):
    rho = 1 / (2 * EXACT**2)
    nobody, *somebody = (views(shape, held, keying) for held in range(1 << sum(shape)))
    added = [cost(nobody, one) for one in somebody]
    assert max(added) <= rho * (1 + 1e-9)
    # The padding of "ddh" is in the published numbers too: what a party computes from both is in tests/audit.
    assert keying == DDH or max(added) == pytest.approx(rho)
    replaced = [cost(one, other) for one, other in combinations(somebody, 2)]
    assert max(replaced) <= 2 * rho * (1 + 1e-9)


def test_numbers_of_a_later_slice_have_the_noise_that_is_stated():
    # Each of five variances of 500 draws is off by 0.3 for fewer than 1 of 10^5 choices of the seeds.
    sigma, noise = 2.0, AlignmentNoise(2.0, 4, HMAC, 2)
    found = [matched([[[], []], [[], []]], sigma, seed)[1] for seed in range(500)]
    drawn = {
        noise.published_sigma: [
            *zip(*(one.people for one in found), strict=True),
            [one.left_out for one in found],
        ],
        noise.empty(2).sigma: [[one.size for one in found]],
    }
    assert noise.published_sigma == pytest.approx(math.sqrt(2 * 2) * sigma)
    for scale, numbers in drawn.items():
        for values in numbers:
            assert np.var(values) / scale**2 == pytest.approx(1, abs=0.3)

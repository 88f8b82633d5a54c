"""The proof that an opened matrix is one-hot: complete, sound, and telling the receiver nothing.

A matrix that is not one-hot passes with probability below 2^-53; all coins are fixed.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.masked.field import (
    PRIME,
    elements,
    interpolation,
    minus,
    plus,
    product,
    times,
    uniform,
)
from dpmosaic.common.protocols.masked.one_hot import (
    GROUPS,
    PROOF_ELEMENTS,
    Challenge,
    attest,
    attestation_elements,
    holds,
    prove,
)
from dpmosaic.common.protocols.masked.ring import Ring

pytestmark = pytest.mark.slow

RINGS, COINS = [Ring(32), Ring(64)], b"c" * 32
in_rings = pytest.mark.parametrize("ring", RINGS, ids=["32 bits", "64 bits"])


def matrix(codes, cells, ring):
    return np.eye(cells, dtype=ring.dtype)[codes]


def mask(rows, cells, ring, seed=1):
    return ring.uniform(RandomStream.from_seed(seed), rows, cells).copy()


def streams(coins=COINS):
    """Fresh streams of owner and dealer, and of owner and receiver."""
    return [RandomStream.from_seed(3).child(role, coins.hex()) for role in ("dealer", "receiver")]


def messages(opened, masks, coins=COINS, point=9, empty=False):
    """The challenge, the receiver's sketch, the proof and the attestation, of honest roles."""
    challenge = Challenge.from_coins(coins, *opened.shape, empty=empty)
    hidden = challenge.sketch([masks], masks=True)
    shown = challenge.sketch([opened[:3], opened[3:]] if len(opened) > 3 else [opened], masks=False)
    proof = prove(challenge, hidden, shown, *streams(coins))
    attestation = attest(challenge, hidden, streams(coins)[0], RandomStream.from_seed(point))
    return challenge, shown, proof, attestation


def passes(matrix, masks, empty=False):
    challenge, shown, proof, attestation = messages(matrix - masks, masks, empty=empty)
    return holds(challenge, shown, proof, attestation, streams()[1])


@in_rings
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(1, 6), st.integers(0, 100))
def test_one_hot_rows_pass_for_any_shape(ring, rows, cells, seed):
    codes = np.random.default_rng(seed).integers(0, cells, rows)
    assert passes(matrix(codes, cells, ring), mask(rows, cells, ring, seed))


def special(words, ring):
    """Masks of five equal rows; -1 is the largest word, and 2^32 has no low bits."""
    return np.tile(np.array([word % 2**ring.bits for word in words], dtype=ring.dtype), (5, 1))


SPECIAL = [[0, 0, 0], [1, 1, 1], [2, 1, 0], [-1, 0, 1], [2**32, -(2**32), 1 - 2**32], [2, -1, -1]]


@in_rings
@pytest.mark.parametrize("words", SPECIAL)
def test_one_hot_rows_and_rows_of_zeros_pass_under_masks_that_do_not_wrap_around(words, ring):
    """A mask of 0, and a mask of 1 under a 1, are the only words whose sum with the opening stays small."""
    codes = np.array([0, 1, 2, 3, 3])
    assert passes(matrix(codes % 3, 3, ring), special(words, ring))
    assert passes(matrix(codes, 4, ring)[:, :3], special(words, ring), empty=True)


@in_rings
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(1, 6), st.integers(0, 100))
def test_rows_of_zeros_pass_where_they_are_allowed_and_not_elsewhere(ring, rows, cells, seed):
    codes = np.random.default_rng(seed).integers(0, cells + 1, rows)
    found, masks = matrix(codes, cells + 1, ring)[:, :cells], mask(rows, cells, ring, seed)
    assert passes(found, masks, empty=True)
    assert passes(found, masks) == (not np.any(codes == cells))


def changed(change, ring):
    rows = matrix(np.arange(40) % 4, 4, ring)
    for place, value in change.items():
        rows[place] = np.vectorize(lambda word: int(word) % 2**ring.bits, otypes=[ring.dtype])(value)
    return rows


WRONG = {
    "a weight": {(17, 1): 1 << 18},
    "a weight that vanishes modulo the ring's half": {(17, 1): (1 << 31) + 1},
    "minus one": {(17, 1): -1},
    "weights that cancel": {(17, 1): 1000, (21, 1): -999},
    "two values": {(17, 0): 1},
    "two values that cancel a third": {(17, 0): 1, (17, 2): -1},
    "two values that cancel": {(17, 0): 1, (17, 1): -1},
    "two values of one sum": {(17, 0): 2, (17, 1): -1},
    "a weight in every row": {...: 2 * np.eye(4, dtype=np.int64)[np.arange(40) % 4]},
}


@in_rings
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_row_that_is_neither_one_hot_nor_zero_fails(change, empty, ring):
    assert not passes(changed(change, ring), mask(40, 4, ring), empty)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("times", [1, -1, 2, 8, -8])
@pytest.mark.parametrize("place", [(17, 0), (17, 1)])
def test_words_of_64_bits_that_are_one_hot_modulo_the_prime_fail(place, times, empty):
    """Such a word is 0 or 1 in the field, but not in its low bits, of which p has those of -1."""
    rows = changed({}, Ring(64))
    rows[place] += np.uint64(times * PRIME % 2**64)
    assert not passes(rows, mask(40, 4, Ring(64)), empty)


def test_words_whose_residues_say_one_cell_and_low_bits_another_fail():
    rows = changed({(17, 0): 1 - 2**61, (17, 1): 2**61}, Ring(64))
    assert not passes(rows, mask(40, 4, Ring(64)))


@pytest.mark.parametrize("shift", [32, 40, 63])
def test_words_of_64_bits_that_differ_in_high_bits_alone_fail(shift):
    assert not passes(changed({(17, 0): 1 << shift}, Ring(64)), mask(40, 4, Ring(64)))


@in_rings
def test_a_proof_that_hides_the_error_in_its_sum_fails_at_the_point(ring):
    """The owner adds to one group what the sum lacks, after it has seen the coins."""
    rows, masks = changed({(17, 1): 1 << 18}, ring), mask(40, 4, ring)
    challenge, shown, proof, attestation = messages(rows - masks, masks)
    lacking = sum(map(int, (attestation[1], *proof[1 : GROUPS + 1]))) + challenge.local(shown, masks=False)
    proof[1] = (int(proof[1]) - lacking) % PRIME
    total = sum(map(int, (attestation[1], *proof[1 : GROUPS + 1]))) + challenge.local(shown, masks=False)
    assert total % PRIME == 0
    assert not holds(challenge, shown, proof, attestation, streams()[1])


@in_rings
def test_every_altered_element_of_a_proof_or_attestation_fails(ring):
    rows, masks = matrix(np.arange(40) % 4, 4, ring), mask(40, 4, ring)
    challenge, shown, proof, attestation = messages(rows - masks, masks)
    assert (proof.size, attestation.size) == (PROOF_ELEMENTS, attestation_elements(40, ring))
    for message in (proof, attestation):
        for place in range(message.size):
            before = message[place]
            message[place] = (int(before) + 1) % PRIME
            assert not holds(challenge, shown, proof, attestation, streams()[1])
            message[place] = before
    assert holds(challenge, shown, proof, attestation, streams()[1])


def test_a_point_at_which_a_group_would_be_shown_fails():
    rows, masks = matrix(np.arange(40) % 4, 4, Ring(32)), mask(40, 4, Ring(32))
    challenge, shown, proof, attestation = messages(rows - masks, masks)
    for point in (0, 1, GROUPS, PROOF_ELEMENTS):
        attestation[0] = point
        assert not holds(challenge, shown, proof, attestation, streams()[1])


class Scripted:
    """A stream of these words."""

    def __init__(self, *words):
        self.drawn = iter(words)

    def words(self, count):
        found = next(self.drawn)
        assert found.size == count
        return found


@in_rings
def test_the_receiver_sees_the_same_of_every_table_that_its_opening_may_belong_to(ring):
    """For each choice of the random words with one table there is one with the other and the same messages.

    Then the messages are equally likely for both tables, since the words are uniform.
    """
    opened, challenge = mask(40, 4, ring, seed=5), Challenge.from_coins(COINS, 40, 4, empty=False)
    shown = challenge.sketch([opened], masks=False)
    hidden, other = (
        challenge.sketch([matrix(codes, 4, ring) - opened], masks=True)
        for codes in (np.zeros(40, dtype=int), np.arange(40) % 4)
    )
    blind, shares = (
        uniform(RandomStream.from_seed(n), size)
        for n, size in ((7, 3 * ring.bits // 16), (8, PROOF_ELEMENTS))
    )
    proof = prove(challenge, hidden, shown, Scripted(blind, shares), streams()[1])
    attestation = attest(challenge, hidden, Scripted(blind, shares), RandomStream.from_seed(9))

    (weights,) = interpolation(GROUPS + 1, [int(attestation[0])])
    one, two = (challenge.left(sketch, Scripted(blind)) for sketch in (hidden, other))
    moved = product(weights[None, 1:], minus(one[1:], two[1:]))[0]
    inverse = elements([pow(int(weights[0]), -1, PRIME)])
    blind = plus(blind, times(moved, inverse))
    zeros = np.zeros(PROOF_ELEMENTS, dtype=np.uint64)
    values = prove(challenge, other, shown, Scripted(blind, zeros), streams()[1])
    shares = minus(values, proof)

    assert not np.array_equal(one, two)
    again = prove(challenge, other, shown, Scripted(blind, shares), streams()[1])
    assert again.tolist() == proof.tolist()
    said = attest(challenge, other, Scripted(blind, shares), RandomStream.from_seed(9))
    assert said.tolist() == attestation.tolist()


def test_other_coins_give_another_challenge():
    one, other = (Challenge.from_coins(coins, 40, 4, empty=False) for coins in (COINS, b"d" * 32))
    assert not np.array_equal(one.columns, other.columns)
    assert not np.array_equal(one.rows, other.rows)

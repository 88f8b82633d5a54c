"""The proof that an opened matrix is one-hot: complete, sound, and telling the receiver nothing.

A matrix that is not one-hot passes with probability below 2^-53; all coins are fixed.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.arithmetic.field import (
    PRIME,
    elements,
    interpolation,
    minus,
    plus,
    product,
    times,
    uniform,
)
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import known_components
from dpmosaic.common.protocols.masked.one_hot import (
    PROOF_ELEMENTS,
    PROOF_ROWS,
    Challenge,
    attest,
    attestation_elements,
    holds,
    prove,
    sums_of_rows,
)
from dpmosaic.common.protocols.masked.one_hot_integers import IntegerChallenge
from dpmosaic.common.protocols.masked.plan import COMPONENT_BITS

pytestmark = pytest.mark.slow

COINS = b"c" * 32


@dataclass(frozen=True)
class Kind:
    """Masks of one kind.

    Attributes:
        challenge: class of their challenges.
        bits: of a word.
        below: bits of a component of a mask.
        dealers: number of dealers, and of components.
    """

    challenge: type
    bits: int
    below: int
    dealers: int

    @property
    def dtype(self):
        return Ring(self.bits).dtype

    def matrix(self, codes, cells):
        return np.eye(cells, dtype=self.dtype)[codes]

    def mask(self, rows, cells, seed=1):
        """Each component."""
        ring, stream = Ring(self.bits), RandomStream.from_seed(seed)
        words = [ring.uniform(stream, rows, cells).copy() for _ in range(self.dealers)]
        return [one >> self.dtype.type(self.bits - self.below) for one in words]

    def streams(self, coins=COINS):
        """Fresh streams of owner and dealers, one for each component."""
        source = RandomStream.from_seed(3)
        return [source.child(f"dealer {number}", coins.hex()) for number in range(self.dealers)]

    def attested(self, challenge, mask, streams, point=9):
        """What each dealer says."""
        return [self.said(challenge, mask, streams(), position, point) for position in range(self.dealers)]

    def said(self, challenge, mask, streams, position, point=9):
        known = known_components(self.dealers, position)
        return attest(
            challenge,
            {x: challenge.sketch([mask[x]], masks=True) for x in known},
            {x: streams[x] for x in known},
            RandomStream.from_seed(point),
            self.dealers,
            position,
        )


KINDS = {
    "words of 32 bits": Kind(Challenge, 32, 32, 1),
    "integers of one dealer": Kind(IntegerChallenge, 64, COMPONENT_BITS, 1),
    "integers of three dealers": Kind(IntegerChallenge, 64, COMPONENT_BITS, 3),
}
of_each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
of_integers = pytest.mark.parametrize("kind", list(KINDS.values())[1:], ids=list(KINDS)[1:])


def sum_of(mask):
    """The mask from its components."""
    return sum(mask[1:], start=mask[0])


def receiver(coins=COINS):
    """A fresh stream of owner and receiver."""
    return RandomStream.from_seed(3).child("receiver", coins.hex())


def messages(kind, opened, mask, empty=False):
    """The challenge, the receiver's sketch, the proof and the attestations, of honest roles."""
    challenge = kind.challenge.from_coins(COINS, *opened.shape, empty=empty)
    hidden = challenge.sketch([sum_of(mask)], masks=True)
    shown = challenge.sketch([opened[:3], opened[3:]] if len(opened) > 3 else [opened], masks=False)
    proof = prove(challenge, hidden, shown, kind.streams(), receiver())
    return challenge, shown, proof, kind.attested(challenge, mask, kind.streams)


def passes(kind, matrix, mask, empty=False):
    try:
        found = messages(kind, matrix - sum_of(mask), mask, empty)
    except ProtocolError:
        return False
    return holds(*found, receiver())


@of_each_kind
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(1, 6), st.integers(0, 100))
def test_one_hot_rows_pass_for_any_shape(kind, rows, cells, seed):
    codes = np.random.default_rng(seed).integers(0, cells, rows)
    assert passes(kind, kind.matrix(codes, cells), kind.mask(rows, cells, seed))


@of_each_kind
@pytest.mark.parametrize("empty", [False, True])
def test_an_owner_has_the_sums_of_mask_and_opening_in_one_pass(empty, kind):
    codes, mask = np.arange(40) % 4, sum_of(kind.mask(40, 4))
    codes[36:] = -1
    rows = kind.matrix(codes, 5)[:, :4]
    # Masks under which nothing wraps around.
    mask[:4] = [[0] * 4, [1] * 4, [2, 1, 0, 3], [-1 % 2**kind.below] * 4]
    mask[36], mask[37] = [0, 0, 0, -1 % 2**kind.below], 0
    challenge = kind.challenge.from_coins(COINS, 40, 4, empty=empty)
    found = challenge.own_sums([(mask[:7], codes[:7]), (mask[7:], codes[7:])])
    expected = challenge.sketch([mask], masks=True), challenge.sketch([rows - mask], masks=False)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.weighted, other.weighted)
        assert np.array_equal(one.squared, other.squared)
        assert np.array_equal(one.plain, other.plain)


def special(words, kind):
    """Masks of five equal rows; -1 is the largest word, and 2^32 has no low bits."""
    component = np.tile(np.array([word % 2**kind.below for word in words], dtype=kind.dtype), (5, 1))
    return [component] * kind.dealers


SPECIAL = [[0, 0, 0], [1, 1, 1], [2, 1, 0], [-1, 0, 1], [2**32, -(2**32), 1 - 2**32], [2, -1, -1]]


@of_each_kind
@pytest.mark.parametrize("words", SPECIAL)
def test_one_hot_rows_and_rows_of_zeros_pass_under_the_least_and_largest_masks(words, kind):
    """Words of 32 bits: a mask of 0, and a mask of 1 under a 1, alone do not wrap around."""
    codes = np.array([0, 1, 2, 3, 3])
    assert passes(kind, kind.matrix(codes % 3, 3), special(words, kind))
    assert passes(kind, kind.matrix(codes, 4)[:, :3], special(words, kind), empty=True)


@of_each_kind
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(1, 6), st.integers(0, 100))
def test_rows_of_zeros_pass_where_they_are_allowed_and_not_elsewhere(kind, rows, cells, seed):
    codes = np.random.default_rng(seed).integers(0, cells + 1, rows)
    found, mask = kind.matrix(codes, cells + 1)[:, :cells], kind.mask(rows, cells, seed)
    assert passes(kind, found, mask, empty=True)
    assert passes(kind, found, mask) == (not np.any(codes == cells))


def changed(change, kind):
    rows = kind.matrix(np.arange(40) % 4, 4)
    for place, value in change.items():
        rows[place] = np.vectorize(lambda word: int(word) % 2**kind.bits, otypes=[kind.dtype])(value)
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


@of_each_kind
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_row_that_is_neither_one_hot_nor_zero_fails(change, empty, kind):
    assert not passes(kind, changed(change, kind), kind.mask(40, 4), empty)


@of_integers
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("times", [1, -1, 2, 8, -8])
@pytest.mark.parametrize("place", [(17, 0), (17, 1)])
def test_integers_that_are_one_hot_modulo_the_prime_fail(place, times, empty, kind):
    """Such a word is 0 or 1 in the field, but not in its low bits, of which p has those of -1."""
    rows = changed({}, kind)
    rows[place] += np.uint64(times * PRIME % 2**64)
    assert not passes(kind, rows, kind.mask(40, 4), empty)


@of_integers
@pytest.mark.parametrize("shift", [32, 40, 57, 60, 63])
def test_integers_that_differ_in_high_bits_alone_fail(shift, kind):
    assert not passes(kind, changed({(17, 0): 1 << shift}, kind), kind.mask(40, 4))


@of_each_kind
def test_a_proof_that_hides_the_error_in_its_sum_fails_at_the_point(kind):
    """The owner adds to one group what the sum lacks, after it has seen the coins."""
    rows, mask = changed({(17, 1): 1 << 18}, kind), kind.mask(40, 4)
    challenge, shown, proof, said = messages(kind, rows - sum_of(mask), mask)

    def total():
        known = sum(int(one[1]) for one in said) + sum(map(int, proof[1 : PROOF_ROWS + 1]))
        return (known + challenge.local(shown, masks=False)) % PRIME

    proof[1] = (int(proof[1]) - total()) % PRIME
    assert total() == 0
    assert not holds(challenge, shown, proof, said, receiver())


@of_each_kind
def test_every_altered_element_of_a_proof_or_attestation_fails(kind):
    rows, mask = kind.matrix(np.arange(40) % 4, 4), kind.mask(40, 4)
    challenge, shown, proof, said = messages(kind, rows - sum_of(mask), mask)
    sizes = [PROOF_ELEMENTS] + kind.dealers * [attestation_elements(40, challenge.vectors)]
    assert [message.size for message in (proof, *said)] == sizes
    for message in (proof, *said):
        for place in range(message.size):
            before = message[place]
            message[place] = (int(before) + 1) % PRIME
            assert not holds(challenge, shown, proof, said, receiver())
            message[place] = before
    assert holds(challenge, shown, proof, said, receiver())


@of_each_kind
def test_a_point_at_which_a_group_would_be_shown_fails(kind):
    rows, mask = kind.matrix(np.arange(40) % 4, 4), kind.mask(40, 4)
    challenge, shown, proof, said = messages(kind, rows - sum_of(mask), mask)
    for point in (0, 1, PROOF_ROWS, PROOF_ELEMENTS):
        for one in said:
            one[0] = point
        assert not holds(challenge, shown, proof, said, receiver())


class Scripted:
    """A stream of these words, whose child is a stream of one word."""

    def __init__(self, *words, child=None):
        self.drawn, self.of_child = iter(words), child

    def words(self, count):
        found = next(self.drawn)
        assert found.size == count
        return found

    def child(self, label):
        assert label == "zero share"
        return Scripted(self.of_child)


@of_each_kind
def test_the_receiver_sees_the_same_of_every_table_that_its_opening_may_belong_to(kind):
    """For each choice of the random words with one table there is one with the other and the same messages.

    Then the messages are equally likely for both tables, since the words are uniform. Of three dealers, one
    works together with the receiver: the last component is the one that it does not know.
    """
    unknown = kind.dealers - 1
    challenge = kind.challenge.from_coins(COINS, 40, 4, empty=False)
    masks = [kind.mask(40, 4, seed=5), kind.mask(40, 4, seed=5)]
    tables = [kind.matrix(codes, 4) for codes in (np.zeros(40, dtype=int), np.arange(40) % 4)]
    opened = tables[0] - sum(masks[0][1:], start=masks[0][0])
    masks[1][unknown] = tables[1] - opened - sum(masks[1][:unknown], start=np.zeros_like(opened))
    shown = challenge.sketch([opened], masks=False)
    hidden = [challenge.sketch([sum_of(mask)], masks=True) for mask in masks]
    parts = [challenge.sketch([mask[unknown]], masks=True) for mask in masks]

    def seen(table, blind, shares, zero):
        """The proof, and what honest dealers say."""

        def streams():
            return [*kind.streams()[:unknown], Scripted(blind, shares, child=zero)]

        proof = prove(challenge, hidden[table], shown, streams(), receiver())
        colluding = () if kind.dealers == 1 else (unknown,)
        honest = [d for d in range(kind.dealers) if d not in colluding]
        return proof, [kind.said(challenge, masks[table], streams(), d) for d in honest]

    words = uniform(RandomStream.from_seed(7), 2 * challenge.vectors)
    shares, zero = uniform(RandomStream.from_seed(8), PROOF_ELEMENTS), elements([17])
    proof, said = seen(0, words, shares, zero)

    # Another blind hides the other vector at the point, other shares the other polynomial.
    (weights,) = interpolation(PROOF_ROWS + 1, [int(said[0][0])])
    one, two = (challenge.left_vector(part, [Scripted(words)]) for part in parts)
    moved = product(weights[None, 1:], minus(one[1:], two[1:]))[0]
    blind = plus(words, times(moved, elements([pow(int(weights[0]), -1, PRIME)])))
    zeros = np.zeros(PROOF_ELEMENTS, dtype=np.uint64)
    shares = minus(seen(1, blind, zeros, zero)[0], proof)
    if kind.dealers > 1:
        first = seen(1, blind, shares, zero)[1][0]
        zero = elements([int(zero[0]) + int(said[0][1]) - int(first[1])])

    assert not np.array_equal(one, two)
    again, repeated = seen(1, blind, shares, zero)
    assert again.tolist() == proof.tolist()
    assert [one.tolist() for one in repeated] == [one.tolist() for one in said]


def test_what_one_integer_mask_hides_differs_for_two_values_in_two_of_its_words():
    """On a small scale: of 2^b masks, those that show 0 as a word show 1 as it, but for the two ends."""
    bits = 4
    shown = [{value - mask for mask in range(2**bits)} for value in (0, 1)]
    assert len(shown[0] ^ shown[1]) == 2


@of_each_kind
def test_other_coins_give_another_challenge(kind):
    one, other = (kind.challenge.from_coins(coins, 40, 4, empty=False) for coins in (COINS, b"d" * 32))
    assert not np.array_equal(one.columns, other.columns)
    assert not np.array_equal(one.rows, other.rows)


@pytest.mark.parametrize("cells", [1, 32, 128, 129, 600])
@pytest.mark.parametrize(("dtype", "whole"), [("<u4", True), ("<u4", False), ("<u8", False)])
def test_sums_of_rows_are_exact_for_the_largest_words_and_elements(dtype, whole, cells):
    largest = np.iinfo(dtype).max
    words = np.full((5, cells), largest, dtype=dtype)
    words[1], words[2] = 0, np.arange(cells)
    columns = np.full(cells, PRIME - 1, dtype=np.uint64)
    columns[::3] = np.arange(columns[::3].size)
    counted = np.where(words == 0, largest + 1 if whole else 0, words.astype(object)) - 7
    sums = sums_of_rows(columns, [words[:2], words[2:]], 7, whole=whole)
    for found, power in ((sums.plain, 0), (sums.weighted, 1), (sums.squared, 2)):
        assert found.tolist() == (counted @ columns.astype(object) ** power % PRIME).tolist()

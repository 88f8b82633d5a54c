"""The check of dealt row-wise products, role by role, against integers of Python."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic.ring import WIDE, Ring
from dpmosaic.common.protocols.masked.masks import Masks
from dpmosaic.common.protocols.masked.sacrifice import combine, inner, repetitions, weighted_sum, weights

ROWS, LEFT, RIGHT = 3, 2, 3


def masks_of(label):
    components = {number: RandomStream.from_seed(number).child(label) for number in range(3)}
    return Masks(components)


def dealt_and_sent(ring):
    """One product: B, what is dealt, the dealt words of the check, and the owner's words and sums."""
    times = repetitions(ring)
    left = masks_of("left").child("mask").wide(ring, 0, ROWS, LEFT)
    right = masks_of("right").child("mask").wide(ring, 0, ROWS, RIGHT)
    hidden = masks_of("left").child("check").uniform(WIDE, 0, ROWS, times * RIGHT)
    pads = WIDE.uniform(RandomStream.from_seed(3), ROWS, LEFT * RIGHT)
    product = [
        [int(a) * int(b) % 2**64 for a, b in itertools.product(*factors)]
        for factors in zip(left, right, strict=True)
    ]
    weighing = weighing_of(ring)
    sent = hidden + np.hstack([combine(weight, left) for weight in weighing])
    sums = np.array([weighted_sum(weight, pads) for weight in weighing])
    checked = [
        sum(int(x) * int(b) for x, b in zip(part.ravel(), right.ravel(), strict=True)) % 2**64
        for part in np.hsplit(hidden, times)
    ]
    dealt = np.array(product, dtype=np.uint64) - pads
    return right, dealt, np.array(checked, dtype=np.uint64), sent, sums


def weighing_of(ring):
    return list(weights(ring, RandomStream.from_seed(4), ROWS, LEFT * RIGHT))


def remainder(ring, words):
    """What the receiver finds; zero if the check passes."""
    right, dealt, checked, sent, sums = words
    own = np.array([weighted_sum(weight, dealt) for weight in weighing_of(ring)])
    return sums + own + checked - inner(sent, right)


@pytest.mark.parametrize("bits", [32, 64])
def test_what_is_dealt_as_written_passes(bits):
    found = remainder(Ring(bits), dealt_and_sent(Ring(bits)))
    assert found.tolist() == [0] * (1 if bits == 32 else 32)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
def test_every_wrong_bit_of_every_dealt_word_is_found(bits):
    """Each passes with probability 2^-32: with other seeds, this fails once in three million runs."""
    right, dealt, *rest = dealt_and_sent(Ring(bits))
    for row, column, bit in itertools.product(range(ROWS), range(LEFT * RIGHT), range(bits)):
        wrong = dealt.copy()
        wrong[row, column] ^= np.uint64(1 << bit)
        assert remainder(Ring(bits), (right, wrong, *rest)).any()


@pytest.mark.parametrize("bits", [32, 64])
def test_wrong_words_of_the_check_itself_are_found(bits):
    right, dealt, checked, *sent = dealt_and_sent(Ring(bits))
    assert remainder(Ring(bits), (right, dealt, checked + np.uint64(1), *sent)).all()


@pytest.mark.parametrize(
    ("values", "modulus", "low"), [(16, 256, 16), (2, 256, 256)], ids=["one weight", "one bit"]
)
def test_one_value_of_a_weight_at_most_hides_an_error_of_its_word(values, modulus, low):
    """Both rings on a small scale, modulo 2^8: weights and low words of 4 bits, or weights of one bit."""
    for error in range(modulus):
        results = [weight * error % modulus for weight in range(values)]
        if error % low:
            assert len(set(results)) == values


@pytest.mark.parametrize("bits", [32, 64])
def test_the_low_bits_of_a_wide_mask_are_the_mask(bits):
    ring = Ring(bits)
    narrow = masks_of("left").child("mask").uniform(ring, 0, ROWS, LEFT)
    wide = masks_of("left").child("mask").wide(ring, 0, ROWS, LEFT)
    parts = masks_of("left").child("mask").components(ring, 0, ROWS, LEFT).values()
    assert wide.astype(ring.dtype).tolist() == narrow.tolist()
    assert wide.ravel().tolist() == [
        sum(map(int, words)) % 2**64 for words in zip(*map(np.ravel, parts), strict=True)
    ]

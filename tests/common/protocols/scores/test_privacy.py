"""All that an evaluator receives is uniform for any inputs of the other one: shown exactly, and measured.

Exactly: for any messages that an evaluator might receive and any inputs, there is a tape (the output of the
sender's stream) under which it receives these messages. Tape and messages have the same length, so this tape
is unique: all messages are equally likely for any inputs.

Measured: over `SAMPLES` fresh tapes of the sender, with a fixed tape of the receiver and fixed inputs, in two
very different cases. The checks are of uniform bytes (chi-square), fair bits (binomial) and equal
distributions in the two cases (chi-square); each takes the worst place of a message, with Bonferroni's
correction. Each rejects a correct program for `ALARM` of all choices of seeds, as far as the chi-square
distribution is exact. Where a pad is replaced by zeros, the check of its message rejects.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.bits import bit_of, packed
from dpmosaic.common.protocols.scores.dealer import deal
from dpmosaic.common.protocols.scores.shape import ScoreShape

RINGS = [pytest.param(Ring(bits), id=f"{bits} bits") for bits in (32, 64)]
ALARM = 1e-7
SAMPLES = 20_000


@dataclass
class Tape:
    """A stream that yields bytes of the test's choice."""

    octets: np.ndarray
    read: int = 0

    def bytes(self, count):
        found = self.octets[self.read : self.read + count].copy()
        assert len(found) == count
        self.read += count
        return found


@dataclass(frozen=True)
class Pad:
    """One part of a tape, and the string that it hides from the other evaluator."""

    name: str
    place: slice
    words: bool


def pads(shape, sender):
    """The parts of the sender's tape in the documented order."""
    words = shape.total * shape.ring.word_bytes
    layers = range(len(shape.carry.layers))
    opened = [shape.opened_bytes(i + 1) for i in layers]
    parts = [("difference", words), *((f"layer {i}", opened[i]) for i in layers), ("sign", shape.plane_bytes)]
    if sender == 0:
        dealt = [rows * shape.plane_bytes for rows in shape.dealt_planes]
        digits = len(shape.carry.digits)
        parts += [("rho", words), ("rho b", words), ("tables", sum(dealt[:digits]))]
        parts += [(f"products {i}", dealt[digits + i]) for i in layers]
    found, start = [], 0
    for name, length in parts:
        found.append(Pad(name, slice(start, start + length), name in ("difference", "rho", "rho b")))
        start += length
    return found


def received(meet, shape, sender, shares, tapes):
    """What the other evaluator receives, in the order of the sender's tape, and what it sends itself."""
    dealt = deal(shape, [Tape(tape) for tape in tapes])
    _, opened = meet(shape, shares, [Tape(tape) for tape in tapes], dealt)
    strings = b"".join(strings[sender] for strings in opened) + (dealt if sender == 0 else b"")
    sent = b"".join(strings[1 - sender] for strings in opened)
    return np.frombuffer(strings, dtype=np.uint8), np.frombuffer(sent, dtype=np.uint8)


def tape_of(seed, length):
    return RandomStream.from_seed(seed).bytes(length)


def tape_lengths(shape):
    own = sum(map(shape.opened_bytes, range(shape.rounds)))
    return own + shape.dealt_bytes, own


def explaining(meet, shape, sender, shares, own, wanted, missing=None):
    """A tape of the sender under which the other evaluator receives the wanted strings, or None.

    Each part of what is received depends on its own pad and on some other pads, in no circle, so every turn
    sets at least one more part right.
    """
    tape = np.zeros(len(wanted), dtype=np.uint8)
    tapes = (tape, own) if sender == 0 else (own, tape)
    parts = pads(shape, sender)
    for _ in range(len(parts) + 1):
        found, _ = received(meet, shape, sender, shares, tapes)
        if np.array_equal(found, wanted):
            return tape
        for pad in parts:
            if pad.name == missing:
                continue
            old, is_, should_be = (octets[pad.place] for octets in (tape, found, wanted))
            if pad.words:
                # What is received is a word less its pad.
                old, is_, should_be = (words.copy().view(shape.ring.dtype) for words in (old, is_, should_be))
                tape[pad.place] = (old + is_ - should_be).view(np.uint8)
            else:
                tape[pad.place] = old ^ is_ ^ should_be
    return None


@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("ring", RINGS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_messages_are_possible_for_any_inputs(meet, ring, sender, data):
    bits = data.draw(st.integers(2, ring.bits))
    shape = ScoreShape(tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))), bits, ring)
    lengths = tape_lengths(shape)
    seed = data.draw(st.integers(0, 2**32))
    wanted, own, shares = (
        tape_of(seed, lengths[sender]),
        tape_of(seed + 1, lengths[1 - sender]),
        tape_of(seed + 2, 2 * shape.total * ring.word_bytes).view(ring.dtype).reshape(2, -1),
    )
    # The tape is as long as what it hides: one tape for each string, so all strings are equally likely.
    assert sum(pad.place.stop - pad.place.start for pad in pads(shape, sender)) == len(wanted)
    assert explaining(meet, shape, sender, shares, own, wanted) is not None


SMALL = ScoreShape((8,), 18, Ring(32))
PADS = [
    pytest.param(sender, pad, id=f"{pad.name} of {sender}")
    for sender in (0, 1)
    for pad in pads(SMALL, sender)
]


@pytest.mark.parametrize(("sender", "pad"), PADS)
def test_without_any_one_pad_some_messages_are_impossible(meet, sender, pad):
    lengths = tape_lengths(SMALL)
    own, wanted = tape_of(1, lengths[1 - sender]), tape_of(2, lengths[sender])
    shares = np.zeros((2, 8), dtype=np.uint32)
    assert explaining(meet, SMALL, sender, shares, own, wanted) is not None
    assert explaining(meet, SMALL, sender, shares, own, wanted, missing=pad.name) is None


# Measured: a sample is one byte of eight cells; all samples go through the protocol together.

MANY = ScoreShape((8,) * SAMPLES, SMALL.bits, SMALL.ring)
TOP = 2 ** (SMALL.bits - 1) - 1
CASES = {
    "zeros": np.zeros(8, dtype=np.int64),
    "borders": np.array([TOP, -TOP, TOP, -TOP, -1, TOP, TOP, 1 - TOP]),
}


def repeated(octets, words):
    """The bytes for `MANY` that give every eight cells the same: eight words, or one byte of each plane."""
    return np.tile(octets, SAMPLES) if words else np.repeat(octets, SAMPLES)


def samples(octets, words):
    """By sample, shape (SAMPLES, bytes)."""
    return octets.reshape(SAMPLES, -1) if words else octets.reshape(-1, SAMPLES).T


def readings(meet, sender, differences, missing=None, seed=0):
    """What the other evaluator can compute from its messages, by the pad that should hide it; see `PADS`.

    It subtracts its own share from the openings, which leaves a wire under the sender's pad only; it adds
    delta to rho b, which leaves d where rho is 1.
    """
    receiver = 1 - sender
    own = tape_of(100 + seed, tape_lengths(SMALL)[receiver])
    own = np.concatenate([repeated(own[pad.place], pad.words) for pad in pads(SMALL, receiver)])
    tape = tape_of(200 + seed, tape_lengths(MANY)[sender])
    parts = {pad.name: pad for pad in pads(MANY, sender)}
    if missing is not None:
        tape[parts[missing].place] = 0
    # The receiver's share is 0, so the sender's is all of d.
    shares = [np.zeros(MANY.total, dtype=np.uint32)] * 2
    shares[sender] = MANY.ring.words(np.tile(differences, SAMPLES))
    found, sent = received(meet, MANY, sender, shares, (tape, own) if sender == 0 else (own, tape))

    delta = sum(octets[parts["difference"].place].view(np.uint32) for octets in (found, sent))
    read = {name: found[pad.place].copy() for name, pad in parts.items()}
    raw = {f"{name} as received": octets.copy() for name, octets in read.items()}
    for name, pad in parts.items():
        if name.startswith("layer") or name == "sign":
            read[name] ^= sent[pad.place] ^ own[pad.place]
    read["sign"] ^= packed(bit_of(delta, MANY.bits - 1))
    if "rho b" in read:
        read["rho b"] = (read["rho b"].view(np.uint32) + delta).view(np.uint8)
    words = {name: pad.words for name, pad in parts.items()}
    return {
        name: samples(octets, words[name.removesuffix(" as received")])
        for name, octets in (raw | read).items()
    }


def byte_counts(octets):
    """Counts of each value at each place, shape (places, 256)."""
    return np.stack([np.bincount(place, minlength=256) for place in octets.T])


def worst(ps):
    """The smallest p-value, with Bonferroni's correction."""
    return min(1.0, len(ps) * ps.min())


def p_of_bytes(octets):
    """p-value of uniform bytes."""
    counts, expected = byte_counts(octets), len(octets) / 256
    return worst(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(axis=1), 255))


def p_of_bits(octets):
    """p-value of fair bits."""
    ones = np.unpackbits(np.ascontiguousarray(octets), axis=1).sum(axis=0, dtype=np.int64)
    fewer = np.minimum(ones, len(octets) - ones)
    return worst(2 * stats.binom.cdf(fewer, len(octets), 0.5))


def p_of_two_cases(one, other):
    """p-value that both have one distribution."""
    counts = byte_counts(one), byte_counts(other)
    total = counts[0] + counts[1]
    statistic = ((counts[0] - counts[1]) ** 2 / np.maximum(total, 1)).sum(axis=1)
    return worst(stats.chi2.sf(statistic, np.maximum(1, (total > 0).sum(axis=1) - 1)))


@pytest.fixture(scope="module")
def whole(meet):
    """Readings with all pads, by sender and case."""
    return {
        (sender, case): readings(meet, sender, differences, seed=10 * sender + i)
        for sender in (0, 1)
        for i, (case, differences) in enumerate(CASES.items())
    }


@pytest.mark.parametrize("suffix", ["", " as received"], ids=["own share off", "as received"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("sender", "pad"), PADS)
def test_every_message_is_uniform_to_its_receiver(whole, sender, pad, case, suffix):
    octets = whole[sender, case][pad.name + suffix]
    assert p_of_bytes(octets) > ALARM
    assert p_of_bits(octets) > ALARM


@pytest.mark.parametrize("suffix", ["", " as received"], ids=["own share off", "as received"])
@pytest.mark.parametrize(("sender", "pad"), PADS)
def test_very_different_inputs_give_messages_of_one_distribution(whole, sender, pad, suffix):
    one, other = (whole[sender, case][pad.name + suffix] for case in CASES)
    assert p_of_two_cases(one, other) > ALARM


@pytest.mark.parametrize(("sender", "pad"), PADS)
def test_without_its_pad_a_message_is_not_uniform_to_its_receiver(meet, sender, pad):
    read = readings(meet, sender, CASES["zeros"], missing=pad.name)
    assert p_of_bytes(read[pad.name]) < ALARM
    # No other check rejects.
    for other, octets in read.items():
        if other != pad.name and not other.endswith("as received"):
            assert p_of_bits(octets) > ALARM, other


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        *((sender, name) for sender in (0, 1) for name in ("difference", "layer 0", "layer 1", "sign")),
        (0, "rho b"),
    ],
)
def test_without_its_pad_a_message_distinguishes_inputs(meet, sender, name):
    one, other = (
        readings(meet, sender, differences, missing=name, seed=i)[name]
        for i, differences in enumerate(CASES.values())
    )
    assert p_of_two_cases(one, other) < ALARM


def test_the_checks_reject_bytes_of_which_one_bit_is_biased():
    rng = np.random.default_rng(1)
    fair, other, biased = rng.integers(0, 256, (3, SAMPLES, 32), dtype=np.uint8)
    assert min(p_of_bytes(fair), p_of_bits(fair), p_of_two_cases(fair, other)) > ALARM
    # Set with probability 0.6.
    biased[:, 5] |= (rng.random(SAMPLES) < 0.2).astype(np.uint8) << 3
    assert max(p_of_bytes(biased), p_of_bits(biased), p_of_two_cases(fair, biased)) < ALARM

"""All that an evaluator receives is uniform for any inputs of the other two: shown exactly.

For any messages that an evaluator might receive before the proofs, any inputs and any streams of its own
pairs, there is a tape (the output of the stream of the other two) under which it receives these messages.
Every message has a pad of its own length in the tape, so the tape is unique: all messages are equally likely
for any inputs. `test_proof` shows the same of the proofs.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores import evaluator
from dpmosaic.common.protocols.scores.shape import ScoreShape

RINGS = [pytest.param(Ring(bits), id=f"{bits} bits") for bits in (32, 64)]


@pytest.fixture(autouse=True, scope="module")
def _without_proofs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "check", lambda *_: iter(()))
        yield


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

    def child(self, *labels):
        return RandomStream.from_seed(0).child(*labels)


@dataclass(frozen=True)
class Pad:
    """One part of the tape of the other two, and the step of the message that it hides."""

    name: str
    step: int
    words: bool = False


def stages(shape):
    """The names of the stages, as often as a stage has steps."""
    layers = [f"layer {i}" for i in range(len(shape.layers))]
    names = ["tables", "carries", *layers, "signs"]
    return [name for name, stage in zip(names, shape.stages, strict=True) for _ in stage]


def circuit(shape):
    """The steps before the proofs."""
    return [step for stage in shape.stages for step in stage]


def pads(shape, receiver):
    """The parts of the tape of the other two, in the documented order, each with its length."""
    hidden = {
        name: number
        for number, (name, step) in enumerate(zip(stages(shape), circuit(shape), strict=True))
        if step.recipient == receiver
    }
    sizes = {name: step.size for name, step in zip(stages(shape), circuit(shape), strict=True)}
    layers = [name for name in sizes if name.startswith("layer")]
    names = {0: layers, 1: ["carries", *layers], 2: list(sizes)}[receiver]
    return [(Pad(name, hidden[name], name == "signs"), sizes[name]) for name in names]


def received(evaluators, shape, receiver, words, tape, own):
    """The messages that an evaluator receives, by step."""
    others = tuple(role for role in range(3) if role != receiver)

    def streams(pair):
        return Tape(tape) if pair == others else own.child(*map(str, pair))

    runs, found = evaluators(shape, words, streams), {}
    for number, step in enumerate(circuit(shape)):
        sent = runs[step.sender].open(number)
        runs[step.recipient].deliver(number, sent)
        if step.recipient == receiver:
            found[number] = np.frombuffer(sent, dtype=np.uint8)
    return found


def explaining(evaluators, shape, receiver, words, own, wanted, missing=None):
    """A tape of the other two under which an evaluator receives the wanted messages, or None.

    Each message depends on its own pad and on earlier ones, so every turn sets at least one more right.
    """
    parts = pads(shape, receiver)
    tape = np.zeros(sum(size for _, size in parts), dtype=np.uint8)
    for _ in range(len(parts) + 1):
        found = received(evaluators, shape, receiver, words, tape, own)
        if all(np.array_equal(found[number], wanted[number]) for number in wanted):
            return tape
        start = 0
        for pad, size in parts:
            place, start = slice(start, start + size), start + size
            if pad.name == missing:
                continue
            old, is_, should_be = tape[place], found[pad.step], wanted[pad.step]
            if pad.words:
                # What is received is a word less its pad.
                old, is_, should_be = (
                    octets.copy().view(shape.ring.dtype) for octets in (old, is_, should_be)
                )
                tape[place] = (old + is_ - should_be).view(np.uint8)
            else:
                tape[place] = old ^ is_ ^ should_be
    return None


def messages_of(shape, receiver, seed):
    """Messages of the right lengths."""
    stream = RandomStream.from_seed(seed)
    return {
        number: stream.bytes(step.size)
        for number, step in enumerate(circuit(shape))
        if step.recipient == receiver
    }


@pytest.mark.slow
@pytest.mark.parametrize("receiver", [0, 1, 2])
@pytest.mark.parametrize("ring", RINGS)
@settings(max_examples=12)
@given(data=st.data())
def test_any_messages_are_possible_for_any_inputs(evaluators, ring, receiver, data):
    shape = ScoreShape(tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))), ring)
    seed = data.draw(st.integers(0, 2**32))
    wanted = messages_of(shape, receiver, seed)
    words = ring.uniform(RandomStream.from_seed(seed + 1), 2, shape.total)
    own = RandomStream.from_seed(seed + 2)
    parts = pads(shape, receiver)
    # The lengths are equal: as many tapes for each choice of messages, so all of them are equally likely.
    assert {pad.step: size for pad, size in parts} == {
        number: len(octets) for number, octets in wanted.items()
    }
    assert explaining(evaluators, shape, receiver, words, own, wanted) is not None


SMALL = ScoreShape((8,), Ring(32))
PADS = [
    pytest.param(receiver, pad.name, id=f"{pad.name}, to {receiver}")
    for receiver in (0, 1, 2)
    for pad, _ in pads(SMALL, receiver)
]


@pytest.mark.slow
@pytest.mark.parametrize(("receiver", "pad"), PADS)
def test_without_any_one_pad_some_messages_are_impossible(evaluators, receiver, pad):
    own, wanted = RandomStream.from_seed(1), messages_of(SMALL, receiver, 2)
    words = np.zeros((2, 8), dtype=np.uint32)
    assert explaining(evaluators, SMALL, receiver, words, own, wanted) is not None
    assert explaining(evaluators, SMALL, receiver, words, own, wanted, missing=pad) is None

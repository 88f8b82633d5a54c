"""The steps of an evaluator, from its part of d to its share of the scores."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ...crypto.randomness import RandomStream
from ..masked.ring import Words
from .bits import Planes, negated, planes_of
from .carry import digit_values, digit_wires, factors, merged, products_of, table_rows
from .replicated import ROLES, Components, drawn, product_component, zero_share
from .shape import ScoreShape, Step

ASSISTANT = 0
"""Index of the evaluator that ends without a share."""

AWAITS = b""
"""Yielded where an evaluator awaits a message."""

Steps: TypeAlias = "Generator[bytes, bytes, Words | None]"


def evaluate(shape: ScoreShape, role: int, words: Words, streams: Mapping[int, RandomStream]) -> Steps:
    """Run by an evaluator: yields each message that it sends, and `AWAITS` for each that it receives.

    The order is that of its steps in `ScoreShape.steps`. What it receives is passed by `send`; after a
    message of its own, `AWAITS` is.

    Guarantee: for any inputs of the other two, all that it receives is uniform, if all follow the protocol
        and the stream of the others was uniform. Nothing is authenticated: an altered message gives other
        scores, not an error.

    Args:
        shape: shape of the batch.
        role: index of the evaluator.
        words: cliques one after the other, shape (cells,): a for evaluator 0, b for evaluators 1 and 2.
        streams: index of each other evaluator -> stream of the pair.

    Returns:
        Its share of the scores, shape (cliques,); None for evaluator 0. The two shares sum to the scores.

    Raises:
        ValueError: the arguments are inconsistent; raised by the first `next`.

    Assumes (not enforced): the streams are fresh, and used for this batch only; evaluators 1 and 2 have the
        same b; every message that is sent has the length of its step.
    """
    if role not in range(ROLES) or set(streams) != set(range(ROLES)) - {role}:
        raise ValueError("expected an evaluator from 0 to 2 and the streams of its two pairs")
    if words.shape != (shape.total,) or words.dtype != shape.ring.dtype:
        raise ValueError(f"expected {shape.total} words of {shape.ring.bits} bits")
    bits = planes_of(words)
    top = bits[-1]
    values, carries, *layers, signs = shape.stages
    if role == ASSISTANT:
        components = yield from _assisted(shape, values, bits, streams)
    else:
        components = yield from _carries(shape, role, values, carries, bits, streams[ASSISTANT])
    del bits
    for digits, stage in zip(shape.layers, layers, strict=True):
        zero = zero_share(role, streams, products_of(digits), shape.plane_bytes)
        own = product_component(*factors(components, digits), zero)
        theirs = yield from _exchanged(stage, role, own)
        following = _planes(shape, theirs) if theirs else np.zeros_like(own)
        components = merged(components, np.stack([own, following]), digits)

    # Component 2 of the carry is known to evaluators 1 and 2, the others to the assistant.
    own, following = components[:, 0]
    if role == ASSISTANT:
        signed = negated(np.stack([words, np.ones_like(words)]), own ^ following ^ top)
        yield from _exchanged(signs, role, signed - shape.ring.uniform(streams[1], 2, shape.total))
        return None
    if role == 1:
        known, shares = following, shape.ring.uniform(streams[ASSISTANT], 2, shape.total)
    else:
        received = yield from _exchanged(signs, role)
        known, shares = own, np.frombuffer(received, dtype=shape.ring.dtype).reshape(2, -1)
    absolute = negated(shares[0] + shares[1] * words, known ^ top)
    starts = np.cumsum((0, *shape.cells[:-1]))
    return np.add.reduceat(absolute, starts, dtype=shape.ring.dtype)


def _assisted(
    shape: ScoreShape, values: Sequence[Step], bits: Planes, streams: Mapping[int, RandomStream]
) -> Generator[bytes, bytes, Components]:
    """The assistant shares the values of its digits; its components of the wires are drawn."""
    pads = drawn(streams[1], table_rows(shape.digits), shape.plane_bytes)
    yield from _exchanged(values, ASSISTANT, digit_values(shape.digits, bits) ^ pads)
    return np.stack([drawn(streams[other], shape.wires, shape.plane_bytes) for other in (2, 1)])


def _carries(
    shape: ScoreShape,
    role: int,
    values: Sequence[Step],
    carries: Sequence[Step],
    bits: Planes,
    assistant: RandomStream,
) -> Generator[bytes, bytes, Components]:
    """Evaluators 1 and 2 compute shares of the wires and open them under two drawn components."""
    if role == 1:
        table = drawn(assistant, table_rows(shape.digits), shape.plane_bytes)
    else:
        table = _planes(shape, (yield from _exchanged(values, role)))
    known = drawn(assistant, shape.wires, shape.plane_bytes)
    masked = digit_wires(shape.digits, bits, table, constant=role == 1) ^ known
    theirs = yield from _exchanged(carries, role, masked)
    last = masked ^ _planes(shape, theirs)
    return np.stack([known, last] if role == 1 else [last, known])


def _exchanged(
    stage: Sequence[Step], role: int, message: Planes | Words | None = None
) -> Generator[bytes, bytes, bytes]:
    """Sends and receives what an evaluator does in a stage; returns what it receives, or `AWAITS`."""
    received = AWAITS
    for step in stage:
        if step.sender == role and message is not None:
            yield message.tobytes()
        elif step.recipient == role:
            received = yield AWAITS
    return received


def _planes(shape: ScoreShape, message: bytes) -> Planes:
    return np.frombuffer(message, dtype=np.uint8).reshape(-1, shape.plane_bytes)

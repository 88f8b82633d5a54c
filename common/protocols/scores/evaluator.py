"""The rounds of an evaluator, from its shares of d to its shares of the scores."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...errors import ProtocolError
from ..masked.ring import Words
from .bits import Planes, bit_of, digit_wires, layer_outputs, packed, unpacked
from .dealer import draw_masks, read_complement
from .shape import ScoreShape


def evaluate(
    shape: ScoreShape, index: int, share: Words, stream: RandomStream, dealt: bytes | None
) -> Generator[bytes, bytes, Words]:
    """Run by an evaluator: yields its opening of each round and receives the other evaluator's by `send`.

    With s the sign bit of d = delta + b, c the carry into it, and f the mask of the sign: s is c xor the
    highest bits of delta and b, and e = c xor f xor the highest bit of delta is opened. So
    (-1)^s = (-1)^e rho and |d| = (-1)^e (rho delta + rho b), of which each evaluator has a share.

    Guarantee: its openings are uniform to the other evaluator, for any shares, if both follow the protocol.
        Nothing is authenticated: an altered message gives other scores, not an error.

    Args:
        shape: shape of the batch.
        index: index of the evaluator, 0 or 1.
        share: its shares of d, cliques one after the other, shape (cells,).
        stream: its stream, which the dealer has too.
        dealt: message of the dealer for evaluator 1; None for evaluator 0.

    Returns:
        Its share of the scores, shape (cliques,).

    Raises:
        ValueError: the arguments are inconsistent; raised by the first `next`.
        ProtocolError: a message of the dealer or of the other evaluator has a wrong length.

    Assumes (not enforced): the stream is fresh, is used for this batch only, and is the one that the dealer
        used; every |d| < 2^(bits - 1).
    """
    if index not in (0, 1) or (dealt is None) != (index == 0):
        raise ValueError("expected evaluator 0 without a dealt message, or evaluator 1 with one")
    if share.shape != (shape.total,) or share.dtype != shape.ring.dtype:
        raise ValueError(f"expected {shape.total} words of {shape.ring.bits} bits as shares")
    masks = draw_masks(shape, stream)
    size = shape.dealt_bytes
    rest = read_complement(shape, stream.bytes(size) if dealt is None else _octets(dealt, size, "dealer"))
    tables, products = rest.tables_and_products(shape)
    one = np.full(shape.plane_bytes, 0 if index else 0xFF, dtype=np.uint8)

    difference = share - masks.words
    theirs = yield difference.tobytes()
    delta = difference + _opened(shape, 0, theirs).view(shape.ring.dtype)

    wires = _digits(shape, delta, tables, one)
    for i, layer in enumerate(shape.carry.layers):
        factors = wires[list(layer.opened)] ^ masks.layers[i]
        theirs = yield factors.tobytes()
        factors ^= _opened(shape, i + 1, theirs).reshape(factors.shape)
        wires = layer_outputs(layer, wires, factors, masks.layers[i], products[i], one)

    sign = wires[0] ^ masks.sign ^ (packed(bit_of(delta, shape.bits - 1)) & one)
    theirs = yield sign.tobytes()
    sign ^= _opened(shape, shape.rounds - 1, theirs)

    rho, rho_mask = rest.words
    signed = rho * delta + rho_mask
    absolute = np.where(unpacked(sign, shape.total), np.negative(signed), signed)
    starts = np.cumsum((0, *shape.cells[:-1]))
    return np.add.reduceat(absolute, starts, dtype=shape.ring.dtype)


def _digits(shape: ScoreShape, delta: Words, tables: list[Planes], one: Planes) -> Planes:
    """The first layer's wires: g of all digits, then p of all but the lowest."""
    pairs = [
        digit_wires(table, packed(np.stack([bit_of(delta, place) for place in digit])), one)
        for digit, table in zip(shape.carry.digits, tables, strict=True)
    ]
    carries, propagates = zip(*pairs, strict=True)
    return np.stack([*carries, *propagates[1:]])


def _opened(shape: ScoreShape, round: int, theirs: bytes) -> NDArray[np.uint8]:
    return _octets(theirs, shape.opened_bytes(round), f"other evaluator in round {round}")


def _octets(sent: bytes, length: int, sender: str) -> NDArray[np.uint8]:
    if len(sent) != length:
        raise ProtocolError(
            f"expected {length} bytes from the {sender}, got {len(sent)}; score the same batch at all roles"
        )
    return np.frombuffer(sent, dtype=np.uint8)

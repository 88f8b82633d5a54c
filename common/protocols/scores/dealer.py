"""Correlated randomness: masks that evaluators draw from their streams, and the dealer's complement.

Both evaluators draw masks, in this order: a word for every cell; for every layer a plane for each opened
wire; a plane for the sign. Sums of the words and exclusive ors of the planes are the masks b, a and f, which
only the dealer knows. From them the dealer computes a complement and shares it:

    rho and rho b, words, where rho = -1 where f xor the highest bit of b is 1, else 1;
    planes: of every digit of b its carry table, of every layer the products of its masks.

Evaluator 0 draws its share of the complement next from its stream; evaluator 1 receives its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ..masked.ring import Words
from .bits import Plane, Planes, bit_of, carry_table, mask_products, unpacked
from .shape import ScoreShape


@dataclass(frozen=True)
class Masks:
    """An evaluator's shares of the masks of its openings.

    Attributes:
        words: masks of d, shape (cells,).
        layers: masks of the opened wires of each layer, shape (opened, bytes).
        sign: mask of the sign, shape (bytes,).
    """

    words: Words
    layers: list[Planes]
    sign: Plane


@dataclass(frozen=True)
class Complement:
    """An evaluator's shares of the values that the dealer computes from the masks.

    Attributes:
        words: rho and rho b, shape (2, cells).
        planes: tables of the digits, then products of the layers, shape (rows, bytes).
    """

    words: Words
    planes: Planes

    def tables_and_products(self, shape: ScoreShape) -> tuple[list[Planes], list[Planes]]:
        """The planes by digit and by layer."""
        pieces = _cut(self.planes, shape.dealt_planes)
        digits = len(shape.carry.digits)
        return pieces[:digits], pieces[digits:]


def draw_masks(shape: ScoreShape, stream: RandomStream) -> Masks:
    """Run by an evaluator and by the dealer: the masks, which are drawn first from an evaluator's stream."""
    words = shape.ring.uniform(stream, 1, shape.total)[0]
    opened = [len(layer.opened) for layer in shape.carry.layers]
    planes = stream.bytes((sum(opened) + 1) * shape.plane_bytes).reshape(-1, shape.plane_bytes)
    *layers, sign = _cut(planes, (*opened, 1))
    return Masks(words, layers, sign[0])


def read_complement(shape: ScoreShape, octets: NDArray[np.uint8]) -> Complement:
    """A share of the complement, from the next bytes of evaluator 0's stream or evaluator 1's message."""
    words = 2 * shape.total * shape.ring.word_bytes
    return Complement(
        octets[:words].view(shape.ring.dtype).reshape(2, shape.total),
        octets[words:].reshape(-1, shape.plane_bytes),
    )


def deal(shape: ScoreShape, streams: tuple[RandomStream, RandomStream]) -> bytes:
    """Run by the dealer: its only message, to evaluator 1.

    Args:
        shape: shape of the batch.
        streams: streams of evaluator 0 and evaluator 1.

    Returns:
        `shape.dealt_bytes` bytes, uniform without the stream of evaluator 0.

    Assumes (not enforced): both streams are fresh, and used for this batch only; evaluator 0 does not read
        the message, from which it could compute b and so every d.
    """
    left, right = (draw_masks(shape, stream) for stream in streams)
    share = read_complement(shape, streams[0].bytes(shape.dealt_bytes))
    mask = left.words + right.words
    layers = zip(shape.carry.layers, left.layers, right.layers, strict=True)
    planes = [
        *(carry_table(mask, digit) for digit in shape.carry.digits),
        *(mask_products(layer, one ^ other) for layer, one, other in layers),
    ]
    negative = unpacked(left.sign ^ right.sign, shape.total) ^ bit_of(mask, shape.bits - 1)
    signed = np.stack([np.ones_like(mask), mask])
    words = np.where(negative, np.negative(signed), signed)
    return (words - share.words).tobytes() + (np.vstack(planes) ^ share.planes).tobytes()


def _cut(planes: Planes, rows: tuple[int, ...]) -> list[Planes]:
    return np.split(planes, np.cumsum(rows)[:-1])

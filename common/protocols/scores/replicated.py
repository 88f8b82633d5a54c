"""Bits in three components, whose exclusive or they are; evaluator i holds components i and i + 1 modulo 3.

Sums are local. For a product evaluator i computes component i of it,

    x_i y_i xor x_i y_(i+1) xor x_(i+1) y_i xor z_i,

where z_i is the sum of a pad of each of its two pairs, so that z_0 xor z_1 xor z_2 = 0, and receives
component i + 1 from evaluator i + 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from .bits import Planes

Components = NDArray[np.uint8]
"""An evaluator's own component of bits and the next one, shape (2, rows, bytes)."""


def product_component(left: Components, right: Components, zero: Planes) -> Planes:
    """Run by an evaluator: its own component of products, shape (rows, bytes).

    Guarantee: uniform to the evaluator that receives it, which knows one of the two pads in `zero`.

    Args:
        left: the left factors.
        right: the right factors.
        zero: its share of zero: the sum of a pad that it shares with either other evaluator.
    """
    component: Planes = (left[0] & (right[0] ^ right[1])) ^ (left[1] & right[0]) ^ zero
    return component


def draw_planes(stream: RandomStream, rows: int, width: int) -> Planes:
    """The next planes of a stream, shape (rows, width)."""
    return stream.bytes(rows * width).reshape(rows, width)

"""Products of bits in three components, against plain bits."""

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.scores.replicated import product_component

STREAM = RandomStream.from_seed(5)


def planes(*shape):
    return STREAM.bytes(int(np.prod(shape))).reshape(shape)


def held(components, role):
    """What an evaluator holds."""
    return np.stack([components[role], components[(role + 1) % 3]])


def test_the_components_of_a_product_are_those_of_all_pairs_of_bits():
    left, right = planes(3, 4, 9), planes(3, 4, 9)
    pads = planes(3, 4, 9)
    found = [
        product_component(held(left, role), held(right, role), pads[role] ^ pads[role - 1])
        for role in range(3)
    ]
    plain = np.bitwise_xor.reduce(left) & np.bitwise_xor.reduce(right)
    assert np.array_equal(np.bitwise_xor.reduce(found), plain)

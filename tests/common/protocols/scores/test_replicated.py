"""Products of bits in three components, against plain bits."""

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.scores.replicated import product_component, zero_share

STREAM = RandomStream.from_seed(5)


def planes(*shape):
    return STREAM.bytes(int(np.prod(shape))).reshape(shape)


def held(components, role):
    """What an evaluator holds."""
    return np.stack([components[role], components[(role + 1) % 3]])


def zeros():
    """The three shares of zero, each from the evaluator's own copies of its streams."""
    return [
        zero_share(
            role,
            {
                other: RandomStream.from_seed(6).child(*map(str, sorted((role, other))))
                for other in range(3)
                if other != role
            },
            4,
            9,
        )
        for role in range(3)
    ]


def test_shares_of_zero_cancel_and_none_of_them_is_zero():
    shares = zeros()
    assert not np.any(shares[0] ^ shares[1] ^ shares[2])
    assert all(np.any(share, axis=1).all() for share in shares)


def test_the_components_of_a_product_are_those_of_all_pairs_of_bits():
    left, right = planes(3, 4, 9), planes(3, 4, 9)
    found = [
        product_component(held(left, role), held(right, role), zero) for role, zero in enumerate(zeros())
    ]
    plain = np.bitwise_xor.reduce(left) & np.bitwise_xor.reduce(right)
    assert np.array_equal(np.bitwise_xor.reduce(found), plain)

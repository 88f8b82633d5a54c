"""The hash of planes, and what helper and verifier see of a proof."""

import dataclasses

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.scores import proof
from dpmosaic.common.protocols.scores.proof import (
    PlaneHash,
    choices_of,
    drawn_blinds,
    expected_of,
    proof_of,
    response_of,
    shares_of,
)
from dpmosaic.common.protocols.scores.relations import Block, Side
from support.score_reference import plane_hash

STREAM = RandomStream.from_seed(4)
KEY, CHALLENGE = STREAM.key(), STREAM.key()
BLOCKS = (
    Block(3, (((0, 1), (1, 0)), ((2, 2),), ((0, 0), (1, 2), (2, 1)), ())),
    Block(2, (((0, 0),), ((1, 1), (0, 1)))),
)
WIDTH = 5


def planes(rows, width=WIDTH):
    return STREAM.bytes(rows * width).reshape(rows, width)


@pytest.mark.parametrize("width", [1, 2, 16, 33, 128, 129, 200])
def test_the_hash_is_a_polynomial_over_a_field_of_2_to_the_128(width):
    octets = planes(3, width)
    found = PlaneHash(KEY, width).of(octets)
    assert [one.tobytes() for one in found] == [plane_hash(KEY, one.tobytes()) for one in octets]


@pytest.mark.parametrize("width", [3, 300])
def test_the_hash_of_a_sum_modulo_2_is_that_of_the_hashes(width):
    hashed = PlaneHash(KEY, width)
    one, other = planes(4, width), planes(4, width)
    assert np.array_equal(hashed.of(one ^ other), hashed.of(one) ^ hashed.of(other))
    assert not np.any(hashed.of(np.zeros((1, width), dtype=np.uint8)))


def sides(wrong=None):
    """What helper and verifier know, so that all equations hold, except for one."""
    pairs = []
    for number, block in enumerate(BLOCKS):
        one, other, rest = (planes(count) for count in (block.factors, block.factors, len(block.equations)))
        products = [
            np.bitwise_xor.reduce([one[i] & other[j] for i, j in terms] or [np.zeros(WIDTH, np.uint8)])
            for terms in block.equations
        ]
        last = np.stack(products) ^ rest
        if wrong is not None and wrong[0] == number:
            last[wrong[1], -1] ^= 0x10
        pairs.append((Side(one, rest), Side(other, last)))
    return pairs


def views(pairs, blinds):
    """The proof, the response, and what helper and verifier expect."""
    hashed, choices = PlaneHash(KEY, WIDTH), choices_of(BLOCKS, CHALLENGE)
    sent = proof_of(hashed, pairs, blinds)
    helper = [one for one, _ in pairs]
    response = response_of(choices, helper, blinds)
    shares = [share for _, share in blinds]
    expected = expected_of(hashed, BLOCKS, choices, helper, shares)
    verifier = [other for _, other in pairs]
    found = expected_of(hashed, BLOCKS, choices, verifier, shares_of(BLOCKS, sent), response)
    return sent, response, expected, found


def test_helper_and_verifier_agree_if_all_equations_hold():
    *_, expected, found = views(sides(), drawn_blinds(BLOCKS, STREAM, WIDTH))
    assert expected == found


@pytest.mark.parametrize(
    "wrong", [(n, k) for n, block in enumerate(BLOCKS) for k in range(len(block.equations))]
)
def test_they_disagree_if_one_cell_of_any_equation_is_wrong(wrong):
    *_, expected, found = views(sides(wrong), drawn_blinds(BLOCKS, STREAM, WIDTH))
    assert expected != found


def test_the_verifier_sees_the_same_whatever_the_helper_knows():
    """A bijection of what helper and prover draw: all that is received is as likely for any bits."""
    pairs, blinds = sides(), drawn_blinds(BLOCKS, STREAM, WIDTH)
    seen = views(pairs, blinds)
    hashed, choices = PlaneHash(KEY, WIDTH), choices_of(BLOCKS, CHALLENGE)
    others, drawn = [], []
    for (one, other), (masks, share), choice, block in zip(pairs, blinds, choices, BLOCKS, strict=True):
        factors = planes(block.factors)
        products = [
            np.bitwise_xor.reduce([factors[i] & other.factors[j] for i, j in terms] or [one.rest[0] * 0])
            for terms in block.equations
        ]
        changed = dataclasses.replace(one, factors=factors, rest=np.stack(products) ^ other.rest)
        chosen = choice[:, : block.factors]
        sums = [np.bitwise_xor.reduce((one.factors ^ factors)[rows], axis=0) for rows in chosen]
        masks_then = masks ^ np.stack(sums)
        before, after = (
            np.stack([hashed.of(row & other.factors) for row in rows])
            for rows in ((*one.factors, *masks), (*factors, *masks_then))
        )
        others.append((changed, other))
        drawn.append((masks_then, share ^ before ^ after))
    assert views(others, drawn) == seen


def test_random_sums_are_those_of_other_rows_under_another_challenge():
    one, other = (choices_of(BLOCKS, key) for key in (CHALLENGE, KEY))
    assert all(len(choice) == proof.RANDOM_SUMS >= 41 for choice in one)
    assert not any(np.array_equal(*pair) for pair in zip(one, other, strict=True))

"""Dummies: how many there are, who adds which, and that nothing tells them from tokens of identifiers.

Each chi-square test uses one fixed seed and rejects at p < 1e-4: together they would reject right code for
fewer than 5 of 10,000 choices of the seeds.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy import noise
from dpmosaic.common.protocols.alignment.dummies import DummyNoise, dummy_counts, dummy_tokens, patterns

KEY = bytes(range(32))


def probabilities(sigma, numbers):
    reach = np.arange(-math.ceil(40 * sigma) - 2, math.ceil(40 * sigma) + 3)
    return np.exp(-((numbers / sigma) ** 2) / 2) / np.exp(-((reach / sigma) ** 2) / 2).sum()


@pytest.mark.parametrize("sigma", [0.4, 3.0, 20.0])
def test_numbers_of_dummies_have_the_probabilities_of_a_shifted_discrete_gaussian(sigma):
    dummies = DummyNoise(sigma)
    drawn = dummies.counts(RandomStream.from_seed(21), 200_000) - dummies.shift
    edge = math.ceil(3 * sigma)
    observed = np.bincount(np.clip(drawn, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    inner = probabilities(sigma, np.arange(-edge, edge + 1))
    tail = (1 - inner.sum()) / 2
    expected = np.concatenate(([tail], inner, [tail])) * drawn.size
    often = expected >= 5
    assert observed[~often].sum() <= 5
    expected = expected[often] * observed[often].sum() / expected[often].sum()
    assert stats.chisquare(observed[often], expected).pvalue > 1e-4


@pytest.mark.parametrize("sigma", [0.01, 0.3, 1.0, 15.99, 16.0, 100.5, 4096.0])
def test_the_shift_exceeds_the_largest_draw_that_the_sampler_can_make(sigma):
    envelope = noise._envelope(sigma)
    largest = (envelope.weights.size << envelope.block_bits) - 1
    assert largest <= DummyNoise(sigma).shift


def test_numbers_of_dummies_depend_on_the_key_and_the_slice_alone():
    assert dummy_counts(KEY, 0, 3, 9.0) == dummy_counts(KEY, 0, 3, 9.0)
    assert dummy_counts(KEY, 0, 3, 9.0) != dummy_counts(KEY, 1, 3, 9.0)
    assert dummy_counts(KEY, 0, 3, 9.0) != dummy_counts(bytes(32), 0, 3, 9.0)


@pytest.mark.parametrize("parties", [1, 2, 3, 5])
def test_each_pattern_has_its_dummies_at_its_parties_and_at_no_other(parties):
    sigma, levels = 1.5, 2
    held = [
        {token.tobytes() for token in dummy_tokens(KEY, 4, parties, me, sigma, levels)}
        for me in range(parties)
    ]
    counts = dict.fromkeys(patterns(parties), 0)
    for token in set().union(*held):
        counts[sum(1 << me for me in range(parties) if token in held[me])] += 1
    assert tuple(counts.values()) == dummy_counts(KEY, 4, parties, sigma)


def test_a_dummy_has_another_token_for_each_match_key_and_slice():
    one, other = (dummy_tokens(KEY, number, 2, 0, 2.0, 3) for number in (0, 1))
    tokens = {token.tobytes() for token in np.concatenate((one, other)).reshape(-1, 2)}
    assert len(tokens) == 3 * (len(one) + len(other))


def test_bytes_of_dummies_are_uniform():
    counts = np.bincount(dummy_tokens(KEY, 0, 2, 0, 300.0, 2).view(np.uint8).reshape(-1), minlength=256)
    assert counts.sum() > 100_000
    assert stats.chisquare(counts).pvalue > 1e-4

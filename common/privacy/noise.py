"""Discrete Gaussian noise: an exact vectorised sampler, and noisy counts on a grid.

Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), for the
distribution and its guarantees. The sampler is a different, vectorised one: a piecewise constant envelope
with integer weights, then rejection with an acceptance test that is decided in floating point where its
error cannot matter, and in 60-digit arithmetic elsewhere. `docs/adr/0003` has the proof that noise on the
grid costs what `common/privacy/cost.py` charges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from ..crypto.randomness import RandomStream
from ..later import np
from .cost import MAX_SIGMA, grid_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLER = 1
"""Version of the sampler: raised with every change after which the same key draws other noise.

Parties store it with every charge and refuse to repeat an answer with the noise of another version."""

STATISTICAL_DISTANCE = 2.0**-128
"""Bound on the total variation distance of one draw from the discrete Gaussian: the tail beyond 14 sigma
has probability below 2^-139, and a comparison at 192 bits and 60 digits errs with one below 2^-180."""

TAIL_SIGMAS = 14
"""Largest distance of a draw from zero in sigmas, up to one block of the envelope."""

_BLOCKS_PER_SIGMA = 16
_TABLE_BITS = 60
_CHUNK = 1 << 15
_DOUBT = 1e-11


def discrete_gaussian(sigma: float, size: int, stream: RandomStream) -> NDArray[np.int64]:
    """Draws from the discrete Gaussian: P(x) proportional to exp(-x^2 / (2 sigma^2)) on the integers.

    Args:
        sigma: scale, in (0, 2^40].
        size: number of draws.
        stream: random words, 3 for each candidate; half of the candidates are accepted at sigma = 0.5,
            nearly all from sigma = 10 on.

    Returns:
        Shape (size,), int64, independent draws, each within `STATISTICAL_DISTANCE` of the distribution.
    """
    if not 0 < sigma <= MAX_SIGMA:
        raise ValueError(f"sigma must lie in (0, 2^40], not {sigma}")
    envelope = _envelope(sigma)
    draws = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        candidates = min(_CHUNK, math.ceil((size - filled) / envelope.acceptance) + 16)
        accepted = _draw_and_accept(envelope, candidates, stream, _DOUBT)[: size - filled]
        draws[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return draws


def noisy_counts(
    counts: NDArray[np.int64], sigma: float, stream: RandomStream, parts: int = 1, first: int | None = None
) -> NDArray[np.int64]:
    """Counts plus discrete Gaussian noise, in units of 1/g for the grid g of `grid_of(sigma, parts)`.

    Guarantee: see `gaussian_cost`; one call is one Gaussian mechanism of scale sigma.

    Args:
        counts: any shape, exact counts, in units of 1/parts.
        sigma: standard deviation of the noise in counts.
        stream: random words.
        parts: see `grid_of`.
        first: so many have the noise that a seed draws for them however many others there are; None for all.

    Returns:
        Same shape, int64: g * counts + noise. Divide by g for counts.
    """
    grid = grid_of(sigma, parts)
    noise = discrete_gaussian(grid * sigma, counts.size if first is None else first, stream)
    if first is not None:
        others = discrete_gaussian(grid * sigma, counts.size - first, stream.child("others"))
        noise = np.append(noise, others)
    return noise.reshape(counts.shape) + grid // parts * counts


@dataclass(frozen=True, eq=False)
class _Envelope:
    """Blocks with constant density that cover 0 .. 14 sigma; block i has probability weights[i] / 2^60."""

    sigma: float
    block_bits: int
    weights: NDArray[np.int64]
    cumulative: NDArray[np.int64]
    scale: float
    acceptance: float


@lru_cache(maxsize=256)
def _envelope(sigma: float) -> _Envelope:
    block_bits = max(0, math.floor(math.log2(sigma / _BLOCKS_PER_SIGMA)))
    width = 1 << block_bits
    starts = np.arange(math.ceil(TAIL_SIGMAS * sigma / width) + 1, dtype=np.float64) * width
    heights = np.exp(-((starts / sigma) ** 2) / 2)
    scale = float((1 - 2.0**-20) * 2.0**_TABLE_BITS / heights.sum())
    # The margin of 1e-12 covers the error of exp, so that no acceptance probability exceeds 1.
    weights = np.floor(heights * scale * (1 + 1e-12)).astype(np.int64) + 1
    mass = 1 + math.sqrt(math.pi / 2) * sigma if sigma >= 1 else 1.0
    acceptance = min(1.0, max(0.25, (mass - 0.5) / (heights.sum() * width)))
    return _Envelope(sigma, block_bits, weights, np.cumsum(weights), scale, acceptance)


def _draw_and_accept(
    envelope: _Envelope, candidates: int, stream: RandomStream, doubt: float
) -> NDArray[np.int64]:
    """Draws from the envelope and accepts each candidate with the ratio of the two densities."""
    words = stream.words(3 * candidates).reshape(3, candidates)
    block = np.searchsorted(
        envelope.cumulative, (words[0] >> np.uint64(64 - _TABLE_BITS)).view(np.int64), "right"
    )
    inside = block < envelope.weights.size
    block[~inside] = 0
    offset = words[1] & np.uint64((1 << envelope.block_bits) - 1)
    magnitude = (block << envelope.block_bits) + offset.view(np.int64)
    negative = (words[1] >> np.uint64(63)).astype(bool)

    ratio = magnitude / envelope.sigma
    probability = np.exp(-0.5 * ratio * ratio) * (envelope.scale / envelope.weights[block])
    gap = probability - words[2] * 2.0**-64
    keep = gap > 0
    for i in np.flatnonzero(np.abs(gap) <= doubt * probability + 2.0**-52):
        keep[i] = _exactly_accepted(envelope, int(magnitude[i]), int(block[i]), int(words[2, i]), stream)
    # Zero is proposed with both signs and accepted with one.
    keep &= inside & ~(negative & (magnitude == 0))
    draws: NDArray[np.int64] = np.where(negative, -magnitude, magnitude)[keep]
    return draws


def _exactly_accepted(
    envelope: _Envelope, magnitude: int, block: int, word: int, stream: RandomStream
) -> bool:
    """The acceptance test at 192 bits, for a candidate that 64 bits do not decide."""
    low = stream.child("acceptance", str(word), str(magnitude)).words(2)
    uniform = (word << 128) | (int(low[0]) << 64) | int(low[1])
    sigma = Fraction(envelope.sigma)
    exponent = -Fraction(magnitude * magnitude) / (2 * sigma * sigma)
    factor = Fraction(envelope.scale) / int(envelope.weights[block])
    with localcontext() as context:
        context.prec = 60
        density = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        threshold = density * Decimal(factor.numerator) / Decimal(factor.denominator)
        return Decimal(uniform) < threshold * (1 << 192)

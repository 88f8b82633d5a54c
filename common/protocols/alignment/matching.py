"""Which tokens are of one person: run by the matcher, which cannot read a token and knows no dummy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...errors import DataError, ProtocolError
from ...privacy.noise import discrete_gaussian
from .dummies import TOKEN_WORDS, AlignmentNoise
from .plan import HMAC

_NONE = np.int32(-1)


@dataclass(frozen=True, eq=False)
class Matching:
    """The result of a matching in one slice.

    Attributes:
        positions: for each party, the position of each of its tokens in the order given, shape (tokens,),
            uint32; distinct within a party and below `size`.
        size: number of positions; some are of dummies, and some of nobody.
        people: noisy number of people of each pattern 1 .. 2^S - 1, without those who are left out; may be
            negative.
        left_out: noisy number of people who are left out because an earlier slice has them; zero in the first
            slice.
    """

    positions: tuple[NDArray[np.uint32], ...]
    size: int
    people: tuple[int, ...]
    left_out: int


def match(
    tokens: Sequence[NDArray[np.uint64]], sigma: float, stream: RandomStream, keying: str = HMAC
) -> Matching:
    """Run by the matcher: gives the tokens of one person one position, in a random order of positions.

    Match keys are used one after the other. With each, the pairs of parties are taken in roster order: a row
    of the first and a row of the second party join if their tokens are equal, if neither row has a partner at
    the other's party yet, if no other such row of its own party has the token, and if no third party has a
    row with both already. All rows that have joined get one position; every other row gets its own.

    Guarantee: see `AlignmentNoise`, if there is one match key. With several, the dummies hide the same
        numbers, but the matcher also sees how many rows agree under which keys; nothing hides that.

    Args:
        tokens: for each party of the slice in roster order, shape (tokens, levels, 2).
        sigma: scale of the noise of the dummies, in people.
        stream: words of the matcher, which no party knows.
        keying: how the tokens were made.

    Raises:
        ProtocolError: the parties sent tokens for different numbers of match keys.
    """
    return _match_slices([tokens], sigma, stream, keying)[0]


def match_across(
    slices: Sequence[Sequence[NDArray[np.uint64]]], sigma: float, stream: RandomStream, keying: str = HMAC
) -> tuple[Matching, ...]:
    """Run by the matcher: as `match` in every slice; a person counts in the first slice that is complete.

    A slice is complete for a person whom all its parties have. In later complete slices the person is left
    out: the rows get positions that differ from party to party, so that no position is complete. Positions
    are random, so no party notices. This suffices for the population "everywhere".

    Guarantee: as of `match`; a person may be in every slice.

    Args:
        slices: for each slice what `match` takes. The tokens are made with one slice number, and with dummies
            for every set of parties of all slices, in roster order.
        sigma: scale of the noise of the dummies, in people.
        stream: words of the matcher, which no party knows.
        keying: how the tokens were made.

    Returns:
        One matching for each slice.

    Raises:
        DataError: a slice has fewer than two parties.
        ProtocolError: the parties sent tokens for different numbers of match keys.
    """
    if min(map(len, slices)) < 2:
        raise DataError(
            "expected at least two parties in each slice that is compared with others, got one; "
            "compare no slices, or let its attributes be divided between parties"
        )
    return _match_slices(slices, sigma, stream, keying)


def _match_slices(
    slices: Sequence[Sequence[NDArray[np.uint64]]], sigma: float, stream: RandomStream, keying: str
) -> tuple[Matching, ...]:
    tokens = [own for members in slices for own in members]
    _check(tokens)
    persons, found = _join_tokens(tokens)
    noise = AlignmentNoise(sigma, len(tokens), keying, len(slices))
    counts = np.bincount(found, minlength=1 << len(tokens)) - noise.shifts
    patterns = np.arange(counts.size)
    complete_before = np.zeros(counts.size, dtype=bool)
    matchings = []
    first = 0
    for number, members in enumerate(slices):
        parties = len(members)
        held = patterns >> first & ((1 << parties) - 1)
        left_out = (held == (1 << parties) - 1) & complete_before
        complete_before |= held == (1 << parties) - 1

        words = stream.child("slice", str(number))
        drawn = discrete_gaussian(noise.published_sigma, 1 << parties, words.child("people"))
        people = [int(counts[(held == own) & ~left_out].sum() + drawn[own]) for own in range(1, 1 << parties)]
        missing = int(counts[left_out].sum() + drawn[0]) if number else 0

        mine = persons[first : first + parties]
        rows, taken = _separate_left_out(mine, ((held > 0) & ~left_out)[found], left_out[found])
        empty = int(noise.empty(parties if number else 1).counts(words.child("empty positions"), 1)[0])
        order = words.child("order").permutation(taken + empty).astype(np.uint32)
        positions = tuple(order[own] for own in rows)
        matchings.append(Matching(positions, taken + empty, tuple(people), missing))
        first += parties
    return tuple(matchings)


def _check(tokens: Sequence[NDArray[np.uint64]]) -> None:
    if len({own.shape[1:] for own in tokens}) > 1 or tokens[0].ndim != 3 or tokens[0].shape[2] != TOKEN_WORDS:
        raise ProtocolError(
            "tokens: expected one of each row for each match key of the plan, got others; "
            "let all parties align by the same plan"
        )


def _join_tokens(tokens: Sequence[NDArray[np.uint64]]) -> tuple[list[NDArray[np.int32]], NDArray[np.uint8]]:
    """For each party the number of each token's person, and for each person the pattern.

    Persons are numbered by their first row in roster order.
    """
    sizes = [len(own) for own in tokens]
    ends = np.cumsum(sizes)
    persons = [np.arange(end - size, end, dtype=np.int32) for size, end in zip(sizes, ends, strict=True)]
    found = np.repeat(np.array([1 << j for j in range(len(sizes))], dtype=np.uint8), sizes)
    for level in range(tokens[0].shape[1]):
        numbers, count = _number_tokens([own[:, level] for own in tokens])
        for i, j in combinations(range(len(tokens)), 2):
            left = _holders(numbers[i], (found[persons[i]] >> j & 1) == 0, count)
            right = _holders(numbers[j], (found[persons[j]] >> i & 1) == 0, count)
            both = (left != _NONE) & (right != _NONE)
            one, other = persons[i][left[both]], persons[j][right[both]]
            apart = found[one] & found[other] == 0
            kept = np.minimum(one[apart], other[apart])
            gone = np.maximum(one[apart], other[apart])
            found[kept] |= found[gone]
            found[gone] = 0
            moved = np.arange(found.size, dtype=np.int32)
            moved[gone] = kept
            persons = [moved[own] for own in persons]
    rank = np.cumsum(found != 0, dtype=np.int32) - 1
    return [rank[own] for own in persons], found[found != 0]


def _separate_left_out(
    persons: Sequence[NDArray[np.int32]], counted: NDArray[np.bool_], left_out: NDArray[np.bool_]
) -> tuple[list[NDArray[np.int32]], int]:
    """For each party of a slice a number of each token's position, and how many there are.

    Rows of a person who counts have one number, those of a person who is left out one for each party.
    """
    numbers = np.cumsum(counted, dtype=np.int32) - 1
    again = np.cumsum(left_out, dtype=np.int32) - 1
    taken, removed = int(np.count_nonzero(counted)), int(np.count_nonzero(left_out))
    rows = []
    for party, own in enumerate(persons):
        places = numbers[own]
        gone = left_out[own]
        places[gone] = again[own[gone]] + (taken + party * removed)
        rows.append(places)
    return rows, taken + len(persons) * removed


def _number_tokens(tokens: Sequence[NDArray[np.uint64]]) -> tuple[list[NDArray[np.int32]], int]:
    """For each party the numbers of its tokens, equal for equal tokens, and how many there are."""
    low = np.concatenate([own[:, 0] for own in tokens])
    order = np.argsort(low)
    low = low[order]
    same = low[1:] == low[:-1]
    del low
    high = np.concatenate([own[:, 1] for own in tokens])
    if np.any(high[order[1:]][same] != high[order[:-1]][same]):
        # Tokens of honest parties that share one half share both; any others are sorted by both.
        low = np.concatenate([own[:, 0] for own in tokens])
        order = np.lexsort((high, low))
        same = (low[order[1:]] == low[order[:-1]]) & (high[order[1:]] == high[order[:-1]])
    numbers = np.empty(order.size, dtype=np.int32)
    numbers[order] = np.cumsum(np.concatenate(([True], ~same)), dtype=np.int32) - 1
    ends = np.cumsum([len(own) for own in tokens])
    return np.split(numbers, ends[:-1]), int(numbers.max(initial=-1)) + 1


def _holders(numbers: NDArray[np.int32], wanted: NDArray[np.bool_], count: int) -> NDArray[np.int32]:
    """Which wanted row of a party has each token, shape (count,), int32; -1 if none or several have it."""
    rows = np.flatnonzero(wanted).astype(np.int32)
    held = numbers[rows]
    holders = np.full(count, _NONE)
    holders[held] = rows
    repeated = held[holders[held] != rows]
    holders[repeated] = _NONE
    return holders

"""Whose record was in the table: guesses by one who has only the released rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...common.data.table import Table
from ...common.privacy.conversion import gaussian_mu
from .reading import Rows

Array = NDArray[np.float64]

_CLIQUES = 200
"""Most pairs of columns that a score reads."""

_SHARES = (1.0, 0.1, 0.01)
"""Shares of all pairs of records of which the surest guesses are counted; each is one test."""

_FEWEST_GUESSES = 20


@dataclass(frozen=True)
class RowGuesses:
    """Guesses which of two records, one of the table and one held out, was in the table.

    Attributes:
        pairs: number of pairs.
        right: share of them that was guessed right.
        epsilon: lower bound on the epsilon of replacing one record, at the delta of the release.
        mu: that of mu of replacing one record.
    """

    pairs: int
    right: float
    epsilon: float
    mu: float


def guesses_by_rows(
    members: Rows, held_out: Rows, released: Rows, delta: float, alpha: float, rng: np.random.Generator
) -> RowGuesses:
    """Guesses by the density of the released rows over that of other people.

    A record scores the mean over pairs of columns of the logarithm of its cell's share in the release over
    that in half of the rows that were held out, and more if a released row equals it. Which of a random
    pair was in the table is a fair coin, given the pair, if chance divided the rows into table and held out.
    Under epsilon, the number of right guesses is then at most that of coins with e^epsilon / (1 + e^epsilon).

    Source: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run" (2023), theorem 5.2;
        van Breugel et al., "Membership Inference Attacks against Synthetic Data through Overfitting
        Detection" (2023), for the ratio of densities.

    Args:
        members: the real rows, at least one.
        held_out: rows of the same people's kind that the release has not used.
        released: the synthetic rows.
        delta: of the release.
        alpha: probability with which the bounds may exceed what holds.
        rng: chooses pairs.
    """
    order = rng.permutation(held_out.table.record_count)
    half = len(order) // 2
    others, known = held_out.take(order[:half]), held_out.table.take(order[half:])
    count = min(members.table.record_count, others.table.record_count)
    inside = members.take(rng.choice(members.table.record_count, count, replace=False))
    outside = others.take(np.arange(count))
    first, second = _scores([inside, outside], released, known, rng)
    sure = np.abs(first - second)
    right = (first > second) | ((first == second) & (rng.random(count) < 0.5))
    surest = np.argsort(-sure, kind="stable")
    epsilon = 0.0
    for share in _SHARES:
        asked = int(share * count)
        if asked >= _FEWEST_GUESSES:
            won = int(right[surest[:asked]].sum())
            epsilon = max(epsilon, least_epsilon(won, asked, count, delta, alpha / len(_SHARES)))
    mu = gaussian_mu(epsilon, delta) if epsilon else 0.0
    return RowGuesses(count, float(right.mean()), epsilon, mu)


def least_epsilon(right: int, guesses: int, coins: int, delta: float, alpha: float) -> float:
    """The smallest epsilon under which so many right guesses have a probability of alpha.

    Args:
        right: number of right guesses.
        guesses: number of guesses.
        coins: number of coins, of which some may not be guessed.
        delta: of the promise.
        alpha: probability with which the bound may exceed epsilon.
    """
    left = alpha - 2 * coins * delta
    if left <= 0 or float(stats.binom.sf(right - 1, guesses, 0.5)) > left:
        return 0.0
    chance = float(stats.beta.ppf(left, right, guesses - right + 1))
    return float(np.log(chance / (1 - chance)))


def _scores(asked: Sequence[Rows], released: Rows, known: Table, rng: np.random.Generator) -> list[Array]:
    domain = known.domain
    pairs = list(itertools.combinations(domain.names, min(2, len(domain))))
    if len(pairs) > _CLIQUES:
        pairs = [pairs[place] for place in rng.choice(len(pairs), _CLIQUES, replace=False)]
    found = [np.zeros(len(rows.keys)) for rows in asked]
    for pair in pairs:
        shares = [
            (table.marginal(pair) + 1.0) / (table.record_count + domain.cells(pair))
            for table in (released.table, known)
        ]
        ratio = np.log(shares[0] / shares[1]) / len(pairs)
        for scores, rows in zip(found, asked, strict=True):
            codes = [rows.table.column(name).astype(np.intp) for name in pair]
            scores += ratio[np.ravel_multi_index(codes, domain.shape(pair))]
    # A row that is copied exceeds all others, whose mean of logarithms is a small number.
    return [scores + rows.equal_in(released) for scores, rows in zip(found, asked, strict=True)]

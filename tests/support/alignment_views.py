"""What each role sees of an alignment, from its steps, and numbers by which tables can be told apart."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.alignment import dummies
from dpmosaic.common.protocols.alignment.dummies import DummyNoise
from dpmosaic.common.protocols.alignment.matching import Matching, match
from dpmosaic.common.protocols.alignment.tokens import party_tokens

CONFIDENCE = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Alignment:
    """One alignment of one slice.

    Attributes:
        sigma: scale of the noise of the dummies.
        sent: for each party its tokens, which the matcher sees, and their order, which it does not see.
        matching: what it returns.
        placed: for each party the positions of its rows.
        dummies: number of dummies of each pattern, which the parties know.
    """

    sigma: float
    sent: tuple
    matching: Matching
    placed: tuple
    dummies: tuple

    @property
    def tokens(self):
        """What the matcher sees: for each party its tokens, shape (tokens, levels, 2)."""
        return [own.tokens for own in self.sent]

    @property
    def patterns_seen(self):
        """The matcher's best statistic: how many different tokens are in which lists, by brute force."""
        held = {}
        for party, tokens in enumerate(self.tokens):
            for token in tokens[:, 0]:
                held[token.tobytes()] = held.get(token.tobytes(), 0) | 1 << party
        seen = Counter(held.values())
        return [seen[pattern] for pattern in range(1, 1 << len(self.tokens))]

    @property
    def numbers_of_a_party(self):
        """What a party computes: the size and the noisy numbers of people, less the dummies that it knows."""
        empty = DummyNoise(self.sigma * math.sqrt(2)).shift
        return [
            self.matching.size - sum(self.dummies) - empty,
            *(
                count - known + DummyNoise(self.sigma).shift
                for count, known in zip(self.matching.people, self.dummies, strict=True)
            ),
        ]


def aligned(people, parties, sigma, seed):
    """An alignment of one slice with new keys.

    Args:
        people: the pattern of every person.
        parties: number of parties.
        sigma: scale of the noise.
        seed: of all random numbers.
    """
    stream = RandomStream.from_seed(seed)
    key = stream.key()
    sent = [
        party_tokens(key, 0, parties, me, sigma, [held_by(me, people)], stream.child("party", str(me)))
        for me in range(parties)
    ]
    matching = match([own.tokens for own in sent], sigma, stream.child("matcher"))
    return Alignment(
        sigma,
        tuple(sent),
        matching,
        tuple(own.rows(seen) for own, seen in zip(sent, matching.positions, strict=True)),
        dummies.dummy_counts(key, 0, parties, sigma),
    )


def held_by(party, people):
    """Identifiers of the rows of a party; the number of a person is the identifier."""
    return [str(number).encode() for number, pattern in enumerate(people) if pattern >> party & 1]


def audited_rho(one, other):
    """A lower bound on rho of zCDP, from how often the best cut through one statistic of a view is right.

    The divergence of two views is at most rho (zCDP at order 1), and so is that of any yes or no that is
    computed from them. The first half of the runs chooses the statistic and the cut. The rates in the second
    half are replaced by Clopper-Pearson bounds of `CONFIDENCE`, so the bound of a correct program exceeds its
    rho with probability at most 2e-6.

    Args:
        one: statistics of the views of a table, shape (runs, statistics).
        other: the same of its neighbour.
    """
    (chosen, first), (opposite, second) = (
        np.array_split(np.asarray(runs, dtype=float), 2) for runs in (one, other)
    )
    cuts = [
        (_bound(chosen[:, number] >= cut, opposite[:, number] >= cut), number, cut)
        for number in range(chosen.shape[1])
        for cut in np.unique(np.concatenate([chosen[:, number], opposite[:, number]]))
    ]
    _, number, cut = max(cuts)
    return _bound(first[:, number] >= cut, second[:, number] >= cut)


def _bound(one, other):
    """A lower bound on the divergence of two probabilities of a yes, from independent ones."""
    (low, _), (_, high) = sorted((_rates(one), _rates(other)), key=sum, reverse=True)
    return max(_divergence(low, high), _divergence(high, low)) if low > high else 0.0


def _divergence(one, other):
    """Kullback-Leibler divergence of two probabilities of a yes, neither 0 nor 1."""
    return one * math.log(one / other) + (1 - one) * math.log((1 - one) / (1 - other))


def _rates(answers):
    """Clopper-Pearson bounds of the probability of a yes."""
    runs, count = len(answers), int(np.sum(answers))
    low = stats.beta.ppf(1 - CONFIDENCE, count, runs - count + 1) if count else 0.0
    high = stats.beta.ppf(CONFIDENCE, count + 1, runs - count) if count < runs else 1.0
    return float(low), float(high)

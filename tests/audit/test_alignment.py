"""The losses of the matcher and of a party in alignments of neighbouring tables, and planted faults.

Every bound exceeds the true loss with probability at most 2e-6; there are 17, so a correct program fails for
fewer than one choice of the seeds in 25,000.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy.conversion import zcdp_epsilon
from dpmosaic.common.privacy.cost import Adjacency, counting_cost
from dpmosaic.common.protocols.alignment import dummies, matching, tokens
from dpmosaic.common.protocols.alignment.dummies import AlignmentNoise, patterns
from dpmosaic.common.protocols.alignment.plan import KEYINGS
from support.alignment_views import aligned, audited_rho

pytestmark = pytest.mark.slow

SIGMA = 0.5
RHO = float(counting_cost(SIGMA, Adjacency.ZERO_OUT))
RUNS = 500
DELTA = 1e-9
PEOPLE = (1, 1, 2, 3, 3)
"""Pattern of each person: two are at the first party alone, one at the second, two at both."""
MORE = {"the first": (*PEOPLE, 1), "the second": (*PEOPLE, 2), "both": (*PEOPLE, 3)}
"""Neighbours with one person more at these parties."""


def views_of(people, seed, parties=2, runs=RUNS):
    """Statistics of the matcher and of a party, each of shape (runs, statistics)."""
    made = [aligned(people, parties, SIGMA, 10_000 * seed + run) for run in range(runs)]
    known = [one.numbers_of_a_party for one in made]
    sums = [[*one, *(one[0] + count for count in one[1:])] for one in known]
    return [one.patterns_seen for one in made], sums


@pytest.fixture(scope="module")
def table():
    return views_of(PEOPLE, 1)


def losses(table, neighbour):
    return [audited_rho(one, other) for one, other in zip(table, neighbour, strict=True)]


@pytest.mark.parametrize("people", MORE.values(), ids=MORE)
def test_one_person_more_loses_what_is_charged_at_most(people, table):
    for found in losses(table, views_of(people, 2)):
        assert 0.1 * RHO < found <= RHO
        assert zcdp_epsilon(found, DELTA) <= zcdp_epsilon(RHO, DELTA)


def test_one_person_more_at_two_of_three_parties_loses_what_is_charged_at_most():
    people = (1, 2, 4, 3, 5, 7)
    one, other = views_of(people, 1, parties=3, runs=400), views_of((*people, 5), 2, parties=3, runs=400)
    assert all(0.05 * RHO < found <= RHO for found in losses(one, other))


def test_a_person_who_is_at_another_party_too_costs_a_party_the_charge_and_the_matcher_twice_as_much(table):
    """The first party knows that the person is there, and not whether the second one has a row."""
    matcher, party = losses(table, views_of((1, 3, 2, 3, 3), 2))
    assert 0.3 * RHO < matcher <= 2 * RHO
    assert 0.05 * RHO < party <= RHO


def test_under_replace_one_a_replaced_person_loses_what_is_charged_at_most(table):
    charged = float(counting_cost(SIGMA, Adjacency.REPLACE_ONE))
    assert all(found <= charged for found in losses(table, views_of((1, 1, 3, 3, 3), 2)))


def a_pattern_without_dummies(monkeypatch):
    counts = dummies.dummy_counts
    monkeypatch.setattr(dummies, "dummy_counts", lambda *asked: (*counts(*asked)[:-1], 0))


def dummies_of_both_at_the_first_party_alone(monkeypatch):
    whole = dummies.dummy_tokens

    def added(key, number, parties, me, sigma, levels):
        of_both = dummies.dummy_counts(key, number, parties, sigma)[-1]
        found = whole(key, number, parties, me, sigma, levels)
        return found[: len(found) - me * of_both]

    monkeypatch.setattr(tokens, "dummy_tokens", added)


def dummies_of_half_the_scale(monkeypatch):
    drawn = dummies.discrete_gaussian
    monkeypatch.setattr(
        dummies, "discrete_gaussian", lambda sigma, number, stream: drawn(sigma / 2, number, stream)
    )


def people_without_noise(monkeypatch):
    drawn = matching.discrete_gaussian
    monkeypatch.setattr(
        matching, "discrete_gaussian", lambda sigma, number, stream: 0 * drawn(sigma, number, stream)
    )


def the_same_number_of_empty_positions_always(monkeypatch):
    child = RandomStream.child

    def known(self, *names):
        return RandomStream(bytes(32)) if names == ("empty positions",) else child(self, *names)

    monkeypatch.setattr(RandomStream, "child", known)


MATCHER, PARTY = 0, 1
FAULTS = [
    (a_pattern_without_dummies, MATCHER),
    (dummies_of_both_at_the_first_party_alone, MATCHER),
    (dummies_of_half_the_scale, MATCHER),
    (people_without_noise, PARTY),
    (the_same_number_of_empty_positions_always, PARTY),
]


@pytest.mark.parametrize(("fault", "role"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_a_planted_fault_raises_the_lower_bound_above_the_charge(fault, role, monkeypatch):
    fault(monkeypatch)
    found = audited_rho(views_of(PEOPLE, 1, runs=360)[role], views_of(MORE["both"], 2, runs=360)[role])
    assert found > RHO


def test_the_charge_is_that_of_the_scale():
    assert counting_cost(SIGMA, Adjacency.ZERO_OUT) == Fraction(2)
    assert counting_cost(SIGMA, Adjacency.REPLACE_ONE) == Fraction(4)


def seen_by(seers, parties, keying):
    """What parties that pool their views compute of the numbers of people, and the covariance of its noise.

    Numbers of people of the patterns, in order, are the unknowns. Sources of noise that the seers do not know
    are independent: the padding of the others, the empty positions, the noise of the published numbers.

    Returns:
        The linear map of the unknowns, shape (numbers, patterns); the covariance, shape (numbers, numbers).
    """
    noise = AlignmentNoise(SIGMA, parties, keying)
    held = [[pattern >> party & 1 for pattern in patterns(parties)] for party in range(parties)]
    others = [party for party in range(parties) if party not in seers and noise.padding is not None]
    lists = np.array([held[party] for party in others]).reshape(-1, 2**parties - 1)
    seen = np.concatenate([lists, np.ones((1, 2**parties - 1)), np.eye(2**parties - 1)])
    padded = np.zeros((len(seen), len(others)))
    for number, party in enumerate(others):
        padded[[number, len(others), len(others) + (1 << party)], number] = 1
    variances = np.array([0.0] * len(others) + [noise.published_sigma**2] * 2**parties)
    wide = noise.padding.sigma**2 if others else 0.0
    return seen, np.diag(variances) + wide * padded @ padded.T


@pytest.mark.parametrize("keying", KEYINGS)
@pytest.mark.parametrize("parties", [1, 2, 3, 4, 5])
def test_no_parties_together_lose_more_than_is_charged_of_anybody_whatever_rows_they_have(parties, keying):
    """All sets of parties, all patterns of a person at the others: added, or known to the set as well."""
    found = []
    for size in range(1, parties):
        for seers in itertools.combinations(range(parties), size):
            seen, covariance = seen_by(seers, parties, keying)
            inside = sum(1 << party for party in seers)
            for pattern in patterns(parties):
                change = seen[:, pattern - 1].copy()
                if pattern & inside:
                    change -= seen[:, (pattern & inside) - 1]
                found.append(change @ np.linalg.solve(covariance, change) / 2)
    assert max(found, default=0.0) <= RHO * (1 + 1e-9)
    assert max(found, default=RHO) >= 0.6 * RHO

"""Nothing that the matcher or a party sees tells who is where, beyond what is charged.

Tests of uniformity and of likeness reject at p < 1e-6; bounds of losses are wrong with probability 2e-6.
There are 30 of them, so a correct program fails for fewer than one choice of the seeds in 15,000.
"""

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy.cost import Adjacency, counting_cost
from dpmosaic.common.protocols.alignment import tokens
from support.alignment_views import aligned, audited_rho
from support.words import ALPHA, likeness, uniformity

pytestmark = pytest.mark.slow

SIGMA = 0.5
RHO = float(counting_cost(SIGMA, Adjacency.ZERO_OUT))
RUNS = 400
ABSENT, PRESENT = (1, 3, 2, 3, 2), (1, 3, 2, 3, 2, 3)
"""Patterns of people. The last one of the second table is at both parties, and in the first at none."""


def runs_of(people, seed, runs=RUNS):
    return [aligned(people, 2, SIGMA, 10_000 * seed + run) for run in range(runs)]


@pytest.fixture(scope="module")
def absent():
    return runs_of(ABSENT, 1)


@pytest.fixture(scope="module")
def present():
    return runs_of(PRESENT, 2)


def shared(run):
    """Places of equal tokens in the lists of both parties, shape (equal tokens, 2)."""
    places = [{token.tobytes(): place for place, token in enumerate(own)} for own in run.tokens]
    return np.array([[place, places[1][token]] for token, place in places[0].items() if token in places[1]])


def seen_by_matcher(run):
    """Sizes, equalities, order of equal tokens, first and smallest tokens."""
    first, second = run.tokens
    places = shared(run)
    return [
        len(first),
        len(second),
        len(places),
        len(np.unique(first, axis=0)) - len(first),
        stats.spearmanr(*places.T).statistic,
        *(places[:, party].mean() / len(own) for party, own in enumerate(run.tokens)),
        *(float(own[0, 0, 0]) / 2.0**64 for own in run.tokens),
        *(float(own[..., 0].min()) / 2.0**64 for own in run.tokens),
    ]


def seen_by_party(run):
    """Sizes, numbers of people, less its dummies, and how its positions lie."""
    positions = run.matching.positions[0].astype(float) / run.matching.size
    ends = [positions.min(), positions.max(), positions.mean(), positions[0]]
    return [*run.numbers_of_a_party, *ends, np.diff(np.sort(positions)).max()]


@pytest.mark.slow
@pytest.mark.parametrize("seen", [seen_by_matcher, seen_by_party])
def test_the_best_linear_distinguisher_of_a_persons_presence_does_no_better_than_the_charge(
    seen, absent, present
):
    """Least squares on half of the runs; the other half audits the combination and every number alone."""
    one, other = (np.array([seen(run) for run in runs]) for runs in (absent, present))
    half = RUNS // 2
    learned = np.concatenate([one[:half], other[:half]])
    centre, spread = learned.mean(axis=0), learned.std(axis=0) + 1e-12
    weights = np.linalg.lstsq((learned - centre) / spread, np.repeat([-1.0, 1.0], half), rcond=None)[0]
    views = [
        np.column_stack([(half_of - centre) / spread @ weights, half_of])
        for half_of in (one[half:], other[half:])
    ]
    assert 0.02 * RHO < audited_rho(*views) <= RHO


def spread(places, sizes, seed):
    """p-value that each place is uniform on 0 .. size - 1; a random fraction makes it continuous."""
    uniform = np.random.default_rng(seed).random(len(places))
    return stats.kstest((np.array(places) + uniform) / np.array(sizes), "uniform").pvalue


def orders(runs):
    """p-values that the list of a party does not show the order of its rows, for its first and last row."""
    return [
        spread([np.flatnonzero(run.sent[party].order == row)[0] for run in runs], sizes, seed=party)
        for party in range(2)
        for sizes in [[len(run.tokens[party]) for run in runs]]
        for row in (0, 2)
    ]


def positions(runs):
    """p-values that positions are uniform given their number: of rows, and of one row after another."""
    sizes = np.array([run.matching.size for run in runs])
    first, second = (np.array([run.placed[party] for run in runs]) for party in range(2))
    return [
        *(spread(column, sizes, seed) for seed, column in enumerate([*first.T, *second.T])),
        # Uniform on the other positions: the second one's distance from the first, around the end.
        spread((first[:, 1] - first[:, 0]) % sizes - 1, sizes - 1, seed=9),
        # The second person is at both, the first and the third one at one party each.
        spread((second[:, 1] - first[:, 0]) % sizes - 1, sizes - 1, seed=10),
    ]


def known_tokens(runs):
    """How many tokens of a party come again in another alignment of the same rows."""
    found = [token.tobytes() for run in runs for token in run.tokens[0]]
    return len(found) - len(set(found))


def test_tokens_are_uniform_bytes(absent, present):
    for runs in (absent, present):
        for party in range(2):
            assert uniformity(np.concatenate([run.tokens[party] for run in runs])) > ALPHA


def test_no_token_of_a_row_comes_again_in_another_alignment(absent):
    assert known_tokens(absent) == 0


def test_lists_of_tokens_do_not_show_the_order_of_rows(absent, present):
    assert min(*orders(absent), *orders(present)) > ALPHA


def test_positions_are_uniform_given_their_number(absent, present):
    assert min(*positions(absent), *positions(present)) > ALPHA


def test_positions_of_two_rows_have_one_distribution_with_and_without_another_person(absent, present):
    placed = [np.array([run.placed[0] for run in runs]) for runs in (absent, present)]
    assert likeness(*(rows[:, :2] for rows in placed)) > ALPHA


def test_rows_of_a_person_have_one_position_and_others_have_their_own(present):
    for run in present:
        first, second = run.placed
        assert [first[row] for row in (1, 2, 3)] == [second[row] for row in (0, 2, 4)]
        assert len({*first, *second}) == len(PRESENT)


def test_an_order_that_is_not_random_is_detected(monkeypatch):
    monkeypatch.setattr(RandomStream, "permutation", lambda self, size: np.arange(size))
    runs = runs_of(PRESENT, 3, runs=100)
    assert max(orders(runs)) < ALPHA
    assert max(positions(runs)) < ALPHA


def test_tokens_without_a_key_are_detected(monkeypatch):
    keyed = tokens.identifier_tokens
    monkeypatch.setattr(tokens, "identifier_tokens", lambda key, *rest: keyed(bytes(32), *rest))
    assert known_tokens(runs_of(PRESENT, 3, runs=3)) == 2 * 4

"""Noise drawn by many parties, against exact convolutions of their distributions.

Both chi-square tests use one fixed seed and reject at p < 1e-7: they would reject a correct sampler for fewer
than 1 in 1,000,000 choices of the seeds.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy import distributed, noise
from dpmosaic.common.privacy.conversion import gaussian_delta
from dpmosaic.common.privacy.cost import (
    MAX_SIGMA,
    WEIGHT_PARTS,
    Adjacency,
    gaussian_cost,
    gaussian_sigma,
    grid_of,
)
from dpmosaic.common.privacy.distributed import MAX_EXCESS, DistributedNoise, sum_excess
from dpmosaic.common.privacy.noise import discrete_gaussian

pytestmark = pytest.mark.slow

SIGMAS = st.floats(2.0**-20, MAX_SIGMA)
CROWDS = st.integers(1, 1000).flatmap(
    lambda parties: st.builds(DistributedNoise, st.just(parties), st.integers(0, parties - 1))
)


def masses(scale):
    """Probabilities of the discrete Gaussian on -14 scale .. 14 scale."""
    support = np.arange(-math.ceil(14 * scale), math.ceil(14 * scale) + 1)
    weights = np.exp(-((support / scale) ** 2) / 2)
    return weights / weights.sum()


def convolved(scale, draws):
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, masses(scale))
    return total


def exact_excess(draws, scale):
    """|log(p / q)| at its largest, by convolution to 120 digits; the ratio repeats every `draws` totals."""
    reach = math.ceil(26 * scale) + 20
    with localcontext() as context:
        context.prec = 120
        square = Decimal(scale) ** 2
        weights = {x: (-Decimal(x * x) / (2 * square)).exp() for x in range(-reach, reach + 1)}
        total = {0: Decimal(1)}
        for _ in range(draws):
            grown = {}
            for x, p in total.items():
                for y, q in weights.items():
                    grown[x + y] = grown.get(x + y, Decimal(0)) + p * q
            total = {x: p for x, p in grown.items() if abs(x) <= reach}
        single = {x: (-Decimal(x * x) / (2 * draws * square)).exp() for x in range(-2 * reach, 2 * reach + 1)}
        scaled = sum(single.values()) / sum(weights.values()) ** draws
        return max(abs((total[z] * scaled / single[z]).ln()) for z in range(-draws, draws + 1))


@given(SIGMAS, CROWDS)
def test_the_noise_of_honest_parties_is_at_least_the_charged_one_and_little_more(sigma, crowd):
    scale = crowd.share_scale(sigma)
    honest = crowd.parties - crowd.tolerated
    charged = (Fraction(sigma) * grid_of(sigma)) ** 2
    assert honest * Fraction(scale) ** 2 >= charged
    assert honest * Fraction(scale * (1 - 4 * 2.0**-53)) ** 2 < charged


@given(SIGMAS, CROWDS)
def test_the_total_is_wider_than_what_is_charged_by_the_factor_of_the_collusions(sigma, crowd):
    assert crowd.total_sigma(sigma) == pytest.approx(crowd.factor * sigma, rel=1e-14)
    assert crowd.total_sigma(sigma) >= sigma * (1 - 1e-15)


def test_without_collusions_the_total_has_the_noise_of_a_single_draw():
    assert DistributedNoise(6, 0).factor == 1.0
    assert DistributedNoise(1, 0).share_scale(3.0) == 3.0 * grid_of(3.0)


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("draws", [2, 3, 4])
def test_the_sum_is_no_further_from_one_discrete_gaussian_than_the_bound(draws, scale):
    assert exact_excess(draws, scale) <= Decimal(sum_excess(draws, scale))


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 4.0])
def test_for_two_draws_the_bound_is_less_than_three_times_the_truth(scale):
    assert Decimal(sum_excess(2, scale)) < 3 * exact_excess(2, scale)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_the_bound_grows_with_every_draw(scale):
    bounds = [sum_excess(draws, scale) for draws in (1, 2, 3, 50, 10_000)]
    assert bounds[0] == 0
    assert all(fewer < more for fewer, more in pairwise(bounds))


@pytest.mark.parametrize("variance", [0.06, 0.1, 0.2])
def test_a_sum_of_gaussian_weights_depends_on_its_centre_as_the_lemma_says(variance):
    """The sum over the integers, for centres all over a cell, against its mean sqrt(2 pi variance)."""
    points, centres = np.arange(-20, 21)[:, None], np.linspace(0, 1, 101)
    sums = np.exp(-((points - centres) ** 2) / (2 * variance)).sum(axis=0)
    shown = np.abs(sums / math.sqrt(2 * math.pi * variance) - 1).max()
    assert shown <= distributed._oscillation(variance) <= 1.02 * shown


@pytest.mark.parametrize("scale", [0.2, 1e-12])
def test_a_scale_too_small_for_a_bound_gets_none(scale):
    assert sum_excess(2, scale) == math.inf


def test_the_excess_of_the_sum_over_all_parties_covers_the_honest_ones():
    crowd = DistributedNoise(8_000, 800)
    scale = crowd.share_scale(1.0)
    assert crowd.excess(1.0) == sum_excess(8_000, scale) > sum_excess(7_200, scale)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 40.0])
def test_the_privacy_loss_of_the_noise_of_the_honest_is_what_was_charged(sigma):
    """Three parties, one colludes: delta of the convolved noise of two against its shift, by hockey-stick."""
    crowd, grid = DistributedNoise(3, 1), grid_of(sigma)
    mu = math.sqrt(2 * gaussian_cost(sigma, Adjacency.ZERO_OUT))

    def delta(draws, epsilon):
        noise = np.pad(convolved(crowd.share_scale(sigma), draws), grid)
        return np.maximum(noise - math.exp(epsilon) * np.roll(noise, grid), 0).sum()

    for deviations in range(6):
        epsilon = mu**2 / 2 + deviations * mu
        promised = gaussian_delta(mu, epsilon)
        assert 0.99 * promised < delta(2, epsilon) <= promised + 1e-14
        assert delta(3, epsilon) < 0.9 * promised
        assert delta(1, epsilon) > 1.1 * promised


def counted(totals, scale, draws):
    """p-value of totals against the exact convolution, over cells a quarter of the total's scale wide."""
    expected = convolved(scale, draws)
    centre, width = expected.size // 2, int(scale * math.sqrt(draws) / 4)
    cells = np.clip((np.arange(expected.size) - centre) // width, -16, 15) + 16
    observed = np.bincount(np.clip(totals // width, -16, 15) + 16, minlength=32)
    weights = np.bincount(cells, weights=expected, minlength=32)
    return stats.chisquare(observed, weights / weights.sum() * totals.size).pvalue


@pytest.mark.parametrize("sigma", [0.7, 300.0])
def test_the_sum_over_the_parties_has_the_convolution_of_their_distributions(sigma):
    """False alarms: 1e-7 for each of two scales. Missing noise of one party must be detected."""
    crowd = DistributedNoise(3, 1)
    shares = [crowd.draw(sigma, 200_000, RandomStream.from_seed(21).child(str(j))) for j in range(3)]
    assert counted(sum(shares), crowd.share_scale(sigma), 3) > 1e-7
    assert counted(sum(shares[1:]), crowd.share_scale(sigma), 3) < 1e-7


def test_a_share_is_one_discrete_gaussian_in_units_of_the_grid():
    crowd = DistributedNoise(5, 2)
    share = crowd.draw(2.5, 40, RandomStream.from_seed(3))
    scale = 2.5 * grid_of(2.5) / math.sqrt(3)
    assert crowd.share_scale(2.5) == pytest.approx(scale, rel=1e-15)
    assert share.tolist() == discrete_gaussian(scale, 40, RandomStream.from_seed(3)).tolist()
    assert share.dtype == np.int64


class Outermost:
    """A stream whose every candidate is the outermost one, and accepted."""

    def __init__(self, scale):
        self.block = int(noise._envelope(scale).cumulative[-1]) - 1

    def words(self, count):
        words = np.zeros(count, dtype=np.uint64)
        if count % 3 == 0:
            words.reshape(3, -1)[0] = self.block << 4
            words.reshape(3, -1)[1] = 2**64 - 1
        return words

    def child(self, *_):
        return self


@pytest.mark.parametrize("sigma", [2.0**-20, 1.0, 511.9, 512.1, 1e6, 2.0**40])
@pytest.mark.parametrize("crowd", [(1, 0), (3, 1), (7, 6), (8_000, 1)])
def test_even_the_furthest_draw_of_every_party_stays_within_the_stated_largest(sigma, crowd):
    crowd = DistributedNoise(*crowd)
    worst = abs(int(crowd.draw(sigma, 1, Outermost(crowd.share_scale(sigma)))[0]))
    assert worst >= noise.TAIL_SIGMAS * crowd.share_scale(sigma)
    assert worst * crowd.parties <= crowd.largest(sigma)


@pytest.mark.parametrize("sigma", [2.0**-20, 1.0, 256.0])
def test_accepts_thousands_of_parties_and_refuses_more(sigma):
    assert DistributedNoise(8_300, 0).excess(sigma) <= MAX_EXCESS
    with pytest.raises(BudgetError, match="let fewer parties take part"):
        DistributedNoise(8_400, 0).share_scale(sigma)


@pytest.mark.parametrize("ask", ["draw", "largest", "total_sigma"])
def test_refuses_noise_whose_sum_would_not_be_close_to_a_discrete_gaussian(ask):
    crowd = DistributedNoise(20_000, 1)
    with pytest.raises(BudgetError, match="1 tolerated"):
        getattr(crowd, ask)(1.0, *([3, RandomStream.from_seed(1)] if ask == "draw" else []))


def test_the_scale_for_a_budget_can_be_divided_among_parties():
    sigma = gaussian_sigma(Fraction(1, 1000), Adjacency.REPLACE_ONE)
    crowd = DistributedNoise(4, 1)
    honest = math.sqrt(3) * crowd.share_scale(sigma) / grid_of(sigma)
    assert gaussian_cost(honest * (1 + 2.0**-50), Adjacency.REPLACE_ONE) <= Fraction(1, 1000)


@pytest.mark.parametrize("sigma", [0.5, 3.0, 1000.0])
def test_noise_of_people_is_on_their_grid_and_as_close_to_one_gaussian_for_all_cells_that_one_moves(sigma):
    plain, people = (DistributedNoise(5, 1, parts) for parts in (1, WEIGHT_PARTS))
    assert people.grid(sigma) == grid_of(sigma, WEIGHT_PARTS) >= max(WEIGHT_PARTS, 2 * plain.grid(sigma))
    assert people.total_sigma(sigma) == pytest.approx(plain.total_sigma(sigma))
    assert people.excess(sigma) * WEIGHT_PARTS <= MAX_EXCESS


@pytest.mark.parametrize("parties", [0, -3])
def test_refuses_noise_of_no_party(parties):
    with pytest.raises(BudgetError, match="at least 1"):
        DistributedNoise(parties, 0)


@pytest.mark.parametrize("tolerated", [-1, 3, 4])
def test_refuses_collusions_that_leave_nobody_honest(tolerated):
    with pytest.raises(BudgetError, match="0 to 2 of 3 parties"):
        DistributedNoise(3, tolerated)


def test_noise_that_may_be_missing_is_made_up_for_by_the_others():
    """Of 20 parties, two may be missing: at most 1.1 times the deviation, with and without them."""
    sigma, plain, spared = 40.0, DistributedNoise(20, 1), DistributedNoise(20, 1, lost=2)
    for parties, ratio in ((20, math.sqrt(19 / 17)), (18, math.sqrt(18 / 17 * 19 / 20))):
        found = spared.total_sigma(sigma, parties) / plain.total_sigma(sigma)
        assert found == pytest.approx(ratio, rel=1e-12)
        assert found <= 1.1
    # Without the two missing and the colluding one.
    assert spared.total_sigma(sigma, 17) == pytest.approx(sigma, rel=1e-12)
    assert spared.factor == pytest.approx(math.sqrt(18 / 17))


def test_parties_that_may_be_missing_leave_an_honest_one():
    with pytest.raises(BudgetError, match="expected 0 to 0 of 3 parties"):
        DistributedNoise(3, 1, lost=2)

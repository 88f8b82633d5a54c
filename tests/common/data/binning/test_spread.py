import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning import spread
from dpmosaic.common.data.binning.inverse import Inverse
from dpmosaic.common.data.binning.lattice import Lattice
from dpmosaic.common.data.binning.scale import Scale
from dpmosaic.common.data.binning.spread import Spread

ROWS = 20_000


def drawn(edges, counts, *, scale=Scale.LINEAR, lattice=None, seed=1):
    cells = np.stack([edges[:-1], edges[1:]], axis=1).astype(float)
    codes = np.repeat(np.arange(len(counts)), counts)
    return Spread(cells, scale, lattice).draw(codes, np.array(counts), np.random.default_rng(seed))


def distance(values, cdf):
    """Kolmogorov distance; of as many rows that were drawn from the distribution it is about 0.008."""
    return stats.kstest(values, cdf).statistic


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=20), st.sampled_from(Scale), st.integers(0, 99))
def test_every_value_is_within_its_bin(counts, scale, seed):
    edges = np.cumsum(np.linspace(1, 3, len(counts) + 1))
    values = drawn(edges, counts, scale=scale, seed=seed)
    codes = np.repeat(np.arange(len(counts)), counts)
    assert np.all((edges[codes] <= values) & (values < edges[codes + 1]))


@pytest.mark.slow
@given(
    st.floats(-1e3, 1e3),
    st.floats(-6, 9).map(lambda exponent: 10.0**exponent),
    st.integers(0, 99),
)
def test_numbers_have_few_decimals_and_stay_in_their_bin(start, width, seed):
    """Of a bin of width w, multiples of a power of ten from w / 10,000 to w / 1,000."""
    edges = np.array([start, start + width, start + 1.7 * width])
    values = drawn(edges, [300, 200], seed=seed)
    for part, low, high in ((values[:300], *edges[:2]), (values[300:], *edges[1:])):
        decimals = math.floor(4 - math.log10(high - low) + 1e-6)
        assert [round(value, decimals) for value in part.tolist()] == part.tolist()
        assert part.min() >= low
        assert part.max() < high
        assert len(set(part.tolist())) > 100


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(-323, -280).map(lambda exponent: 10.0**exponent), st.integers(1, 3))
def test_numbers_of_the_narrowest_bins_stay_in_them(most, count):
    """Bins from zero on, narrower than any power of ten to which numbers are rounded."""
    edges = np.linspace(0.0, most, count + 1)
    assume(np.all(np.diff(edges) > 0))
    values = drawn(edges, [5] * count, seed=1)
    assert np.array_equal(np.searchsorted(edges[1:-1], values, side="right"), np.repeat(np.arange(count), 5))


def test_a_threshold_of_few_decimals_divides_numbers_as_if_they_were_not_rounded():
    cells = np.array([[0.0, 3.0], [3.0, 5.0]])
    of, codes = Spread(cells, Scale.LINEAR, None), np.repeat([0, 1], ROWS)
    rng, counts = np.random.default_rng(1), np.array([2, 1])
    numbers = of.at(codes, counts, rng.random(2 * ROWS))
    shortened = of.shorten(numbers.copy(), codes, counts, rng)
    for threshold in (0.5, 1.23, 2.999, 3.0, 4.01):
        assert ((numbers < threshold) == (shortened < threshold)).all()


def test_numbers_on_a_logarithmic_scale_keep_their_digits():
    values = drawn(np.array([1e-6, 1e6]), [ROWS], scale=Scale.LOG)
    assert len(np.unique(values[values < 1])) > 0.4 * ROWS
    assert all(float(f"{value:.4g}") == value for value in values.tolist())


@pytest.mark.parametrize(
    ("distribution", "bins", "evenly", "shaped"),
    [
        (stats.norm(50, 12), 8, 0.025, 0.0125),
        (stats.expon(scale=15), 8, 0.06, 0.02),
        (stats.lognorm(0.5, scale=20), 12, 0.02, 0.016),
    ],
)
def test_values_follow_the_distribution_better_than_if_they_were_spread_evenly(
    distribution, bins, evenly, shaped
):
    edges = np.linspace(0, 100, bins + 1)
    mass = np.diff(distribution.cdf(edges))
    counts = np.round(ROWS * mass / mass.sum()).astype(int)
    total = distribution.cdf(100) - distribution.cdf(0)
    cdf = lambda x: (distribution.cdf(x) - distribution.cdf(0)) / total  # noqa: E731
    codes = np.repeat(np.arange(bins), counts)
    even = edges[codes] + np.random.default_rng(1).random(len(codes)) * 100 / bins
    assert distance(even, cdf) > evenly
    assert distance(drawn(edges, counts), cdf) < shaped


def test_a_uniform_distribution_stays_uniform():
    assert distance(drawn(np.linspace(0, 1, 11), [ROWS // 10] * 10), stats.uniform.cdf) < 0.01


def test_a_bin_without_neighbours_is_spread_evenly_on_the_scale():
    values = drawn(np.array([1, 1000]), [ROWS], scale=Scale.LOG)
    assert distance(np.log(values) / np.log(1000), stats.uniform.cdf) < 0.01
    between_empty_bins = drawn(np.linspace(0, 3, 4), [0, ROWS, 0])
    assert distance(between_empty_bins - 1, stats.uniform.cdf) < 0.01


def test_a_few_rows_far_out_lie_near_the_others():
    values = drawn(np.array([0, 10, 1000]), [ROWS, 50])
    assert values[ROWS:].mean() < 200


def test_a_bin_does_not_see_an_atom_at_its_side_but_the_bin_behind_it():
    attribute = NumericAttribute("x", 0, 20, 2, atoms=(0, 10))
    with_spikes = np.repeat([0, 1, 2, 3], [5000, 8000, 9000, 4000])
    values = attribute.decode(with_spikes, np.random.default_rng(1))
    bins = np.concatenate([values[5000:13000], values[22000:]])
    without = NumericAttribute("x", 0, 20, 2).decode(
        np.repeat([0, 1], [8000, 4000]), np.random.default_rng(1)
    )
    assert np.allclose(bins, without, atol=0.01)
    assert set(values[:5000]) == {0}
    assert set(values[13000:22000]) == {10}


def test_every_multiple_has_the_mass_of_the_numbers_that_are_rounded_to_it():
    values = drawn(np.array([0, 100]), [ROWS], lattice=Lattice(25))
    places, counts = np.unique(values, return_counts=True)
    assert places.tolist() == [0, 25, 50, 75]
    assert stats.chisquare(counts).pvalue > 0.001
    log = drawn(np.array([1, 4]), [ROWS], lattice=Lattice(1), scale=Scale.LOG)
    expected = np.diff(np.log([0.5, 1.5, 2.5, 3.5])) / np.log(7) * ROWS
    assert stats.chisquare(np.unique(log, return_counts=True)[1], expected).pvalue > 0.001


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_the_density_has_the_stated_ends_and_total_one(left, right):
    steps = np.linspace(0, 1, 257)
    (below,) = spread._cumulative(np.array([left]), np.array([right]), steps)
    assert below[0] == 0
    assert below[-1] == 1
    assert np.all(np.diff(below) > 0)
    density = np.diff(below) * 256
    assert density[0] == pytest.approx(np.exp(left), rel=0.1)
    assert density[-1] == pytest.approx(np.exp(right), rel=0.1)
    # The logarithm is quadratic: its second difference is the same everywhere.
    assert np.ptp(np.diff(np.log(density), 2)) < 1e-3
    assert integrate.trapezoid(density, (steps[1:] + steps[:-1]) / 2) == pytest.approx(1, abs=0.1)


def test_a_part_of_a_column_is_spread_by_the_counts_of_all_of_it():
    attribute = NumericAttribute("x", 0, 20, 2)
    codes = np.repeat([0, 1], [9000, 1000])
    counts = np.bincount(codes)
    whole = attribute.decode(codes, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    parts = [attribute.decode(codes[k : k + 1000], rng, counts) for k in range(0, 10000, 1000)]
    assert np.allclose(np.concatenate(parts), whole)


@pytest.mark.parametrize("lattice", [None, Lattice(1.0)])
@pytest.mark.parametrize("scale", [Scale.LINEAR, Scale.SYMLOG])
def test_the_part_of_a_range_is_the_share_of_the_numbers_drawn_inside(scale, lattice):
    """30000 numbers a bin: shares have a standard deviation below 0.003; five of them for 32 shares."""
    edges, counts = np.array([0.0, 10.0, 20.0, 40.0, 41.0]), np.array([100, 300, 50, 10])
    cells = np.stack([edges[:-1], edges[1:]], axis=1)
    found = Spread(cells, scale, lattice)
    codes = np.repeat(np.arange(4), 30_000)
    values = found.draw(codes, counts, np.random.default_rng(1))
    for low, high in ((3, 12), (15, 15.9), (35, 60), (7, 7)):
        first, last = found.ranks(counts, low, high)
        inside = ((values >= low) & (values <= high)).reshape(4, -1).mean(axis=1)
        np.testing.assert_allclose(last - first, inside, atol=0.015)
        for cell in np.flatnonzero(last - first > 1e-9):
            ranks = np.linspace(first[cell], last[cell], 52)[1:-1]
            at = found.at(np.full(50, cell), counts, ranks)
            assert np.all((low <= at) & (at <= high))


def test_a_range_between_two_multiples_has_no_numbers():
    found = Spread(np.array([[0.0, 10.0], [10.0, 20.0]]), Scale.LINEAR, Lattice(5.0))
    first, last = found.ranks(np.array([1, 1]), 6, 9)
    assert np.array_equal(first, last)


@pytest.mark.parametrize("bins", [1, 2, 40, 300, 5000])
def test_steps_that_are_looked_up_are_those_of_linear_interpolation_to_the_bit(bins):
    rng = np.random.default_rng(bins)
    places = np.linspace(0, 1, 33)
    before = np.arange(bins)[:, None]
    steps = places + before
    below = spread._cumulative(*rng.uniform(-3, 3, (2, bins)), places) + before
    position, ranks = rng.integers(0, bins, 20_000), rng.random(20_000)
    ranks[:300] = np.repeat([0.0, 1.0, 1 - 2**-53], 100)
    ranks[300:600] = np.clip(below[position[300:600], rng.integers(0, 33, 300)] - position[300:600], 0, 1)
    expected = np.interp(position + ranks, below.ravel(), steps.ravel())
    for some in (slice(None), slice(0, 5)):
        found = Inverse(below, steps).at(position[some], ranks[some])
        assert np.array_equal(found, expected[some])

"""Distances of numbers, against scipy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.evaluation.values.distribution import MOST_POINTS, Compared, Distribution
from dpmosaic.simulations.evaluation.values.number_distances import (
    MainFigures,
    distribution_gaps,
    number_distances,
    summary,
)
from dpmosaic.simulations.evaluation.values.values import Values

GAIN = NumericAttribute("gain", 1, 100, 4, integer=True, nullable=True, atoms=(0.0, 999.0))
DOMAIN = Domain((CategoricalAttribute("kind", ("x", "y")), GAIN))


def values(gains, domain=DOMAIN):
    return Values.of(domain, [["x"] * len(gains), gains])


@pytest.mark.parametrize("seed", range(5))
def test_the_distances_of_distributions_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    real, synthetic = rng.lognormal(2, 1, 300), np.round(rng.normal(8, 5, 200))
    kolmogorov, wasserstein = distribution_gaps(real, synthetic)
    assert kolmogorov == pytest.approx(stats.ks_2samp(real, synthetic).statistic)
    assert wasserstein == pytest.approx(stats.wasserstein_distance(real, synthetic))


def test_missing_values_take_no_part_in_a_distance():
    with_gaps = np.array([1.0, np.nan, 3.0, np.nan])
    assert distribution_gaps(with_gaps, np.array([1.0, 3.0])) == (0.0, 0.0)


def test_a_column_without_values_is_as_far_as_can_be_from_one_with_some():
    none = np.full(3, np.nan)
    assert distribution_gaps(none, np.array([1.0])) == (1.0, None)
    assert distribution_gaps(none, none) == (0.0, None)
    assert (summary(none).missing, summary(none).mean, summary(none).decimals) == (1.0, None, None)


def test_a_summary_is_that_of_numpy():
    numbers = np.random.default_rng(1).gamma(2, 3, 500)
    found = summary(np.concatenate([numbers, [np.nan] * 125]))
    assert found.missing == pytest.approx(0.2)
    assert (found.mean, found.deviation) == pytest.approx((numbers.mean(), numbers.std()))
    assert found.quantiles == pytest.approx(np.quantile(numbers, [0.01, 0.25, 0.5, 0.75, 0.99]))


@pytest.mark.parametrize(
    ("numbers", "decimals"),
    [([1, 2, 300], 0), ([0.5, 2], 1), ([83.7, 9.45], 2), ([7.8958], 4), ([np.pi], None)],
)
def test_decimals_are_those_with_which_values_are_written(numbers, decimals):
    assert summary(np.array(numbers)).decimals == decimals


def test_a_few_longer_values_do_not_count_as_decimals():
    assert summary(np.append(np.arange(999.0), 0.123)).decimals == 0


def test_atoms_and_zeros_have_their_shares():
    (found,) = number_distances(values([0, 0, 5, None]), values([0, 999, 999, 60]))
    assert found.atoms == {"0": (0.5, 0.25), "999": (0.0, 0.5)}
    assert (found.real.missing, found.synthetic.missing) == (0.25, 0.0)
    assert found.mean_error == pytest.approx(abs(2058 / 4 - 5 / 3) / (5 / 3))


def test_the_furthest_attribute_comes_first():
    domain = Domain((NumericAttribute("near", 0, 9, 10), NumericAttribute("far", 0, 9, 10)))
    real = Values.of(domain, [[1, 2, 3], [1, 2, 3]])
    synthetic = Values.of(domain, [[1, 2, 4], [8, 8, 8]])
    assert [found.name for found in number_distances(real, synthetic)] == ["far", "near"]


def test_bins_hide_nothing_since_values_are_compared():
    """One wide bin: the codes are equal, the values are not."""
    wide = Domain((NumericAttribute("x", 0, 1000, 1, integer=False),))
    real, synthetic = (Values.of(wide, [numbers]) for numbers in ([1.0, 2.0], [900.0, 901.0]))
    assert (real.table.marginal(("x",)) == synthetic.table.marginal(("x",))).all()
    assert number_distances(real, synthetic)[0].kolmogorov == 1.0


def test_the_main_figures_are_of_all_blocks_of_decoded_values():
    figures = MainFigures(DOMAIN, {"gain": Distribution.of(np.array([0, 10, math.nan]))})
    figures.add({"kind": np.array(["x"], dtype=object), "gain": np.array([20])})
    figures.add({"kind": np.array(["y", "x"], dtype=object), "gain": np.array([0, 0])})
    assert figures.to_json() == {
        "gain": {
            "kolmogorov": pytest.approx(1 / 3),
            "zeros": {"real": pytest.approx(1 / 3), "synthetic": pytest.approx(2 / 3)},
            "mean": {"real": pytest.approx(5), "synthetic": pytest.approx(20 / 3)},
        }
    }


def test_the_furthest_attribute_comes_first_among_the_main_figures():
    domain = Domain((NumericAttribute("near", 0, 9, 10), NumericAttribute("far", 0, 9, 10)))
    figures = MainFigures(domain, dict.fromkeys(domain, Distribution.of(np.array([1.0, 2.0]))))
    figures.add({"near": np.array([1, 3]), "far": np.array([8, 8])})
    assert [*figures.to_json()] == ["far", "near"]


def compared(real, *blocks):
    found = Compared(Distribution.of(real))
    for block in blocks:
        found.add(block)
    return found


@pytest.mark.slow
@given(
    *(st.lists(st.one_of(st.integers(0, 5), st.just(math.nan)), min_size=1) for _ in range(2)),
    st.integers(0, 10),
)
def test_the_kolmogorov_distance_is_that_of_all_gaps(real, synthetic, first):
    both = np.array(real, dtype=np.float64), np.array(synthetic, dtype=np.float64)
    found = compared(both[0], both[1][:first], both[1][first:])
    assert found.kolmogorov == pytest.approx(distribution_gaps(*both)[0], abs=1e-15)


@pytest.mark.parametrize("digits", [3, 17])
def test_of_many_numbers_quantiles_are_kept_whose_distance_is_nearly_that_of_all(digits):
    rng = np.random.default_rng(digits)
    real = np.round(np.where(rng.random(10**5) < 0.3, 0.5, rng.normal(size=10**5)), digits)
    synthetic = real * 1.02
    found, exact = compared(real, synthetic), distribution_gaps(real, synthetic)[0]
    assert len(found.real.points) <= MOST_POINTS
    assert exact - 1 / MOST_POINTS <= found.kolmogorov <= exact + 1e-15
    assert 0.5 in found.real.points
    assert compared(real, real).kolmogorov == 0.0


def test_the_mean_does_not_depend_on_the_order_of_the_blocks():
    blocks = np.random.default_rng(0).lognormal(0, 9, (50, 7))
    assert compared(blocks[0], *blocks).mean == compared(blocks[0], *blocks[::-1]).mean

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.cost import (
    ALL_ROWS,
    Adjacency,
    PrivacyUnit,
    charged_variance,
    exponential_cost,
    gaussian_cost,
    gaussian_sigma,
    grid_of,
    score_cost,
    score_sigma,
)

RHOS = st.floats(1e-9, 1e6)


@given(RHOS, st.sampled_from(Adjacency))
def test_noise_for_a_budget_never_costs_more_than_the_budget_and_hardly_less(rho, adjacency):
    sigma = gaussian_sigma(Fraction(rho), adjacency)
    cost = gaussian_cost(sigma, adjacency)
    assert cost <= Fraction(rho)
    assert float(cost) >= rho * (1 - 1e-12) - 2.0**-62


@given(st.floats(2.0**-19, 1e9))
def test_a_gaussian_costs_the_textbook_amount_plus_that_of_the_grid(sigma):
    textbook = 1 / (2 * sigma**2)
    assert textbook <= float(gaussian_cost(sigma, Adjacency.ZERO_OUT)) <= textbook * 1.00004 + 2.0**-63


def test_replacing_a_record_costs_twice_as_much_as_leaving_it_out():
    assert float(gaussian_cost(10.0, Adjacency.REPLACE_ONE)) == pytest.approx(
        2 * float(gaussian_cost(10.0, Adjacency.ZERO_OUT)), rel=1e-12
    )


@pytest.mark.parametrize("sigma", [0.3, 2.0, 17.0])
def test_discrete_noise_on_the_grid_is_a_post_processed_gaussian_of_the_charged_variance(sigma):
    """The lemma behind the charge (docs/adr/0003), by numerical integration.

    A Gaussian of variance s^2 - 2.5, then rounded at random with a discrete Gaussian of variance 2.5
    centred on it, has the probabilities of the discrete Gaussian of variance s^2 up to 1e-12.
    """
    scale = sigma * grid_of(sigma) / 32  # smaller than the grid allows, so that errors would show
    inner = math.sqrt(scale**2 - 2.5)
    points = np.arange(-30, 31)
    centres, step = np.linspace(-9 * scale, 9 * scale, 40_001, retstep=True)
    density = np.exp(-((centres / inner) ** 2) / 2) / (inner * math.sqrt(2 * math.pi)) * step
    reach = np.arange(-math.ceil(9 * scale) - 30, math.ceil(9 * scale) + 31)
    normaliser = np.zeros_like(centres)
    for z in reach:
        normaliser += np.exp(-((z - centres) ** 2) / 5)
    composed = np.array([(density * np.exp(-((z - centres) ** 2) / 5) / normaliser).sum() for z in points])
    direct = np.exp(-((points / scale) ** 2) / 2) / np.exp(-((reach / scale) ** 2) / 2).sum()
    assert np.allclose(composed, direct, rtol=1e-10, atol=0)


def test_the_exponential_mechanism_costs_an_eighth_of_its_squared_parameter():
    assert float(exponential_cost(2.0)) == pytest.approx(0.5)


def test_costs_are_multiples_of_the_unit_so_that_their_sums_are_exact():
    assert (gaussian_cost(math.pi, Adjacency.ZERO_OUT) * 2**64).denominator == 1


@pytest.mark.parametrize("rho", [0, -1])
def test_refuses_a_measurement_without_budget(rho):
    with pytest.raises(BudgetError, match="grant more"):
        gaussian_sigma(Fraction(rho), Adjacency.ZERO_OUT)


def test_refuses_a_budget_that_allows_less_noise_than_the_grid_supports():
    with pytest.raises(BudgetError, match="lower the budget"):
        gaussian_sigma(Fraction(10**15), Adjacency.ZERO_OUT)


def test_refuses_more_noise_than_can_be_drawn_before_it_is_charged():
    with pytest.raises(BudgetError, match="at most 2\\^40"):
        gaussian_cost(2.0**41, Adjacency.ZERO_OUT)


def test_refuses_an_unknown_adjacency_and_names_the_known_ones():
    with pytest.raises(BudgetError, match="zero-out, replace-one"):
        Adjacency.named("swap")


CHANGES = {Adjacency.ZERO_OUT: 1, Adjacency.REPLACE_ONE: 2, Adjacency.ADD_REMOVE: 1}
"""By how much a record changes the L1 distance of a marginal to a reference."""


@pytest.mark.slow
@given(data=st.data(), adjacency=st.sampled_from(Adjacency))
def test_a_record_changes_a_distance_by_what_a_score_is_charged_for(data, adjacency):
    """The bound is attained where the marginal is far from the reference."""
    counts = np.array(data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=6)))
    reference = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(counts), max_size=len(counts))))
    left, entered = data.draw(st.lists(st.integers(0, len(counts) - 1), min_size=2, max_size=2, unique=True))
    neighbour = counts.copy()
    neighbour[left] -= 1
    if adjacency is Adjacency.REPLACE_ONE:
        neighbour[entered] += 1
    changed = [np.abs(neighbour - to).sum() - np.abs(counts - to).sum() for to in (reference, counts)]
    assert abs(changed[0]) <= CHANGES[adjacency]
    assert changed[1] == CHANGES[adjacency]


@pytest.mark.parametrize("count", [1, 2, 3, 91, 10_000])
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("sigma", [2.0**-19, 0.7, 30.0, 2.0**30])
def test_scores_cost_what_a_gaussian_of_their_sensitivity_costs(sigma, adjacency, count):
    """m c^2 / (2 (sigma^2 - 2.5 / grid^2)), in exact arithmetic and rounded up."""
    variance = Fraction(sigma) ** 2 - Fraction(5, 2) / grid_of(sigma) ** 2
    exact = Fraction(count * CHANGES[adjacency] ** 2) / (2 * variance)
    cost = score_cost(sigma, adjacency, count)
    assert exact <= cost < exact + Fraction(count, 2**64)
    assert (cost * 2**64).denominator == 1
    textbook = count * CHANGES[adjacency] ** 2 / (2 * sigma**2)
    assert textbook * (1 - 1e-12) <= float(cost) <= textbook * 1.00004 + count * 2.0**-63


@given(RHOS, st.sampled_from(Adjacency), st.integers(1, 5000))
def test_scores_for_a_budget_never_cost_more_than_the_budget_and_hardly_less(rho, adjacency, count):
    cost = score_cost(score_sigma(Fraction(rho), adjacency, count), adjacency, count)
    assert cost <= Fraction(rho)
    assert float(cost) >= rho * (1 - 1e-12) - 4 * count * CHANGES[adjacency] * 2.0**-64


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_noise_of_scores_is_the_textbooks_for_their_budget(adjacency):
    assert score_sigma(Fraction(1, 8), adjacency, 9) == pytest.approx(6 * CHANGES[adjacency], rel=3e-5)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_batch_of_scores_costs_as_much_as_its_scores_one_by_one(adjacency):
    whole, single = score_cost(3.0, adjacency, 50), score_cost(3.0, adjacency, 1)
    assert 50 * single - Fraction(50, 2**64) <= whole <= 50 * single


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("count", [1, 7])
def test_refuses_a_budget_too_small_for_its_scores_and_accepts_a_little_more(adjacency, count):
    least = 4 * count * adjacency.squared_sensitivity
    assert score_cost(2.0**30, adjacency, count) > 0
    for units in (-1, 0, 1, least - 1):
        with pytest.raises(BudgetError, match="grant more"):
            score_sigma(Fraction(units, 2**64), adjacency, count)
    with_room = Fraction(count, 2**59)
    assert score_cost(score_sigma(with_room, adjacency, count), adjacency, count) <= with_room


@pytest.mark.parametrize("adjacency", Adjacency)
def test_refuses_scores_with_less_noise_than_the_grid_supports(adjacency):
    with pytest.raises(BudgetError, match="lower the budget"):
        score_sigma(Fraction(10**13), adjacency, 1)
    assert score_sigma(Fraction(10**13), adjacency, 100) > 2.0**-20


def test_refuses_scores_with_more_noise_than_can_be_drawn():
    with pytest.raises(BudgetError, match="at most 2\\^40"):
        score_cost(2.0**41, Adjacency.ZERO_OUT, 3)


def moved_most(shape, adjacency):
    """How far a record can move an interaction, squared: over all cells, or all pairs of them."""
    projection = functools.reduce(np.kron, [np.eye(n) - 1 / n for n in shape])
    cells = np.eye(len(projection))
    if adjacency is not Adjacency.REPLACE_ONE:
        changes = cells
    else:
        changes = (cells[:, None] - cells[None, :]).reshape(-1, len(projection))
    return np.square(changes @ projection.T).sum(axis=1).max()


INTERACTIONS = [
    (2,),
    (7,),
    (2, 2),
    (2, 5),
    (4, 3),
    (2, 2, 2),
    (3, 2, 4),
    (3, 3, 3),
    (2, 2, 2, 2),
    (3, 2, 3, 2),
]


@pytest.mark.parametrize("shape", INTERACTIONS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_an_interaction_is_charged_for_the_farthest_that_any_record_moves_it(shape, adjacency):
    charged = adjacency.squared_interaction_sensitivity(shape)
    assert float(charged) == pytest.approx(moved_most(shape, adjacency), rel=1e-12)
    assert charged == adjacency.squared_interaction_sensitivity(shape[::-1])


@pytest.mark.parametrize("sigma", [2.0**-19, 0.7, 30.0, 2.0**30])
@pytest.mark.parametrize("shape", [(2,), (2, 2), (3, 4, 5), (16_384, 16_384)])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_an_interaction_costs_what_a_gaussian_of_its_sensitivity_costs(sigma, shape, adjacency):
    """D / (2 (sigma^2 - 2.5 / grid^2)), in exact arithmetic and rounded up."""
    variance = Fraction(sigma) ** 2 - Fraction(5, 2) / grid_of(sigma) ** 2
    moved = math.prod(Fraction(n - 1, n) for n in shape)
    if adjacency is Adjacency.REPLACE_ONE:
        moved = 2 * moved * Fraction(min(shape), min(shape) - 1)
    exact = moved / (2 * variance)
    cost = gaussian_cost(sigma, adjacency, shape)
    assert exact <= cost < exact + Fraction(1, 2**64)
    assert (cost * 2**64).denominator == 1
    assert cost <= gaussian_cost(sigma, adjacency)


@given(RHOS, st.sampled_from(Adjacency), st.lists(st.integers(2, 9), min_size=1, max_size=4))
def test_noise_of_an_interaction_never_costs_more_than_its_budget_and_hardly_less(rho, adjacency, shape):
    sigma = gaussian_sigma(Fraction(rho), adjacency, shape)
    cost = gaussian_cost(sigma, adjacency, shape)
    assert cost <= Fraction(rho)
    assert float(cost) >= rho * (1 - 1e-12) - 2.0**-62


def test_for_one_budget_the_interaction_of_a_binary_pair_has_half_the_noise_of_its_marginal():
    marginal = gaussian_sigma(Fraction(1, 8), Adjacency.ZERO_OUT)
    assert gaussian_sigma(Fraction(1, 8), Adjacency.ZERO_OUT, (2, 2)) == pytest.approx(marginal / 2, rel=3e-5)


@pytest.mark.parametrize(
    "shape", [(1,), (3, 1), (0, 2), (16_385,), (2, 16_385), (16_384, 16_384, 4_097), (2**14,) * 4]
)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_refuses_an_interaction_that_the_proof_of_its_cost_does_not_cover(shape, adjacency):
    for ask in (
        lambda: adjacency.squared_interaction_sensitivity(shape),
        lambda: gaussian_cost(3.0, adjacency, shape),
        lambda: gaussian_sigma(Fraction(1), adjacency, shape),
    ):
        with pytest.raises(BudgetError, match="measure the whole marginal"):
            ask()


@pytest.mark.parametrize("shape", [(16_384,), (16_384, 16_384, 4_096), (2,) * 40])
def test_the_largest_interactions_that_the_proof_covers_are_measured(shape):
    """At s^2 = 65,536 the lemma leaves an error below 1.2e-22 (docs/adr/0020)."""
    for adjacency in Adjacency:
        assert 0 < adjacency.squared_interaction_sensitivity(shape) <= adjacency.squared_sensitivity
    dimension = math.prod(shape) - math.prod(n - 1 for n in shape)
    room = 2 * math.pi**2 * 65_536 / max(shape) - math.log(2 * dimension)
    assert room > math.log1p(1 / 1.2e-22)


@pytest.mark.parametrize("sigma", [0.01, 2.0, 700.0])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_wider_noise_on_one_grid_has_the_variance_that_it_is_charged_as(sigma, factor):
    variance = charged_variance(sigma, factor)
    assert variance == (Fraction(factor) * Fraction(sigma)) ** 2 - Fraction(5, 2 * grid_of(sigma) ** 2)
    assert gaussian_cost(sigma, Adjacency.ZERO_OUT) >= 1 / (2 * charged_variance(sigma))


def test_a_cost_for_people_with_all_rows_is_one_for_any_number_of_them():
    everything, some = (PrivacyUnit(Adjacency.ZERO_OUT, rows) for rows in (ALL_ROWS, 5))
    assert everything.factor_in(some) == some.factor_in(everything) == 1
    assert everything.factor_in(PrivacyUnit(Adjacency.REPLACE_ONE, 5)) == 4
    assert "several slices" in everything.over_slices(2)
    assert everything.over_slices(1) == everything.in_words
    assert some.over_slices(2) == some.in_words


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_person_with_several_rows_costs_their_square(rows, adjacency):
    unit = PrivacyUnit(adjacency, rows)
    once = (
        gaussian_cost(4.0, adjacency),
        gaussian_cost(4.0, adjacency, (2, 3)),
        score_cost(4.0, adjacency, 3),
    )
    together = (gaussian_cost(4.0, unit), gaussian_cost(4.0, unit, (2, 3)), score_cost(4.0, unit, 3))
    assert [float(cost) for cost in together] == pytest.approx([rows**2 * float(cost) for cost in once])
    for rho in (Fraction(1, 100), Fraction(1, 3)):
        assert rho * Fraction(999, 1000) < gaussian_cost(gaussian_sigma(rho, unit), unit) <= rho
        assert rho * Fraction(999, 1000) < score_cost(score_sigma(rho, unit, 3), unit, 3) <= rho

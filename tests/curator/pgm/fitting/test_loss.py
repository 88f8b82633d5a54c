from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.boxes import Box
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss, minimum_variance_total
from support.changed import changed

Array = NDArray[np.float64]

DOMAIN = Domain.coded({"a": 2, "b": 3})


def measured(clique: Clique, values: list[float], sigma: float = 1.0) -> Measurement:
    return Measurement(View(clique), np.array(values, dtype=float), sigma, 0.0)


def uneven(clique: Clique, values: list[float], sigmas: list[float]) -> Measurement:
    """A measurement whose cells deviate differently."""
    rms = float(np.sqrt(np.square(sigmas).mean()))
    return Measurement(View(clique), np.array(values, dtype=float), rms, 0.0, sigmas=np.array(sigmas))


def check_gradient(loss: QuadraticLoss, marginals: Array) -> None:
    """The gradient is that of differences of the loss."""
    step = 1e-6
    slopes = [
        (loss.of_marginals(marginals + step * unit) - loss.of_marginals(marginals - step * unit)) / (2 * step)
        for unit in np.eye(len(marginals))
    ]
    np.testing.assert_allclose(loss.gradient(marginals), slopes, rtol=1e-6, atol=1e-6)


def test_loss_and_gradient_are_those_of_the_formula() -> None:
    loss = QuadraticLoss.of(DOMAIN, [measured(("a",), [1, 5], 2.0), measured(("b",), [0, 1, 2], 0.5)])
    marginals = np.array([2.0, 4.0, 1.0, 1.0, 4.0])
    expected = (1 + 1) / (2 * 4) + (1 + 0 + 4) / (2 * 0.25)
    assert loss.of_marginals(marginals) == pytest.approx(expected)
    check_gradient(loss, marginals)


def test_cells_of_different_noise_are_weighted_by_their_own_sigmas() -> None:
    loss = QuadraticLoss.of(DOMAIN, [uneven(("a",), [1, 5], [2.0, 0.5]), measured(("b",), [0, 1, 2], 0.5)])
    marginals = np.array([2.0, 4.0, 1.0, 1.0, 4.0])
    expected = 1 / (2 * 4) + 1 / (2 * 0.25) + (1 + 0 + 4) / (2 * 0.25)
    assert loss.of_marginals(marginals) == pytest.approx(expected)
    assert loss.largest_weight == 4.0
    check_gradient(loss, marginals)
    np.testing.assert_allclose(loss.bend(marginals), np.array([1 / 4, 4, 4, 4, 4]) * marginals**2)


def test_equal_sigmas_of_all_cells_are_one_sigma() -> None:
    marginals = np.array([2.0, 4.0])
    one, other = (
        QuadraticLoss.of(DOMAIN, [found, measured(("a",), [2, 2], 0.5)])
        for found in (measured(("a",), [1, 5], 2.0), uneven(("a",), [1, 5], [2.0, 2.0]))
    )
    assert one.of_marginals(marginals) == other.of_marginals(marginals)
    assert one.gradient(marginals).tolist() == other.gradient(marginals).tolist()
    assert one.weights.tolist() == other.weights.tolist()


def test_cells_are_merged_by_the_inverse_variance_of_each() -> None:
    parts = [uneven(("a",), [0, 10], [1.0, 4.0]), measured(("a",), [5, 0], 2.0)]
    loss = QuadraticLoss.of(DOMAIN, parts)
    np.testing.assert_allclose(loss.values, [(0 + 5 / 4) / 1.25, (10 / 16 + 0) / (1 / 16 + 1 / 4)])
    np.testing.assert_allclose(loss.weights, [1.25, 1 / 16 + 1 / 4])


def test_initial_cells_are_raised_to_a_share_of_their_own_sigma() -> None:
    loss = QuadraticLoss.of(DOMAIN, [uneven(("b",), [-3, -3, 9], [1.0, 4.0, 2.0])])
    target, model = loss.measured_and_modelled(np.array([5.0, 0.0, 0.0]), 0.5)
    np.testing.assert_allclose(target, [0.5, 2.0, 9.0])
    np.testing.assert_allclose(model, [5.0, 2.0, 1.0])


LEFT, CORNER = ((0, 2), (0, 1)), ((1, 2), (1, 3))
"""Boxes of the clique (a, b): its first column, and the rest of its second row."""


def over_boxes(boxes: list[Box], values: list[float], sigma: float = 1.0) -> Measurement:
    return Measurement(View(("a", "b"), boxes=tuple(boxes)), np.array(values, dtype=float), sigma, 0.0)


def test_sums_over_boxes_count_by_the_formula() -> None:
    parts = [measured(("a",), [1, 5], 2.0), over_boxes([LEFT, CORNER], [6, 4], 0.5)]
    loss = QuadraticLoss.of(DOMAIN, parts)
    marginals = np.array([2.0, 4.0, 3.0, 1.0, 7.0, 2.0, 1.5, 5.0])
    expected = (1 + 1) / (2 * 4) + ((3 + 2 - 6) ** 2 + (1.5 + 5 - 4) ** 2) / (2 * 0.25)
    assert loss.of_marginals(marginals) == pytest.approx(expected)
    check_gradient(loss, marginals)


def test_the_bend_is_the_row_sums_of_the_hessian_in_log_marginals() -> None:
    parts = [measured(("a", "b"), [1] * 6, 2.0), over_boxes([LEFT, CORNER], [6, 4], 0.5)]
    loss = QuadraticLoss.of(DOMAIN, parts)
    marginals = np.array([3.0, 1.0, 7.0, 2.0, 1.5, 5.0])
    hessian = np.eye(6) / 4
    for box in ([0, 3], [4, 5]):
        hessian[np.ix_(box, box)] += 4
    np.testing.assert_allclose(loss.bend(marginals), marginals * (hessian @ marginals))
    assert loss.largest_weight == 4.0


def test_sums_over_the_same_boxes_are_merged_and_over_others_are_not() -> None:
    once = over_boxes([LEFT, CORNER], [6, 4], 0.5)
    again = over_boxes([LEFT, CORNER], [10, 0], 1.0)
    loss = QuadraticLoss.of(DOMAIN, [once, over_boxes([LEFT], [7]), again])
    first, second = loss.boxes
    np.testing.assert_allclose(first.values, [(4 * 6 + 10) / 5, 16 / 5])
    assert (first.weight, second.weight) == (5.0, 1.0)
    assert (loss.cliques, len(loss.values), loss.count) == ((("a", "b"),), 6, 3)


def test_part_of_a_loss_counts_only_its_cliques() -> None:
    single, boxed = measured(("a",), [1, 5], 2.0), over_boxes([LEFT, CORNER], [6, 4], 0.5)
    loss = QuadraticLoss.of(DOMAIN, [single, boxed])
    marginals = np.array([2.0, 4.0, 3.0, 1.0, 7.0, 2.0, 1.5, 5.0])
    for clique, alone, at in ((("a",), single, slice(0, 2)), (("a", "b"), boxed, slice(2, 8))):
        part = loss.part_of([clique])
        expected = QuadraticLoss.of(DOMAIN, [alone]).of_marginals(marginals[at])
        assert part.of_marginals(marginals) == pytest.approx(expected)
        assert part.count == 2


def test_initial_cells_of_sums_are_distributed_as_in_the_model() -> None:
    loss = QuadraticLoss.of(DOMAIN, [over_boxes([LEFT, CORNER], [10, -4], 0.5)])
    target, model = loss.measured_and_modelled(np.array([3.0, 1.0, 7.0, 2.0, 1.5, 4.5]), 0.5)
    np.testing.assert_allclose(model, [3.0, 1.0, 7.0, 2.0, 1.5, 4.5])
    # The first box has its measured sum, the second the least that counts, and no box is as it was.
    np.testing.assert_allclose(target, [6.0, 1.0, 7.0, 4.0, 0.25 / 4, 0.25 * 3 / 4])


def test_measured_cells_are_initial_cells_whatever_the_sums_are() -> None:
    cells = measured(("a", "b"), [3, 1, 7, 2, 1.5, 4.5])
    loss = QuadraticLoss.of(DOMAIN, [cells, over_boxes([LEFT, CORNER], [10, -4], 0.5)])
    target, _ = loss.measured_and_modelled(np.full(6, 2.0), 0.5)
    np.testing.assert_allclose(target, cells.values)


def test_measurements_of_one_clique_are_merged_by_inverse_variance() -> None:
    loss = QuadraticLoss.of(DOMAIN, [measured(("a",), [0, 10], 1.0), measured(("a",), [5, 0], 2.0)])
    assert loss.cliques == (("a",),)
    np.testing.assert_allclose(loss.values, [(0 + 5 / 4) / 1.25, 10 / 1.25])
    np.testing.assert_allclose(loss.weights, [1.25, 1.25])


def test_merging_shifts_the_loss_by_a_constant_only() -> None:
    parts = [measured(("a",), [0, 10], 1.0), measured(("a",), [5, 0], 2.0)]
    merged = QuadraticLoss.of(DOMAIN, parts)
    singles = [QuadraticLoss.of(DOMAIN, [part]) for part in parts]
    shifts = [
        sum(single.of_marginals(point) for single in singles) - merged.of_marginals(point)
        for point in (np.array([1.0, 2.0]), np.array([-4.0, 30.0]))
    ]
    assert shifts[0] == pytest.approx(shifts[1])


def test_a_clique_inside_another_is_a_term_of_its_own() -> None:
    loss = QuadraticLoss.of(DOMAIN, [measured(("a",), [1, 2]), measured(("a", "b"), [1] * 6)])
    assert loss.cliques == (("a",), ("a", "b"))
    assert loss.shapes == ((2,), (2, 3))
    assert len(loss.values) == 8


def test_the_empty_clique_is_left_out() -> None:
    assert QuadraticLoss.of(DOMAIN, [measured((), [7])]).cliques == ()


def test_the_total_weighs_sums_by_their_variance() -> None:
    # Variances of the sums: 2 x 1, 3 x 4 and 1 x 0.25.
    found = minimum_variance_total(
        [measured(("a",), [40, 60]), measured(("b",), [40, 40, 40], 2.0), measured((), [80], 0.5)]
    )
    # Boxes may leave cells out.
    assert found == minimum_variance_total(
        [
            measured(("a",), [40, 60]),
            over_boxes([LEFT], [3], 0.1),
            measured(("b",), [40, 40, 40], 2.0),
            measured((), [80], 0.5),
        ]
    )
    assert found == pytest.approx((100 / 2 + 120 / 12 + 80 / 0.25) / (1 / 2 + 1 / 12 + 1 / 0.25))


def test_an_interaction_does_not_affect_the_total() -> None:
    alone = Measurement(View(("b",), interaction=True), np.array([50.0, -20.0, -30.0]), 0.01, 0.0)
    marginal = measured(("a",), [40, 60])
    assert minimum_variance_total([marginal, alone]) == minimum_variance_total([marginal]) == 100.0
    assert minimum_variance_total([alone]) == 1.0


def test_the_total_is_at_least_one() -> None:
    assert minimum_variance_total([measured(("a",), [-40, 3])]) == 1.0
    assert minimum_variance_total([]) == 1.0


def test_refuses_measurements_that_do_not_fit_the_domain() -> None:
    with pytest.raises(ModelError, match="in domain order, found \\('b', 'a'\\)"):
        QuadraticLoss.of(DOMAIN, [measured(("b", "a"), [1] * 6)])
    with pytest.raises(ModelError, match="expected 3 cells for \\('b',\\), found 2"):
        QuadraticLoss.of(DOMAIN, [measured(("b",), [1, 2])])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        QuadraticLoss.of(DOMAIN, [measured(("x",), [1, 2])])
    with pytest.raises(ModelError, match="expected 2 sums over boxes for \\('a', 'b'\\), found 3"):
        QuadraticLoss.of(DOMAIN, [over_boxes([LEFT, CORNER], [1, 2, 3])])
    with pytest.raises(ModelError, match="interaction of \\('a',\\) is no marginal"):
        QuadraticLoss.of(
            DOMAIN, [Measurement(View(("a",), interaction=True), np.array([1.0, -1.0]), 1.0, 0.0)]
        )
    with pytest.raises(DataError, match="overlaps another box"):
        QuadraticLoss.of(DOMAIN, [over_boxes([LEFT, ((0, 1), (0, 3))], [1, 2])])


def of_groups(values: list[float], sigma: float = 1.0, **fields: Any) -> Measurement:
    """Of the clique (a, b), with the first and the last value of b as one group."""
    view = View(("a", "b"), groups=((), (1, 0, 1)))
    return Measurement(view, np.array(values, dtype=float), sigma, 0.0, **fields)


def of_cells_of_groups(marginal: Array) -> Array:
    cells = marginal.reshape(2, 3)
    return np.stack([cells[:, 1], cells[:, 0] + cells[:, 2]], axis=1).ravel()


def test_counts_of_groups_count_by_the_formula() -> None:
    parts = [measured(("a",), [1, 5], 2.0), of_groups([6, 4, 1, 3], 0.5)]
    loss = QuadraticLoss.of(DOMAIN, parts)
    marginals = np.array([2.0, 4.0, 3.0, 1.0, 7.0, 2.0, 1.5, 5.0])
    off = of_cells_of_groups(marginals[2:]) - [6, 4, 1, 3]
    assert loss.of_marginals(marginals) == pytest.approx((1 + 1) / (2 * 4) + np.sum(off**2) / (2 * 0.25))
    assert loss.count == 2 + 4
    check_gradient(loss, marginals)


def test_counts_of_groups_may_deviate_differently() -> None:
    sigmas = np.array([1.0, 2.0, 0.5, 4.0])
    loss = QuadraticLoss.of(DOMAIN, [of_groups([6, 4, 1, 3], 2.0, sigmas=sigmas), of_groups([5, 5, 5, 5])])
    (merged,) = loss.boxes
    weights = sigmas**-2 + 1
    np.testing.assert_allclose(merged.weight, weights)
    np.testing.assert_allclose(merged.values, (sigmas**-2 * [6, 4, 1, 3] + [5, 5, 5, 5]) / weights)
    marginals = np.array([3.0, 1.0, 7.0, 2.0, 1.5, 5.0])
    off = of_cells_of_groups(marginals) - merged.values
    assert loss.of_marginals(marginals) == pytest.approx(np.sum(weights * off**2) / 2)
    assert loss.largest_weight == pytest.approx(5.0)
    hessian = np.zeros((6, 6))
    for group, weight in zip(([1], [0, 2], [4], [3, 5]), weights, strict=True):
        hessian[np.ix_(group, group)] += weight
    np.testing.assert_allclose(loss.bend(marginals), marginals * (hessian @ marginals))


def test_initial_cells_of_groups_are_distributed_as_in_the_model() -> None:
    loss = QuadraticLoss.of(DOMAIN, [of_groups([10, 6, -4, 9], 2.0, sigmas=np.array([1.0, 1.0, 2.0, 1.0]))])
    target, _ = loss.measured_and_modelled(np.array([3.0, 1.0, 1.0, 2.0, 1.5, 1.0]), 0.5)
    # The third sum is raised to half of its own deviation.
    np.testing.assert_allclose(target, [4.5, 10.0, 1.5, 6.0, 1.0, 3.0])


@pytest.mark.parametrize("values", [[1, 2, 3], [1, 2, 3, 4, 5, 6]])
def test_groups_of_another_number_of_cells_are_refused(values: list[float]) -> None:
    with pytest.raises(ModelError, match="expected 4 cells of groups"):
        QuadraticLoss.of(DOMAIN, [of_groups(values)])


def test_groups_that_do_not_fit_the_domain_are_refused() -> None:
    wrong = changed(of_groups([1, 2, 3, 4]), groups=((), (0, 1)))
    with pytest.raises(DataError, match="a group for each of 3 codes"):
        QuadraticLoss.of(DOMAIN, [wrong])


def test_counts_of_groups_say_the_total() -> None:
    assert minimum_variance_total([of_groups([6, 4, 1, 3], 2.0), measured(("a",), [6, 8], 2.0)]) == (
        pytest.approx(14.0)
    )

import numpy as np
import pytest

from dpmosaic.common.domain import Clique, Domain
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.loss import QuadraticLoss, minimum_variance_total

DOMAIN = Domain.coded({"a": 2, "b": 3})


def measured(clique: Clique, values: list[float], sigma: float = 1.0) -> Measurement:
    return Measurement(clique, np.array(values, dtype=float), sigma, 0.0)


def test_loss_and_gradient_are_those_of_the_formula() -> None:
    loss = QuadraticLoss.of(DOMAIN, [measured(("a",), [1, 5], 2.0), measured(("b",), [0, 1, 2], 0.5)])
    marginals = np.array([2.0, 4.0, 1.0, 1.0, 4.0])
    expected = (1 + 1) / (2 * 4) + (1 + 0 + 4) / (2 * 0.25)
    assert loss.of_marginals(marginals) == pytest.approx(expected)
    step = 1e-6
    slopes = [
        (loss.of_marginals(marginals + step * unit) - loss.of_marginals(marginals - step * unit)) / (2 * step)
        for unit in np.eye(5)
    ]
    np.testing.assert_allclose(loss.gradient(marginals), slopes, rtol=1e-6, atol=1e-6)


def test_curvature_is_what_the_loss_has_beyond_its_tangent() -> None:
    loss = QuadraticLoss.of(DOMAIN, [measured(("a",), [1, 5], 2.0)])
    at, step = np.array([3.0, 4.0]), np.array([0.5, -2.0])
    tangent = loss.of_marginals(at) + float(loss.gradient(at) @ step)
    assert loss.of_marginals(at + step) == pytest.approx(tangent + loss.curvature(step))


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
    assert found == pytest.approx((100 / 2 + 120 / 12 + 80 / 0.25) / (1 / 2 + 1 / 12 + 1 / 0.25))


def test_the_total_is_at_least_one() -> None:
    assert minimum_variance_total([measured(("a",), [-40, 3])]) == 1.0
    assert minimum_variance_total([]) == 1.0


def test_measurements_that_do_not_fit_the_domain_are_refused() -> None:
    with pytest.raises(ModelError, match="in domain order, found \\('b', 'a'\\)"):
        QuadraticLoss.of(DOMAIN, [measured(("b", "a"), [1] * 6)])
    with pytest.raises(ModelError, match="expected 3 cells for \\('b',\\), found 2"):
        QuadraticLoss.of(DOMAIN, [measured(("b",), [1, 2])])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        QuadraticLoss.of(DOMAIN, [measured(("x",), [1, 2])])

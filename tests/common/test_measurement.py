import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement

VALUES = np.array([3.0, 5.0])


def test_a_measurement_holds_what_it_was_given():
    found = Measurement(View(("a",), interaction=True), VALUES, 2.0, 0.1, sigmas=np.array([1.0, 3.0]))
    assert (found.clique, found.sigma, found.zcdp_rho, found.view.interaction) == (("a",), 2.0, 0.1, True)
    assert (found.gaussian, found.view.boxes) == (True, ())


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (VALUES.reshape(1, 2), "one vector of cells"),
        (np.array(3.0), "one vector of cells"),
        (np.array([3.0, np.nan]), "finite numbers"),
        (np.array([3.0, np.inf]), "finite numbers"),
    ],
)
def test_values_that_are_no_vector_of_finite_numbers_are_refused(values, reason):
    with pytest.raises(ValueError, match=reason):
        Measurement(View(("a",)), values, 1.0, 0.1)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
def test_a_sigma_that_is_no_positive_number_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma of a measurement must be a positive number"):
        Measurement(View(("a",)), VALUES, sigma, 0.1)


@pytest.mark.parametrize(
    "sigmas", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]]
)
def test_sigmas_that_are_not_one_positive_number_for_each_cell_are_refused(sigmas):
    with pytest.raises(ValueError, match="one for each cell"):
        Measurement(View(("a",)), VALUES, 1.0, 0.1, sigmas=np.array(sigmas))


def test_sums_over_boxes_have_one_sigma():
    boxes = View(("a",), boxes=(((0, 1),), ((1, 3),)))
    with pytest.raises(ValueError, match="has one sigma"):
        Measurement(boxes, VALUES, 1.0, 0.1, sigmas=np.array([1.0, 2.0]))

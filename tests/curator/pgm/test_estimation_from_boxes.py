"""Fits to sums over boxes of cells."""

from collections.abc import Sequence

import numpy as np
import pytest

from dpmosaic.common.data.boxes import Box, box_sums
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.grouping import group_sums
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from support.changed import changed
from support.fits import Array, Summed, least_loss, loss_of, noisy

pytestmark = pytest.mark.slow


def random_boxes(shape: Sequence[int], rng: np.random.Generator, cuts: int) -> tuple[Box, ...]:
    """Boxes that cover all cells, made by so many cuts, and then perhaps one of them left out."""
    boxes: list[list[tuple[int, int]]] = [[(0, n) for n in shape]]
    for _ in range(cuts):
        box = boxes[rng.integers(len(boxes))]
        axis = int(rng.integers(len(shape)))
        low, high = box[axis]
        if high - low > 1:
            cut = int(rng.integers(low + 1, high))
            boxes.append([*box[:axis], (cut, high), *box[axis + 1 :]])
            box[axis] = (low, cut)
    kept = boxes[1:] if len(boxes) > 2 and rng.random() < 0.5 else boxes
    return tuple(tuple(box) for box in kept)


def coarse(domain: Domain, measurement: Measurement, rng: np.random.Generator, cuts: int) -> Measurement:
    """The same over random boxes; the noise of a sum has the deviation of a cell's."""
    shape = domain.shape(measurement.clique)
    boxes = random_boxes(shape, rng, cuts)
    return changed(measurement, values=box_sums(measurement.values, shape, boxes), boxes=boxes)


def reached_by(marginal: Array, domain: Domain, measurement: Measurement) -> Array:
    """What a marginal says of what was measured."""
    if not measurement.view.boxes:
        return marginal
    return box_sums(marginal, domain.shape(measurement.clique), measurement.view.boxes)


@pytest.mark.parametrize("sigma", [1.0, 20.0, 400.0])
@pytest.mark.parametrize("cuts", [0, 2, 8])
def test_with_sums_over_boxes_the_loss_is_the_least_that_any_joint_table_has(
    shape: tuple[Domain, list[Clique]], sigma: float, cuts: int, summed: Summed
) -> None:
    """One-way marginals in cells, the cliques over boxes, the first of them both ways and twice."""
    domain, cliques = shape
    rng = np.random.default_rng(7 * cuts + int(sigma))
    fine, _ = noisy(domain, [*((name,) for name in domain), *cliques, *cliques[:1]], summed, sigma)
    several = fine[len(domain) :]
    measurements = [*fine[: len(domain)], *(coarse(domain, m, rng, cuts) for m in several), *several[:1]]
    model = estimate(domain, measurements, total=1000.0, max_iterations=5000, tolerance=1e-7)
    marginals = model.marginals([m.clique for m in measurements])
    reached = [reached_by(m, domain, one) for m, one in zip(marginals, measurements, strict=True)]
    found = loss_of(reached, measurements)
    best = least_loss(domain, measurements, 1000.0)
    assert best * (1 - 1e-6) - 1e-6 <= found <= best * 1.002 + 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_only_sums_over_boxes_are_fitted(
    shape: tuple[Domain, list[Clique]], seed: int, summed: Summed
) -> None:
    domain, cliques = shape
    rng = np.random.default_rng(seed)
    fine, _ = noisy(domain, cliques, summed, 20.0, seed=seed)
    measurements = [coarse(domain, m, rng, 4) for m in fine]
    model = estimate(domain, measurements, total=1000.0, max_iterations=5000, tolerance=1e-7)
    marginals = model.marginals(cliques)
    reached = [reached_by(m, domain, one) for m, one in zip(marginals, measurements, strict=True)]
    assert loss_of(reached, measurements) <= least_loss(domain, measurements, 1000.0) * 1.002 + 1e-3


def test_inside_a_box_cells_keep_the_shape_that_other_measurements_give_them(summed: Summed) -> None:
    """Of all tables that fit exactly the model has the most entropy: here a scaled product in each box."""
    domain = Domain.coded({"a": 4, "b": 3})
    rows, columns = np.array([100.0, 200, 300, 400]), np.array([500.0, 300, 200])
    boxes = (((0, 2), (0, 3)), ((2, 4), (0, 1)), ((2, 4), (1, 3)))
    sums = np.array([300.0, 100.0, 600.0])
    measurements = [
        Measurement(View(("a",)), rows, 1e-2, 0.0),
        Measurement(View(("a", "b"), boxes=boxes), sums, 1e-2, 0.0),
    ]
    table = estimate(domain, measurements, total=1000.0, tolerance=1e-9).marginal(("a", "b")).reshape(4, 3)
    expected = np.empty((4, 3))
    expected[:2] = rows[:2, None] / 3
    expected[2:, 0] = 100 * rows[2:] / 700
    expected[2:, 1:] = 300 * rows[2:, None] / 700
    np.testing.assert_allclose(table, expected, rtol=1e-3)
    # Columns as well: the box of all columns takes their shape.
    fitted = estimate(
        domain,
        [
            Measurement(View(("b",)), columns, 1e-2, 0.0),
            Measurement(View(("a", "b"), boxes=boxes[:1]), sums[:1], 1e-2, 0.0),
        ],
        total=1000.0,
        tolerance=1e-9,
    )
    table = fitted.marginal(("a", "b")).reshape(4, 3)
    np.testing.assert_allclose(table[0], 150 * columns / 1000, rtol=1e-3)


def test_a_warm_start_with_sums_over_boxes_reaches_the_same_loss(summed: Summed) -> None:
    domain = Domain.coded({"a": 4, "b": 5, "c": 3})
    rng = np.random.default_rng(3)
    fine, _ = noisy(domain, [("a",), ("b",), ("c",), ("a", "b"), ("b", "c")], summed, 5.0)
    measurements = [*fine[:3], coarse(domain, fine[3], rng, 6), coarse(domain, fine[4], rng, 4)]
    before = estimate(domain, measurements[:4], total=1000.0)
    warm = estimate(domain, measurements, total=1000.0, warm_start=before, tolerance=1e-7)
    assert warm.loss == pytest.approx(
        estimate(domain, measurements, total=1000.0, tolerance=1e-7).loss, rel=1e-3
    )


@pytest.mark.parametrize("sigma", [1.0, 400.0])
def test_with_counts_of_groups_the_loss_is_the_least_that_any_joint_table_has(
    shape: tuple[Domain, list[Clique]], sigma: float, summed: Summed
) -> None:
    domain, cliques = shape
    rng = np.random.default_rng(int(sigma))
    fine, _ = noisy(domain, [*((name,) for name in domain), *cliques], summed, sigma)
    measurements = [*fine[: len(domain)], *(grouped(domain, m, rng) for m in fine[len(domain) :])]
    model = estimate(domain, measurements, total=1000.0, max_iterations=5000, tolerance=1e-7)
    reached = [
        m.view.of_codes(marginal, domain)
        for marginal, m in zip(model.marginals([m.clique for m in measurements]), measurements, strict=True)
    ]
    best = least_loss(domain, measurements, 1000.0)
    assert best * (1 - 1e-6) - 1e-6 <= loss_of(reached, measurements) <= best * 1.002 + 1e-3


def grouped(domain: Domain, measurement: Measurement, rng: np.random.Generator) -> Measurement:
    """The same over random groups, some of which are single codes."""
    shape = domain.shape(measurement.clique)
    groups = tuple(
        tuple(np.unique(rng.permutation(np.arange(n) % max(2, n - 1)), return_inverse=True)[1].tolist())
        if n > 2
        else ()
        for n in shape
    )
    return changed(measurement, values=group_sums(measurement.values, shape, groups), groups=groups)

"""The mechanism that measures single attributes at several resolutions, for a choice of bins."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.curator.forecasting.outlook import outlook
from dpmosaic.curator.mechanisms.bins import RESOLUTIONS, Bins, boxes_of
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.simulations.contracts.trial import measurer_over

DOMAIN = Domain.coded({"a": 90, "b": 4, "c": 40, "d": 7})
TABLE = Table.from_codes(DOMAIN, np.random.default_rng(1).integers(0, [90, 4, 40, 7], (200, 4)))
SOME = Workload((("a",), ("c",)), (1.0, 1.0))


def run(measurer, workload=SOME):
    return Bins().run(measurer, workload, RandomStream.from_seed(1), ignore)


@pytest.mark.parametrize("grid", ["1x1", "2x2"])
def test_measures_the_attributes_of_its_workload_and_no_other(grid):
    measurer = measurer_over(TABLE, Fraction(1), protocol="masked", grid=grid)
    fitted = run(measurer)
    assert [m.clique for m in fitted.measurements] == [("a",)] * RESOLUTIONS + [("c",)] * RESOLUTIONS
    assert {charge.clique for charge in measurer.accountant.charges} == {("a",), ("c",)}


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_spends_its_whole_grant_as_the_weights_say_and_on_few_cells_at_one_resolution(weight):
    measurer = measurer_over(TABLE, Fraction(1), protocol="masked", grid="1x1")
    run(measurer, Workload((("a",), ("d",)), (1.0, weight)))
    costs = [float(charge.zcdp_rho) for charge in measurer.accountant.charges]
    shares = [1 / (1 + weight) / RESOLUTIONS] * RESOLUTIONS + [weight / (1 + weight)]
    assert costs == pytest.approx(shares, rel=1e-3)
    assert measurer.accountant.spent <= 1


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_a_forecast_states_the_noise_of_each_column_in_all_its_resolutions_together(weight):
    workload = Workload((("a",), ("d",)), (1.0, weight))
    measurer = measurer_over(TABLE, Fraction(1), protocol="trusted", grid="1x1")
    stated = outlook(Bins(), measurer, workload)
    measured = run(measurer, workload).measurements
    for marginal in stated.marginals:
        precision = sum(one.sigma**-2 for one in measured if one.clique == marginal.clique)
        assert marginal.least_sigma == pytest.approx(precision**-0.5, rel=1e-3)
        assert marginal.largest_sigma == pytest.approx(precision**-0.5, rel=1e-3)


def test_a_huge_budget_gives_exact_sums_at_every_resolution():
    fitted = run(measurer_over(TABLE, Fraction(10**9), protocol="masked", grid="2x2"))
    for measured in fitted.measurements:
        counts = TABLE.marginal(measured.clique)
        boxes = measured.view.boxes or [((k, k + 1),) for k in range(len(counts))]
        assert measured.values.round().tolist() == [counts[a:b].sum() for ((a, b),) in boxes]
        assert fitted.model.marginal(measured.clique).round().tolist() == pytest.approx(
            counts.tolist(), abs=1
        )


@pytest.mark.parametrize("size", [*range(1, 40), 64, 512, 641, 1000])
def test_boxes_divide_all_codes_and_hold_whole_boxes_of_the_level_below(size):
    borders = set(range(size + 1))
    for level in range(RESOLUTIONS):
        boxes = [box for (box,) in boxes_of(size, level)] or [(k, k + 1) for k in range(size)]
        assert [code for a, b in boxes for code in range(a, b)] == list(range(size))
        own = {border for box in boxes for border in box}
        assert own <= borders
        borders = own


def test_refuses_marginals_of_several_attributes():
    measurer = measurer_over(TABLE, Fraction(1), protocol="masked", grid="1x1")
    with pytest.raises(DataError, match="single attributes"):
        run(measurer, Workload((("a", "b"),), (1.0,)))
    assert measurer.accountant.spent == 0

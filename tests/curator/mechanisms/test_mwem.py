"""MWEM+PGM: a fixed number of rounds from the uniform distribution."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.mwem import MWEM
from dpmosaic.curator.mechanisms.parts.fitted import ignore

BUDGET = Budget(4.0, 1e-9)


@pytest.mark.parametrize(("rounds", "expected"), [(None, 8), (1, 1), (3, 3)])
def test_it_runs_as_many_rounds_as_asked_for_and_each_costs_the_same(rounds, expected, run, chain_table):
    fitted, measurer = run(MWEM(rounds=rounds), chain_table(), BUDGET)
    assert len(fitted.rounds) == len(fitted.measurements) == expected
    each = float(measurer.accountant.granted) / expected
    assert [done.zcdp_rho for done in fitted.rounds] == pytest.approx([each] * expected)
    scores = [charge.zcdp_rho for charge in measurer.accountant.charges if charge.scores]
    assert float(sum(scores)) == pytest.approx(0.1 * float(measurer.accountant.granted))


def test_the_worst_marginal_comes_first(run, pairs_table):
    fitted, _ = run(MWEM(rounds=2), pairs_table((0.9, 0.6)), BUDGET)
    assert [done.clique for done in fitted.rounds] == [("a", "b"), ("c", "d")]


def test_unmeasured_marginals_stay_uniform(run, pairs_table):
    fitted, _ = run(MWEM(rounds=1), pairs_table((0.9, 0.6)), BUDGET)
    assert np.allclose(fitted.model.marginal(("c", "d")), 2000 / 16)


def test_marginals_of_no_weight_come_last(run, pairs_table):
    workload = Workload((("a", "b"), ("c", "d")), (0.0, 1.0))
    fitted, _ = run(MWEM(rounds=1), pairs_table((0.9, 0.6)), BUDGET, workload=workload)
    assert fitted.rounds[0].clique == ("c", "d")


def test_the_models_limit_grows_with_the_rounds(run, wide_table):
    limit = 1_000 * 8 / 2**20
    fitted, _ = run(MWEM(rounds=4, max_model_mb=limit), wide_table(), BUDGET)
    for number, done in enumerate(fitted.rounds, start=1):
        assert done.model_mb <= limit * number / 4


def test_uses_the_final_limit_if_no_candidate_fits_the_current_one(run, wide_table):
    limit = 150 * 8 / 2**20
    fitted, _ = run(MWEM(rounds=8, max_model_mb=limit), wide_table(), BUDGET)
    assert len(fitted.rounds) == 8
    assert fitted.model.size_mb <= limit


def test_refuses_a_model_that_cannot_be_small_enough_before_any_charge(measurer_over, chain_table):
    measurer = measurer_over(chain_table(), Fraction(1))
    workload = Workload.all_kway(measurer.domain, 2)
    with pytest.raises(ModelError, match="max_model_mb"):
        MWEM(max_model_mb=1e-6).run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rounds": 0}, "rounds"),
        ({"alpha": 1.0}, "alpha"),
        ({"maxsize": 1}, "maxsize"),
        ({"max_model_mb": 0.0}, "max_model_mb"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        MWEM(**options)

"""Behaviour of `dp-gan` and `dp-select` beyond the contract of all mechanisms."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common import extras
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import BudgetError, DataError, MissingExtraError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.renyi import ExponentialSteps, SampledGaussian
from dpmosaic.curator.mechanisms.dp_gan.dp_gan import DPGan
from dpmosaic.curator.mechanisms.dp_select.dp_select import DPSelect
from dpmosaic.curator.mechanisms.dp_select.run import most_important
from dpmosaic.curator.mechanisms.parts.fitted import ignore

TINY = {"epochs": 0.5, "sample_rate": 0.05, "hidden": 8, "latent": 4}
BUDGET = Budget(4.0, 1e-9)


@pytest.mark.parametrize("mechanism", [DPGan(), DPSelect(), DPSelect.of_the_paper()], ids=lambda m: m.name)
def test_refuses_to_run_without_the_extra_and_charges_nothing(
    mechanism, monkeypatch, measurer_over, chain_table
):
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "opacus" else module)
    measurer = measurer_over(chain_table(100), mechanism.granted(BUDGET), budget=BUDGET)
    with pytest.raises(MissingExtraError, match=r"needs opacus.* pip install 'dpmosaic\[gan\]'"):
        mechanism.run(measurer, Workload.all_kway(measurer.domain, 2), RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()
    assert measurer.not_private is None


@pytest.mark.gan
@pytest.mark.parametrize("mechanism", [DPGan(**TINY), DPSelect(**TINY)], ids=lambda m: m.name)
@pytest.mark.parametrize(
    "parties", [{"protocol": "masked", "grid": "2x2"}, {"protocol": "indicator", "grid": "1x2"}], ids=str
)
def test_refuses_records_that_are_distributed_over_parties(mechanism, parties, measurer_over, chain_table):
    measurer = measurer_over(chain_table(100), mechanism.granted(BUDGET), **parties)
    with pytest.raises(DataError, match=f"mechanism {mechanism.name}: expected the records in one place"):
        mechanism.run(measurer, Workload.all_kway(measurer.domain, 2), RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


@pytest.mark.parametrize("mechanism", [DPGan(), DPSelect()], ids=lambda m: m.name)
def test_refuses_a_promise_in_zcdp(mechanism):
    with pytest.raises(BudgetError, match="sampled noise has no zCDP"):
        mechanism.granted(Budget(zcdp_rho=0.5))


def steps_of(measurer):
    return [step for step, _ in itertools.groupby(charge.step for charge in measurer.accountant.charges)]


@pytest.mark.slow
@pytest.mark.gan
def test_charges_every_access_to_the_records(run, chain_table):
    expected = {
        DPGan(**TINY): ["one-way", "dp-gan"],
        DPSelect(**TINY): ["one-way", "scores", "dp-gan", "selection"],
        DPSelect(**TINY, reference="exact", at_once=50): ["one-way", "scores", "dp-gan", "selection"],
    }
    for mechanism, steps in expected.items():
        fitted, measurer = run(mechanism, chain_table(500), BUDGET)
        assert steps_of(measurer) == steps == [step.name for step in fitted.steps]
        assert sum(step.share for step in fitted.steps) == 1
        assert measurer.not_private is None
        kinds = [type(charge.steps) for charge in measurer.accountant.charges if charge.steps]
        assert kinds[0] is SampledGaussian
    assert kinds[1:] == [ExponentialSteps]
    declared = measurer.accountant.charges[-1].steps
    assert (declared.steps, declared.sections) == (2, 5)


@pytest.mark.slow
@pytest.mark.gan
@pytest.mark.parametrize("reference", ["measured", "exact"])
def test_a_large_budget_selects_dependences_that_the_pool_lacks(reference, run, chain_table):
    """The generator is nearly untrained, so the dependences come from the selection."""
    table = chain_table(2000)
    selecting = DPSelect(**TINY, reference=reference, marginals=1.0, pool=20, at_once=1, sections=2)
    pair = ("a", "b")
    apart = {}
    for mechanism in (DPGan(**TINY), selecting):
        model = run(mechanism, table, Budget(1e4, 1e-6))[0].model
        apart[mechanism.name] = np.abs(model.marginal(pair) - table.marginal(pair)).sum() / 4000
    assert apart["dp-select"] < 0.5 * apart["dp-gan"]
    assert apart["dp-gan"] > 0.1


@pytest.mark.slow
@pytest.mark.gan
@pytest.mark.parametrize("distance", ["density", "kolmogorov", "l2"])
def test_selects_as_many_records_as_the_table_has_with_every_distance(distance, run, chain_table):
    fitted, _ = run(DPSelect(**TINY, distance=distance), chain_table(300), BUDGET)
    assert fitted.model.table.record_count == 300
    assert fitted.selection == "exact L1 distances with noise"


@pytest.mark.slow
@pytest.mark.gan
def test_weights_of_the_workload_determine_the_important_marginals(run, chain_table):
    table = chain_table(2000)
    pairs = tuple(itertools.combinations(table.domain.names, 2))
    for wanted in (("a", "d"), ("c", "d")):
        workload = Workload(pairs, tuple(1000.0 if pair == wanted else 1.0 for pair in pairs))
        mechanism = DPSelect(**TINY, marginals=0.1)
        fitted, _ = run(mechanism, table, Budget(1000.0, 1e-6), workload=workload)
        assert [c for c in fitted.model.cliques if len(c) > 1] == [wanted]


@pytest.mark.slow
@pytest.mark.gan
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_papers_text_runs_within_its_budget_and_is_labelled(epsilon, run, chain_table):
    mechanism = replace(DPSelect.of_the_paper(), **TINY)
    fitted, measurer = run(mechanism, chain_table(400), Budget(epsilon, 1e-9))
    assert "for which the DP-Select paper charges nothing" in measurer.not_private
    assert steps_of(measurer) == ["dp-gan", "selection"]
    assert 0 < measurer.accountant.spent <= measurer.accountant.granted
    assert (fitted.bounds, fitted.selection) == ((), "exact mutual information, unpaid")
    assert fitted.model.table.record_count == 400


class Stopped(Exception):
    """Raised to stop a run."""


@pytest.mark.slow
@pytest.mark.gan
@pytest.mark.parametrize("kind", [DPGan, DPSelect])
def test_a_stopped_run_resumes_from_its_checkpoint_under_one_promise(
    kind, tmp_path, measurer_over, run, chain_table
):
    table, path = chain_table(400), tmp_path / "state.pt"
    mechanism = kind(**TINY, checkpoint=str(path))

    def stop(progress):
        if progress.step == "dp-gan: step 5 of 10":
            raise Stopped

    with pytest.raises(Stopped):
        run(mechanism, table, BUDGET, report=stop, seed=1)
    seen = []
    fitted, measurer = run(mechanism, table, BUDGET, report=lambda p: seen.append(p.step), seed=2)
    assert next(step for step in seen if step.startswith("dp-gan")) == "dp-gan: step 6 of 10"
    assert steps_of(measurer)[0] == "one-way"
    assert Fraction(999, 1000) * measurer.accountant.granted < measurer.accountant.spent
    again, _ = run(mechanism, table, BUDGET, seed=3)
    for one, other in zip(fitted.measurements[:4], again.measurements[:4], strict=True):
        assert one.values.tolist() == other.values.tolist()
    for changed, budget in ((mechanism, Budget(1.0, 1e-9)), (replace(mechanism, epochs=1.0), BUDGET)):
        measurer = measurer_over(table, changed.granted(budget), budget=budget)
        with pytest.raises(DataError, match="another table, budget or parameters"):
            changed.run(measurer, Workload.all_kway(table.domain, 2), RandomStream.from_seed(1), ignore)
        assert measurer.accountant.charges == ()


@pytest.mark.gan
def test_refuses_a_missing_gpu_before_records_are_read(run, chain_table):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(DataError, match="expected a GPU"):
        run(DPGan(**TINY, device="cuda"), chain_table(100), BUDGET)


def test_keeps_the_marginals_with_the_largest_scores():
    cliques, weights = most_important({("a", "b"): 1.0, ("a", "c"): 3.0, ("b", "c"): 0.0}, 0.7)
    assert cliques == (("a", "c"), ("a", "b"))
    assert weights.tolist() == [0.75, 0.25]
    assert most_important({("a", "b"): 0.0}, 0.1)[1].tolist() == [1.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"variant": "other"}, "variant: expected default or paper"),
        ({"gan": 1.0}, "gan: expected a number above 0 and below 1"),
        ({"scores": 0.0}, "scores: expected a number above 0 and below 1"),
        ({"marginals": 1.1}, "marginals: expected a number above 0 and at most 1"),
        ({"gan": 0.8}, r"expected one_way \+ scores \+ gan < 1"),
        ({"reference": "both"}, "reference: expected"),
        ({"distance": "l1"}, "distance: expected one of density, kolmogorov, l2"),
        ({"candidates": 1}, "candidates: expected a whole number of at least 2"),
        ({"pool": 0}, "pool: expected a whole number of at least 1"),
        ({"variant": "paper", "checkpoint": "state.pt"}, "expected none for the variant 'paper'"),
    ],
)
def test_refuses_parameters_out_of_range(changed, message):
    with pytest.raises(DataError, match=message):
        DPSelect(**changed)

from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.metrics import kway_errors
from dpmosaic.simulations.evaluation.range_queries import range_errors
from dpmosaic.simulations.experiments import measures
from dpmosaic.simulations.experiments.catalogue import EXPERIMENTS
from dpmosaic.simulations.experiments.cell import Cell
from dpmosaic.simulations.experiments.measures import MEASURES, run_cell
from dpmosaic.simulations.experiments.tables import DataFolder

pytestmark = pytest.mark.slow

CELL = Cell("adult", method="independent", workload="2way")


def test_measures_equal_those_of_the_evaluation(data):
    """Against the functions that `evaluate` uses."""
    tables = DataFolder(data)
    real = tables.load("adult")
    values = run_cell(replace(CELL, measures=("kway", "workload", "ranges")), tables)
    synthetic, _ = measures._release(CELL, real)
    pairs, triples = kway_errors(real, synthetic, (2, 3))
    assert (values["tv_2way"], values["kl_3way"]) == (pairs.total_variation, triples.kl)
    assert values["workload_error"] == Workload.parse(real.domain, "2way").error(real, synthetic)
    assert values["range_3d"] == range_errors(real, synthetic)[0].mean_squared
    assert {"seconds", "rounds", "model_mb"} <= set(values)


def test_folds_leave_out_each_row_once(data):
    real = DataFolder(data).load("adult")
    left_out = [measures._folds(real, seed)[1] for seed in range(1, 6)]
    assert sum(part.record_count for part in left_out) == real.record_count
    together = np.sum([part.marginal(real.domain.names) for part in left_out], axis=0)
    assert np.array_equal(together, real.marginal(real.domain.names))
    for seed in range(1, 6):
        kept, held = measures._folds(real, seed)
        assert kept.record_count + held.record_count == real.record_count


def test_marginals_with_the_label_have_the_weight_of_the_cell(data, monkeypatch):
    asked = []
    monkeypatch.setattr(measures, "simulate", lambda *_, workload, **__: asked.append(workload) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_cell(replace(CELL, label="income", label_weight=5.0, measures=("kway",)), DataFolder(data))
    (workload,) = asked
    assert dict(zip(workload.cliques, workload.weights, strict=True)) == {
        ("a", "b"): 1.0,
        ("a", "income"): 5.0,
        ("b", "income"): 5.0,
    }


def test_a_tree_predicts_the_fold_that_was_left_out_of_the_release(data):
    """The label is one of the attributes, which a release at a large epsilon keeps."""
    cell = replace(CELL, method="randdpgen", epsilon=50.0, measures=("fold_tree",), label="income")
    assert run_cell(cell, DataFolder(data))["misclassification"] < 0.2


QUICK = (("epochs", "1"), ("hidden", "16"), ("sample_rate", "0.1"))


@pytest.mark.gan
@pytest.mark.parametrize("name", ["dp-select-tree", "dp-select-distance"])
def test_the_quick_experiments_of_dp_select_run_with_little_training(name, data):
    for cell in EXPERIMENTS[name].for_quick_run().cells(1):
        settings = cell.settings + (QUICK if cell.method.startswith("dp-") else ())
        values = run_cell(replace(cell, settings=settings), DataFolder(data))
        assert 0 <= values["misclassification"] <= 1


def test_other_digits_of_the_label_are_no_features(data, monkeypatch):
    tables = DataFolder(data)
    asked = []

    def noted(real, synthetic, label, classifiers):
        asked.append((real.domain.names, synthetic.domain.names, label))
        return measures_predictions(real, synthetic, label, classifiers=classifiers)

    measures_predictions = measures.predictions
    monkeypatch.setattr(measures, "predictions", noted)
    (data / "adult" / "domain.json").write_text('{"a": 2, "b": 4, "income": ["<=50K", ">50K"]}')
    run_cell(replace(CELL, binary=True, measures=("svm",), label="b.bit1"), tables)
    kept = ("a.bit0", "b.bit1", "income.bit0")
    assert asked == [(kept, kept, "b.bit1")]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"measures": ("beauty",)}, "measures: expected some of kway"),
        ({"measures": ("svm",)}, "expected the label"),
        ({"method": "magic"}, "method: expected one of .*randdpgen.*dplt"),
        ({"method": "dplt", "grid": "1x2", "settings": (("a", "1"),)}, "no variants or settings"),
        ({"table": "nothing"}, "for the table 'nothing', found none"),
    ],
)
def test_refuses_a_cell_that_cannot_be_run(data, changes, says):
    with pytest.raises(DataError, match=says):
        run_cell(replace(CELL, **changes), DataFolder(data))


def test_every_measure_gives_numbers_of_a_small_table(data):
    labels = {"svm": "income", "fold_svm": "income", "fold_tree": "income", "nist": "a,b,income"}
    for name in MEASURES:
        if name == "kway4":
            continue
        values = run_cell(replace(CELL, measures=(name,), label=labels.get(name)), DataFolder(data))
        assert len(values) > 3
        assert all(isinstance(value, float) for value in values.values())

import json

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.distances import marginal_distance
from dpmosaic.simulations.evaluation.evaluation import evaluate
from dpmosaic.simulations.evaluation.nist import Pay, regression_score
from dpmosaic.simulations.evaluation.prediction import predictions

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2, "e": 3})
PAY = Pay("b", "a", "c")


def table(records, seed, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Table.from_codes(domain, np.column_stack([rng.integers(0, n, records) for n in domain.sizes]))


def test_every_metric_is_that_of_its_own_function():
    real, synthetic, test = table(300, 0), table(200, 1), table(50, 2)
    workload = Workload((("a", "c"),), (2.0,))
    found = evaluate(real, synthetic, target="d", holdout=test, workload=workload, pay=PAY)
    assert found.records == (300, 200)
    assert [error.k for error in found.kway] == [1, 2, 3, 4]
    assert found.workload_error == workload.error(real, synthetic)
    assert [error.dimensions for error in found.range_queries] == [3, 5]
    assert found.nist.regression == regression_score(real, synthetic, PAY)
    assert list(found.predictions) == predictions(real, synthetic, "d", test)
    assert len(found.attributes) == 5
    assert found.pairs[1] == marginal_distance(real, synthetic, ("a", "c"))
    assert found.kway[1].total_variation == pytest.approx(np.mean([p.total_variation for p in found.pairs]))


def test_a_copy_is_perfect_and_a_constant_table_far_by_every_metric():
    real = table(400, 3)
    copy, constant = evaluate(real, real, pay=PAY), evaluate(real, table(1, 0), pay=PAY)
    assert (copy.nist.clustering, copy.nist.classification, copy.nist.regression) == (1e6, 1e6, 1e6)
    assert copy.workload_error == 0
    for near, far in zip(copy.range_queries, constant.range_queries, strict=True):
        assert near.mean_squared == 0 < far.mean_squared
    for near, far in zip(copy.pairs, constant.pairs, strict=True):
        assert near.total_variation == 0 < 0.5 < far.total_variation


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scores_and_another_one_others():
    real, synthetic = table(300, 0), table(200, 1)
    one, again, other = (evaluate(real, synthetic, target="d", seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.nist != other.nist


def test_the_json_holds_every_number_and_says_that_it_is_private():
    real, synthetic = table(60, 0), table(50, 1)
    found = evaluate(real, synthetic, target="d")
    form = json.loads(json.dumps(found.to_json()))
    assert "promise does not cover it: not for publication" in form["private"]
    assert form["records"] == {"real": 60, "synthetic": 50}
    assert [entry["total_variation"] for entry in form["pairs"]] == [p.total_variation for p in found.pairs]
    (svm, _) = form["predictions"]
    assert svm["misclassification_variance"] == found.predictions[0].misclassification_variance
    assert form["nist"]["regression"] is None


def test_tables_of_one_attribute_have_the_metrics_that_they_can_have():
    one = table(20, 0, Domain.coded({"a": 3}))
    found = evaluate(one, one)
    assert ([error.k for error in found.kway], found.pairs, found.range_queries) == ([1], (), ())


def test_refuses_tables_of_different_domains():
    with pytest.raises(DataError, match="different domains"):
        evaluate(table(5, 0), table(5, 0, Domain.coded({"a": 3})))

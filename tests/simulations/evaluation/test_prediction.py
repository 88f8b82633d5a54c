import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation import prediction
from dpmosaic.simulations.evaluation.prediction import misclassification_rate, predictions

DOMAIN = Domain(
    (
        CodedAttribute("kind", 4),
        NumericAttribute("age", 0, 100, 11, nullable=True),
        CodedAttribute("label", 2),
        CodedAttribute("noise", 3),
    )
)


def table(records, seed, flipped=0.0):
    """Of kinds 0 and 2 label 1 where age is high or missing, of kinds 1 and 3 always 0, some flipped."""
    rng = np.random.default_rng(seed)
    kind, age, noise = (rng.integers(0, n, records) for n in (4, 12, 3))
    label = (kind % 2 == 0) & (age > 5)
    label ^= rng.random(records) < flipped
    return Table.from_codes(DOMAIN, np.column_stack([kind, age, label, noise]))


@pytest.mark.parametrize("classifier", prediction.CLASSIFIERS)
def test_a_rule_of_the_training_rows_is_found_in_the_test_rows(classifier):
    assert misclassification_rate(table(2000, 0), table(500, 1), "label", classifier) <= 0.06


def test_the_linear_classifier_is_that_of_one_hot_encoded_columns():
    """Against scikit-learn's own encoders, on rows whose classes overlap."""
    train, test = table(800, 0, 0.2), table(600, 1, 0.2)

    def raw(some):
        age = some.column("age").astype(float)
        missing = age == 11
        return np.column_stack(
            [some.column("kind"), some.column("noise"), np.where(missing, 0, age / 10), missing]
        )

    reference = make_pipeline(
        make_column_transformer((OneHotEncoder(), [0, 1]), (FunctionTransformer(), [2, 3])),
        LinearSVC(dual=False),
    ).fit(raw(train), train.column("label"))
    expected = 1 - reference.score(raw(test), test.column("label"))
    assert 0.1 < expected < 0.4
    assert misclassification_rate(train, test, "label") == pytest.approx(expected, abs=2 / 600)


def test_labels_of_many_values_are_predicted_too():
    domain = Domain.coded({"a": 5, "label": 5})
    codes = np.arange(50) % 5
    same = Table.from_codes(domain, np.column_stack([codes, codes]))
    assert [misclassification_rate(same, same, "label", c) for c in prediction.CLASSIFIERS] == [0, 0]


def test_the_tree_has_depth_ten_and_reads_the_codes():
    domain = Domain.coded({"a": 200, "b": 50, "label": 2})
    rng = np.random.default_rng(0)
    train, test = (
        Table.from_codes(domain, np.column_stack([rng.integers(0, n, rows) for n in domain.sizes]))
        for rows in (4000, 1000)
    )
    rates = []
    for depth in (9, 10, 11):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        tree.fit(np.column_stack(train.columns[:2]), train.column("label"))
        rates.append(1 - tree.score(np.column_stack(test.columns[:2]), test.column("label")))
    assert rates[1] not in (rates[0], rates[2])
    assert misclassification_rate(train, test, "label", "tree") == pytest.approx(rates[1])


def test_a_training_table_of_one_label_predicts_this_label():
    zeros = Table.from_codes(DOMAIN, np.zeros((10, 4), dtype=int))
    test = table(300, 1)
    assert misclassification_rate(zeros, test, "label") == pytest.approx(test.column("label").mean())


def test_more_rows_than_the_limit_are_sampled_with_the_seed(monkeypatch):
    monkeypatch.setattr(prediction, "TRAINING_ROWS", 200)
    train, test = table(3000, 0, 0.3), table(1000, 1)
    rates = [misclassification_rate(train, test, "label", "tree", seed) for seed in (1, 1, 2)]
    assert rates[0] == rates[1] != rates[2]


def test_the_difference_of_useless_synthetic_rows_is_that_of_the_rates():
    real, useless = table(3000, 0), table(3000, 1, 0.5)
    for found in predictions(real, useless, "label"):
        assert found.test_rows == 600
        assert found.real <= 0.06
        assert found.misclassification_variance == found.synthetic - found.real > 0.1
        assert found.majority == pytest.approx(0.25, abs=0.07)
    for found in predictions(real, real, "label"):
        assert abs(found.misclassification_variance) < 0.03


def test_rows_that_are_tested_on_are_not_among_the_real_ones_that_are_trained_on():
    """Each row alone has its kind, so that no unseen row can be predicted from it, and every seen one."""
    records = 500
    domain = Domain.coded({"name": records, "label": 2})
    rng = np.random.default_rng(3)
    unique = Table.from_codes(domain, np.column_stack([np.arange(records), rng.integers(0, 2, records)]))
    (found,) = predictions(unique, unique, "label", classifiers=["svm"])
    # A fair coin errs on fewer than 30 of 100 with probability below 2e-5.
    assert found.real > 0.3


def test_a_holdout_is_used_for_testing():
    real, synthetic = table(400, 0), table(300, 1)
    (found,) = predictions(real, synthetic, "label", table(77, 2), classifiers=["tree"])
    assert found.test_rows == 77
    assert found.synthetic == misclassification_rate(synthetic, table(77, 2), "label", "tree")
    assert found.real == misclassification_rate(real, table(77, 2), "label", "tree")


def test_refuses_labels_and_tables_that_cannot_be_used():
    real = table(30, 0)
    with pytest.raises(DataError, match="unknown attribute 'nothing'"):
        predictions(real, real, "nothing")
    with pytest.raises(DataError, match="classifier: expected one of svm, tree"):
        misclassification_rate(real, real, "label", "oracle")
    with pytest.raises(DataError, match="at least 3 records"):
        predictions(real.rows(0, 2), real, "label")
    constant = Table.from_codes(Domain.coded({"a": 2, "l": 1}), np.zeros((5, 2), dtype=int))
    with pytest.raises(DataError, match="two values or more"):
        predictions(constant, constant, "l")
    alone = Table.from_codes(Domain.coded({"l": 2}), np.zeros((5, 1), dtype=int))
    with pytest.raises(DataError, match="other attributes"):
        predictions(alone, alone, "l")
    with pytest.raises(DataError, match="different domains"):
        predictions(real, real, "label", alone)

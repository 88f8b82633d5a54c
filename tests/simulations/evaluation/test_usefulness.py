import json

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation import features, usefulness
from dpmosaic.simulations.evaluation.features import Features
from dpmosaic.simulations.evaluation.tables import usefulness_table
from dpmosaic.simulations.evaluation.usefulness import ClassScores, NumberScores
from dpmosaic.simulations.evaluation.values.values import Values

pytestmark = pytest.mark.slow

DOMAIN = Domain.from_json(
    {
        "town": ["a", "b", "c"],
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 4, "nullable": True},
        "pay": {"type": "numeric", "min": 0, "max": 1000, "bins": 5, "integer": False},
        "own": ["no", "yes", "unknown"],
    }
)


def rows(count, seed, domain=DOMAIN, flipped=0.1):
    """Of whom those in town b and the old own, some flipped; pay grows with age inside of every bin."""
    rng = np.random.default_rng(seed)
    town, age = rng.choice(["a", "b", "c"], count), rng.integers(0, 100, count).astype(float)
    owns = ((town == "b") | (age > 60)) ^ (rng.random(count) < flipped)
    pay = 5 * age + rng.normal(0, 10, count) + 100
    age[rng.random(count) < 0.05] = np.nan
    return Values.of(
        domain, [town.tolist(), age.tolist(), pay.tolist(), np.where(owns, "yes", "no").tolist()]
    )


def with_own(some, value):
    """The rows with one value in the column `own`."""
    codes = [
        DOMAIN["own"].encode([value] * len(some.table.columns[0])) if n == "own" else c
        for n, c in zip(DOMAIN, some.table.columns, strict=True)
    ]
    return Values(type(some.table)(DOMAIN, tuple(np.asarray(c, dtype=np.uint8) for c in codes)), some.numbers)


@pytest.mark.parametrize("label", ["own", "pay"])
def test_a_synthetic_table_like_the_real_one_is_as_useful_and_a_shuffled_one_is_not(label):
    real, good, test = rows(1500, 0), rows(1500, 1), rows(600, 2)
    order = np.random.default_rng(3).permutation(1500)
    mixed = good.take(order)
    shuffled = Values(
        type(real.table)(
            DOMAIN,
            tuple((mixed if name == label else good).table.column(name) for name in DOMAIN),
        ),
        {name: (mixed if name == label else good).numbers[name] for name in good.numbers},
    )
    useful = usefulness.usefulness(real, good, label, test)
    useless = usefulness.usefulness(real, shuffled, label, test)
    for near, far in zip(useful.learned, useless.learned, strict=True):
        first, second = (
            (near.synthetic.auc, near.real.auc) if label == "own" else (near.synthetic.r2, near.real.r2)
        )
        lost = far.synthetic.auc if label == "own" else far.synthetic.r2
        assert first == pytest.approx(second, abs=0.05)
        assert first > 0.8
        assert lost < 0.6
    assert isinstance(useful.constant, ClassScores if label == "own" else NumberScores)


def test_numbers_are_read_as_they_are_and_not_by_their_bins():
    """Pay has five bins; inside each it follows age, so that bins alone would leave a large error."""
    found = usefulness.usefulness(rows(1500, 0), rows(1500, 1), "pay", rows(500, 2))
    assert found.learned[0].synthetic.mae < 30 < 100 < found.constant.mae


def test_the_logistic_regression_is_that_of_scikit_learns_own_encoders():
    real, test = rows(800, 0, flipped=0.3), rows(500, 1, flipped=0.3)

    def raw(some):
        age = some.numbers["age"]
        filled = np.where(np.isnan(age), np.nanmedian(real.numbers["age"]), age)
        return np.column_stack([some.table.column("town"), filled, some.numbers["pay"], np.isnan(age)])

    known = real.numbers["age"][~np.isnan(real.numbers["age"])]

    def scaled(some):
        """Age by its known values alone, as the code does."""
        age = (raw(some)[:, 1] - known.mean()) / known.std()
        return np.column_stack([raw(some)[:, 0], age, raw(some)[:, 2:]])

    reference = make_pipeline(
        make_column_transformer((OneHotEncoder(), [0]), (StandardScaler(), [2]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    ).fit(scaled(real), real.table.column("own"))
    expected = roc_auc_score(test.table.column("own"), reference.predict_proba(scaled(test))[:, 1])
    found = usefulness.usefulness(real, real, "own", test).learned[2]
    assert found.learner == "linear"
    assert 0.6 < expected < 0.8
    assert found.real.auc == pytest.approx(expected, abs=0.002)


def test_without_a_holdout_a_fifth_of_the_real_rows_is_tested_and_not_trained_on():
    found = usefulness.usefulness(rows(500, 0), rows(300, 1), "own")
    assert (found.train_rows, found.test_rows, found.held_out) == ((300, 400), 100, False)
    assert "that the release has used too" in usefulness_table(found).note
    apart = usefulness.usefulness(rows(500, 0), rows(300, 1), "own", rows(50, 2))
    assert (apart.train_rows, apart.test_rows, apart.held_out) == ((300, 500), 50, True)
    assert "that the release has not used" in usefulness_table(apart).note


def test_the_same_seed_gives_the_same_figures_and_another_one_others():
    one, again, other = (usefulness.usefulness(rows(400, 0), rows(300, 1), "own", seed=s) for s in (1, 1, 2))
    assert one == again != other


def test_of_many_rows_a_sample_is_trained_on(monkeypatch):
    monkeypatch.setattr(usefulness, "USEFULNESS_ROWS", 120)
    found = usefulness.usefulness(rows(500, 0), rows(300, 1), "own")
    assert found.train_rows == (120, 120)


def test_learners_of_one_class_predict_it_always():
    real, test = rows(300, 0), rows(200, 1)
    found = usefulness.usefulness(real, with_own(rows(300, 2), "no"), "own", test)
    share = float((test.table.column("own") == 0).mean())
    assert {one.synthetic for one in found.learned} == {ClassScores(0.5, share)}
    assert min(one.real.auc for one in found.learned) > 0.7
    assert found.classes == 2


def test_a_class_that_real_rows_lack_counts_as_wrong():
    real, test = rows(300, 0), rows(200, 1)
    found = usefulness.usefulness(real, with_own(rows(300, 2), "unknown"), "own", test)
    assert {one.synthetic for one in found.learned} == {ClassScores(0.5, 0.0)}


def test_test_rows_of_one_class_have_an_accuracy_and_no_auc():
    found = usefulness.usefulness(rows(300, 0), rows(300, 1), "own", with_own(rows(100, 2), "yes"))
    assert found.constant.auc is None
    assert {one.real.auc for one in found.learned} == {None}
    assert usefulness_table(found).rows[0][1] == "–"
    json.dumps(found.to_json(), allow_nan=False)


def test_of_more_than_ten_classes_the_rarest_count_as_one():
    domain = Domain.coded({"a": 30, "label": 30})
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.1, 3000) - 1, 29)
    some = Values.of(domain, [codes.tolist(), codes.tolist()])
    found = usefulness.usefulness(some, some, "label")
    assert found.classes == usefulness.MOST_CLASSES
    assert found.learned[0].synthetic == ClassScores(1.0, 1.0)
    # The rarest together are the most common class: 0.9^9, and a standard deviation of 0.02 in 600 rows.
    assert found.constant.accuracy == pytest.approx(0.9**9, abs=0.08)
    assert "Of 10 classes" in usefulness_table(found).note


def test_rows_without_a_number_of_the_label_are_left_out():
    found = usefulness.usefulness(rows(500, 0), rows(500, 1), "age", test := rows(200, 2))
    assert found.test_rows == int((~np.isnan(test.numbers["age"])).sum()) < 200


def test_a_number_of_two_values_is_a_class():
    domain = Domain.from_json(
        {"a": 2, "flag": {"type": "numeric", "min": 0, "max": 1, "bins": 2, "integer": True}}
    )
    bits = np.random.default_rng(0).integers(0, 2, 200).tolist()
    some = Values.of(domain, [bits, bits])
    found = usefulness.usefulness(some, some, "flag")
    assert found.classes == 2
    assert found.learned[1].synthetic == ClassScores(1.0, 1.0)


def test_rare_categories_share_one_indicator(monkeypatch):
    monkeypatch.setattr(features, "MOST_CATEGORIES", 2)
    domain = Domain.from_json({"town": ["a", "b", "c", "d", "e"], "label": 2})
    train = Values.of(domain, [list("aabdddc"), [0, 1, 0, 1, 0, 1, 0]])
    found = Features.of(train, "label")
    seen = Values.of(domain, [list("abcde"), [0] * 5])
    # The most common are a and d; b, c, and e, which is new, are the rest.
    assert found.columns(seen).ravel().tolist() == [0, 2, 2, 1, 2]
    assert found.indicators(seen).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1]]


def test_a_missing_number_is_the_median_with_an_indicator_where_learners_need_one():
    domain = Domain.from_json(
        {"age": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "nullable": True}, "label": 2}
    )
    train = Values.of(domain, [[1, 2, 9, None], [0, 1, 0, 1]])
    found = Features.of(train, "label")
    mean, deviation = 4, np.std([1, 2, 9])
    standard = [[(age - mean) / deviation, missing] for age, missing in ((1, 0), (2, 0), (9, 0), (2, 1))]
    assert found.standardise(train) == pytest.approx(np.array(standard))
    assert np.isnan(found.columns(train)[3, 0])


def test_a_number_that_is_always_missing_in_training_is_no_obstacle():
    domain = Domain.from_json(
        {"age": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "nullable": True}, "label": 2}
    )
    bits = np.random.default_rng(0).integers(0, 2, 60).tolist()
    empty = Values.of(domain, [[None] * 60, bits])
    real = Values.of(domain, [[9 * bit for bit in bits], bits])
    found = usefulness.usefulness(real, empty, "label", real)
    assert all(one.real.auc == 1 for one in found.learned)
    assert all(one.synthetic.auc == pytest.approx(0.5) for one in found.learned)


def test_refuses_a_label_that_does_not_exist_or_has_one_value():
    some = rows(50, 0)
    with pytest.raises(DataError, match="target: expected an attribute of the domain beside others, got 'x'"):
        usefulness.usefulness(some, some, "x")
    with pytest.raises(DataError, match="target 'own': expected two values or more in the real rows"):
        usefulness.usefulness(with_own(some, "no"), some, "own")


def test_refuses_tables_without_rows_to_train_or_test_on():
    empty = rows(30, 0)
    empty = Values(empty.table, empty.numbers | {"age": np.full(30, np.nan)})
    with pytest.raises(DataError, match="target 'age': expected rows with a value"):
        usefulness.usefulness(rows(30, 1), empty, "age")
    with pytest.raises(DataError, match="expected rows with a value"):
        usefulness.usefulness(rows(1, 1), rows(30, 1), "own")

"""A model with pairs that it has no room for, and larger marginals that rows are to have."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm import model as model_module
from dpmosaic.curator.pgm.estimation import estimate
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.sampling import generate
from dpmosaic.curator.pgm.supplemented import SupplementedModel

DOMAIN = Domain.coded({"a": 3, "b": 3, "c": 2})
RECORDS = 900


def table():
    """Three attributes of which every two depend on each other."""
    rng = np.random.default_rng(0)
    shared = rng.integers(0, 6, RECORDS)
    noisy = np.where(rng.random(RECORDS) < 0.5, shared, rng.integers(0, 6, RECORDS))
    return Table.from_codes(DOMAIN, np.column_stack([shared // 2, noisy // 2, (shared + noisy) % 2]))


PAIRS = {pair: table().marginal(pair).astype(float) for pair in itertools.combinations("abc", 2)}


def fitted():
    measured = Measurement(("a", "b", "c"), table().marginal(("a", "b", "c")).astype(float), 1.0, 1.0)
    return estimate(DOMAIN, [measured], total=RECORDS)


@pytest.fixture
def supplemented():
    return SupplementedModel(MarkovRandomField.uniform(DOMAIN, RECORDS), {("a", "b"): PAIRS["a", "b"]})


def test_rows_are_adjusted_to_all_pairs_though_the_model_has_none():
    model = MarkovRandomField.uniform(DOMAIN, RECORDS)
    for pairs, most in (({}, None), (PAIRS, 2)):
        rows = SupplementedModel(model, pairs).generate(RECORDS, np.random.default_rng(1))
        apart = max(np.abs(rows.marginal(pair) - wanted).max() for pair, wanted in PAIRS.items())
        assert apart > 40 if most is None else apart <= most


def test_rows_are_adjusted_to_larger_marginals_of_the_model_and_not_only_to_its_pairs(monkeypatch):
    """Rows that start from another model of the same pairs: what three attributes have in common is off."""
    model = fitted()
    wanted = model.marginal("abc")
    flat = estimate(
        DOMAIN, [Measurement(pair, model.marginal(pair), 1.0, 1.0) for pair in PAIRS], total=RECORDS
    )
    drawn = generate(flat, RECORDS, np.random.default_rng(1))
    monkeypatch.setattr(model_module, "generate", lambda *_: drawn)
    apart = [
        np.abs(
            SupplementedModel(model, {}, larger).generate(RECORDS, np.random.default_rng(1)).marginal("abc")
            - wanted
        ).sum()
        for larger in ((), (("a", "b", "c"),))
    ]
    assert apart[0] > 5 * apart[1]


def test_other_numbers_of_rows_follow_the_scaled_pairs():
    model = SupplementedModel(MarkovRandomField.uniform(DOMAIN, RECORDS), PAIRS)
    rows = model.generate(3 * RECORDS, np.random.default_rng(1))
    assert max(np.abs(rows.marginal(pair) - 3 * wanted).max() for pair, wanted in PAIRS.items()) <= 4


def test_inconsistent_pairs_are_approximated_together():
    """a is b, b is c, and a is never c: the squares of what is wrong are spread over all three."""
    domain = Domain.coded(dict.fromkeys("abc", 2))
    same, differ = np.array([150.0, 0, 0, 150]), np.array([0, 150.0, 150, 0])
    pairs = {("a", "b"): same, ("b", "c"): same, ("a", "c"): differ}
    rows = SupplementedModel(MarkovRandomField.uniform(domain, 300), pairs).generate(
        300, np.random.default_rng(0)
    )
    wrong = [np.abs(rows.marginal(pair) - wanted).sum() / 2 for pair, wanted in pairs.items()]
    assert sum(wrong) == pytest.approx(300)
    assert max(wrong) < 150


def test_marginals_are_those_of_the_pairs_and_else_of_the_model(supplemented):
    np.testing.assert_array_equal(supplemented.marginal(("b", "a")), PAIRS["a", "b"])
    np.testing.assert_allclose(supplemented.marginal(("a", "c")), np.full(6, RECORDS / 6))
    found = supplemented.marginals_within_limits([("a", "c"), ("a", "b"), ("c",)])
    for clique, marginal in zip([("a", "c"), ("a", "b"), ("c",)], found, strict=True):
        np.testing.assert_array_equal(marginal, supplemented.marginal(clique))
    found[1][0] = -1.0
    assert supplemented.marginal(("a", "b"))[0] >= 0


def test_cliques_and_size_count_both(supplemented):
    assert set(supplemented.cliques) == {("a",), ("b",), ("c",), ("a", "b")}
    assert supplemented.size_mb == pytest.approx((3 + 3 + 2 + 9) * 8 / 2**20)


@pytest.mark.parametrize(
    ("clique", "marginal", "message"),
    [
        (("b", "a"), PAIRS["a", "b"], "not two attributes in domain order"),
        (("a", "b", "c"), np.full(18, RECORDS / 18), "not two attributes"),
        (("a", "b"), np.full(6, RECORDS / 6), "one vector of counts"),
        (("a", "c"), np.array([RECORDS + 1.0, -1, 0, 0, 0, 0]), "one vector of counts"),
        (("a", "c"), np.full(6, 1.0), "does not sum"),
    ],
)
def test_refuses_vectors_that_are_no_marginal_of_a_pair(clique, marginal, message):
    with pytest.raises(ValueError, match=message):
        SupplementedModel(MarkovRandomField.uniform(DOMAIN, RECORDS), {clique: marginal})


@pytest.mark.parametrize(
    ("larger", "message"),
    [
        (("a", "c"), "not three or more attributes in domain order"),
        (("b", "a", "c"), "not three or more attributes in domain order"),
        (("a", "b", "c"), "a pair of .* is not the model's"),
    ],
)
def test_refuses_larger_marginals_that_the_model_does_not_give(larger, message):
    model = MarkovRandomField.uniform(DOMAIN, RECORDS)
    with pytest.raises(ValueError, match=message):
        SupplementedModel(model, {("a", "b"): PAIRS["a", "b"]}, (larger,))


def test_larger_marginals_come_back_with_a_saved_model(tmp_path):
    SupplementedModel(fitted(), {}, (("a", "b", "c"),)).save(tmp_path / "model.npz")
    assert SupplementedModel.load(tmp_path / "model.npz").larger == (("a", "b", "c"),)


def test_a_saved_model_comes_back_and_is_no_plain_one(supplemented, tmp_path):
    path = tmp_path / "model.npz"
    supplemented.save(path)
    back = SupplementedModel.load(path)
    assert back.cliques == supplemented.cliques
    for clique in (("a", "b"), ("a", "c")):
        np.testing.assert_array_equal(back.marginal(clique), supplemented.marginal(clique))
    with pytest.raises(DataError, match="holds no model"):
        MarkovRandomField.load(path)
    supplemented.model.save(path)
    with pytest.raises(DataError, match="holds no supplemented model"):
        SupplementedModel.load(path)

"""A model with pairs that it has no room for, and larger marginals that rows are to have."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm import model as model_module
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.rows.sampling import generate
from dpmosaic.curator.pgm.supplemented import GroupedMarginal, SupplementedModel

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
    measured = Measurement(View(("a", "b", "c")), table().marginal(("a", "b", "c")).astype(float), 1.0, 1.0)
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
        DOMAIN, [Measurement(View(pair), model.marginal(pair), 1.0, 1.0) for pair in PAIRS], total=RECORDS
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


ABC = ("a", "b", "c")
GROUPS = ((0, 0, 1), (0, 1, 1), ())


def grouped_counts(rows):
    """Counted record by record."""
    counts = np.zeros((2, 2, 2))
    for a, b, c in zip(*(rows.column(name) for name in ABC), strict=True):
        counts[GROUPS[0][a], GROUPS[1][b], c] += 1
    return counts.ravel()


def test_rows_are_adjusted_to_marginals_of_groups():
    """A model of independent pairs, and groups of which the third's is the parity of the other two."""
    domain = Domain.coded({"a": 4, "b": 4, "c": 2})
    halves = (0, 0, 1, 1)
    wanted = np.array([200.0, 0, 0, 200, 0, 200, 200, 0])
    one = GroupedMarginal(ABC, (halves, halves, ()), wanted.copy())
    model = MarkovRandomField.uniform(domain, 800)
    for grouped, count, least, most in (((), 800, 700, 900), ((one,), 800, 0, 8), ((one,), 2400, 0, 8)):
        rows = SupplementedModel(model, {}, (), grouped).generate(count, np.random.default_rng(1))
        codes = (rows.column("a") // 2, rows.column("b") // 2, rows.column("c"))
        found = np.bincount(np.ravel_multi_index(codes, (2, 2, 2)), minlength=8) * (800 / count)
        assert least <= np.abs(found - wanted).sum() <= most


def test_marginals_of_single_codes_need_no_groups():
    wanted = table().marginal(ABC).astype(float)
    model = SupplementedModel(
        MarkovRandomField.uniform(DOMAIN, RECORDS), PAIRS, (), (GroupedMarginal(ABC, (), wanted.copy()),)
    )
    assert model.marginal(ABC) == pytest.approx(wanted)
    assert model.marginals_within_limits([ABC])[0] == pytest.approx(wanted)
    rows = model.generate(RECORDS, np.random.default_rng(1))
    without = SupplementedModel(model.model, PAIRS).generate(RECORDS, np.random.default_rng(1))
    apart, apart_without = (np.abs(of.marginal(ABC) - wanted).sum() for of in (rows, without))
    assert apart < 0.3 * apart_without


def test_marginals_of_groups_come_back_with_a_saved_model_and_make_the_same_rows(tmp_path):
    grouped = (
        GroupedMarginal(ABC, GROUPS, grouped_counts(table())),
        GroupedMarginal(ABC, (), table().marginal(ABC).astype(float)),
    )
    model = SupplementedModel(MarkovRandomField.uniform(DOMAIN, RECORDS), {}, (), grouped)
    model.save(tmp_path / "model.npz")
    back = SupplementedModel.load(tmp_path / "model.npz")
    assert [(one.clique, one.groups) for one in back.grouped] == [(ABC, GROUPS), (ABC, ())]
    for one, read in zip(grouped, back.grouped, strict=True):
        np.testing.assert_array_equal(read.counts, one.counts)
        assert not read.counts.flags.writeable
    rows, again = (of.generate(RECORDS, np.random.default_rng(1)) for of in (model, back))
    np.testing.assert_array_equal(rows.marginal(ABC), again.marginal(ABC))


@pytest.mark.parametrize(
    ("groups", "counts", "error", "message"),
    [
        (GROUPS, np.full(18, RECORDS / 18), ValueError, "one vector of counts"),
        ((), np.full(8, RECORDS / 8), ValueError, "one vector of counts"),
        (GROUPS, np.array([RECORDS + 1.0, -1, 0, 0, 0, 0, 0, 0]), ValueError, "one vector of counts"),
        (GROUPS, np.full(8, 1.0), ValueError, "does not sum"),
        (GROUPS[:2], np.full(8, RECORDS / 8), DataError, "one grouping for each of 3 attributes"),
        (((0, 1), *GROUPS[1:]), np.full(8, RECORDS / 8), DataError, "a group for each of 3 codes"),
        (((0, 0, 2), *GROUPS[1:]), np.full(12, RECORDS / 12), DataError, "without gaps"),
        (((0, 0, 0), *GROUPS[1:]), np.full(4, RECORDS / 4), DataError, "at least two groups"),
    ],
)
def test_refuses_vectors_that_are_no_marginal_of_the_groups(groups, counts, error, message):
    model = MarkovRandomField.uniform(DOMAIN, RECORDS)
    with pytest.raises(error, match=message):
        SupplementedModel(model, {}, (), (GroupedMarginal(ABC, groups, counts),))

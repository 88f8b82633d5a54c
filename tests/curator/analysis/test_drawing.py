"""Rows drawn from finished releases, against the distributions that they are drawn from."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis import drawing
from dpmosaic.curator.analysis.conditions import Condition
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.mechanisms.parts.records import SelectedRecords
from dpmosaic.curator.mechanisms.privbayes.levels import Levels, Node
from dpmosaic.curator.mechanisms.privbayes.network import BayesianNetwork, DrawingStep
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree
from dpmosaic.curator.pgm.supplemented import SupplementedModel
from dpmosaic.curator.results.frames import typed_frame
from support.certificates import certificate_form

pytestmark = pytest.mark.slow

RECORDS = 1000.0

ATTRIBUTES = {
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "nullable": True, "integer": True},
    "pay": {"type": "numeric", "min": 0, "max": 1, "bins": 4, "atoms": [0.5]},
    "job": ["", "clerk, senior", "=cook", 'a "b"'],
    "smokes": {"type": "boolean", "nullable": True, "true": ["yes"], "false": ["no"]},
    "born": {"type": "date", "min": "2000-01-01", "max": "2003-12-31", "bins": 4},
    "code": 3,
}
DOMAIN = Domain.from_json(ATTRIBUTES)
CLIQUES = [("age", "job"), ("pay", "job"), ("job", "born"), ("smokes", "code")]


def tree_model(domain=DOMAIN, cliques=tuple(CLIQUES), seed=0):
    tree = JunctionTree.build(domain, cliques)
    oracle = MarginalOracle(tree, tree.cliques, RECORDS)
    oracle(np.random.default_rng(seed).normal(size=tree.cells))
    return MarkovRandomField(domain, tree, oracle.beliefs(), RECORDS, {}, 0.0, 0)


def release_of(model):
    certificate = Certificate.from_json(certificate_form(model.domain))
    return Published(Path("release"), model, certificate, None, None)


def coded(frame, domain=DOMAIN):
    return encode_table(domain, {name: frame[name].to_numpy(dtype=object, na_value=None) for name in domain})


def far(found, wanted):
    """The total variation distance of two tables of counts."""
    return np.abs(found / found.sum() - wanted / wanted.sum()).sum() / 2


def test_rows_have_the_marginals_of_the_model_in_one_block_and_in_many(monkeypatch):
    model = tree_model()
    one = drawing.generate_rows(release_of(model), 40_000, seed=1)
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 4000)
    monkeypatch.setattr(drawing, "ADJUSTED", 0)
    many = drawing.generate_rows(release_of(model), 40_000, seed=1)
    for frame in (one, many):
        rows = coded(frame)
        assert rows.record_count == 40_000
        for pair in CLIQUES:
            assert far(rows.marginal(pair), model.marginal(pair)) < 0.01


def test_rounding_in_small_blocks_is_unbiased(monkeypatch):
    """4000 blocks of 5 rows of 9 independent cells; each share has standard deviation below 0.0034.

    Eight of these are rarely exceeded: rate below 1e-13.
    """
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 5)
    monkeypatch.setattr(drawing, "ADJUSTED", 0)
    domain = Domain.coded({"a": 3, "b": 3})
    model = tree_model(domain, (("a", "b"),), seed=5)
    rows = coded(drawing.generate_rows(release_of(model), 20_000, seed=1), domain)
    assert np.abs(rows.marginal("ab") / 20_000 - model.marginal("ab") / RECORDS).max() < 8 * 0.0034


def test_a_seed_determines_the_rows_and_no_seed_does_not():
    release = release_of(tree_model())
    one, same, other = (drawing.generate_rows(release, 500, seed=seed) for seed in (1, 1, None))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)


def test_rows_have_the_types_of_their_columns():
    frame = drawing.generate_rows(release_of(tree_model()), 300, seed=1)
    assert frame["age"].dtype == "Int64"
    assert frame["smokes"].dtype == "boolean"
    assert frame["pay"].dtype == "float64"
    assert frame["code"].dtype == "int64"
    assert list(frame.columns) == list(DOMAIN.columns)
    of_a_release = typed_frame(
        tree_model().generate(300, np.random.default_rng(1)), DOMAIN.columns, np.random.default_rng(1)
    )
    pd.testing.assert_series_equal(frame.dtypes, of_a_release.dtypes)
    assert {value.year for value in frame["born"]} == {2000, 2001, 2002, 2003}


CONDITION = {"age": (35, 52), "job": ["clerk, senior", "=cook"], "pay": (0.3, 0.5)}


def wanted_under(model, condition, pair):
    """The conditional marginal of a pair by brute force, and by the values inside bins."""
    held = Condition.of(model.domain, condition)
    names = model.domain.canonical({*pair, *held.allowed})
    table = model.marginal(names).reshape(model.domain.shape(names))
    for name in held.allowed:
        counts = np.rint(model.marginal((name,))).astype(int)
        table = table * np.reshape(held.weights(name, counts), [-1 if n == name else 1 for n in names])
    axes = tuple(axis for axis, name in enumerate(names) if name not in pair)
    return table.sum(axis=axes).ravel()


def test_values_lie_inside_a_range_that_cuts_bins_and_have_their_conditional_distribution():
    model = tree_model()
    frame = drawing.generate_rows(release_of(model), 60_000, CONDITION, seed=1)
    assert frame["age"].between(35, 52).all()
    assert frame["pay"].between(0.3, 0.5).all()
    assert set(frame["job"]) == {"clerk, senior", "=cook"}
    rows = coded(frame)
    for pair in (("age", "job"), ("age", "pay"), ("job", "born"), ("smokes", "code")):
        # Sampling of 60000 rows in at most 40 cells gives about 0.005.
        assert far(rows.marginal(pair), wanted_under(model, CONDITION, pair)) < 0.015


def test_rows_under_a_condition_are_those_of_all_rows_that_meet_it():
    """Compared by values, not codes: ages of 200 thousand rows without a condition, of which 14 % meet it."""
    model = tree_model()
    whole = drawing.generate_rows(release_of(model), 200_000, seed=1)
    kept = whole[whole["age"].between(35, 52).fillna(False) & whole["pay"].between(0.3, 0.5)]
    given = drawing.generate_rows(release_of(model), 60_000, {"age": (35, 52), "pay": (0.3, 0.5)}, seed=2)
    assert len(kept) > 5000
    ages = [frame["age"].astype(int).value_counts(normalize=True).sort_index() for frame in (kept, given)]
    # 18 ages among 5000 rows: the expected distance is about 0.02; 0.06 is beyond twelve standard deviations.
    assert (ages[0] - ages[1]).abs().sum() / 2 < 0.06
    assert abs(kept["pay"].mean() - given["pay"].mean()) < 0.006


def test_a_condition_without_rows_is_one_error():
    domain = Domain.from_json(
        {
            "attributes": {"p": ["x", "y"], "q": ["x", "y"]},
            "rules": [{"determines": {"from": "p", "to": "q"}, "map": {"x": "y", "y": "x"}}],
        }
    )
    with pytest.raises(DataError, match="none meets"):
        drawing.generate_rows(release_of(tree_model(domain, ())), 10, {"p": "x", "q": "x"})
    assert set(drawing.generate_rows(release_of(tree_model(domain, ())), 10, {"q": "x"})["p"]) == {"y"}


def test_refuses_no_rows():
    with pytest.raises(DataError, match="at least 1"):
        drawing.generate_rows(release_of(tree_model()), 0)


def test_related_values_keep_to_rules_and_to_the_condition():
    domain = Domain.from_json(
        {
            "attributes": {
                "low": {"type": "numeric", "min": 0, "max": 99, "bins": 5, "integer": True},
                "high": {"type": "numeric", "min": 0, "max": 99, "bins": 5, "integer": True},
            },
            "rules": [{"at_most": ["low", "high"]}],
        }
    )
    release = release_of(tree_model(domain, (("low", "high"),)))
    whole = drawing.generate_rows(release, 200_000, seed=1)
    assert (whole["low"] <= whole["high"]).all()
    given = drawing.generate_rows(release, 20_000, {"high": (30, 45)}, seed=2)
    assert (given["low"] <= given["high"]).all()
    assert given["high"].between(30, 45).all()
    kept = whole[whole["high"].between(30, 45)]
    assert abs(kept["low"].mean() - given["low"].mean()) < 0.5
    assert abs(kept["high"].mean() - given["high"].mean()) < 0.2


@pytest.mark.parametrize("parts", [["weekday"], ["weekday", "day", "month"]])
def test_rows_under_a_condition_on_a_date_or_what_follows_from_it_are_as_if_selected(parts):
    attributes = {
        "date": {"type": "date", "min": "2020-01-01", "max": "2020-03-31", "bins": 6},
        "weekday": {"type": "codes", "n": 8},
        "day": {"type": "numeric", "min": 1, "max": 31, "bins": 5, "integer": True},
        "month": [1, 2, 3],
        "ward": ["a", "b"],
    }
    rules = [{"part": part, "column": part, "of": "date"} for part in parts]
    domain = Domain.from_json({"attributes": attributes, "rules": rules})
    release = release_of(
        tree_model(domain, (("date", "day"), ("date", "month"), ("date", "weekday", "ward")))
    )
    whole = drawing.generate_rows(release, 200_000, seed=1)
    dates = pd.to_datetime(whole["date"])
    found = {"weekday": dates.dt.day_of_week + 1, "day": dates.dt.day, "month": dates.dt.month}
    for part in parts:
        assert (found[part] == whole[part].astype(int)).all()
    for condition, meets in (
        ({"weekday": 7}, whole["weekday"] == 7),
        ({"date": ("2020-01-20", "2020-02-10")}, dates.between("2020-01-20", "2020-02-10")),
        ({"weekday": 2, "ward": "a"}, (whole["weekday"] == 2) & (whole["ward"] == "a")),
    ):
        kept = whole[meets]
        given = drawing.generate_rows(release, 20_000, condition, seed=2)
        shares = [frame["date"].value_counts(normalize=True).sort_index() for frame in (kept, given)]
        far_apart = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
        assert far_apart < 0.05, condition
        assert abs((kept["ward"] == "a").mean() - (given["ward"] == "a").mean()) < 0.03


@pytest.mark.parametrize("condition", [{"high": (30, 33)}, {"low": (24, 27), "high": (25, 33)}])
def test_a_part_of_a_bin_is_drawn_directly_and_rows_are_as_if_selected(condition):
    """Of 400 thousand rows a few thousand meet the condition, nearly all in bins that an order divides.

    The distance of the distributions of five bins is about 0.02; 0.05 is beyond seven standard deviations.
    """
    domain = Domain.from_json(
        {
            "attributes": {
                "low": {"type": "numeric", "min": 0, "max": 99, "bins": 5, "integer": True},
                "high": {"type": "numeric", "min": 0, "max": 99, "bins": 5, "integer": True},
                "other": 3,
            },
            "rules": [{"at_most": ["low", "high"]}],
        }
    )
    release = release_of(tree_model(domain, (("low", "high"), ("low", "other"))))
    whole = drawing.generate_rows(release, 400_000, seed=1)
    given = drawing.generate_rows(release, 5_000, condition, seed=2)
    assert (given["low"] <= given["high"]).all()
    kept = np.ones(len(whole), dtype=bool)
    for name, (first, last) in condition.items():
        assert given[name].between(first, last).all()
        kept &= whole[name].between(first, last).to_numpy()
    wanted = whole[kept]
    assert len(wanted) > 2000
    for name in ("low", "other"):
        width = 4 if name == "low" else 1
        counts = [np.bincount(frame[name].astype(int) // width, minlength=25) for frame in (given, wanted)]
        assert far(*counts) < 0.05


def test_few_rows_are_drawn_in_vain_for_a_small_part_of_related_bins(monkeypatch):
    """One in 400 rows of these bins would meet the condition."""
    attribute = {"type": "numeric", "min": 0, "max": 99, "bins": 5, "integer": True}
    domain = Domain.from_json(
        {"attributes": {"low": attribute, "high": attribute}, "rules": [{"at_most": ["low", "high"]}]}
    )
    asked, generate = [], MarkovRandomField.generate

    def counted(self, rows, rng):
        asked.append(rows)
        return generate(self, rows, rng)

    monkeypatch.setattr(MarkovRandomField, "generate", counted)
    frame = drawing.generate_rows(
        release_of(tree_model(domain, (("low", "high"),))), 300, {"low": 24, "high": 31}, seed=3
    )
    assert set(frame["low"]) == {24}
    assert set(frame["high"]) == {31}
    assert sum(asked) < 300 * 20


def test_many_rows_of_a_model_with_further_pairs_repeat_adjusted_rows_and_say_so(monkeypatch):
    domain = Domain.coded({"a": 4, "b": 4, "c": 4})
    pair = np.eye(4).ravel() * RECORDS / 4
    release = release_of(SupplementedModel(MarkovRandomField.uniform(domain, RECORDS), {("a", "b"): pair}))
    few = coded(drawing.generate_rows(release, 4000, seed=1), domain)
    monkeypatch.setattr(drawing, "ADJUSTED", 4000)
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 8000)
    with pytest.warns(UserWarning, match="repeat their codes"):
        many = coded(drawing.generate_rows(release, 40_000, seed=1), domain)
    for rows in (few, many):
        assert far(rows.marginal(("a", "b")), pair) < 0.01


def test_selected_records_that_meet_a_condition_are_drawn_and_too_few_are_refused():
    domain = Domain.coded({"a": 4, "b": 100})
    codes = np.stack([np.arange(400) % 4, np.arange(400) // 4], axis=1)
    release = release_of(SelectedRecords(Table.from_codes(domain, codes), (("a", "b"),), RECORDS))
    frame = drawing.generate_rows(release, 1000, {"a": 2}, seed=1)
    assert set(frame["a"]) == {2}
    assert set(frame["b"].value_counts()) == {10}
    with pytest.raises(DataError, match="at least 20"):
        drawing.generate_rows(release, 10, {"b": 3})


def network(table):
    """A network of two attributes with this joint distribution."""
    domain = Domain.coded({"a": 3, "b": 3})
    a, b = Node("a", 0), Node("b", 0)
    levels = Levels(domain, 2)
    steps = (
        DrawingStep.of(levels, a, (a,), table.sum(axis=1)),
        DrawingStep.of(levels, b, (a, b), table.ravel()),
    )
    return BayesianNetwork(levels, steps, RECORDS)


@pytest.mark.parametrize("largest", [drawing._LARGEST_TREE, 0])
def test_rows_of_a_network_meet_the_condition_by_a_junction_tree_or_by_selection(monkeypatch, largest):
    monkeypatch.setattr(drawing, "_LARGEST_TREE", largest)
    table = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0], [0.01, 5.0, 5.0]])
    release = release_of(network(table))
    frame = drawing.generate_rows(release, 20_000, {"b": [0, 1]}, seed=1)
    found = coded(frame, release.domain).marginal(("a", "b")).reshape(3, 3)
    assert far(found, table * [1, 1, 0]) < 0.015
    with pytest.raises(DataError, match="none meets"):
        drawing.generate_rows(release, 10, {"a": 1, "b": 1})


def test_rows_are_not_selected_by_a_rare_condition(monkeypatch):
    rare = network(np.array([[1e6, 1.0, 0.0], [1e6, 0.0, 0.0], [1e6, 0.0, 0.0]]))
    assert set(drawing.generate_rows(release_of(rare), 10, {"b": 1})["a"]) == {0}
    monkeypatch.setattr(drawing, "_LARGEST_TREE", 0)
    with pytest.raises(DataError, match="junction tree"):
        drawing.generate_rows(release_of(rare), 10, {"b": 1})


def test_blocks_are_those_of_the_sample_end_to_end(monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 100)
    release = release_of(tree_model())
    frames = list(drawing.draw(release, 350, seed=1))
    assert [len(frame) for frame in frames] == [100, 100, 100, 50]
    pd.testing.assert_frame_equal(
        pd.concat(frames, ignore_index=True), drawing.generate_rows(release, 350, seed=1)
    )


def test_identifiers_are_numbered_through_all_blocks(monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 100)
    domain = Domain.from_json({"id": {"type": "identifier", "pattern": "P-{:04d}"}, "a": 3})
    frame = drawing.generate_rows(release_of(tree_model(domain, ())), 250, seed=1)
    assert frame["id"].tolist() == [f"P-{number:04d}" for number in range(1, 251)]


def test_pairs_of_all_attributes_are_those_of_the_model_after_adjusting():
    model = tree_model()
    rows = coded(drawing.generate_rows(release_of(model), 20_000, seed=1))
    for pair in itertools.combinations(DOMAIN.names, 2):
        assert far(rows.marginal(pair), model.marginal(pair)) < 0.01


def test_a_dependency_without_a_map_keeps_rows_in_the_condition():
    domain = Domain.from_json(
        {
            "attributes": {"zip": ["1", "2", "3", "4"], "state": ["x", "y"], "c": 3},
            "rules": [{"determines": {"from": "zip", "to": "state"}}],
        }
    )
    release = release_of(tree_model(domain, (("zip", "state"), ("state", "c"), ("zip", "c"))))
    whole = drawing.generate_rows(release, 60_000, seed=1)
    assert (whole.groupby("zip")["state"].nunique() == 1).all()
    for state in set(whole["state"]):
        given = coded(drawing.generate_rows(release, 30_000, {"state": state}, seed=2), domain)
        kept = coded(whole[whole["state"] == state], domain)
        assert far(given.marginal(("zip", "c")), kept.marginal(("zip", "c"))) < 0.02
        assert len(np.unique(given.column("state"))) == 1

"""Tables of several series in one order: values of several tests by day, each of which goes its own way."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic import Holders, simulate_people
from dpmosaic.command import app
from dpmosaic.common.errors import DataError, MosaicError
from dpmosaic.simulations.evaluation.people import evaluate_people
from dpmosaic.simulations.evaluation.related import mean_distance

RELATIONS = {"values": {"id": "people"}}
DOMAINS = {
    "people": {"sex": ["f", "m"]},
    "values": {
        "day": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True},
        "test": ["a", "b", "c"],
        "value": ["0", "1", "2", "3"],
    },
}
STATED = {"relations": RELATIONS, "order": {"values": "day"}, "domain": DOMAINS, "progress": False}
SERIES = {"series": {"values": "test"}}

FILE = """
[people]
domain = "people.json"
[values]
domain = "values.json"
belongs_to = {id = "people"}
order = "day"
series = "test"
"""
APART = Holders((("people",), ("values",)), collusions=0)
WHOLE = Holders((("people", "values"),))


def tables(people=400, seed=0):
    """Each value of a test is one above the last one of this test; tests alternate as they like."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(people), rng.integers(3, 9, people))
    test, value = rng.integers(0, 3, len(whose)), rng.integers(0, 4, len(whose))
    last = {}
    for row, which in enumerate(zip(whose.tolist(), test.tolist(), strict=True)):
        value[row] = (value[last[which]] + 1) % 4 if which in last else value[row]
        last[which] = row
    place = np.arange(len(whose)) - np.searchsorted(whose, whose)
    values = {"id": whose, "day": 10 * place + rng.integers(0, 10, len(whose))}
    values |= {"test": np.array(list("abc"))[test], "value": value.astype(str)}
    people = pd.DataFrame({"id": np.arange(people), "sex": rng.choice(["f", "m"], people)})
    return {"people": people, "values": pd.DataFrame(values)}


def share_one_above(values):
    """The share of rows whose value is one above the last one of their test, of those that have one."""
    values = values.sort_values(["id", "day"], kind="stable")
    last = values.groupby(["id", "test"]).value.shift()
    held = last.notna()
    return ((last[held].astype(int) + 1) % 4 == values.value[held].astype(int)).mean()


def release(data=None, epsilon=300.0, **options):
    return dpmosaic.synthesize(tables() if data is None else data, epsilon, **STATED | {"seed": 1} | options)


@pytest.fixture(scope="module")
def made():
    return release(**SERIES)


@pytest.mark.slow
def test_what_follows_what_is_kept_within_a_series(made):
    assert share_one_above(tables()["values"]) == 1
    assert share_one_above(made.tables["values"]) > 0.9
    assert share_one_above(release().tables["values"]) < 0.6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("holders", "protocol"), [(APART, "masked"), (WHOLE, "trusted")], ids=["apart", "whole"]
)
def test_over_parties_it_is_kept_as_from_one_place(holders, protocol, made):
    over = simulate_people(tables(), 300.0, holders=holders, protocol=protocol, seed=1, **STATED, **SERIES)
    assert share_one_above(over.tables["values"]) > 0.9
    pair = ("previous_value", "value")
    found, wanted = (one.releases["values"].model.marginal(pair) for one in (over, made))
    # Values of the row before would be at .6.
    assert np.abs(found / found.sum() - wanted / wanted.sum()).sum() / 2 < 0.1
    assert over.family["values"].series == "test"


@pytest.mark.slow
def test_tests_follow_each_other_as_in_the_table_and_gaps_are_of_rows(made):
    found = evaluate_people(tables(), made).children["values"]
    assert found.gaps < 0.1
    assert mean_distance(pair for pair in found.before if pair.other == "previous test") < 0.1
    assert mean_distance(found.transitions) < 0.1


@pytest.mark.slow
def test_a_release_is_read_again_and_draws_further_people(made, tmp_path):
    made.save(tmp_path / "out")
    again = dpmosaic.load_people(tmp_path / "out")
    assert again.family == made.family
    assert share_one_above(again.generate(300, seed=2)["values"]) > 0.9
    assert "series" not in json.dumps(release(epsilon=1.0).family["values"].to_json())


@pytest.mark.slow
def test_where_the_time_is_named_values_follow_it_and_those_of_their_series():
    """The value of a day's first half is 0 or 1: of a test they go on within these."""
    data = tables()
    early = data["values"]["day"] < 50
    number = data["values"]["value"].astype(int)
    data["values"]["value"] = np.where(early, number % 2, 2 + number % 2).astype(str)
    pairs = {
        "values": [
            ("value", "day"),
            ("value", "previous value"),
            ("test", "previous test"),
            ("test", "value"),
        ]
    }
    found = release(data, workload=pairs, **SERIES).tables["values"]
    kept = (found["day"] < 50) == (found["value"].astype(int) < 2)
    assert kept.mean() > 0.85


@pytest.mark.slow
def test_one_table_with_a_key_has_series_too():
    data = tables()["values"]
    made = dpmosaic.synthesize(
        *(data, 300.0),
        **{"key": "id", "order": "day", "series": "test", "domain": DOMAINS["values"]},
        **{"seed": 1, "progress": False},
    )
    assert share_one_above(made.table) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [True, False])
def test_by_the_command_too(keyed, tmp_path):
    data = tables(120)
    for name, rows in data.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        (tmp_path / f"{name}.json").write_text(json.dumps(DOMAINS[name]))
    text = (
        '[people]\ndomain = "people.json"\n[values]\ndomain = "values.json"\nbelongs_to = {id = "people"}\n'
    )
    (tmp_path / "relations.toml").write_text(f'{text}order = "day"\nseries = "test"\n')
    words = [tmp_path, "--relations", tmp_path / "relations.toml"]
    if keyed:
        words = [tmp_path / "values.csv", "--key", "id", "--order", "day", "--series", "test"]
        words += ["--domain", tmp_path / "values.json"]
    asked = ["synthesize", *words, "--epsilon", "300", "--no-ledger", "--out", tmp_path / "out"]
    done = CliRunner().invoke(app, [str(one) for one in asked])
    assert done.exit_code == 0, done.output
    family = dpmosaic.load_people(tmp_path / "out").family
    assert [one.series for one in family.tables if one.parent] == ["test"]


@pytest.mark.slow
def test_without_a_domain_a_series_that_was_not_learned_is_said():
    data = tables(3000)
    # Texts that turn out to be numbers.
    data["values"]["test"] = data["values"]["test"].map({"a": "1.5", "b": "2.5", "c": "3.5"})
    with pytest.warns(dpmosaic.DomainWarning) as said:
        made = release(data, epsilon=20.0, domain=None, **SERIES)
    assert any("whatever its series" in str(one.message) for one in said)
    assert made.family["values"].series == ""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"series": "test"}, 'expected a column, such as {"observations": "test"}'),
        ({"series": {"people": "sex"}}, "expected tables that belong to another, got 'people'"),
        ({"series": {"values": "tset"}}, r"got 'tset' \(did you mean 'test'\?\)"),
        ({"series": {"values": "id"}}, "expected a column of the table but keys"),
        ({"series": {"values": "day"}}, "another column than the order"),
        ({"order": {}, **SERIES}, "expected an order of the rows beside the series"),
        ({"domain": {}, "series": {"values": "number"}}, "got numbers or dates in 'number'"),
    ],
)
def test_what_is_no_series_is_refused_before_anything_is_asked(options, told, monkeypatch):
    monkeypatch.setattr("dpmosaic.synthesis.people.release_tables", None)
    data = tables(20)
    data["values"]["number"] = 1.0
    domain = DOMAINS | {
        "values": DOMAINS["values"] | {"number": {"type": "numeric", "min": 0, "max": 9, "bins": 2}}
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MosaicError, match=told):
            release(data, **{"domain": domain} | options)


@pytest.mark.parametrize(
    ("series", "told"),
    [
        ({"drugs": "test"}, "series: expected tables that belong to another, got 'drugs'"),
        ({"people": "sex"}, "expected a table that belongs to another"),
        ({"values": "tset"}, r"did you mean 'test'"),
        ({"values": "day"}, "another column than the order"),
    ],
)
def test_over_parties_it_is_refused_as_well(series, told):
    with pytest.raises(DataError, match=told):
        simulate_people(tables(20), 1.0, holders=APART, series=series, **STATED)


def test_a_series_needs_a_key_or_relations_and_no_shared_promise():
    with pytest.raises(DataError, match="order, series"):
        dpmosaic.synthesize(tables(20)["values"], series="test", domain=DOMAINS["values"])
    shared = {"key": "id", "order": "day", "releases": 2, "until": 50, "domain": DOMAINS["values"]}
    with pytest.raises(DataError, match="series: expected none in releases that share a promise"):
        dpmosaic.synthesize(tables(20)["values"], series="test", **shared)

"""A release of related tables beside the real ones: every measure, by tables that differ in one thing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.people import evaluate_people
from dpmosaic.simulations.evaluation.people_tables import curve_charts, score_tables
from support.related import DOMAINS, patients, release

pytestmark = pytest.mark.slow

SUMMARIES = {
    "stays": {"first_ward": {"what": "first", "column": "ward"}, "in_a": {"ward": "a"}},
    "codes": {"any_x": {"code": "x"}},
}


@pytest.fixture(scope="module")
def made():
    return release(summaries=SUMMARIES)


@pytest.fixture(scope="module")
def same(made):
    """A release whose synthetic tables are the real ones, with what parents say of their rows."""
    real = patients()
    stays, codes = real["stays"], real["codes"]
    wards = stays.sort_values("day", kind="stable").groupby("id").ward
    people = real["patients"].assign(
        first_ward=lambda rows: rows.id.map(wards.first()),
        in_a=lambda rows: rows.id.isin(stays.id[stays.ward == "a"]),
    )
    any_x = stays.stay.isin(codes.stay[codes.code == "x"])
    return replace(made, frames={"patients": people, "stays": stays.assign(any_x=any_x), "codes": codes})


def distances(found):
    children = found.children.values()
    pairs = [pair for one in children for pair in (*one.within, *one.across, *one.before)]
    return {
        *(pair.total_variation for pair in (*found.people, *pairs)),
        *(one.numbers for one in children),
        *(one.orphans for one in children),
        *(one.distance for one in found.survival),
        *(rule.synthetic for rule in found.rules),
    }


def test_the_real_tables_are_at_no_distance_from_themselves(same):
    # One day may have stays in two wards, of which either may be the first.
    found = evaluate_people(patients(), same)
    assert distances(found) == {0.0}
    assert found.rows == {name: (len(rows), len(rows)) for name, rows in patients().items()}


def test_a_release_is_at_some_distance_and_breaks_no_rule(made):
    found = evaluate_people(patients(), made)
    assert {rule.synthetic for rule in found.rules} == {0.0}
    assert max(distances(found)) > 0
    assert {one.orphans for one in found.children.values()} == {0.0}


def test_parents_that_say_something_else_are_counted(same):
    people = same.frames["patients"]
    wrong = people.assign(in_a=np.where(np.arange(len(people)) < 40, ~people.in_a, people.in_a))
    found = evaluate_people(patients(), replace(same, frames={**same.frames, "patients": wrong}))
    (rule,) = (one for one in found.rules if one.rule.startswith("in_a"))
    assert (rule.real, rule.synthetic) == (0.0, 40 / len(people))


def test_later_events_move_the_curves_of_their_time(same):
    stays = same.frames["stays"]
    later = stays.assign(day=stays.day.where(stays.ward != "a", pd.Timestamp("2022-12-31")))
    found = evaluate_people(patients(), replace(same, frames={**same.frames, "stays": later}))
    events = {one.event: one for one in found.survival}
    assert events["stays: ward a"].distance > 0.3
    assert events["stays: ward a"].events == (events["stays: ward a"].events[0],) * 2


def test_curves_of_people_are_followed_by_groups(same):
    found = evaluate_people(patients(), same, ("born", "in_a", "sex"))
    assert [one.event for one in found.survival[:2]] == [
        f"in_a by born, sex {sex}" for sex in patients()["patients"].sex.value_counts().index
    ]


@pytest.fixture(scope="module")
def followed():
    """People who are followed up to a time, half of them without rows, and a release with little noise."""
    number = np.arange(600)
    real = {
        "people": pd.DataFrame({"id": number, "until": number % 90 + 9, "status": number % 3 % 2}),
        "rows": pd.DataFrame({"id": number[::2], "at": 5, "code": "x"}),
    }
    numbers = {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True}
    made = dpmosaic.synthesize(
        real,
        1e4,
        relations={"rows": {"id": "people"}},
        order={"rows": "at"},
        within={"rows": (None, "until")},
        summaries={"rows": {"to_x": {"what": "time", "column": "code", "values": ["x"]}}},
        domain={"people": {"until": numbers, "status": 2}, "rows": {"at": numbers, "code": ["x", "y"]}},
        seed=1,
        progress=False,
    )
    return real, made


def test_a_real_curve_is_in_the_band_that_the_release_states_and_another_one_is_not(followed):
    real, made = followed
    found = evaluate_people(real, made, ("until", "status", ""))
    named = {one.event: one for one in found.survival}
    assert {event: one.in_band for event, one in named.items() if one.band is not None} == {
        "status by until": True,
        "rows: to_x": True,
    }
    often = {**real, "people": real["people"].assign(status=1)}
    assert evaluate_people(often, made, ("until", "status", "")).survival[0].in_band is False
    (times,) = (table for table in score_tables(found) if table.title == "Times to events")
    assert [row[-1] for row in times.rows] == ["yes", "yes", "–"]
    page = dpmosaic.compare(real, made, follow=("until", "status", "")).html
    assert page.count('<path class="band"') == 2
    assert "where the release says that the real curve is" in page


def test_who_has_no_row_is_followed_up_to_an_end_that_is_known(followed):
    real, made = followed
    first = evaluate_people(real, made).survival[0]
    assert first.event == "rows: to_x"
    assert first.curves[0].at(np.array([5.0])) == pytest.approx(0.5)


def test_a_release_that_states_no_band_shows_curves_alone(made):
    found = evaluate_people(patients(), made)
    assert {one.in_band for one in found.survival} == {None}
    assert not any(chart.band for chart in curve_charts(found))
    assert "where the release says" not in dpmosaic.compare(patients(), made).html


@pytest.mark.parametrize(
    ("real", "follow", "told"),
    [
        ({"stays": patients()["stays"]}, None, "expected the table 'patients'"),
        (
            patients() | {"codes": patients()["codes"].drop(columns="code")},
            None,
            "expected the column 'code'",
        ),
        (patients() | {"patients": pd.concat([patients()["patients"]] * 2)}, None, "expected each key once"),
        (patients(), ("borne", "sex", ""), "did you mean 'born'"),
        (patients(), ("sex", "in_a", ""), "numbers or dates"),
    ],
)
def test_what_does_not_fit_is_refused(same, real, follow, told):
    with pytest.raises(DataError, match=told):
        evaluate_people(real, same, follow)


def test_scores_and_curves_are_shown(made):
    found = evaluate_people(patients(), made)
    titles = [table.title for table in score_tables(found)]
    assert titles == [
        *("Numbers of rows", "Pairs of columns", "Order", "Times to events", "Rows that break a rule"),
        "Furthest pairs",
    ]
    assert len(curve_charts(found)) == len(found.survival)
    assert json.loads(json.dumps(found.to_json()))["rows"]["stays"]["real"] == len(patients()["stays"])


def test_one_table_with_a_key_is_compared_as_people_and_rows():
    stays = patients()["stays"].drop(columns="stay").assign(sex=lambda rows: np.where(rows.id % 2, "f", "m"))
    domain = DOMAINS["stays"] | {"sex": ["f", "m"]}
    made = dpmosaic.synthesize(
        stays, 2.0, key="id", order="day", per_person=["sex"], domain=domain, mechanism="independent"
    )
    found = dpmosaic.evaluate(stays, made)
    assert found.rows["rows"][0] == len(stays)
    assert any(pair.other == "people.sex" for pair in found.children["rows"].across)
    assert dpmosaic.evaluate(stays, replace(made, frames={"rows": stays})).children["rows"].numbers == 0
    assert "Not for publication" in dpmosaic.compare(stays, made).html


def test_people_of_whom_nothing_but_rows_is_known_are_compared_and_shown():
    rows = pd.DataFrame({"id": np.repeat(np.arange(200), 2), "a": [0, 1] * 200, "b": [0, 1, 1, 0] * 100})
    made = dpmosaic.synthesize(rows, key="id", domain={"a": 2, "b": 2}, epsilon=20.0, seed=1, ledger=False)
    found = dpmosaic.evaluate(rows, made)
    assert found.people == ()
    (children,) = found.children.values()
    assert [(one.one, one.other) for one in children.within] == [("a", "b")]
    assert "Not for publication" in dpmosaic.compare(rows, made).html


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
def test_real_tables_may_hold_what_a_release_did_not_learn():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"id": range(500), "sex": rng.choice(["F", "M"], 500), "well": True})
    visits = pd.DataFrame(
        {"id": np.repeat(people["id"], 2), "kind": "call", "cost": rng.integers(1, 99, 1000)}
    )
    made = dpmosaic.synthesize(
        {"people": people, "visits": visits}, epsilon=20.0, relations={"visits": {"id": "people"}}, seed=1
    )
    people = people.astype({"well": object})
    people.loc[0, ["sex", "well"]] = "unknown", None
    visits = visits.astype({"cost": object})
    visits.loc[0, ["kind", "cost"]] = None, "free"
    real = {"people": people, "visits": visits}
    found = evaluate_people(real, made)
    assert found.rows["people"] == (500, len(made.tables["people"]))
    assert "unknown" not in dpmosaic.compare(real, made).html


def test_choices_of_flat_tables_are_refused(made):
    with pytest.raises(DataError, match="target"):
        dpmosaic.evaluate(patients(), made, target="sex")


def test_the_page_of_a_release_shows_no_real_row(made):
    page = made.report().html
    assert "with all rows in all of them" in page
    assert "Not for publication" not in page
    assert "number_of_stays" in page
    assert page.count("thin lines: the real share") == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("evaluated")
    made.save(folder / "out")
    (folder / "real").mkdir()
    for name, rows in patients().items():
        rows.to_csv(folder / "real" / f"{name}.csv", index=False)
    return folder


def run(folder, *words):
    return CliRunner().invoke(app, ["evaluate", str(folder / "real"), str(folder / "out"), *map(str, words)])


def test_the_command_compares_a_folder_with_a_release(folder, made):
    done = run(folder, "--json", "--report", folder / "page.html", "--follow", "born", "in_a", "")
    assert done.exit_code == 0, done.output
    expected = evaluate_people(patients(), made, ("born", "in_a", "")).to_json()
    assert json.loads(done.stdout) == json.loads(json.dumps(expected))
    assert "Times to events" in (folder / "page.html").read_text()


def test_a_table_without_an_entry_among_the_relations_lies_in_the_file_of_its_name(folder, tmp_path):
    relations = tmp_path / "relations.toml"
    relations.write_text('[stays]\nbelongs_to = {id = "patients"}\n')
    done = run(folder, "--json", "--relations", relations)
    assert done.exit_code == 0, done.output
    assert done.stdout == run(folder, "--json").stdout


def test_the_command_prints_all_scores(folder):
    done = run(folder)
    assert done.exit_code == 0, done.output
    assert "Rows that break a rule" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--target", "sex"), "target"),
        (("--domain", "x.json"), "domain"),
        (("--certificate", "x"), "--report"),
    ],
)
def test_the_command_refuses_choices_of_flat_tables(folder, words, told):
    done = run(folder, *words)
    assert done.exit_code == 1
    assert told in str(done.exception or done.output)

"""`dpmosaic query` on the folder of a release."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError

ROWS = 2000
DOMAIN = {
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True},
    "[town]": ["north", "south"],
}
QUERY = 'SELECT "[town]", COUNT(*) AS n, AVG(age) AS age FROM release GROUP BY 1'


def table():
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, ROWS)
    return pd.DataFrame({"age": age, "[town]": np.where(rng.random(ROWS) < age / 100, "north", "south")})


@pytest.fixture(scope="module")
def release():
    return dpmosaic.synthesize(table(), epsilon=20, domain=DOMAIN, adjacency="zero-out", seed=1)


@pytest.fixture(scope="module")
def folder(release, tmp_path_factory):
    path = tmp_path_factory.mktemp("query") / "release"
    release.save(path)
    return path


def invoke(folder, *arguments):
    found = CliRunner().invoke(app, ["query", str(folder), *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found


def run(folder, *arguments):
    return invoke(folder, *arguments).stdout


@pytest.mark.slow
def test_json_has_numbers_that_hold_those_of_the_table(folder):
    rows = json.loads(run(folder, QUERY, "--json"))["rows"]
    expected = table().groupby("[town]").agg(n=("age", "size"), age=("age", "mean"))
    assert [row["[town]"] for row in rows] == ["north", "south"]
    for row in rows:
        for name in ("n", "age"):
            assert row[name]["low"] < expected[name][row["[town]"]] < row[name]["high"]


def test_csv_is_the_frame_of_the_answer_printed_or_in_a_file(folder, release, tmp_path):
    frame = release.query(QUERY).frame
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(run(folder, QUERY, "--csv", "-"))), frame)
    output = run(folder, QUERY, "--csv", str(tmp_path / "answer.csv"))
    assert output.startswith("2 rows written to")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "answer.csv"), frame)


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_answers_of_a_release_that_is_none_say_so_wherever_they_go(folder, release, people, tmp_path):
    if people:
        key = np.arange(ROWS) // 2
        release = dpmosaic.synthesize(
            table().assign(key=key), 20, key="key", domain=DOMAIN, seed=1, ledger=False
        )
        folder = tmp_path / "people"
        release.save(folder)
    [label] = release.certificate.labels
    answer = release.query(QUERY)
    assert label in repr(answer)
    assert label in answer._repr_html_()
    assert json.loads(run(folder, QUERY, "--json"))["labels"] == [label]
    for options in ((), ("--csv", "-"), ("--csv", str(tmp_path / "answer.csv"))):
        assert label in " ".join(invoke(folder, QUERY, *options).stderr.split())
    assert label in (tmp_path / "answer.csv.NOT-FOR-RELEASE.txt").read_text()


def test_answers_of_a_release_have_no_label(tmp_path):
    release = dpmosaic.synthesize(table(), 20, domain=DOMAIN, mechanism="independent", ledger=False)
    release.save(tmp_path / "release")
    assert release.query(QUERY).labels == ()
    for options in ((), ("--csv", "-"), ("--csv", str(tmp_path / "answer.csv"))):
        assert invoke(tmp_path / "release", QUERY, *options).stderr == ""
    assert [path.name for path in tmp_path.glob("answer*")] == ["answer.csv"]
    assert "labels" not in json.loads(run(tmp_path / "release", QUERY, "--json"))


def test_the_table_shows_intervals_and_says_what_they_are(folder):
    output = run(folder, QUERY, "--level", "0.9", "--population")
    assert "[town]" in output
    assert output.count(" to ") >= 4
    assert "the population of which the table is a sample with probability 0.9." in " ".join(output.split())


def test_a_level_and_a_population_change_the_intervals(folder):
    def width(*options):
        cell = json.loads(run(folder, "SELECT AVG(age) AS a FROM release", "--json", *options))["rows"][0][
            "a"
        ]
        return cell["high"] - cell["low"]

    assert width("--level", "0.8") < width() < width("--population")


def test_one_form_of_output_is_chosen(folder):
    with pytest.raises(DataError, match="--json or --csv, got both"):
        run(folder, QUERY, "--json", "--csv", "-")


def test_a_folder_without_a_release_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected the folder of a finished release"):
        run(tmp_path, QUERY)

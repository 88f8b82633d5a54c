import json

import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.party.sources.checking import check_rows
from dpmosaic.party.sources.source import open_source

DOMAIN = {
    "attributes": {
        "sex": ["f", "m"],
        "age": {"type": "numeric", "min": 0, "max": 100, "bins": 10, "integer": True},
        "town": {"type": "categorical", "categories": ["", "A", "other"], "other": "other"},
        "gain": {"type": "numeric", "min": 1, "max": 100, "bins": 5, "atoms": [0], "unreadable": "missing"}
        | {"nullable": True},
    },
    "rules": [{"impossible": {"sex": ["f"], "gain": {"above": 0}}}],
}

LEFT_OUT = "columns that the domain does not name; they are left out"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    rows = ["f,20,A,0", "m,x,B,5", "q,,,oops", "f,300,C,7", "m,1.5,A,", "f,30,A,8"]
    path.write_text("sex,age,town,gain\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def found(path, domain):
    return {(f.where, f.what): (f.rows, f.refused) for f in check_rows(open_source(path), domain)}


def test_all_faults_of_all_columns_are_counted_at_once(table):
    findings = found(table, Domain.from_json(DOMAIN))
    assert {(where, *counted) for (where, _), counted in findings.items()} == {
        ("sex", 1, True),
        ("age", 1, True),
        ("age", 1, False),
        ("town", 1, False),
        ("town", 2, False),
        ("gain", 1, False),
        ("sex, gain", 2, False),
    }
    of_age = {what: counted for (where, what), counted in findings.items() if where == "age"}
    assert sorted(of_age.values()) == [(1, False), (1, True), (1, True), (1, True)]


def test_columns_that_one_of_the_two_lacks_are_named(table):
    domain = Domain.from_json({"sex": ["f", "m", "q"], "height": 3})
    findings = found(table, domain)
    assert findings["age, town, gain", LEFT_OUT] == (
        0,
        False,
    )
    assert findings["height", "the domain names this column, and the file has none of this name"] == (0, True)


def test_a_table_that_fits_has_no_findings(table):
    assert found(table, Domain.from_json({"sex": ["f", "m", "q"]})) == {
        ("age, town, gain", LEFT_OUT): (0, False)
    }


def run(*arguments):
    return CliRunner().invoke(app, ["domain", "check", *map(str, arguments)])


def test_the_command_fails_if_the_table_cannot_be_encoded_and_shows_no_value(table, tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(DOMAIN))
    done = run(table, "--domain", path, "--json")
    assert done.exit_code == 1
    assert "private rows" in done.stderr
    assert {row["column"] for row in json.loads(done.stdout)} == {"sex", "age", "town", "gain", "sex, gain"}
    assert "oops" not in done.output


def test_the_command_succeeds_if_the_table_can_be_encoded(table, tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"town": ["", "A", "B", "C"], "sex": ["f", "m", "q"]}))
    done = run(table, "--domain", path)
    assert done.exit_code == 0
    assert "missing values" in done.stdout


@pytest.mark.slow
def test_rows_of_a_query_are_drafted_and_checked(table, tmp_path):
    query = tmp_path / "rows.sql"
    query.write_text("SELECT sex, town FROM 'rows.csv' WHERE sex <> 'q' ORDER BY sex, town")
    done = CliRunner().invoke(app, ["domain", "infer", str(query), "--out", str(tmp_path / "drafted.json")])
    assert done.exit_code == 0
    assert Domain.load(tmp_path / "drafted.json").names == ("sex", "town")
    done = run(query, "--domain", tmp_path / "drafted.json")
    assert (done.exit_code, "nothing to report" in done.stdout) == (0, True)

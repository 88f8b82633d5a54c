"""What `dpmosaic party check` tells an operator: all faults at once, and no value of the rows."""

import json
import os

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.operating import checking
from support.operators import RECORDS

ROWS = "a\n" + "0\n1\n2\n" * (RECORDS // 3)


def checked(operator):
    """The findings, by place and text."""
    output = operator.run("check", "--json")
    found = json.loads(output[output.index("[") :])
    return {(one["where"], one["finding"].split(",")[0]): one["verdict"] for one in found}


def set_source(operator, old, new):
    path = operator.home.folder / "policy.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.slow
def test_a_folder_without_a_fault_has_no_finding(operator):
    assert checked(operator) == {}
    assert "files, disk and rows are as" in operator.run("check")


@pytest.mark.slow
def test_all_faults_of_the_rows_are_told_at_once_without_a_value(operator):
    (operator.home.folder / "domain.json").write_text(
        json.dumps({"a": 3, "b": 2, "n": {"type": "numeric", "min": 0, "max": 9, "bins": 3}, "k": ["x"]})
    )
    (operator.home.folder / "rows.csv").write_text("a,n,k,more\n7,77,secret,1\nword,3,x,1\n")
    assert checked(operator) == {
        ("b", "the domain names this column"): "FIX",
        ("more", "columns that the domain does not name; they are left out"): "",
        ("a", "text where a number"): "FIX",
        ("a", "values outside the bounds or codes"): "FIX",
        ("n", "numbers outside the bounds"): "",
        ("k", "values that are none of the categories"): "FIX",
    }
    assert not any(value in operator.run("check") for value in ("secret", "77", "word "))


@pytest.mark.slow
def test_columns_that_only_the_policy_names_have_to_be_there_and_are_not_left_out(operator):
    set_source(operator, 'order = "guaranteed"', "")
    set_source(operator, 'file = "rows.csv"', 'file = "rows.csv"\nkey = "id"')
    assert checked(operator) == {("id", "the policy names this column"): "FIX"}
    (operator.home.folder / "rows.csv").write_text("id,a\n" + "".join(f"{i},{i % 3}\n" for i in range(9)))
    assert checked(operator) == {}
    (operator.home.folder / "rows.csv").write_text("id,a\n1,0\n,1\n")
    assert checked(operator) == {("key", "key column 'id': expected a key in every row"): "FIX"}


@pytest.mark.slow
@pytest.mark.parametrize("most", ["1", "2", "3", '"all"'])
def test_rows_beyond_the_limit_of_a_person_are_a_warning_for_the_owner_alone(operator, most):
    keys = ["p"] * 5 + ["q"] * 2 + ["r"] * 3
    set_source(operator, 'order = "guaranteed"', "")
    set_source(operator, 'file = "rows.csv"', 'file = "rows.csv"\nkey = "id"')
    set_source(operator, "[policy]", f"[policy]\nmax_rows_per_person = {most}")
    (operator.home.folder / "rows.csv").write_text(
        "id,a\n" + "".join(f"{key},{n % 3}\n" for n, key in enumerate(keys))
    )
    left_out = 0 if most == '"all"' else sum(max(0, keys.count(key) - int(most)) for key in set(keys))
    said = operator.run("check")
    if not left_out:
        assert "files, disk and rows are as" in said
        return
    (found,) = json.loads(operator.run("check", "--json").split("nobody else.\n")[1].split("\nwarning")[0])
    assert (found["where"], found["rows"], found["verdict"]) == ("id", left_out, "DECIDE")
    warning = said.splitlines()[-1]
    assert warning.startswith(f"warning: id: {left_out / len(keys):.1%} of all rows are left out")
    assert f"max_rows_per_person = {most} " in warning
    assert "files, disk and rows are as" not in said


@pytest.mark.slow
def test_numbers_that_one_party_writes_otherwise_are_told_with_the_key_that_helps(operator):
    form = {"n": {"type": "numeric", "min": 0, "max": 9, "bins": 3}}
    (operator.home.folder / "domain.json").write_text(json.dumps(form))
    (operator.home.folder / "rows.csv").write_text("id;n\n1;2,5\n2;7,25\n")
    assert "write query in [source] of the policy, and cast the column in it" in operator.run(
        "check", "--json"
    )
    query = (
        "SELECT CAST(replace(n, ',', '.') AS DOUBLE) AS n FROM read_csv('rows.csv', delim=';') ORDER BY id"
    )
    set_source(operator, 'file = "rows.csv"', f'query = "{query}"')
    assert checked(operator) == {}


@pytest.mark.slow
def test_an_order_of_rows_that_is_not_decided_is_told(operator):
    (operator.home.folder / "rows.csv").write_text("id,a\n1,0\n1,1\n2,2\n")
    query = "SELECT * FROM 'rows.csv' ORDER BY id"
    set_source(operator, 'file = "rows.csv"', f'query = "{query}"')
    found = checked(operator)
    assert found["key", "source query: expected an ORDER BY that gives each row a place of its own"] == "FIX"
    set_source(operator, query, f"{query}, a")
    assert "FIX" not in checked(operator).values()


def test_a_source_that_is_not_there_and_files_of_others_are_told_together(operator):
    (operator.home.folder / "rows.csv").unlink()
    os.chmod(operator.home.folder / "policy.toml", 0o666)
    assert {where for where, _ in checked(operator)} == {"files", "source"}


def test_a_disk_that_is_nearly_full_is_told(operator, monkeypatch):
    def full(folder):
        raise DataError("the disk of its folder has less than 64 MiB left; its operator makes room")

    monkeypatch.setattr(checking, "check_room", full)
    assert ("disk", "the disk of its folder has less than 64 MiB left; its operator makes room") in checked(
        operator
    )


@pytest.mark.slow
def test_a_file_of_rows_that_is_replaced_is_noticed_while_the_party_runs(operator):
    with operator.home.open_role() as opened:
        opened.checks["source"]()
        fresh = operator.home.folder / "fresh.csv"
        fresh.write_text(ROWS)
        fresh.replace(operator.home.folder / "rows.csv")
        with pytest.raises(DataError, match="was replaced since the party was started"):
            opened.checks["source"]()
    with operator.home.open_role() as opened:
        opened.checks["source"]()

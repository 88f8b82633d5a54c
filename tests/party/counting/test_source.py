import os

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.counting.engines.remote import Place
from dpmosaic.party.counting.source import EngineSource
from dpmosaic.party.policies.source import source_of

PASSWORD = "host=nowhere.invalid password=correct-horse"
WAREHOUSE = {"engine": "postgres", "table": "clinic.visits", "connection": "env:WAREHOUSE"}


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "warehouse.txt"
    path.write_text(PASSWORD + "\n")
    path.chmod(0o600)
    return path


def test_a_policy_names_a_table_or_a_query_of_an_engine(tmp_path):
    made = source_of(WAREHOUSE | {"order_by": "id"}, tmp_path)
    place = Place("clinic.visits", order_by="id")
    assert made == EngineSource("postgres", place, "env:WAREHOUSE", tmp_path)
    asked = {"engine": "spark", "query": "SELECT 1"}
    assert source_of(asked, tmp_path) == EngineSource("spark", Place(query="SELECT 1"), "", tmp_path)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"table": "visits"}, "table in .* goes with engine"),
        ({"file": "rows.csv", "connection": "env:X"}, "connection in .* goes with engine"),
        ({"file": "rows.csv", "order_by": "id"}, "order_by in .* goes with engine"),
        ({"engine": "postgres", "file": "rows.csv"}, "goes with table or query alone"),
        (WAREHOUSE | {"database": "rows.duckdb"}, "goes with table or query alone"),
        (WAREHOUSE | {"query": "SELECT 1"}, "expected one of file, query, table or kind"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(tmp_path, keys, reason):
    with pytest.raises(DataError, match=reason):
        source_of(keys, tmp_path)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (WAREHOUSE | {"engine": "oracle"}, "expected one of postgres, spark, adbc"),
        (WAREHOUSE | {"engine": "adbc:db2"}, "expected adbc: and one of"),
        (WAREHOUSE | {"connection": PASSWORD}, "keep the secret itself out of the policy"),
        (WAREHOUSE | {"connection": "env:MISSING"}, "the environment variable MISSING"),
        (WAREHOUSE | {"connection": "file:missing.txt"}, "missing.txt, found none"),
        (WAREHOUSE | {"table": "visits; DROP"}, "expected the name of a table"),
        (WAREHOUSE | {"table": "visits WHERE age > 5"}, "expected the name of a table"),
        (WAREHOUSE | {"table": None, "query": "SELECT 1; SELECT 2"}, "or one SELECT"),
        (WAREHOUSE | {"table": None, "query": "DELETE FROM visits"}, "or one SELECT"),
        (WAREHOUSE, "cannot be reached"),
    ],
)
def test_a_source_that_cannot_be_opened_is_refused_without_its_secret(tmp_path, monkeypatch, keys, reason):
    monkeypatch.setenv("WAREHOUSE", PASSWORD)
    with pytest.raises(DataError, match=reason) as refused:
        source_of(keys, tmp_path).columns()
    assert "horse" not in str(refused.value)


def test_a_secret_is_read_from_a_file_that_others_cannot_read(tmp_path, secret):
    source = source_of(WAREHOUSE | {"connection": f"file:{secret.name}"}, tmp_path)
    with pytest.raises(DataError, match="cannot be reached"):
        source.columns()
    secret.chmod(0o640)
    with pytest.raises(DataError, match=f"chmod 600 {secret}"):
        source.columns()


def test_a_secret_does_not_show_in_the_source(tmp_path, monkeypatch):
    monkeypatch.setenv("WAREHOUSE", PASSWORD)
    assert os.environ["WAREHOUSE"] not in repr(source_of(WAREHOUSE, tmp_path))

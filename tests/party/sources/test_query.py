import duckdb
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.query import QuerySource

DOMAIN = Domain.from_json({"kind": ["x", "y"], "code": 4})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.csv").write_text("id,kind\n2,y\n1,x\n3,x\n")
    (tmp_path / "b.csv").write_text("id,code\n1,0\n2,3\n3,2\n")
    return tmp_path


def test_a_query_joins_files_of_the_folder(folder):
    source = QuerySource("SELECT kind, code FROM 'a.csv' JOIN 'b.csv' USING (id) ORDER BY id;", folder)
    table = source.read(DOMAIN)
    assert source.columns() == ("kind", "code")
    assert [column.tolist() for column in table.columns] == [[0, 1, 0], [0, 3, 2]]


TIES = "id,kind,code\n1,y,3\n2,x,1\n3,x,2\n4,x,2\n5,,0\n"
SET = (
    "SELECT kind, code FROM 'ties.csv' WHERE id < 2 UNION ALL SELECT kind, code FROM 'ties.csv' WHERE id > 1"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "decided"),
    [
        ("SELECT * FROM 'ties.csv' ORDER BY id", True),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY id", True),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY -id DESC LIMIT 3", True),
        ("SELECT kind, code FROM 'ties.csv' AS t ORDER BY kind, t.id", True),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY kind, code", True),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY ALL", True),
        (f"{SET} ORDER BY kind, 2", True),
        (
            "WITH t AS (FROM 'ties.csv') SELECT kind, max(code) AS code FROM t GROUP BY kind ORDER BY kind",
            True,
        ),
        ("SELECT id AS kind, code FROM 'ties.csv' ORDER BY kind", True),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY kind", False),
        ("SELECT * FROM 'ties.csv' ORDER BY kind, code", True),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY 1", False),
        ("SELECT kind AS id, code, kind FROM 'ties.csv' ORDER BY id", False),
        ("SELECT kind, code FROM 'ties.csv' ORDER BY upper(kind)", False),
        (f"{SET} ORDER BY Kind", False),
        ("WITH t AS (FROM 'ties.csv') SELECT kind, code FROM t ORDER BY t.kind", False),
    ],
)
def test_an_order_that_does_not_decide_between_different_rows_is_refused(tmp_path, query, decided):
    (tmp_path / "ties.csv").write_text(TIES)
    source = QuerySource(query, tmp_path)
    with source.scan() as connection:
        if decided:
            source.check_order(connection, ["kind", "code"])
            return
        with pytest.raises(DataError, match="ORDER BY that gives each row a place of its own") as refused:
            source.check_order(connection, ["kind", "code"])
    assert not any(character.isdigit() for character in str(refused.value))


@pytest.mark.slow
def test_a_query_opens_a_database_read_only(folder):
    path = folder / "rows.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE people AS SELECT 'x' AS kind, 3 AS code")
    source = QuerySource("SELECT * FROM people ORDER BY kind", folder, path)
    assert source.read(DOMAIN).record_count == 1
    with pytest.raises(DataError, match="cannot run it"):
        QuerySource("SELECT * FROM strangers ORDER BY 1", folder, path).columns()


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM 'a.csv'", "expected an ORDER BY"),
        ("SELECT * FROM 'missing.csv' ORDER BY id", "cannot run it"),
        ("SELECT kind FROM 'a.csv' ORDER BY id", "no column 'code'"),
        ("SELECT kind, 1 AS code FROM 'a.csv' WHERE id > 9 ORDER BY id", "no rows"),
        ("DROP TABLE people ORDER BY id", "expected one SELECT"),
        ("SELECT 1 AS a ORDER BY 1); COPY (SELECT 1) TO 'w.csv'; SELECT * FROM (SELECT 1", "one SELECT"),
        ("SELECT 1 ORDER BY 1; SELECT 2 ORDER BY 1", "expected one SELECT"),
        ("WITH w AS (COPY (SELECT 1) TO 'w.csv') SELECT * FROM w ORDER BY 1", "expected one SELECT"),
        ("WITH w AS (INSERT INTO t VALUES (1)) SELECT 1 ORDER BY 1", "expected one SELECT"),
        ("SELECT * FROM enable_logging('a', storage='file') ORDER BY 1", "expected one SELECT"),
        ("SELECT * FROM query('SELECT * FROM checkpoint()') ORDER BY 1", "expected one SELECT"),
        ("", "expected one SELECT"),
        ("SELECT 1 -- ORDER BY id", "expected an ORDER BY"),
        ("SELECT * FROM (SELECT 1 ORDER BY 1)", "expected an ORDER BY"),
    ],
)
def test_a_query_that_does_not_fit_is_refused_without_a_value(folder, sql, reason):
    with pytest.raises(DataError, match=reason):
        QuerySource(sql, folder).read(DOMAIN)
    assert not (folder / "w.csv").exists()


def test_a_comment_at_the_end_of_a_query_hides_nothing(folder):
    source = QuerySource("SELECT kind, 1 AS code FROM 'a.csv' ORDER BY id -- by id", folder)
    assert source.read(DOMAIN).record_count == 3


def test_an_error_in_a_query_shows_no_value_of_the_rows(folder):
    with pytest.raises(DataError) as refused:
        QuerySource("SELECT kind::INTEGER AS kind, 1 AS code FROM 'a.csv' ORDER BY id", folder).read(DOMAIN)
    assert "y" not in str(refused.value).replace("query", "").replace("try", "")


def test_a_file_that_is_not_a_database_is_refused(folder):
    (folder / "rows.duckdb").write_text("rows" * 999)
    with pytest.raises(DataError, match="cannot read the database"):
        QuerySource("SELECT 1 ORDER BY 1", folder, folder / "rows.duckdb").columns()

import csv
import gzip
import io
import itertools

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import decode_table
from dpmosaic.common.data.values import ListedTexts
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources import source as module
from dpmosaic.party.sources.cells import numbers_for
from dpmosaic.party.sources.source import FileSource, open_source, read_table

pytestmark = pytest.mark.slow

NASTY = [
    "",
    "NA",
    "?",
    "null",
    "nan",
    "007",
    "7",
    " 7 ",
    'say "hi"',
    "a,b",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "é ß 漢",
    "#",
]
cells = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
)
rows = st.lists(st.tuples(cells, cells), min_size=1, max_size=12)
files = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return open_source(path)


def texts_of(source, name):
    """Every cell of a text column, as the source reads it."""
    with source.connect() as connection:
        column = source.query(connection, f"SELECT c{source.columns().index(name)} AS cell FROM file")["cell"]
    return ["" if cell is None else cell for cell in column.tolist()]


def read_back(source, records):
    """Encodes with the existing categories, and decodes again."""
    first = CategoricalAttribute("first", tuple(dict.fromkeys(row[0] for row in records)))
    second = CategoricalAttribute("second", tuple(dict.fromkeys(row[1] for row in records)))
    table = source.read(Domain((first, second)))
    return list(
        zip(*(v.tolist() for v in decode_table(table, np.random.default_rng(1)).values()), strict=True)
    )


@files
@given(
    rows,
    st.sampled_from([".csv", ".csv.gz", ".tsv", ".tsv.gz"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@example([(text, "x") for text in NASTY], ".csv", "\n", False)
def test_every_text_survives_a_csv(tmp_path, records, suffix, line_end, quote_all):
    text = io.StringIO(newline="")
    lone_return = any("\r" in cell for row in records for cell in row)  # csv leaves it unquoted before 3.13
    quoting = csv.QUOTE_ALL if quote_all or lone_return else csv.QUOTE_MINIMAL
    writer = csv.writer(
        text, delimiter="\t" if "t" in suffix else ",", lineterminator=line_end, quoting=quoting
    )
    writer.writerows([("first", "second"), *records])
    content = text.getvalue().encode("utf-8")
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert read_back(open_source(path), records) == records


@files
@given(rows)
def test_every_text_survives_parquet(tmp_path, records):
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (first VARCHAR, second VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", records)
        connection.execute(f"COPY t TO '{path}'")
    assert read_back(open_source(path), records) == records


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT * FROM (VALUES "
            "(1, 0.5::DOUBLE, true, DATE '2020-02-01', 1.50::DECIMAL(9, 2), "
            "170141183460469231731::DECIMAL(38, 0)), "
            "(NULL, 'nan'::DOUBLE, NULL, NULL, NULL, NULL)) "
            f"AS t(whole, real, flag, day, price, wide)) TO '{path}'"
        )
    return open_source(path)


def test_parquet_types_reach_the_domain(parquet):
    domain = Domain.from_json(
        {
            "wide": ["", "170141183460469231731"],
            "day": ["2020-02-01", ""],
            "whole": {"type": "numeric", "min": 0, "max": 1, "bins": 2, "nullable": True},
            "real": {"type": "numeric", "min": 0, "max": 1, "bins": 4, "nullable": True},
            "flag": [False, True, ""],
            "price": ["", 1.5],
        }
    )
    table = parquet.read(domain)
    assert [column.tolist() for column in table.columns] == [[1, 0], [0, 1], [1, 2], [2, 4], [1, 2], [1, 0]]
    assert parquet.columns() == ("whole", "real", "flag", "day", "price", "wide")


@pytest.fixture(params=["texts in memory", "cells beyond memory"])
def _large(request, monkeypatch):
    if request.param == "cells beyond memory":
        monkeypatch.setattr(module, "_HELD_BYTES", -1)
        monkeypatch.setattr(module, "_MEMORY", "64MB")


@pytest.mark.usefixtures("_large")
def test_rows_keep_the_order_of_the_file(tmp_path):
    count = 300_000
    body = "".join(f"{row % 251},{row}\n" for row in range(count))
    source = write(tmp_path / "rows.csv", f"code,number\n{body}")
    domain = Domain(
        (
            NumericAttribute("number", 0, count - 1, count // 10, integer=True),
            *Domain.coded({"code": 251}).attributes,
        )
    )
    table = source.read(domain)
    assert np.array_equal(table.column("number"), np.arange(count) // 10)
    assert np.array_equal(table.column("code"), np.arange(count) % 251)


def test_a_large_csv_is_read_once_and_leaves_nothing_on_disk(tmp_path, monkeypatch):
    asked, folder = [], tmp_path / "tmp"
    folder.mkdir()
    query = FileSource.query
    monkeypatch.setattr(FileSource, "query", lambda *given: [asked.append(given[2]), query(*given)][1])
    monkeypatch.setattr(module, "_HELD_BYTES", -1)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    source = write(tmp_path / "rows.csv", "a,b,c\n" + "1,2,x\n" * 1000)
    table = source.read(Domain.from_json({"a": 3, "b": 3, "c": ["x"]}))
    assert [column.tolist() for column in table.columns] == [[1] * 1000, [2] * 1000, [0] * 1000]
    assert sum(sql.endswith("FROM file") for sql in asked) == 1
    assert list(folder.iterdir()) == []


def test_a_cell_of_a_csv_keeps_its_text(tmp_path):
    source = write(tmp_path / "rows.csv", '\ufeffcode,other\n007,NA\n?,""\n1e3,\n')
    assert texts_of(source, "code") == ["007", "?", "1e3"]
    assert texts_of(source, "other") == ["NA", "", ""]


def test_columns_that_differ_only_in_case_or_hold_odd_characters_are_apart(tmp_path):
    source = write(tmp_path / "rows.csv", 'a,A,"x ""y"",\nz",\';--\n0,1,2,3\n')
    assert source.columns() == ("a", "A", 'x "y",\nz', "';--")
    table = source.read(Domain.coded({"';--": 9, 'x "y",\nz': 9, "A": 9, "a": 9}))
    assert [column.tolist() for column in table.columns] == [[3], [2], [1], [0]]


@pytest.mark.parametrize(
    "name", ["st*r.csv", "what?.csv", "[ab].csv", "it's.csv", "data.v2.CSV", "a b;c.csv"]
)
def test_a_file_is_found_by_its_exact_name(tmp_path, name):
    write(tmp_path / "a.csv", "a\n1\n")
    write(tmp_path / "stxr.csv", "a\n1\n")
    assert write(tmp_path / name, "a\n0\n").read(Domain.coded({"a": 2})).column("a").tolist() == [0]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b,c\n1,2,3\n1,secret\n4,5,6\n", 3),
        (b"a,b,c\n1,2,3\n4,5,6\n1,secret,3,4\n", 4),
        (b'a,b,c\n1,"secret,3\n4,5,6\n', 2),
        (b'a,b,c\n1,"secret"x,3\n4,5,6\n', 2),
    ],
)
@pytest.mark.usefixtures("_large")
def test_a_malformed_row_is_refused_by_its_line_without_its_content(tmp_path, content, line):
    source = write(tmp_path / "rows.csv", content)
    with pytest.raises(DataError, match=rf"^rows\.csv, line {line}: expected 3 cells in UTF-8") as refusal:
        source.read(Domain.from_json({"b": ["2", "5", "secret"]}))
    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


def test_a_value_without_a_code_is_refused_by_its_row(tmp_path):
    source = write(tmp_path / "rows.csv", "age\n1\n\n3\n")
    with pytest.raises(DataError, match="column 'age', row 2: expected a number, found a missing value"):
        source.read(Domain((NumericAttribute("age", 0, 9, 10),)))


def test_line_ends_of_two_kinds_are_refused(tmp_path):
    with pytest.raises(DataError, match="all line ends alike"):
        write(tmp_path / "rows.csv", "a,b\r\n1,2\n3,4\n").read(Domain.coded({"a": 9}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\n", "\r\n", "\r", "\n\n\r"])
def test_a_line_end_within_a_cell_of_the_first_line_says_nothing_of_others(
    tmp_path, inside, end, header, stated, encoding
):
    first = f"é{inside}b"
    lines = ["sep=;"] * stated + [f'"{first}";c', "1;2", "ö;4", ""]
    (tmp_path / "rows.csv").write_bytes(end.join(lines).encode(encoding))
    source = open_source(tmp_path / "rows.csv", header=header)
    assert source.columns() == ((first, "c") if header else ("column1", "column2"))
    assert texts_of(source, source.columns()[0]) == [first] * (not header) + ["1", "ö"]


def test_a_missing_column_is_named_without_quoting_the_first_line(tmp_path):
    with pytest.raises(DataError, match=r"rows\.csv has no column 'age'; fix the names") as refusal:
        write(tmp_path / "rows.csv", "secret,x\n2,3\n").read(Domain.coded({"age": 9}))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,b\n", "has no rows"),
        ("", "has no header"),
        ("\na,b\n0,1\n", "has no header"),
        ("a,secret,b,secret\n0,1,2,3\n", "columns 2 and 4 have one name"),
        ('"a,b\n0,1\n', "its first line cannot be read as CSV"),
        (b"a\0,\0b\0\n\0", "expected UTF-8, Windows-1252, or UTF-16 with a byte order mark"),
    ],
)
def test_a_csv_without_header_or_rows_is_refused(tmp_path, content, reason):
    with pytest.raises(DataError, match=reason) as refusal:
        write(tmp_path / "rows.csv", content).read(Domain.coded({"a": 2}))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("rows.csv.gz", "cannot be read as CSV"), ("rows.parquet", "expected a file of the kind .parquet")],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, name, reason):
    with pytest.raises(DataError, match=reason):
        write(tmp_path / name, "a,b\n0,1\n").columns()


def test_a_cut_off_gzip_file_is_refused(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + bytes(48 + i * i % 10 for i in range(99_999)) + b"\n")[:-20])
    with pytest.raises(DataError, match=r"rows\.csv\.gz"):
        open_source(path).read(Domain.coded({"a": 2}))


def test_a_missing_file_and_an_unknown_kind_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"expected a file at .*rows\.csv, found none"):
        open_source(tmp_path / "rows.csv")
    with pytest.raises(DataError, match="found none"):
        open_source(str(tmp_path))
    with pytest.raises(DataError, match=r"expected rows\.ods to end in one of \.csv, \.csv\.gz"):
        write(tmp_path / "rows.ods", "")
    with pytest.raises(DataError, match=r"got the database rows\.sqlite; write its tables into one folder"):
        write(tmp_path / "rows.sqlite", "")


def test_reading_leaves_nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "rows.csv", "a\n1\n").read(Domain.coded({"a": 2}))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_path_is_read_as_its_source_is(tmp_path):
    source = FileSource(write(tmp_path / "rows.csv", "a,b\n0,2\n1,1\n").path)
    domain = Domain.coded({"a": 2, "b": 3})
    assert read_table(str(source.path), domain).digest() == source.read(domain).digest()


ODD = ["+5", "+-1", " +-1", "-1_0", "1e300", "1e400", "-Infinity", "1" * 25, "٣", "- 1", "0x1"]


@pytest.mark.parametrize(
    "cell", ["1", "-2.5", "1e-05", " 7 ", "1_000", "inf", "nan", "-99", "abc", "", "1.", *ODD]
)
@pytest.mark.parametrize("missing", [(), ("-99",)])
def test_a_number_is_read_as_its_attribute_reads_the_text(tmp_path, cell, missing):
    number = NumericAttribute(
        "number", -200, 200, 40, nullable=True, integer=False, unreadable="missing", missing=missing
    )
    source = write(tmp_path / "table.csv", f"number,other\n3.25,x\n{cell},x\n")
    expected = number.encode(np.array(["3.25", cell], dtype=object))
    assert source.read(Domain((number,))).columns[0].tolist() == expected.tolist()


@pytest.mark.parametrize("cell", ["no", "it's", "", '""', "No", " no", "other"])
@pytest.mark.parametrize("categories", [("it's", "no"), ("it's", "no", "")])
def test_a_few_categories_are_found_by_duckdb_as_their_attribute_reads_the_text(tmp_path, cell, categories):
    few = CategoricalAttribute("few", categories)
    many = CategoricalAttribute("few", categories + tuple(map(str, range(32))))
    source = write(tmp_path / "table.csv", f"few,x\nno,x\n{cell},x\n")
    if cell.strip('"') in categories:
        (column,) = source.cells(Domain((few,)))
        assert isinstance(column, ListedTexts)
        assert list(column) == ["no", cell.strip('"')]
        codes = [source.read(Domain((attribute,))).columns[0].tolist() for attribute in (few, many)]
        assert codes[0] == codes[1] == [1, categories.index(cell.strip('"'))]
    else:
        for attribute in (few, many):
            with pytest.raises(DataError, match="column 'few', row 2: expected"):
                source.read(Domain((attribute,)))


@pytest.mark.parametrize(
    "attribute",
    [
        CategoricalAttribute("x", ("1", 2)),
        CategoricalAttribute("x", ("1", "2"), other="2"),
        CategoricalAttribute("x", ("1", "2", ""), missing=("NA",)),
        CategoricalAttribute("x", ("1", "\ud800")),
    ],
)
def test_categories_beside_which_a_column_holds_other_texts_are_found_by_their_attribute(tmp_path, attribute):
    source = write(tmp_path / "table.csv", "x,y\n1,x\n")
    (column,) = source.cells(Domain((attribute,)))
    assert isinstance(column, np.ndarray)


def test_a_text_that_duckdb_reads_as_a_number_is_that_number_for_python():
    alphabet = "09.-+eE _\tinfa"
    texts = ["".join(text) for length in range(1, 5) for text in itertools.product(alphabet, repeat=length)]
    number = numbers_for(NumericAttribute("x", 0, 1, 2), "cell", "VARCHAR")
    with duckdb.connect() as connection:
        cells = "SELECT unnest($1) AS cell"
        found = connection.execute(f"SELECT {number} AS number FROM ({cells})", [texts]).fetchnumpy()
    read = [(text, value) for text, value in zip(texts, found["number"], strict=True) if value == value]
    assert len(read) > 100
    assert all(value == float(text) and "_" not in text for text, value in read)

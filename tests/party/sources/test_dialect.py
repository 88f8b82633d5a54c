import csv
import gzip
import io

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.dialect import SEPARATORS, Dialect, find_dialect
from dpmosaic.party.sources.source import FileSource, open_source


def dialect_of(tmp_path, content, usual=",", name="rows.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return find_dialect(path, usual)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_the_separator_is_the_one_that_divides_the_first_line_most(tmp_path, separator):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerows([("name", "x"), ("a;b|c\td,e", 1), ('"quoted"', 2), ("two\nlines", 3)])
    assert dialect_of(tmp_path, text.getvalue()).separator == separator


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ("a,b\n1;5,2;5\n", ","),
        ("a\n1\n", ","),
        ("a;b;c\n1;2;3\n4;5\n", ";"),
        ("a,b;c\n", ","),
        ("a|b\n1|2\n3|4\n", "|"),
        ("a, in years;b;c\n1;2;3\n", ";"),
    ],
)
def test_cells_with_another_separator_within_do_not_mislead(tmp_path, content, separator):
    assert dialect_of(tmp_path, content).separator == separator


def test_two_separators_that_fit_are_refused_unless_one_is_usual(tmp_path):
    content = "a;b|c\n1;2|3\n"
    assert dialect_of(tmp_path, content, usual=";").separator == ";"
    with pytest.raises(DataError, match="can be divided at semicolons and bars"):
        dialect_of(tmp_path, content)


@pytest.mark.parametrize("last", ["3;4", "3;4;5", '"', "a,b,c,d"])
def test_no_record_changes_the_separator(tmp_path, last):
    assert dialect_of(tmp_path, f"a;b\n1;2\n{last}\n") == Dialect("utf-8", ";", ("a", "b"))


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("a,é\n", "utf-8"),
        ("\ufeffa,é\n", "utf-8"),
        ("a,é\n".encode("utf-16"), "utf-16"),
        ("\ufeffa,é\n".encode("utf-16-be"), "utf-16"),
        ("a,é\n".encode("latin-1"), "utf-8"),
        ("a,é\n".encode("cp1252"), "utf-8"),
    ],
)
def test_names_are_read_in_each_encoding(tmp_path, content, encoding):
    assert dialect_of(tmp_path, content) == Dialect(encoding, ",", ("a", "é"))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_without_its_mark_and_utf_32_are_refused(tmp_path, encoding):
    with pytest.raises(DataError, match="save it as UTF-8"):
        dialect_of(tmp_path, "a,é\n1,2\n".encode(encoding))


@pytest.mark.parametrize(
    "content",
    [
        "n;word\n1;é\n2;ß\n".encode("utf-8-sig"),
        "n;word\n1;é\n2;ß\n".encode("latin-1"),
        "n;word\n1;é\n2;ß\n".encode("utf-16"),
    ],
    ids=["utf-8", "latin-1", "utf-16"],
)
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_texts_of_a_file_are_read_in_its_encoding(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    source = open_source(path)
    assert source.columns() == ("n", "word")
    with source.connect() as connection:
        assert source.query(connection, "SELECT c1 AS cell FROM file")["cell"].tolist() == ["é", "ß"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    ("line", "separator"),
    [("sep=;", ";"), ("SEP=,", ","), ("sep=\t", "\t"), ("sep=|", "|")],
)
def test_a_line_that_states_the_separator_is_neither_names_nor_a_record(
    tmp_path, line, separator, encoding, end
):
    path = tmp_path / "rows.csv"
    rows = [line, *(separator.join(cells) for cells in (("a", "ü"), ("1", "é"), ("2", '"x"')))]
    path.write_bytes((end.join(rows) + end).encode(encoding))
    source = open_source(path)
    assert source.columns() == ("a", "ü")
    found = source.query(source.connect(), "SELECT * FROM file")
    assert [found[f"c{place}"].tolist() for place in range(2)] == [["1", "2"], ["é", "x"]]


def test_a_stated_separator_holds_where_another_one_divides_the_names_more(tmp_path):
    assert dialect_of(tmp_path, "sep=;\na,b,c;d\n") == Dialect("utf-8", ";", ("a,b,c", "d"), True)
    assert dialect_of(tmp_path, "sep=;\na\n1\n") == Dialect("utf-8", ";", ("a",), True)


@pytest.mark.parametrize("line", ["sep=", "sep=x", "sep=;;", "sep;b"])
def test_another_first_line_holds_names(tmp_path, line):
    assert not dialect_of(tmp_path, f"{line}\n1\n").stated


def test_the_line_of_a_fault_is_counted_from_the_beginning_of_the_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("sep=;\na;b\n1;2\n3\n")
    source = open_source(path)
    with pytest.raises(DataError, match="line 4: expected 2 cells"):
        source.query(source.connect(), "SELECT * FROM file")


def test_a_file_of_a_stated_separator_without_names_is_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("sep=;\n1;2\n3;4\n")
    source = FileSource(path, False)
    assert source.columns() == ("column1", "column2")
    found = source.query(source.connect(), "SELECT * FROM file")
    assert found["c0"].tolist() == ["1", "3"]


@pytest.mark.parametrize("line", ['"sep=;"', '"SEP=,"', '"sep="'])
def test_a_separator_stated_in_quotes_is_refused(tmp_path, line):
    with pytest.raises(DataError, match="in quotes"):
        dialect_of(tmp_path, f"{line}\r\na;b\r\n1;2\r\n")

import csv
import gzip
import io

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.dialect import SEPARATORS, Dialect, find_dialect
from dpmosaic.party.sources.source import open_source


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

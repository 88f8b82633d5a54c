import gzip

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.encodings import first_lines
from dpmosaic.party.sources.source import open_source


def cells_of(tmp_path, content, name="rows.csv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    source = open_source(path)
    with source.connect() as connection:
        return source.query(connection, "SELECT c0 AS cell FROM file")["cell"].tolist()


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (b"Jos\xe9", "José"),
        (b"\x80 5", "€ 5"),
        (b"\x81", "\x81"),
        (b'"a, ""\xe9"""', 'a, "é"'),
        (b'"two\nlines \xe9"', "two\nlines é"),
        ("Müller".encode(), "Müller"),
    ],
)
def test_a_cell_that_is_not_utf8_changes_no_other_cell(tmp_path, name, last, expected):
    rows = b"name,x\n" + "Müller,1\nßß,2\n".encode() + last + b",3\n"
    assert cells_of(tmp_path, rows, name) == ["Müller", "ßß", expected]


def test_cells_of_one_row_are_read_each_by_itself(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("a,b\nü,".encode() + b"\xfc\n")
    domain = Domain.from_json({"a": ["x", "ü"], "b": ["x", "ü"]})
    table = open_source(path).read(domain)
    assert [column.tolist() for column in table.columns] == [[1], [1]]


def test_half_a_character_of_utf16_changes_no_other_cell(tmp_path):
    text = "\ufeffname\nMüller\nxx\n".encode("utf-16-le")
    assert cells_of(tmp_path, text.replace(b"x\0x\0", b"x\0\x00\xd8")) == ["Müller", "x\ufffd"]


def test_a_copy_in_utf8_is_removed_with_its_source(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "data").mkdir()
    assert cells_of(tmp_path / "data", b"a\n\xe9\n") == ["é"]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_file_in_utf8_is_read_without_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert cells_of(tmp_path, "a\né\n".encode()) == ["é"]


@pytest.mark.parametrize(
    ("encoding", "names"),
    [("cp932", "日付,区分"), ("mac_roman", "Größe,Mühle"), ("mac_roman", "catégorie,x")],
)
def test_names_that_look_like_another_encoding_are_refused(tmp_path, encoding, names):
    path = tmp_path / "rows.csv"
    path.write_bytes(f"{names}\n1,2\n".encode(encoding))
    with pytest.raises(DataError, match="such as Shift JIS or Mac Roman; save it as UTF-8"):
        first_lines(path)


@pytest.mark.parametrize("names", ["Größe,Straße", "catégorie,l’âge", "Œuvre,ŠKODA", "“x”,Preis €"])
def test_names_in_windows_1252_are_read(tmp_path, names):
    path = tmp_path / "rows.csv"
    path.write_bytes(f"{names}\n1,2\n".encode("cp1252"))
    assert first_lines(path)[0] == f"{names}\n"

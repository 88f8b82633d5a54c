"""The first line of a CSV file: names, or the record of a person that must not become names."""

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.headers import names_of, reads_as_record
from dpmosaic.party.sources.source import open_source

RECORDS = [
    "Anna Muster,1968-03-14,Chur,84250.00",
    "39,State-gov,77516,Bachelors,13,Never-married,2174,0,40,<=50K",
    "6,148,72,35,0,33.6,0.627,50,1",
    "5.1,3.5,1.4,0.2,Iris-setosa",
    "M,0.455,0.365",
    "'40-49',premeno,'15-19','0-2',yes,'3',right",
    "Anna,1975,Chur",
    "Anna,34,7",
    "A11,6,A34,A43,1169",
    "Anna,079 123 45 67",
    "Anna,14 Mar 1968",
    "Anna,2020-01-01T10:00:00Z",
    "Anna,12%",
    "Anna,$5.20",
    "Anna,true,Bern",
    "Anna,?,Bern",
    "Anna,1e-5",
    "Anna,-1",
]

NAMES = [
    "age,sex,income",
    "x1,x2,2nd visit,Body Mass (g)",
    "country,1990,1995,2000,2010",
    "0,1,2,3",
    "1,2,3,class",
    "index,0",
    "RI,Na,Mg,NA",
    "Größe,年齢",
    "%,#,yes,no",
]


@pytest.mark.parametrize("line", RECORDS)
def test_a_line_with_values_of_a_record_is_no_header(line):
    assert reads_as_record(line.split(","))


@pytest.mark.parametrize("line", NAMES)
def test_words_and_series_of_numbers_are_names(line):
    assert not reads_as_record(line.split(","))
    assert names_of("data.csv", line.split(","), header=None) == tuple(line.split(","))


@pytest.mark.parametrize("line", RECORDS)
def test_a_record_in_place_of_names_is_refused_without_showing_it(line):
    with pytest.raises(
        DataError, match=r"data\.csv: its first line reads as a record.*--no-header"
    ) as refusal:
        names_of("data.csv", line.split(","), header=None)
    assert not any(cell in str(refusal.value) for cell in line.split(",") if len(cell) > 1)


def test_without_a_header_columns_are_numbered(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("Anna,3\nBert,4\nAnna,4\n")
    source = open_source(path, header=False)
    assert source.columns() == ("column1", "column2")
    table = source.read(Domain.from_json({"column1": ["Anna", "Bert"], "column2": 5}))
    assert [column.tolist() for column in table.columns] == [[0, 1, 0], [3, 4, 4]]


@pytest.mark.parametrize("header", [True, False])
def test_whoever_says_what_the_first_line_is_is_believed(tmp_path, header):
    path = tmp_path / "data.csv"
    path.write_text("Anna,3\nBert,4\n")
    assert open_source(path, header=header).columns() == (("Anna", "3") if header else ("column1", "column2"))


def test_a_file_without_a_header_may_begin_with_a_mark(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("Anna,3\nBert,4\n", encoding="utf-8-sig")
    table = open_source(path, header=False).read(Domain.from_json({"column1": ["Anna", "Bert"]}))
    assert table.column("column1").tolist() == [0, 1]


@pytest.mark.parametrize("first", ['""', "", "  "])
def test_a_first_column_without_a_name_is_left_out_with_a_warning(tmp_path, first):
    path = tmp_path / "data.csv"
    path.write_text(f"{first},age,k\n1,21,a\n2,22,b\n")
    source = open_source(path)
    with pytest.warns(UserWarning, match=r"data\.csv: column 1 has no name"):
        assert source.columns() == ("age", "k")
    table = source.read(Domain.from_json({"k": ["a", "b"], "age": 99}))
    assert [column.tolist() for column in table.columns] == [[0, 1], [21, 22]]


def test_a_separator_at_the_end_of_every_line_is_no_column(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age,k,\n21,a,\n22,b,\n")
    source = open_source(path)
    with pytest.warns(UserWarning, match=r"data\.csv: column 3 has no name; .* ends each line"):
        assert source.columns() == ("age", "k")
    table = source.read(Domain.from_json({"k": ["a", "b"], "age": 99}))
    assert [column.tolist() for column in table.columns] == [[0, 1], [21, 22]]


@pytest.mark.parametrize(("line", "place"), [("a,,b", 2), (",a,", 3), ('""', 1)])
def test_another_column_without_a_name_is_named_by_its_place(tmp_path, line, place):
    path = tmp_path / "data.csv"
    path.write_text(f"{line}\n1,2,3\n")
    with pytest.raises(DataError, match=rf"data\.csv: column {place} has no name"):
        open_source(path).columns()


@pytest.mark.parametrize(
    "line",
    [
        *("age city price", "age^city", "age~city", "age¦city", "age\x1fcity", "age  city"),
        *("# exported on Monday", "#exported", "Sales of the year"),
    ],
)
def test_one_name_that_may_be_several_a_title_or_a_comment_is_refused_unless_it_is_said_to_be_one(
    tmp_path, line
):
    path = tmp_path / "data.csv"
    path.write_text(f"{line}\n1\n2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"data\.csv: expected names of columns, found one.*--header"):
        open_source(path).check_divided()
    open_source(path, header=True).check_divided()
    open_source(path, header=False).check_divided()


@pytest.mark.parametrize("line", ["age", "body_mass", "Größe", "a-b", "年齢", "full name,age"])
def test_other_names_are_columns(tmp_path, line):
    path = tmp_path / "data.csv"
    path.write_text(f"{line}\n", encoding="utf-8")
    open_source(path).check_divided()


@pytest.mark.parametrize("line", ["'age','city'", "'age'"])
def test_names_in_single_quotes_are_refused_unless_these_belong_to_them(line):
    with pytest.raises(DataError, match=r"data\.csv: expected quotes to be double ones.*--header"):
        names_of("data.csv", line.split(","), header=None)
    assert names_of("data.csv", line.split(","), header=True) == tuple(line.split(","))


def test_blank_lines_of_a_single_column_are_missing_values(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('color\nred\n""\n\nblue\n')
    table = open_source(path).read(Domain.from_json({"color": ["", "blue", "red"]}))
    assert table.column("color").tolist() == [2, 0, 0, 1]


@pytest.mark.parametrize(
    ("cells", "titled"), [(["Report", "", "", "", ""], True), (["id", "", "sex", "age"], False)]
)
def test_a_title_above_the_names_is_told_from_a_column_without_one(cells, titled):
    with pytest.raises(DataError, match="column 2 has no name") as refused:
        names_of("rows.csv", cells, header=None)
    assert ("titles and comments above the names" in str(refused.value)) is titled

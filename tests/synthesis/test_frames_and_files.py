"""Each kind of table, in and out: its kind, index, types, labels of values and missing codes."""

import datetime
import re
import warnings
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

import dpmosaic
import dpmosaic.common.files.excel
from dpmosaic.common.files.kinds import OTHER_SUFFIXES, read_other_file
from dpmosaic.common.files.labels import Labels, listed_categories
from dpmosaic.curator.results.table_format import TableFormat
from dpmosaic.synthesis.synthesize import DomainWarning

pytestmark = pytest.mark.slow
pyreadstat = pytest.importorskip("pyreadstat", reason="needs pyreadstat")

ROWS, RNG = 300, np.random.default_rng(4)
SEX = {1: "Male", 2: "Female", 4: "Diverse", 9: "Refused"}
PLAIN = pd.DataFrame(
    {
        "sex": RNG.choice(["Male", "Female", "Refused"], ROWS),
        "income": RNG.integers(100, 900, ROWS).astype(float),
        "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in RNG.integers(0, 300, ROWS)],
        "rate %": RNG.choice(["low", "high"], ROWS),
    }
)
CODED = PLAIN.assign(
    sex=PLAIN["sex"].map({text: float(code) for code, text in SEX.items()}),
    income=PLAIN["income"].where(RNG.random(ROWS) > 0.1, 98.0),
).rename(columns={"rate %": "rate"})
DOMAIN = {
    "sex": [*SEX.values()],
    "income": {"type": "numeric", "min": 0, "max": 999, "bins": 9, "integer": True, "nullable": True},
    "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
    "rate %": ["low", "high"],
}
ONE = {"rate" if name == "rate %" else name: entry for name, entry in DOMAIN.items()}


class Stream:
    """A table of another library."""

    def __arrow_c_stream__(self, requested_schema=None):
        return arrow().__arrow_c_stream__(requested_schema)


def arrow():
    return pa.Table.from_pandas(PLAIN, preserve_index=False)


def polars():
    return pytest.importorskip("polars", reason="needs polars").DataFrame(arrow())


def write_sav(path):
    labels = {"sex": SEX, "income": {98: "unknown"}}
    ranges = {"sex": [9], "income": [{"lo": 98, "hi": 99}]}
    pyreadstat.write_sav(CODED, path, variable_value_labels=labels, missing_ranges=ranges)


def write_dta(path):
    letters = CODED.assign(sex=[9 if one == 9 else int(one) for one in CODED["sex"]])
    letters["sex"] = letters["sex"].astype(object).where(letters["sex"] != 9, "a")
    labels = {"sex": {1: "Male", 2: "Female", 4: "Diverse", "a": "Refused"}}
    letters["income"] = letters["income"].where(letters["income"] != 98)
    pyreadstat.write_dta(letters, path, variable_value_labels=labels, missing_user_values={"sex": ["a"]})


FRAMES = {
    "pandas.DataFrame": lambda: PLAIN,
    "polars.DataFrame": polars,
    "pyarrow.Table": arrow,
    "duckdb.DuckDBPyRelation": lambda: duckdb.from_arrow(arrow()),
    "pyarrow.RecordBatchReader": lambda: arrow().to_reader(),
    "`__arrow_c_stream__`": Stream,
}
FILES = {
    ".csv": lambda path: PLAIN.to_csv(path, index=False),
    ".parquet": lambda path: PLAIN.to_parquet(path, index=False),
    ".feather": lambda path: feather.write_feather(arrow(), path),
    ".xlsx": lambda path: PLAIN.to_excel(path, index=False),
    ".sav": write_sav,
    ".dta": write_dta,
    ".xpt": lambda path: pyreadstat.write_xport(PLAIN.rename(columns={"rate %": "rate"}), path),
}
SURVEYS = (".sav", ".dta")

FORMATS = [one.value for one in TableFormat]
FILES_IN_FORMATS = sorted(
    {(kind, kind[1:]) for kind in FILES} | {(kind, form) for kind in (".csv", ".sav") for form in FORMATS}
)
"""Each kind of file in its own format, and two kinds in all."""


def table_of_docs():
    page = Path(dpmosaic.__file__).parent / "docs" / "frames-and-files.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return {
        cells[0]: cells for cells in ([one.strip() for one in line.strip("|").split("|")] for line in lines)
    }


def released(data, domain):
    return dpmosaic.synthesize(data, domain=domain, mechanism="independent", adjacency="zero-out", seed=3)


def source(folder, kind):
    path = folder / f"rows{kind}"
    FILES[kind](path if kind not in (*SURVEYS, ".xpt") else str(path))
    return path


def test_the_table_of_the_docs_has_every_kind_and_no_empty_cell():
    table = table_of_docs()
    head = table.pop("in")
    assert set(table) == {*FRAMES, *FILES, ".sas7bdat"}
    assert all(len(cells) == len(head) and all(cells) for cells in table.values())
    written = {cells[1].rpartition("--format ")[2] for kind, cells in table.items() if kind.startswith(".")}
    assert written == set(TableFormat)


def columns_of(rows):
    """The columns of a frame, each as a list."""
    if isinstance(rows, duckdb.DuckDBPyRelation):
        rows = rows.to_arrow_table()
    if isinstance(rows, pa.Table):
        return rows.to_pydict()
    return {name: rows[name].to_list() for name in rows.columns}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_comes_back_as_the_table_of_the_docs_says(kind):
    made = released(FRAMES[kind](), DOMAIN).table
    assert f"{type(made).__module__.partition('.')[0]}.{type(made).__name__}" == table_of_docs()[kind][1]
    columns = columns_of(made)
    assert list(columns) == list(PLAIN.columns)
    assert set(columns["sex"]) <= set(SEX.values())
    assert {len(cells) for cells in columns.values()} == {ROWS}


@pytest.mark.parametrize(("kind", "form"), FILES_IN_FORMATS)
def test_a_file_is_written_in_a_format_and_read_again(kind, form, tmp_path):
    domain = ONE if kind in (*SURVEYS, ".xpt") else DOMAIN
    release = released(source(tmp_path, kind), domain)
    assert (str(release.table["sex"].dtype) == "category") is (kind in SURVEYS)
    release.save(tmp_path / "out", form)
    loaded = dpmosaic.load(tmp_path / "out")
    assert loaded.rows.digest() == release.rows.digest()
    pd.testing.assert_frame_equal(loaded.table, release.table)


@pytest.mark.parametrize("kind", SURVEYS)
@pytest.mark.parametrize("form", ["sav", "dta"])
def test_labels_and_missing_codes_go_out_again(kind, form, tmp_path):
    release = released(source(tmp_path, kind), ONE)
    release.save(tmp_path / "out", form)
    path = str(tmp_path / "out" / f"synthetic.{form}")
    if form == "dta":
        rows, about = pyreadstat.read_dta(path, user_missing=True)
        assert about.variable_value_labels["sex"] == {1: "Male", 2: "Female", 4: "Diverse", "a": "Refused"}
        assert about.missing_user_values["sex"] == ["a"]
        refused = rows["sex"] == "a"
    else:
        rows, about = pyreadstat.read_sav(path, user_missing=True)
        code = 9.0 if kind == ".sav" else 5.0
        assert about.variable_value_labels["sex"] == {1: "Male", 2: "Female", 4: "Diverse", code: "Refused"}
        assert about.missing_ranges["sex"] == [{"lo": code, "hi": code}]
        refused = rows["sex"] == code
    assert (release.table["sex"] == "Refused").tolist() == refused.tolist()
    if (kind, form) == (".sav", "sav"):
        assert about.missing_ranges["income"] == [{"lo": 98.0, "hi": 99.0}]
        assert about.variable_value_labels["income"] == {98.0: "unknown"}
        # A number that was drawn there is no missing value.
        assert not rows["income"].isin([98.0, 99.0]).any()


def test_a_label_that_no_row_has_is_a_category_and_codes_without_one_are_other(tmp_path):
    many = pd.concat([CODED] * 20, ignore_index=True)
    many.loc[:600, "sex"] = 3.0
    path = tmp_path / "rows.sav"
    pyreadstat.write_sav(many, str(path), variable_value_labels={"sex": SEX}, missing_ranges={"sex": [9]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)
        release = dpmosaic.synthesize(path, epsilon=8.0, mechanism="independent", seed=1)
    assert release.domain["sex"].categories == ("Male", "Female", "Diverse", "Refused", "other")
    assert "3" not in set(release.table["sex"])
    draft = dpmosaic.draft(path).domain["sex"]
    assert (draft.categories, draft.other) == (("Male", "Female", "Diverse", "Refused", "other"), "other")
    release.save(tmp_path / "out", "sav")
    _, about = pyreadstat.read_sav(str(tmp_path / "out" / "synthetic.sav"))
    assert about.variable_value_labels["sex"] == {**SEX, 10: "other"}


@pytest.mark.parametrize(
    ("texts", "missing", "categories"),
    [
        ({1: "yes", 2: "no", 9: "unknown"}, (), ("yes", "no", "unknown")),
        ({9: "refused", 2: "no", 1: "yes"}, ((9, 9),), ("yes", "no", "refused")),
        ({1: "never", 5: "always"}, (), ("never", "2", "3", "4", "always")),
        ({0: "none", 99: "99 and more"}, (), ()),
        ({98: "unknown", 99: "refused"}, ((98, 99),), ()),
        ({1: "other", 2: "other", 3: " "}, (), ("other", "other (2)", "3")),
        ({"m": "man", "w": "woman"}, (), ("man", "woman")),
        ({1: "yes", 2: "no", "a": "refused"}, (("a", "a"),), ("yes", "no", "refused")),
    ],
)
def test_the_dictionary_alone_says_which_categories_a_column_has(texts, missing, categories):
    labels = Labels(texts, missing)
    assert listed_categories({"x": labels}).get("x", ()) == categories
    assert Labels.from_json(labels.to_json()) == labels


@pytest.mark.parametrize("suffix", OTHER_SUFFIXES)
def test_refuses_a_damaged_file_and_says_nothing_of_what_stands_in_it(suffix, tmp_path):
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(b"a private value" * 100)
    with pytest.raises(dpmosaic.DataError, match=r"expected a file of the kind") as refused:
        read_other_file(path)
    assert "private" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_csv_of_any_encoding_and_separator_with_decimal_commas_is_read(encoding, separator, tmp_path):
    path = tmp_path / "rows.csv"
    rows = pd.DataFrame({"größe": [f"{k / 10:.1f}".replace(".", ",") for k in range(300)], "ort": "Köln"})
    rows.to_csv(path, sep=separator, encoding=encoding, index=False)
    draft = dpmosaic.draft(path).domain
    assert (draft["größe"].minimum, draft["ort"].categories) == (0.0, ("Köln",))


def excel(path, *sheets):
    with pd.ExcelWriter(path) as writer:
        for place, rows in enumerate(sheets):
            rows.to_excel(writer, sheet_name=f"sheet{place}", index=False)
    return path


def test_the_only_sheet_with_cells_is_read_wherever_it_is(tmp_path):
    path = excel(tmp_path / "rows.xlsx", pd.DataFrame(), PLAIN[["sex"]], pd.DataFrame())
    assert read_other_file(path).rows.column("sex").to_pylist() == PLAIN["sex"].tolist()


def test_refuses_several_sheets_with_cells(tmp_path):
    path = excel(tmp_path / "rows.xlsx", pd.DataFrame({"see the next sheet": []}), PLAIN)
    with pytest.raises(dpmosaic.DataError, match="expected one sheet with cells, found 2"):
        read_other_file(path)


def test_refuses_a_title_or_notes_beside_the_table(tmp_path):
    title = excel(
        tmp_path / "title.xlsx", pd.DataFrame([["sex", "age"], ["f", 30]], columns=["Ward 7", None])
    )
    beside = excel(
        tmp_path / "beside.xlsx", pd.DataFrame([["f", None, "see below"]], columns=["sex", None, None])
    )
    for path in (title, beside):
        with pytest.raises(dpmosaic.DataError, match="no cells beyond the columns") as refused:
            read_other_file(path)
        assert "age" not in str(refused.value)
        assert "below" not in str(refused.value)


def test_refuses_names_in_merged_cells(tmp_path):
    path = excel(tmp_path / "rows.xlsx", pd.DataFrame([["sex", "age"], ["f", 30]], columns=[None, "person"]))
    with pytest.raises(dpmosaic.DataError, match="without merged cells"):
        read_other_file(path)


def with_sheet(path, old, new):
    """An Excel file in whose sheet the first match of a pattern is replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet], changed = re.subn(old, new, parts[sheet].decode(), count=1)
    assert changed
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return path


@pytest.mark.parametrize("size", ["A1", "A1:XFD1048576"])
def test_the_cells_of_a_sheet_are_read_whatever_it_says_of_its_size(size, tmp_path):
    path = excel(tmp_path / "rows.xlsx", PLAIN[["sex", "rate %"]])
    found = read_other_file(with_sheet(path, 'dimension ref="[A-Z0-9:]+"', f'dimension ref="{size}"')).rows
    assert found.column("rate %").to_pylist() == PLAIN["rate %"].tolist()


@pytest.mark.parametrize(
    "far", ['<row r="999999999999"></row>', '<row r="302"><c r="ZZ302"><v>1</v></c></row>']
)
def test_refuses_cells_so_far_away_that_too_many_are_before_them(far, tmp_path, monkeypatch):
    monkeypatch.setattr(dpmosaic.common.files.excel, "_MOST_PLACES", 3 * ROWS)
    path = with_sheet(excel(tmp_path / "rows.xlsx", PLAIN[["sex"]]), "</sheetData>", f"{far}</sheetData>")
    with pytest.raises(dpmosaic.DataError, match=r"rows\.xlsx: expected at most 900 cells"):
        read_other_file(path)


ASKED = {
    "a domain": {"domain": {"age": {"type": "numeric", "min": 0, "max": 99, "bins": 5}}},
    "none": {"anyway": True},
    "a key": {"key": "id", "domain": {"age": {"type": "numeric", "min": 0, "max": 99, "bins": 5}}},
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_query_that_gives_other_rows_each_time_is_run_once(tmp_path, asked):
    counted = []

    def count(number):
        counted.append(number)
        return number

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.create_function("counted", count, ["BIGINT"], "BIGINT", side_effects=True)
        rows = connection.sql(
            "SELECT range AS id, counted(range) % 90 AS age FROM range(2000) WHERE random() < 0.5"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dpmosaic.MosaicWarning)
            dpmosaic.synthesize(
                rows,
                mechanism="independent",
                ledger=tmp_path / "ledger",
                out=tmp_path / "release",
                **ASKED[asked],
            )
    assert 800 < len(counted) < 1200


@pytest.mark.parametrize("table_format", FORMATS)
def test_no_character_of_a_category_ends_the_writing_of_a_table(tmp_path, table_format):
    odd = [f"a{chr(code)}" for code in (*range(1, 33), 0x7F, 0x85, 0x2028, 0xFDD0, 0xFFFE, 0xFFFF, 0x10FFFF)]
    rows = pd.DataFrame({"text": odd * 50})
    release = dpmosaic.synthesize(
        rows, 100.0, domain={"text": odd}, mechanism="independent", ledger=False, seed=1
    )
    release.save(tmp_path / "release", table_format)
    assert (tmp_path / "release" / f"synthetic.{table_format}").stat().st_size


ALIKE = [
    ["a.b", "a_b", "a b"],
    ["a", "A", "a_2"],
    ["x" * 40, "x" * 32, "x" * 39 + "y"],
    ["1", "v1", "_1"],
    ["é", "_", "v_"],
    ["I", "ı", "i"],
]


@pytest.mark.parametrize("table_format", FORMATS)
@pytest.mark.parametrize("names", ALIKE, ids=" ".join)
def test_names_that_a_format_writes_alike_come_back_whatever_their_order(tmp_path, names, table_format):
    for place in range(len(names)):
        turned = [*names[place:], *names[:place]]
        rows = pd.DataFrame([[f"c{names.index(name)}" for name in turned]] * 50, columns=turned)
        release = dpmosaic.synthesize(
            rows,
            50.0,
            domain={name: [f"c{place}"] for place, name in enumerate(names)},
            mechanism="independent",
            ledger=False,
            seed=1,
        )
        release.save(tmp_path / str(place), table_format)
        held = dpmosaic.load(tmp_path / str(place)).table
        assert [*held.columns] == turned
        assert {name: {*held[name]} for name in names} == {
            name: {f"c{place}"} for place, name in enumerate(names)
        }

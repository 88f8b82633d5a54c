"""The same text goes out as came in: tables of every kind, and what comes back with a stated domain."""

import csv
import re

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpmosaic
from dpmosaic.simulations.tables.arrow_tables import data_frame

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(11)
ROWS = 200
DAYS = pd.Series(np.datetime64("2020-01-01") + RNG.integers(0, 366, ROWS))
MONEY = RNG.integers(100, 200_000, ROWS) / 100


def comma(number):
    return f"{number:.1f}".replace(".", ",")


USUAL = {"str": str(pd.Series(["text"]).dtype)}
"""What pandas makes of texts: `str`, or `object` before pandas 3."""

COLUMNS = {
    "z_last": (RNG.choice(["b", "a"], ROWS), ["a", "b"], "[ab]", "str"),
    "ok": (
        RNG.choice(["true", "false"], ROWS),
        {"type": "boolean", "true": ["true"], "false": ["false"]},
        *("true|false", "bool"),
    ),
    "shout": (
        RNG.choice(["TRUE", "FALSE"], ROWS),
        {"type": "boolean", "true": ["TRUE"], "false": ["FALSE"]},
        *("TRUE|FALSE", "bool"),
    ),
    "plain": (RNG.choice(["True", "False"], ROWS), {"type": "boolean"}, "True|False", "bool"),
    "paid": (
        RNG.choice(["yes", "no"], ROWS),
        {"type": "boolean", "true": ["yes"], "false": ["no"]},
        *("yes|no", "str"),
    ),
    "smokes": (
        RNG.choice(["Y", "N", ""], ROWS),
        {"type": "boolean", "true": ["Y"], "false": ["N"], "nullable": True},
        *("Y|N|", "str"),
    ),
    "flag": (
        RNG.choice(["1", "0"], ROWS),
        {"type": "boolean", "true": [1], "false": [0]},
        *("[01]", "int64"),
    ),
    "day_first": (
        DAYS.dt.strftime("%d/%m/%Y"),
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "format": "%d/%m/%Y"},
        *("[0-3][0-9]/[01][0-9]/2020", "str"),
    ),
    "day": (
        DAYS.dt.strftime("%Y-%m-%d"),
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
        *("2020-[01][0-9]-[0-3][0-9]", "datetime64[us]"),
    ),
    "time": (
        DAYS.dt.strftime("%Y-%m-%dT%H:%M:%S"),
        {"type": "timestamp", "min": "2020-01-01", "max": "2020-12-31T23:59:59", "bins": 4},
        *("2020-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]", "datetime64[us]"),
    ),
    "short_year": (
        DAYS.dt.strftime("%m/%d/%y"),
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "format": "%m/%d/%y"},
        *("[01][0-9]/[0-3][0-9]/20", "str"),
    ),
    "no_zeros": (
        DAYS.dt.strftime("%-d.%-m.%Y"),
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "format": "%-d.%-m.%Y"},
        *(r"[1-9][0-9]?\.[1-9][0-9]?\.2020", "str"),
    ),
    "digits": (
        DAYS.dt.strftime("%Y%m%d"),
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "format": "%Y%m%d"},
        *("2020[01][0-9][0-3][0-9]", "int64"),
    ),
    "code": (RNG.choice(["007", "010"], ROWS), ["007", "010", "1"], "007|010|1", "str"),
    "fee": (
        [f"${one:,.2f}" for one in MONEY],
        {"type": "numeric", "min": 0, "max": 2000, "bins": 4, "decimals": 2, "format": "${:,.2f}"},
        *(r"\$([0-9],)?[0-9]{1,3}\.[0-9]{2}", "str"),
    ),
    "price": (
        [f"{one:.2f}" for one in MONEY],
        {"type": "numeric", "min": 0, "max": 2000, "bins": 4, "decimals": 2, "format": "{:.2f}"},
        *(r"[0-9]+\.[0-9]{2}", "float64"),
    ),
    "degrees": (
        [comma(one) for one in RNG.integers(0, 400, ROWS) / 10],
        {"type": "numeric", "min": 0, "max": 40, "bins": 4, "decimals": 1, "format": "{,.1f}"},
        *("[0-9]+,[0-9]", "str"),
    ),
    "share": (
        [f"{one}%" for one in RNG.integers(0, 100, ROWS)],
        {"type": "numeric", "min": 0, "max": 100, "bins": 4, "integer": True, "format": "{}%"},
        *("[0-9]+%", "str"),
    ),
    "age": (
        RNG.integers(18, 90, ROWS).astype(str),
        {"type": "numeric", "min": 0, "max": 99, "bins": 4, "integer": True},
        *("[0-9]+", "int64"),
    ),
    "visits": (
        RNG.choice(["", "3", "5"], ROWS),
        {"type": "numeric", "min": 0, "max": 9, "bins": 10, "integer": True, "nullable": True},
        *("[0-9]?", "Int64"),
    ),
    "weight": (
        (RNG.integers(400, 900, ROWS) / 10).astype(str),
        {"type": "numeric", "min": 0, "max": 100, "bins": 4, "decimals": 1},
        *(r"[0-9]+\.[0-9]", "float64"),
    ),
    "grade": (
        RNG.choice(["low", "high"], ROWS),
        {"type": "categorical", "categories": ["low", "high"], "ordered": True},
        *("low|high", "category"),
    ),
    "a_first": (
        RNG.choice(['say "hi"', "a, b", ""], ROWS),
        ["", "a, b", 'say "hi"'],
        '|a, b|say "hi"',
        "str",
    ),
}
"""Name -> cells as texts, entry of the domain, what a cell of the CSV looks like, and the type in a table."""

TEXTS = pd.DataFrame({name: list(cells) for name, (cells, *_) in COLUMNS.items()})
DOMAIN = {name: entry for name, (_, entry, *_) in reversed(COLUMNS.items())}
"""In another order than the columns."""

SHAPES = {name: shape for name, (*_, shape, _) in COLUMNS.items()}
KINDS = {name: kind for name, (*_, kind) in COLUMNS.items()}


def as_csv(folder, name="rows.csv", **options):
    TEXTS.to_csv(folder / name, index=False, **options)
    return folder / name


def as_parquet(folder, rows=TEXTS):
    rows.to_parquet(folder / "rows.parquet", index=False)
    return folder / "rows.parquet"


def typed():
    """The rows with the types that pandas gives them."""
    kinds = {name: kind for name, kind in KINDS.items() if kind not in ("str", "bool")}
    rows = TEXTS.replace("", None).assign(
        **{name: TEXTS[name].str.lower() == "true" for name in KINDS if KINDS[name] == "bool"}
    )
    return rows.astype(kinds)


def as_excel(folder):
    """What pandas reads of a sheet; a party's rows and the commands do not come as one."""
    pytest.importorskip("openpyxl", reason="needs openpyxl")
    typed().to_excel(folder / "rows.xlsx", index=False)
    return pd.read_excel(folder / "rows.xlsx", dtype={"code": str})


INPUTS = {
    "csv": as_csv,
    "semicolons": lambda folder: as_csv(folder, sep=";"),
    "gz": lambda folder: as_csv(folder, "rows.csv.gz"),
    "mark": lambda folder: as_csv(folder, encoding="utf-8-sig"),
    "utf-16": lambda folder: as_csv(folder, encoding="utf-16"),
    "parquet of texts": as_parquet,
    "parquet": lambda folder: as_parquet(folder, typed()),
    "excel": as_excel,
    "objects": lambda _: TEXTS.astype(object),
    "texts": lambda _: TEXTS,
    "types": lambda _: typed(),
}
"""Files, and frames of pandas with its usual types, all of which give these."""

ARROW = {
    **{"str": "string[pyarrow]", "int64": "int64[pyarrow]", "Int64": "int64[pyarrow]"},
    **{"float64": "double[pyarrow]", "bool": "bool[pyarrow]"},
    **{"day": "date32[day][pyarrow]", "time": "timestamp[us][pyarrow]"},
}
PYARROW = {
    **{"str": "string", "int64": "int64", "Int64": "int64", "float64": "double", "bool": "bool"},
    **{"day": "date32[day]", "time": "timestamp[us]"},
    "grade": "dictionary",
}
POLARS = {
    **{"str": "String", "int64": "Int64", "Int64": "Int64", "float64": "Float64", "bool": "Boolean"},
    **{"day": "Date", "time": "Datetime(time_unit='us', time_zone=None)"},
    "grade": "Enum(categories=['low', 'high'])",
}
STORED = {
    "nullable": (
        lambda: TEXTS.astype("string"),
        {"str": "string", "int64": "Int64", "float64": "Float64", "bool": "boolean"},
    ),
    "category": (
        lambda: TEXTS.astype("category"),
        {"z_last": "category", "code": "category", "a_first": "category"},
    ),
    "arrow": (lambda: TEXTS.astype(pd.ArrowDtype(pa.string())), ARROW),
    "typed arrow": (lambda: typed().convert_dtypes(dtype_backend="pyarrow"), ARROW),
    "pyarrow": (lambda: pa.Table.from_pandas(TEXTS, preserve_index=False), PYARROW),
    "typed pyarrow": (lambda: pa.Table.from_pandas(typed(), preserve_index=False), PYARROW),
    "polars": (lambda: polars().DataFrame(pa.Table.from_pandas(TEXTS)), POLARS),
    "typed polars": (lambda: polars().DataFrame(pa.Table.from_pandas(typed())), POLARS),
}
"""Kind of frame -> how one is made, and the types by name, or by the name of the type in KINDS."""

PANDAS = ("nullable", "category", "arrow", "typed arrow")


def polars():
    return pytest.importorskip("polars", reason="needs polars")


def values(rows):
    """Cells without their types, for which pandas 2 has two missing values."""
    return rows.astype(object).where(rows.notna(), None)


def expected(kinds):
    """The types by name, where some are of others by name or by their own."""
    return {name: kinds.get(name, kinds.get(one, one)) for name, one in KINDS.items()}


def kinds_of(rows):
    """The types of a frame by name, as texts."""
    if isinstance(rows, pd.DataFrame):
        return {name: str(kind) for name, kind in rows.dtypes.items()}
    if isinstance(rows, pa.Table):
        return {field.name: str(field.type).partition("<")[0] for field in rows.schema}
    return {name: str(kind) for name, kind in rows.schema.items()}


def release_of(data):
    return dpmosaic.synthesize(
        data, domain=DOMAIN, mechanism="independent", epsilon=5.0, seed=2, adjacency="zero-out"
    )


def cells_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, zip(*rows, strict=True), strict=True))


def test_the_cells_of_the_inputs_look_as_the_table_says():
    for name, cells in TEXTS.items():
        assert all(re.fullmatch(SHAPES[name], cell) for cell in cells), name


@pytest.mark.parametrize("kind", INPUTS)
def test_columns_come_back_in_order_in_their_spelling_and_with_their_types(kind, tmp_path):
    release = release_of(INPUTS[kind](tmp_path))
    assert list(release.table) == list(TEXTS)
    assert kinds_of(release.table) == expected(USUAL)
    release.save(tmp_path / "out")
    cells = cells_of(tmp_path / "out" / "synthetic.csv")
    assert list(cells) == list(TEXTS)
    for name, texts in cells.items():
        assert all(re.fullmatch(SHAPES[name], text) for text in texts), name
    pd.testing.assert_frame_equal(dpmosaic.load(tmp_path / "out").table, release.table)


def in_two(rows, folder, as_files):
    """People, each with one row of another table, all of whose columns but keys are these."""
    keyed = rows.assign(id=np.arange(ROWS))
    if not as_files:
        return {"people": keyed, "rows": keyed}
    for name in ("people", "rows"):
        keyed.to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in ("people", "rows")}


@pytest.mark.parametrize("kind", ["files", "types"])
def test_related_tables_come_back_in_the_spelling_of_one_table(kind, tmp_path):
    release = dpmosaic.synthesize(
        in_two(TEXTS if kind == "files" else typed(), tmp_path, kind == "files"),
        relations={"rows": {"id": "people"}},
        domain={"people": DOMAIN, "rows": DOMAIN},
        mechanism="independent",
        epsilon=20.0,
        seed=2,
    )
    release.save(tmp_path / "out")
    loaded = dpmosaic.load_people(tmp_path / "out")
    for name, rows in release.tables.items():
        assert kinds_of(rows) == expected(USUAL) | {"id": "int64"}
        cells = cells_of(tmp_path / "out" / "tables" / f"{name}.csv")
        assert list(cells) == [*TEXTS, "id"]
        for column, shape in SHAPES.items():
            assert all(re.fullmatch(shape, text) for text in cells[column]), column
        pd.testing.assert_frame_equal(loaded.tables[name], rows)


@pytest.mark.parametrize("kind", STORED)
def test_the_same_kind_of_frame_comes_back_and_columns_are_stored_as_they_were(kind, tmp_path):
    make, kinds = STORED[kind]
    data = make()
    release = release_of(data)
    for rows in (release.table, release.generate(5), release.copies(2)[0]):
        assert type(rows) is type(data)
        assert kinds_of(rows) == expected(USUAL | kinds)
    if kind == "category":
        assert list(release.table["code"].dtype.categories) == ["007", "010", "1"]
    assert dpmosaic.evaluate(data, release.table, domain=release.domain).records == (ROWS, ROWS)
    release.save(tmp_path)
    loaded = dpmosaic.load(tmp_path)
    # A folder does not say whose frame the table was; it is one of pandas, with the types of Arrow.
    pd.testing.assert_frame_equal(loaded.table, data_frame(release.table), check_dtype=kind in PANDAS)
    pd.testing.assert_frame_equal(
        loaded.generate(5, seed=1), data_frame(release.generate(5, seed=1)), check_dtype=kind in PANDAS
    )


@pytest.mark.parametrize("kind", PANDAS)
def test_a_folder_says_how_columns_of_pandas_are_stored(kind, tmp_path):
    release = release_of(STORED[kind][0]())
    release.save(tmp_path, "parquet")
    pd.testing.assert_frame_equal(dpmosaic.load(tmp_path).table, release.table)


def test_a_csv_of_a_release_is_read_by_pandas_with_the_types_of_its_table(tmp_path):
    release = release_of(TEXTS)
    release.save(tmp_path)
    read = pd.read_csv(tmp_path / "synthetic.csv", dtype={"code": str}, parse_dates=["day", "time"])
    # pandas reads whole numbers with missing ones as float64, no order of categories, and before version 3
    # times of nanoseconds.
    other = ("visits", "grade", "day", "time")
    read = read.astype({name: release.table[name].dtype for name in other})
    assert kinds_of(read) == kinds_of(release.table)
    pd.testing.assert_frame_equal(values(read), values(release.table))


def test_the_spelling_of_a_draft_is_that_of_its_rows(tmp_path):
    draft = dpmosaic.draft(as_csv(tmp_path)).domain
    for name in ("ok", "shout", "paid", "smokes"):
        assert (draft[name].true, draft[name].false) == (
            tuple(DOMAIN[name]["true"]),
            tuple(DOMAIN[name]["false"]),
        )
    for name in ("day_first", "fee", "price", "degrees", "share"):
        assert draft[name].to_json()["format"] == DOMAIN[name]["format"]


@pytest.mark.parametrize("name", ["synthesize", "encode", "draft"])
def test_tables_that_arrow_can_read_are_data_frames(name):
    class Other:
        """A table of another library, such as Polars."""

        def __arrow_c_stream__(self, requested_schema=None):
            return pa.Table.from_pandas(TEXTS, preserve_index=False).__arrow_c_stream__(requested_schema)

    match name:
        case "synthesize":
            assert list(release_of(Other()).table) == list(TEXTS)
        case "encode":
            assert dpmosaic.encode(Other(), DOMAIN).digest() == dpmosaic.encode(TEXTS, DOMAIN).digest()
        case _:
            assert dpmosaic.draft(Other()).domain == dpmosaic.draft(TEXTS).domain


def test_a_named_index_is_a_column_and_comes_back_and_another_one_is_numbered_anew(tmp_path):
    domain = {"z_last": ["a", "b"], "code": ["007", "010", "1"]}
    rows = TEXTS[["z_last", "code"]]
    release = dpmosaic.synthesize(rows.set_index("code"), domain=domain, adjacency="zero-out")
    assert (release.table.index.name, list(release.table)) == ("code", ["z_last"])
    assert set(release.table.index) <= {"007", "010", "1"}
    release.save(tmp_path)
    pd.testing.assert_frame_equal(dpmosaic.load(tmp_path).table, release.table)
    several = dpmosaic.synthesize(rows.set_index(["code", "z_last"]), domain=domain, adjacency="zero-out")
    assert several.table.index.names == ["code", "z_last"]
    other = dpmosaic.synthesize(
        rows.rename_axis("person"), domain={"z_last": ["a", "b"]}, adjacency="zero-out"
    )
    assert other.table.index.equals(pd.RangeIndex(ROWS))
    assert other.table.index.name == "person"
    with pytest.warns(UserWarning, match="the index has no name and is not released"):
        dpmosaic.encode(rows.set_axis(DAYS), domain)


def test_a_relation_of_duckdb_comes_back_as_one_and_a_stream_is_read_once():
    domain = {"z_last": ["a", "b"]}
    table = pa.Table.from_pandas(TEXTS[["z_last"]], preserve_index=False)
    release = dpmosaic.synthesize(duckdb.from_arrow(table), domain=domain, adjacency="zero-out")
    assert isinstance(release.table, duckdb.DuckDBPyRelation)
    assert release.table.columns == ["z_last"]
    assert release.generate(7, seed=1).fetchall() == release.generate(7, seed=1).fetchall()
    stream = dpmosaic.synthesize(table.to_reader(), domain=domain, adjacency="zero-out")
    assert isinstance(stream.table, pa.Table)
    assert len(stream.table) == ROWS

"""Tables of every type: from a data frame through Parquet or CSV to a synthetic table and back."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.results.columns.typed import typed_values
from dpmosaic.curator.results.frames import typed_frame
from dpmosaic.curator.results.outputs import write_table
from dpmosaic.curator.results.row_values import decode_rows, spelled_column
from dpmosaic.curator.results.table_format import TableFile
from dpmosaic.party.sources.source import read_table
from support.kinds import tables

ZONE = "Europe/Berlin"
DAYS = [dt.date(2020, 2, 29), dt.date(1969, 12, 31), None, dt.date(2020, 2, 29)]
TIMES = pd.to_datetime(["2020-02-29 23:30:15", "1969-12-31 00:00:01", None, "2020-07-01 12:00:00"])

ROWS = pd.DataFrame(
    {
        "int8": pd.Series([-128, 127, 0, 5], dtype="int8"),
        "int16": pd.Series([-300, 300, 0, 5], dtype="int16"),
        "int32": pd.Series([-70000, 70000, 0, 5], dtype="int32"),
        "int64": pd.Series([-(2**40), 2**40, 0, 5], dtype="int64"),
        "uint8": pd.Series([255, 0, 1, 5], dtype="uint8"),
        "uint64": pd.Series([2**40, 0, 1, 5], dtype="uint64"),
        "whole": pd.Series([1, 2, None, 5], dtype="Int64"),
        "float32": pd.Series([0.1, 0.7, None, 2.5], dtype="float32"),
        "float64": pd.Series([0.1, 1e-7, None, 0.3]),
        "decimal": [decimal.Decimal("1.10"), decimal.Decimal("0.05"), None, decimal.Decimal("99.99")],
        "flag": [True, False, True, False],
        "answer": pd.Series([True, False, None, True], dtype="boolean"),
        "day": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
        "time": TIMES.astype("datetime64[us]"),
        "there": TIMES.astype("datetime64[us]").tz_localize(ZONE),
        "text": pd.Series(["a,b", 'say "c"', None, "ü"], dtype=object),
        "size": pd.Categorical(["S", "L", None, "M"], ["S", "M", "L"], ordered=True),
        "level": pd.Series([3, 1, None, 2], dtype="Int64"),
    }
)
"""A column of each type, with a missing value where the type has one."""


def atoms(*values, nullable=True, **more):
    bounds = {"min": min(values), "max": max(values), "bins": 1}
    return {"type": "numeric", **bounds, "nullable": nullable, "atoms": sorted(values)} | more


DOMAIN = Domain.from_json(
    {
        "int8": atoms(-128, 127, 0, 5, nullable=False, integer=True),
        "int16": atoms(-300, 300, 0, 5, nullable=False, integer=True),
        "int32": atoms(-70000, 70000, 0, 5, nullable=False, integer=True),
        "int64": atoms(-(2**40), 2**40, 0, 5, nullable=False, integer=True),
        "uint8": atoms(255, 0, 1, 5, nullable=False, integer=True),
        "uint64": atoms(2**40, 0, 1, 5, nullable=False, integer=True),
        "whole": atoms(1, 2, 5, integer=True),
        "float32": atoms(0.1, 0.7, 2.5),
        "float64": atoms(0.1, 1e-7, 0.3),
        "decimal": atoms(1.1, 0.05, 99.99),
        "flag": {"type": "boolean"},
        "answer": {"type": "boolean", "nullable": True, "true": ["Y"], "false": ["N"]},
        "day": {
            "type": "date",
            "min": "1960-01-01",
            "max": "2029-12-31",
            "nullable": True,
            "format": "%d.%m.%Y",
        },
        "time": {
            "type": "timestamp",
            "edges": ["1960-01-01", "2029-12-31"],
            "atoms": ["1969-12-31T00:00:01", "2020-02-29T23:30:15", "2020-07-01T12:00:00"],
            "nullable": True,
        },
        "there": {
            "type": "timestamp",
            "edges": ["1960-01-01", "2029-12-31"],
            "atoms": ["1969-12-31T00:00:01", "2020-02-29T23:30:15", "2020-07-01T12:00:00"],
            "nullable": True,
            "timezone": ZONE,
        },
        "text": ["", "a,b", 'say "c"', "ü"],
        "size": {"type": "categorical", "categories": ["S", "M", "L", ""], "ordered": True},
        "level": ["", 1, 2, 3],
    }
)
"""Every value of `ROWS` has a code of its own."""

NAMES = DOMAIN.names


def text_rows():
    """The same rows as somebody would have exported them as text."""
    rows = ROWS.copy()
    rows["answer"] = rows["answer"].map({True: "Y", False: "N"})
    rows["day"] = [None if day is None else day.strftime("%d.%m.%Y") for day in DAYS]
    rows["there"] = [None if pd.isna(time) else time.isoformat() for time in rows["there"]]
    return rows


def rng():
    return np.random.default_rng(0)


def spelled_rows(domain, values, names):
    return pd.DataFrame({name: spelled_column(domain, name, values[name]) for name in names})


@pytest.mark.slow
def test_a_data_frame_comes_back_from_parquet_with_types_nulls_and_values(tmp_path):
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    table = read_table(tmp_path / "rows.parquet", DOMAIN)
    typed_frame(table, NAMES, rng()).to_parquet(tmp_path / "synthetic.parquet", index=False)
    back = pd.read_parquet(tmp_path / "synthetic.parquet")
    # Numbers come back as the widest of their kind, decimals as floats.
    wide = {name: "int64" for name in ROWS if "int" in name} | {"float32": "float64", "decimal": "float64"}
    expected = ROWS.assign(float32=ROWS["float32"].astype(str)).astype(wide)
    pd.testing.assert_frame_equal(back[[*wide]], expected[[*wide]], check_exact=True)
    same = [name for name in NAMES if name not in (*wide, "day", "text")]
    pd.testing.assert_frame_equal(back[same], ROWS[same], check_exact=True)
    for name in ("day", "text"):
        cells = pq.read_table(tmp_path / "synthetic.parquet").column(name)
        assert cells.to_pylist() == pa.array(ROWS[name], from_pandas=True).to_pylist()
    kinds = {field.name: str(field.type) for field in pq.read_schema(tmp_path / "synthetic.parquet")}
    assert kinds["day"] == "date32[day]"
    assert kinds["time"] == "timestamp[us]"
    assert kinds["there"] == f"timestamp[us, tz={ZONE}]"
    assert kinds["size"].startswith("dictionary<values=")
    assert (kinds["whole"], kinds["level"], kinds["answer"]) == ("int64", "int64", "bool")
    assert read_table(tmp_path / "synthetic.parquet", DOMAIN).digest() == table.digest()


def test_a_csv_comes_back_as_it_was_to_the_letter(tmp_path):
    text_rows().to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv", DOMAIN)
    spelled_rows(DOMAIN, decode_rows(table, rng()), NAMES).to_csv(tmp_path / "synthetic.csv", index=False)
    cells = [
        pd.read_csv(tmp_path / name, dtype=str, keep_default_na=False)
        for name in ("rows.csv", "synthetic.csv")
    ]
    cells[0]["time"] = cells[0]["time"].str.replace(" ", "T")
    cells[0]["decimal"] = cells[0]["decimal"].str.replace("1.10", "1.1")
    pd.testing.assert_frame_equal(*cells)


def test_parquet_and_csv_of_the_same_rows_have_the_same_codes(tmp_path):
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    text_rows().to_csv(tmp_path / "rows.csv", index=False)
    tables = [read_table(tmp_path / name, DOMAIN) for name in ("rows.parquet", "rows.csv")]
    assert tables[0].digest() == tables[1].digest()


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_instants_are_read_alike_on_machines_of_any_time_zone(tmp_path, monkeypatch, zone):
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    expected = read_table(tmp_path / "rows.parquet", DOMAIN.project(["there"])).digest()
    monkeypatch.setenv("TZ", zone)
    assert read_table(tmp_path / "rows.parquet", DOMAIN.project(["there"])).digest() == expected
    listed = Domain.from_json(
        {"there": ["", "2020-02-29 22:30:15+00", "1969-12-30 23:00:01+00", "2020-07-01 10:00:00+00"]}
    )
    assert read_table(tmp_path / "rows.parquet", listed).column("there").tolist() == [1, 2, 0, 3]


def test_arrow_types_that_pandas_lacks_are_read(tmp_path):
    columns = {
        "seconds": pa.array([0, None], pa.timestamp("s")),
        "nanoseconds": pa.array([1_000_000_000, None], pa.timestamp("ns")),
        "wide": pa.array([dt.date(1970, 1, 1), None], pa.date64()),
        "named": pa.array(["x", None]).dictionary_encode(),
        "exact": pa.array([decimal.Decimal("0.10"), None], pa.decimal128(38, 2)),
        "half": pa.array(np.array([0.5, 0.25], dtype=np.float16)).cast(pa.float32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    epoch = {"type": "timestamp", "min": "1970-01-01", "max": "1970-01-01T00:00:01", "nullable": True}
    domain = Domain.from_json(
        {
            "seconds": epoch,
            "nanoseconds": epoch,
            "wide": {"type": "date", "min": "1970-01-01", "max": "1970-01-02", "nullable": True},
            "named": ["x", ""],
            "exact": atoms(0.1, 0.2),
            "half": atoms(0.5, 0.25),
        }
    )
    table = read_table(tmp_path / "rows.parquet", domain)
    assert [column.tolist() for column in table.columns] == [[0, 2], [1, 2], [0, 2], [0, 1], [0, 3], [2, 0]]


def test_identifiers_are_drawn_anew_and_written_where_the_columns_say(tmp_path):
    form = {
        "id": {"type": "identifier", "pattern": "P-{:04d}"},
        "code": 3,
        "number": {"type": "identifier", "pattern": "{:d}"},
    }
    domain = Domain.from_json(form)
    assert (domain.names, domain.columns) == (("code",), ("id", "number", "code"))
    table = Table.from_codes(domain, {"code": np.array([2, 0])})
    values = decode_rows(table, rng())
    for rows in (
        typed_values(domain, values, list(form)),
        spelled_rows(domain, values, list(form)),
    ):
        assert rows.to_dict("list") == {"id": ["P-0001", "P-0002"], "code": [2, 0], "number": [1, 2]}
        assert rows["number"].dtype == "int64"


@pytest.mark.slow
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(tables(most=3, zones=["UTC"]))
def test_random_tables_of_all_kinds_come_back_from_either_file(tmp_path_factory, drawn):
    domain, columns, generator = drawn
    folder = tmp_path_factory.mktemp("files")
    table = Table.from_codes(domain, columns)
    typed_frame(table, domain.names, generator).to_parquet(folder / "rows.parquet", index=False)
    path = folder / "rows.csv"
    write_table(path, table, generator, domain.names, TableFile())
    for name in ("rows.parquet", "rows.csv"):
        back = read_table(folder / name, domain)
        for attribute, column in zip(domain.attributes, table.columns, strict=True):
            assert np.array_equal(back.column(attribute.name), column), (name, attribute)

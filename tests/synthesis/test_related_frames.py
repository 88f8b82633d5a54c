"""Files of related tables as data frames: each text once, and read as a data frame of the same cells is."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.results.keys import keys_as_texts
from dpmosaic.curator.results.raw_frames import encode_frame
from dpmosaic.synthesis.related.frames import frame_of, with_texts
from dpmosaic.synthesis.related.keyed import read_keyed

ROWS = pd.DataFrame(
    {
        "id": ["7", "8", "7", "9"],
        "kind": ["a", None, "b", "a"],
        "n": [1.5, 2.0, np.nan, 4.25],
        "day": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"]),
    }
)
DOMAIN = Domain.from_json(
    {
        "kind": ["a", "b", ""],
        "n": {"type": "numeric", "min": 0, "max": 5, "bins": 5, "nullable": True},
        "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12},
    }
)


@pytest.fixture(params=["csv", "csv.gz", "parquet"])
def read(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    ROWS.to_parquet(path) if request.param == "parquet" else ROWS.to_csv(path, index=False)
    return frame_of("rows", path)[0]


def test_columns_are_in_the_order_of_the_file(read):
    assert list(read) == list(ROWS)
    assert len(read) == len(ROWS)


def test_texts_are_held_once(read):
    assert isinstance(read["kind"].dtype, pd.CategoricalDtype)
    assert set(read["kind"].cat.categories) == {"a", "b"}


def test_rows_of_a_file_have_the_codes_of_those_of_a_data_frame(read):
    found, expected = encode_frame(DOMAIN, read), encode_frame(DOMAIN, ROWS)
    for name in DOMAIN:
        assert found.column(name).tolist() == expected.column(name).tolist()


def test_keys_are_the_same_texts(read):
    assert keys_as_texts(read["id"]).tolist() == ["7", "8", "7", "9"]


@pytest.mark.parametrize(
    ("keys", "texts"),
    [
        (pd.Series([1, 2, 1]), ["1", "2", "1"]),
        (pd.Series([1.0, np.nan, 2.5]), ["1", None, "2.5"]),
        (pd.Series([1, None], dtype="Int64"), ["1", None]),
        (pd.Series(["1", " 2 ", ""], dtype="category"), ["1", "2", None]),
        (pd.Series([1, True, "1", None], dtype=object), ["1", "True", "1", None]),
        (
            pd.Series(["1.0", "-7.00", "007.0", "1.50", "a1.0", ".0"]),
            ["1", "-7", "007", "1.50", "a1.0", ".0"],
        ),
    ],
)
def test_a_key_depends_on_its_cell_alone(keys, texts):
    assert keys_as_texts(keys).tolist() == texts


def test_texts_stand_in_every_cell_again(read):
    rows = with_texts(read, {})
    assert rows["kind"].tolist() == ["a", None, "b", "a"]
    assert rows["kind"].dtype == object


def test_an_empty_file_has_columns(tmp_path):
    (tmp_path / "none.csv").write_text("id,kind\n")
    rows = frame_of("none", tmp_path / "none.csv")[0]
    assert list(rows) == ["id", "kind"]
    assert len(rows) == 0


def test_an_index_with_a_name_is_a_column_as_in_a_release_of_one_table():
    held, _ = frame_of("rows", ROWS.set_index("id"))
    assert set(held) == set(ROWS)


DECLARED = {
    "whole numbers": pa.array([1, 2**60 + 1, 3]),
    "short whole numbers": pa.array([1, 2, 3], pa.int8()),
    "whole numbers without a sign": pa.array([1, 2**63 + 5, 3], pa.uint64()),
    "numbers": pa.array([0.1, 1.0, 1e20]),
    "short numbers": pa.array([0.7, 1.0, 3.5], pa.float32()),
    "decimals": pa.array([Decimal("1.10"), Decimal("2.00"), Decimal("3.25")], pa.decimal128(10, 2)),
    "truth": pa.array([True, False, True]),
    "dates": pa.array([date(2020, 1, 1)] * 3),
    "times of day": pa.array([time(1, 2, 3)] * 3, pa.time64("us")),
    "timestamps": pa.array([10**15, 2 * 10**15, 0], pa.timestamp("us")),
    "timestamps in nanoseconds": pa.array([10**18, 2 * 10**18 + 5, 0], pa.timestamp("ns")),
    "timestamps with a zone": pa.array([10**15, 2 * 10**15, 0], pa.timestamp("us", "UTC")),
    "durations": pa.array([10**6, 10**9, 0], pa.duration("us")),
    "texts": pa.array(["a", "b", "a"]),
}


def one_column(cells, path):
    write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
    write(pa.table({"cell": cells}), path)
    return frame_of("one", path)[0]["cell"]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("cells", DECLARED.values(), ids=DECLARED)
def test_a_missing_cell_changes_neither_the_type_nor_other_cells(cells, suffix, tmp_path):
    whole = one_column(cells, tmp_path / f"whole{suffix}")
    more = one_column(pa.concat_arrays([cells, pa.nulls(1, cells.type)]), tmp_path / f"more{suffix}")
    assert more.dtype == whole.dtype
    assert more.iloc[:-1].tolist() == whole.tolist()
    assert pd.isna(more.iloc[-1])


@pytest.mark.parametrize("name", ["short numbers", "numbers", "whole numbers", "truth"])
def test_a_missing_cell_changes_no_code_of_another(name, tmp_path):
    listed = {"type": "categorical", "categories": [0.7, 1, True, "", "other"], "other": "other"}
    bins = {"type": "numeric", "min": 0, "max": 1, "bins": 10, "outside": "clip", "nullable": True}
    domain, found = Domain.from_json({"listed": listed, "bins": bins}), []
    for missing in (0, 1):
        cells = pa.concat_arrays([DECLARED[name], pa.nulls(missing, DECLARED[name].type)])
        column = one_column(cells, tmp_path / "rows.parquet")
        table = encode_frame(domain, pd.DataFrame({"listed": column, "bins": column}))
        found.append([table.column(one)[:3].tolist() for one in domain])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["UInt64", pd.ArrowDtype(pa.uint64()), "uint64"])
def test_large_numbers_without_a_sign_are_read_as_they_are(kind):
    domain = Domain.from_json({"n": {"type": "numeric", "min": 0, "max": 2**64, "bins": 4}})
    rows = pd.DataFrame({"n": pd.Series([1, 2**63 + 2**62 + 5], dtype=kind)})
    assert encode_frame(domain, rows).column("n").tolist() == [0, 3]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float32(), pa.timestamp("ns"), pa.timestamp("us")])
def test_rows_of_a_file_without_a_value_of_the_order_are_left_out_and_the_others_are_in_order(kind, tmp_path):
    times = pa.concat_arrays([pa.array([30, 10, 20]).cast(kind), pa.nulls(1, kind)])
    rows = pa.table({"id": pa.array([1, 1, 1, None]), "when": times, "place": [0, 1, 2, 3]})
    parquet.write_table(rows, tmp_path / "rows.parquet")
    held = read_keyed(tmp_path / "rows.parquet", "id", (), "when", np.random.default_rng(0), True)[1]
    assert held.rows["place"].tolist() == [1, 2, 0]

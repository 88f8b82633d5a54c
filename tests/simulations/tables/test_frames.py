"""Data frames as people have them: types that only pandas knows, and names that read as values."""

from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.learning.cells import Cells

ROWS = pd.DataFrame({"a": [1, 2, 3], "a b": ["x", "y", "z"]})


def texts(rows):
    source = raw_table(rows).source
    with source.connect() as connection:
        return source.query(connection, "SELECT c0::VARCHAR AS c FROM file")["c"].tolist()


def test_sparse_columns_are_read_as_dense_ones():
    assert texts(pd.DataFrame({"a": pd.arrays.SparseArray([0, 1, 0])})) == ["0", "1", "0"]


@pytest.mark.parametrize(("frequency", "written"), [("D", "2024-03-01"), ("M", "2024-03"), ("Q", "2024Q1")])
def test_periods_are_read_as_they_are_written(frequency, written):
    periods = pd.period_range("2024-03-01", periods=2, freq=frequency).append(
        pd.PeriodIndex(["NaT"], frequency)
    )
    found = texts(pd.DataFrame({"a": periods}))
    assert found[0] == written
    assert found[2] is None


@pytest.mark.parametrize(
    "column",
    [pd.Series([1j, 2j]), pd.arrays.IntervalArray.from_breaks([0, 1, 2])],
)
def test_a_column_of_another_type_is_refused_with_what_to_do(column):
    raw = raw_table(pd.DataFrame({"a": column}))
    with pytest.raises(DataError, match=r"column 'a': expected booleans, .*; convert"):
        Cells.of(raw.source, {})


def test_names_that_read_as_a_record_are_refused_unless_somebody_says_that_they_are_names():
    rows = pd.DataFrame({"region": ["a", "b"], "0-14": [1, 2], "65+": [3, 4]})
    with pytest.raises(DataError, match="header=True"):
        raw_table(rows)
    assert raw_table(rows, header=True).source.columns() == ("region", "0-14", "65+")


def test_a_text_that_is_no_utf8_is_refused_without_being_shown():
    texts = pa.StringArray.from_buffers(2, pa.array(["a", "b"]).buffers()[1], pa.py_buffer(b"a\xff"))
    raw = raw_table(pa.table({"a": texts}))
    with closing(Cells.of(raw.source, {})) as cells, pytest.raises(DataError, match="UTF-8") as refused:
        cells.forms("a")
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("cells", [pa.array([1], pa.decimal256(60, 2)), pa.array(np.float16([1.5]))])
def test_a_type_that_no_engine_reads_is_refused_also_in_a_file(cells, tmp_path):
    rows, path = pa.table({"a": cells}), tmp_path / "rows.feather"
    feather.write_feather(rows, path)
    for one in (rows, path):
        with pytest.raises(DataError, match="types that DuckDB reads"):
            raw_table(one).source.connect()

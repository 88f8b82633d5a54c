"""Files of related tables as data frames: each text once, and read as a data frame of the same cells is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.results.keys import keys_as_texts
from dpmosaic.curator.results.raw_frames import encode_frame
from dpmosaic.synthesis.related.frames import frame_of, with_texts

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

"""The types of a file's columns."""

import pandas as pd
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.source import FileSource
from dpmosaic.simulations.file_types import types_of_file
from dpmosaic.simulations.schemas import Flag, Number, Text, Time

WHOLE, REAL = Number(True, True, texts=True), Number(False, True, texts=True)


def types_of_cells(tmp_path, cells):
    path = tmp_path / "table.csv"
    lines = ["x,row", *(f'"{cell}",{row}' for row, cell in enumerate(cells))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return types_of_file(FileSource(path))["x"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-20", "0"], WHOLE),
        (["1", "", "NA"], WHOLE),
        (["1", "2.5"], REAL),
        (["1e5", ".5", "-3."], REAL),
        (["12345678901234567890", "1"], REAL),
        (["007", "010"], Text()),
        (["true", "False", ""], Flag(True)),
        (["true", "1"], Text()),
        (["2020-02-29", ""], Time(False, texts=True)),
        (["2021-02-29", "2020-01-01"], Text()),
        (["2020-02-29", "2020-02-29 10:30"], Text()),
        (["2020-02-29T10:30:59", "2020-02-29 10:30"], Time(True, texts=True)),
        (["1", "one"], Text()),
        (["", ""], Text()),
        (["NA", ""], Text()),
        ([".", "1"], WHOLE),
        (["1_000", "2"], Text()),
    ],
)
def test_a_csv_column_has_the_narrowest_type_of_all_its_cells(tmp_path, cells, kind):
    assert types_of_cells(tmp_path, cells) == kind


def test_every_cell_counts_and_not_a_sample(tmp_path):
    assert types_of_cells(tmp_path, ["1"] * 50_000 + ["word"]) == Text()


def test_a_parquet_file_has_types_of_its_own(tmp_path):
    rows = pd.DataFrame(
        {
            "whole": [1, 2],
            "byte": pd.Series([1, 2], dtype="int8"),
            "real": [0.5, 1],
            "flag": [True, False],
            "text": ["1", "2"],
            "time": pd.to_datetime(["2020-01-01", None]),
            "zoned": pd.to_datetime(["2020-01-01", None]).tz_localize("Europe/Berlin"),
            "day": pd.Series(["2020-01-01", None], dtype="date32[day][pyarrow]"),
        }
    )
    rows.to_parquet(tmp_path / "table.parquet")
    assert types_of_file(FileSource(tmp_path / "table.parquet")) == {
        "whole": Number(True, True),
        "byte": Number(True, True, (-128, 127)),
        "real": Number(False, True),
        "flag": Flag(True),
        "text": Text(),
        "time": Time(True),
        "zoned": Time(True, "UTC"),
        "day": Time(False),
    }


def test_refuses_a_parquet_column_of_lists(tmp_path):
    pd.DataFrame({"lists": [[1], [2]]}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(DataError, match="column 'lists': expected booleans"):
        types_of_file(FileSource(tmp_path / "table.parquet"))

"""Public tables in the files of a release: whatever their cells are, they come back as they are."""

import math
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.people.table_files import read_public_of, write_table
from dpmosaic.curator.results.keys import keys_as_texts
from dpmosaic.curator.results.other_files import with_plain_cells
from dpmosaic.curator.results.table_format import TableFile, TableFormat

CELLS = {
    "texts": [
        "=x",
        "'=x",
        "''=x",
        "'",
        "''a",
        "x",
        "+1+a",
        "a,b",
        'q"',
        "a\nb",
        "\t=1",
        "'-2+3",
        " a",
        "\x1b[2J",
    ],
    "texts of numbers": ["007", "1e5", "0x10", "-5", "+3", "12"],
    "whole numbers": [1, -5, 2**63 - 1, -(2**63), 0],
    "large whole numbers": [2**63, 2**64, -(2**70), 3, 10**30],
    "numbers": [1.5, -0.25, 1e300, 5e-324, math.inf],
    "truths": [True, False],
    "days": [date(2020, 1, 1), date(1, 1, 1), date(9999, 12, 31)],
    "times": [pd.Timestamp("2020-01-02 03:04:05"), pd.Timestamp("1970-01-01")],
    "times with zones": [datetime(2020, 1, 2, 3, tzinfo=UTC)],
    "times between": [timedelta(seconds=1), timedelta(days=400)],
    "several kinds": [1, "a", 2.5, True, "=x", 2**70, date(2020, 1, 1), timedelta(1)],
    "no scalars": [(1, 2), b"\xff", 1j, frozenset()],
}
FORMATS = {
    "csv": TableFile(),
    "for spreadsheets": TableFile(spreadsheet_safe=True),
    "parquet": TableFile(TableFormat.PARQUET),
    "feather": TableFile(TableFormat.FEATHER),
}


def columns_of(kind, rng):
    """Columns of cells of a kind, as programs make them: with missing ones, and of types of their own."""
    drawn = [CELLS[kind][place] for place in rng.integers(0, len(CELLS[kind]), 12)]
    some = [None if rng.random() < 0.3 else cell for cell in drawn]
    yield pd.Series(drawn, dtype=object)
    yield pd.Series(some, dtype=object)
    for cells in (drawn, some):
        yield pd.Series(cells).infer_objects()
        yield pd.Series(cells, dtype=object).convert_dtypes()
    if kind in ("texts", "texts of numbers"):
        yield pd.Series(some, dtype="category")


def texts_of(cells):
    """The cells as texts, in which a whole number is one with and without a point."""
    return [
        None if one is None else one.removesuffix(" 00:00:00") for one in keys_as_texts(cells.astype(object))
    ]


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_comes_back_as_it_was(tmp_path, kind, how):
    rng, name = np.random.default_rng(1), "'=n" if how == "for spreadsheets" else "n"
    for cells in columns_of(kind, rng):
        rows = with_plain_cells(pd.DataFrame({"key": range(len(cells)), name: cells}))
        path = tmp_path / f"wards.{FORMATS[how].table_format}"
        write_table(path, rows, FORMATS[how], None)
        found = read_public_of(tmp_path, "wards", ("key", name), FORMATS[how].spreadsheet_safe)
        assert texts_of(found[name]) == texts_of(cells), cells.tolist()


def test_different_texts_are_different_in_a_file_for_spreadsheets(tmp_path):
    """Also those that begin with apostrophes, of which one is added."""
    texts = sorted({"'" * marks + text for marks in range(4) for text in CELLS["texts"]})
    rows = pd.DataFrame({"n": texts})
    write_table(tmp_path / "a.csv", rows, FORMATS["for spreadsheets"], None)
    assert read_public_of(tmp_path, "a", ("n",), spreadsheet_safe=True)["n"].tolist() == texts
    lines = pd.read_csv(tmp_path / "a.csv", dtype=object, keep_default_na=False)["n"].tolist()
    assert all(one != other for one, other in pairwise(sorted(lines)))
    assert not any(line.startswith(("=", "+1", "@", "\t")) for line in lines)


def test_half_a_character_is_refused_in_one_sentence():
    with pytest.raises(DataError, match="texts of whole characters"):
        with_plain_cells(pd.DataFrame({"n": pd.Series(["\ud800"], dtype=object)}))

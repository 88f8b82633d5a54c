"""Rows at positions: of the party, or where it has none, of zeros or of `absent`."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.party.institution.placed import PlacedTable

DOMAIN = Domain.coded({"a": 3, "b": 2})
TABLE = Table.from_codes(DOMAIN, np.array([[2, 0], [1, 1], [0, 1], [2, 0]]))
POSITIONS = np.array([4, -1, 0, 2], dtype=np.int32)
"""Of the second row, another of the same person is used."""


def placed(absent):
    return PlacedTable(TABLE, POSITIONS, 6, DOMAIN.with_absent() if absent else DOMAIN, absent)


def test_a_position_without_a_row_has_no_cell():
    assert placed(False).cell_codes(("a", "b"), 0, 6).tolist() == [1, -1, 4, -1, 4, -1]
    assert placed(False).cell_codes((), 0, 6).tolist() == [0, -1, 0, -1, 0, -1]


def test_a_position_without_a_row_has_the_last_code_of_every_attribute():
    assert placed(True).cell_codes(("a", "b"), 0, 6).tolist() == [1, 11, 6, 11, 6, 11]
    assert placed(True).cell_codes(("b",), 1, 4).tolist() == [2, 0, 2]


@pytest.mark.parametrize("absent", [False, True])
def test_blocks_of_positions_are_those_of_all(absent):
    rows = placed(absent)
    blocks = [rows.cell_codes(("a",), start, start + 4) for start in (0, 4)]
    assert np.array_equal(np.concatenate(blocks), rows.cell_codes(("a",), 0, rows.record_count))


def test_only_used_rows_count_and_no_position_without_one():
    assert placed(False).marginal(("a", "b")).tolist() == [0, 1, 0, 0, 2, 0]
    counts = placed(True).marginal(("a", "b")).reshape(4, 3)
    assert counts.sum() == 3
    assert counts[-1, -1] == 0
    assert counts[0, 1] == 1
    assert counts[2, 0] == 2

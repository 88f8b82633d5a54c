"""Selected rows as a released model."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.parts.records import SelectedRecords

TABLE = Table.from_codes(Domain.coded({"a": 2, "b": 4}), np.array([[0, 0], [1, 1], [1, 2], [1, 3]]))
MODEL = SelectedRecords(TABLE, (("a", "b"),), 8.0)


def rows(table):
    return sorted(zip(*(column.tolist() for column in table.columns), strict=True))


def test_marginals_are_those_of_the_rows_scaled_to_the_total():
    assert MODEL.marginal(("a",)).tolist() == [2.0, 6.0]
    assert MODEL.marginal(()).tolist() == [8.0]
    assert [m.sum() for m in MODEL.marginals_within_limits([("a",), ("a", "b")])] == [8.0, 8.0]


def test_generates_the_selected_rows_in_random_order():
    tables = [MODEL.generate(4, np.random.default_rng(seed)) for seed in range(9)]
    assert all(rows(table) == rows(TABLE) for table in tables)
    assert len({tuple(table.column("b").tolist()) for table in tables}) > 1


def test_generates_more_rows_by_even_repetition_and_fewer_without():
    counts = np.bincount(MODEL.generate(10, np.random.default_rng(1)).column("b"), minlength=4)
    assert set(counts.tolist()) <= {2, 3}
    assert len(set(MODEL.generate(3, np.random.default_rng(1)).column("b").tolist())) == 3


def test_codes_are_saved_by_attribute_and_a_path_that_cannot_be_written_is_refused(tmp_path):
    MODEL.save(tmp_path / "model.npz")
    assert np.load(tmp_path / "model.npz")["codes_b"].tolist() == [0, 1, 2, 3]
    with pytest.raises(DataError, match="cannot write the model"):
        MODEL.save(tmp_path / "missing" / "model.npz")

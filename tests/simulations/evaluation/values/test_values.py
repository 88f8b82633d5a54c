import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.values.values import Values

DOMAIN = Domain.from_json(
    {
        "attributes": {
            "town": ["a", "b"],
            "age": {
                "type": "numeric",
                "min": 0,
                "max": 99,
                "bins": 10,
                "nullable": True,
                "outside": "missing",
            },
            "pay": {"type": "numeric", "min": 1, "max": 9, "bins": 2, "integer": False, "atoms": [0, 99]},
        },
        "rules": [{"impossible": {"town": ["a"], "pay": {"equal": 0}}}],
    }
)


def test_a_file_is_read_as_codes_and_as_numbers_after_the_policies(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,town,pay\n7,a,0\n,b,2.5\n120,a,50\n8,b,99\n")
    values = Values.read(path, DOMAIN)
    assert values.numbers["age"] == pytest.approx([7, np.nan, np.nan, 8], nan_ok=True)
    assert values.numbers["pay"].tolist() == [0, 2.5, 9, 99]
    raw = {"age": ["7", "", "120", "8"], "town": list("abab"), "pay": ["0", "2.5", "50", "99"]}
    assert values.table.digest() == encode_table(DOMAIN, raw).digest()
    assert [rows.tolist() for rows in values.broken] == [[True, False, False, False]]


def test_rows_that_are_taken_keep_their_numbers_and_what_they_break():
    values = Values.of(DOMAIN, [["a", "b", "a"], [1, 2, 3], [0, 3, 4]]).take(np.array([2, 0]))
    assert values.numbers["age"].tolist() == [3, 1]
    assert values.table.column("town").tolist() == [0, 0]
    assert values.broken[0].tolist() == [False, True]


def test_every_column_has_cells():
    values = Values.of(DOMAIN, [["a", "b"], [1, 2], [3, 4]])
    assert {name: cells.tolist() for name, cells in values.cells.items()} == {
        "town": [0, 1],
        "age": [1, 2],
        "pay": [3, 4],
    }


def test_refuses_a_table_without_rows_or_with_values_without_a_code():
    with pytest.raises(DataError, match="without rows"):
        Values.of(Domain((NumericAttribute("x", 0, 9, 10),)), [[]])
    with pytest.raises(DataError, match="row 2"):
        Values.of(Domain((CategoricalAttribute("x", ("a",)),)), [["a", "b"]])

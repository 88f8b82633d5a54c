"""Text that a spreadsheet would run as a formula: which is found, and how it is escaped."""

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.results import outputs
from dpmosaic.curator.results.row_forms import RowForms
from dpmosaic.curator.results.row_values import decode_rows, spelled_column
from dpmosaic.curator.results.spreadsheets import attributes_like_formulas, with_apostrophes
from dpmosaic.curator.results.table_format import TableFile, TableFormat

DANGEROUS = (
    '=HYPERLINK("http://evil","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
)
NUMBERS = ("-5", "+3", "-1e9", "-0.5")


@pytest.mark.parametrize("label", DANGEROUS)
def test_a_label_that_begins_like_a_formula_is_found_and_escaped(label):
    domain = Domain((CategoricalAttribute("kind", ("x", label)), CodedAttribute("code", 2)))
    assert attributes_like_formulas(domain) == ("kind",)
    assert with_apostrophes(np.array(["x", label], dtype=object)).tolist() == ["x", "'" + label]
    assert with_apostrophes(np.array([0, 1])).tolist() == [0, 1]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "numeric", "min": 0, "max": 9, "bins": 3, "texts": ["<5", "=1+1"]},
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "texts": ["=1+1"]},
        {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "format": "=%Y-%m-%d"},
        {"type": "clock", "format": "HH:MM", "bins": 4, "texts": ["=1+1"]},
        {"type": "boolean", "true": ["=1+1"], "false": ["no"]},
        {"type": "identifier", "pattern": "={:05d}"},
    ],
    ids=["numbers", "dates", "format of dates", "clock", "boolean", "identifier"],
)
def test_what_a_column_of_any_kind_may_hold_is_searched(entry):
    assert attributes_like_formulas(Domain.from_json({"x": 2, "kind": entry})) == ("kind",)


def test_numbers_are_neither_warned_of_nor_changed():
    domain = Domain(
        (
            CategoricalAttribute("text", ("x", *NUMBERS)),
            CategoricalAttribute("whole", (-1, -2)),
            CategoricalAttribute("mixed", (-1, True, "a=b")),
            NumericAttribute("real", -9.0, -1.0, 4),
        )
    )
    assert attributes_like_formulas(domain) == ()
    rng = np.random.default_rng(0)
    table = Table.from_codes(domain, np.column_stack([rng.integers(0, n, 50) for n in domain.sizes]))
    for name, values in decode_rows(table, rng).items():
        cells = spelled_column(domain, name, values)
        assert with_apostrophes(cells).tolist() == cells.tolist()


def test_the_name_of_an_attribute_is_escaped_too():
    domain = Domain((CategoricalAttribute("=a", ("x", "y")),))
    assert attributes_like_formulas(domain) == ("=a",)
    assert RowForms(domain, domain.names).header(spreadsheet_safe=True) == "'=a\n"


def test_warns_only_of_a_csv_that_is_written_as_it_is():
    domain = Domain((CategoricalAttribute("kind", ("x", "=1")),))
    assert "in: 'kind'" in outputs.formula_warning(domain, TableFile())
    assert outputs.formula_warning(domain, TableFile(spreadsheet_safe=True)) is None
    assert outputs.formula_warning(domain, TableFile(TableFormat.PARQUET)) is None
    assert outputs.formula_warning(Domain.coded({"a": 2}), TableFile()) is None


def test_parquet_needs_no_apostrophes():
    with pytest.raises(DataError, match="expected the format csv, got parquet"):
        TableFile(TableFormat.PARQUET, spreadsheet_safe=True)

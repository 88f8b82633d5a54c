import pytest

from dpmosaic.common.showing.formulas import as_text, is_formula


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "-"])
def test_a_cell_that_begins_like_a_formula_becomes_text(cell):
    assert is_formula(cell)
    assert as_text(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "a=1", "-5", "+1e3", "-inf", "'=1", "2026-11-23"])
def test_numbers_and_other_text_stay_as_they_are(cell):
    assert as_text(cell) == cell

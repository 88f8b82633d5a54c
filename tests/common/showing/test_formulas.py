import pytest

from dpmosaic.common.showing.formulas import as_text, from_text, is_formula


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "-"])
def test_a_cell_that_begins_like_a_formula_becomes_text(cell):
    assert is_formula(cell)
    assert as_text(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "a=1", "-5", "+1e3", "-inf", "'a", "'-5", "2026-11-23"])
def test_numbers_and_other_text_stay_as_they_are(cell):
    assert as_text(cell) == cell


@pytest.mark.parametrize("cell", ["", "'", "=1", "'=1", "''=1", "'a", "'-5", "-5"])
def test_a_text_is_read_as_it_was_whatever_apostrophes_it_begins_with(cell):
    assert from_text(as_text(cell)) == cell

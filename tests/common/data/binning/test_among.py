"""Numbers of bins that are drawn among few of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning.scale import Scale
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.common.errors import DataError

ROWS = 20_000
UNITS = (None, 0.1, 1.0, 5.0)


@st.composite
def columns(draw):
    """A column of numbers of which each bin holds some that may be drawn, or none."""
    unit = draw(st.sampled_from(UNITS))
    scale = draw(st.sampled_from([Scale.LINEAR, Scale.SYMLOG]))
    step = unit or 0.1
    places = draw(st.lists(st.integers(-60, 60), min_size=1, max_size=30, unique=True))
    among = tuple(round(place * step, 6) for place in sorted(places))
    atoms = (round(draw(st.integers(-50, 50)) * step, 6),) if draw(st.booleans()) else ()
    return NumericAttribute(
        *("x", -60 * step, 60 * step, draw(st.integers(2, 9)), False, False),
        scale=scale,
        multiple_of=unit,
        atoms=atoms,
        among=among,
    )


@settings(max_examples=60, deadline=None)
@given(columns(), st.integers(0, 99))
def test_numbers_are_among_those_that_are_stated_and_stay_in_their_bin(column, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, column.size, 500)
    numbers = column.decode(codes, rng)
    assert np.array_equal(column.encode(numbers), codes)
    among = np.array(column.among)
    least, most = column.reach.T
    held = [bool(np.any((among >= low) & (among <= high))) for low, high in zip(least, most, strict=True)]
    wide = np.array(held) & (least < most)
    assert np.isin(numbers[wide[codes]], among).all()


@settings(max_examples=60, deadline=None)
@given(columns(), st.floats(-70, 70), st.floats(0, 60), st.integers(0, 99))
def test_the_share_of_a_range_is_that_of_the_draws(column, low, width, seed):
    rng = np.random.default_rng(seed)
    low, high = low * (column.unit or 0.1), (low + width) * (column.unit or 0.1)
    counts = rng.integers(1, 9, column.size)
    first, last = column.spread.ranks(counts, low, high)
    cell = int(rng.integers(0, column.size))
    drawn = column.spread.draw(np.full(ROWS, cell), counts, rng)
    share = np.mean((drawn >= low) & (drawn <= high))
    assert last[cell] - first[cell] == pytest.approx(share, abs=0.02)
    if last[cell] > first[cell]:
        within = column.spread.at(np.full(50, cell), counts, rng.uniform(first[cell], last[cell], 50))
        assert np.all((within >= low - 1e-9) & (within <= high + 1e-9))


def test_each_number_of_a_bin_is_drawn_as_often():
    column = NumericAttribute("x", 0, 99, 1, False, True, among=(4.0, 32.0, 36.0, 840.0 / 10))
    drawn, counts = np.unique(
        column.decode(np.zeros(ROWS, dtype=int), np.random.default_rng(1)), return_counts=True
    )
    assert drawn.tolist() == [4, 32, 36, 84]
    assert counts / ROWS == pytest.approx([0.25] * 4, abs=0.02)


def test_a_domain_file_keeps_them():
    column = NumericAttribute("x", 0, 99.9, 4, False, False, multiple_of=0.1, among=(0.6, 1.1, 97.2))
    assert read_entry("x", column.to_json()) == column


@pytest.mark.parametrize("among", [(2.0, 1.0), (1.0, 1.0), (float("nan"),), (0.05,)])
def test_numbers_that_cannot_be_among_them_are_refused(among):
    with pytest.raises(DataError, match="among"):
        NumericAttribute("x", 0, 99.9, 4, False, False, multiple_of=0.1, among=among)

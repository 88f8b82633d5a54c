"""Columns after trimming: codes that were read, and the codes that are released."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.granularity import Granularity
from dpmosaic.common.data.attributes.moments import Moments
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning.lattice import Lattice
from dpmosaic.common.data.binning.scale import Scale
from dpmosaic.synthesis.learning.columns import categories, numbers, trim_bins
from dpmosaic.synthesis.learning.kind import Numbers
from dpmosaic.synthesis.learning.ranges import Range

RNG = np.random.default_rng(0)


@st.composite
def columns(draw):
    """A column of numbers in bins, and the bins that are kept."""
    whole = draw(st.booleans())
    low, width = draw(st.integers(-1000, 1000)), draw(st.integers(1, 500))
    bins = draw(st.integers(1, min(width, 40)))
    attribute = NumericAttribute("x", low, low + width, bins, True, whole)
    first = draw(st.integers(0, len(attribute.cells) - 1))
    return attribute, first, draw(st.integers(first + 1, len(attribute.cells)))


@pytest.mark.slow
@settings(max_examples=100)
@given(columns(), st.booleans())
def test_codes_of_outer_bins_become_those_of_the_nearest_and_values_lie_within(column, dated):
    attribute, first, stop = column
    if dated:
        units = replace(attribute, integer=True)
        first, stop = min(first, len(units.cells) - 1), min(stop, len(units.cells))
        attribute = DateAttribute("x", units, Moments(False, Granularity.DAY))
    fewer, codes = trim_bins(attribute, first, stop, ())
    assert codes.shape == (attribute.size,)
    assert codes[-1] == fewer.size - 1
    assert np.all(np.diff(codes[:-1]) >= 0)
    assert sorted(set(codes[:-1].tolist())) == list(range(fewer.size - 1))
    values = fewer.decode(codes.astype(np.int64), RNG)
    assert np.array_equal(fewer.encode(values), codes)


def test_categories_that_are_not_released_count_as_the_usual_one():
    column = categories("x", ("south", "north"), np.array([5.0, 9.0]), False, False)
    released, codes = column.finish(column.reading, False, 0)
    assert released.categories == ("north", "south")
    names = [released.categories[code] for code in codes]
    assert dict(zip(column.reading.categories, names, strict=True)) == {
        "": "north",
        "north": "north",
        "south": "south",
        "other": "north",
    }


@pytest.mark.parametrize("most", [1e-3, 0.7, 61.3, 1e6])
@pytest.mark.parametrize("skewed", [False, True])
def test_no_bin_of_fractions_has_numbers_of_both_signs(most, skewed):
    found = Range(-0.37, most, 0.0, 1e-4 if skewed else 1e9, True)
    attribute = numbers("x", Numbers("{}", None), None, found, ())
    assert (attribute.scale is Scale.SYMLOG) == skewed
    nearest = attribute.grid[np.abs(attribute.grid).argmin()]
    # On a logarithmic scale rounding may move the border.
    assert abs(nearest) <= (1e-9 * most if skewed else 0.0)
    assert attribute.minimum <= -0.37
    assert attribute.maximum >= most


@settings(max_examples=200)
@given(
    st.sampled_from([0.0001, 0.01, 0.05, 0.5, 1.0, 5.0, 10.0, 1000.0]),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.booleans(),
)
def test_no_bin_has_numbers_of_both_signs(unit, below, above, skewed):
    low, high = (float(Lattice(unit).values(np.array(end))) for end in (-below, above))
    size = max(-low, high) / (50 if skewed else 2)
    read = numbers("x", Numbers("{}", 4), unit, Range(low, high, 0.0, size, True), ())
    assert read.reach[0, 0] <= low
    assert read.reach[-1, 1] >= high
    assert not np.any((read.reach[:, 0] < 0) & (read.reach[:, 1] >= 0))

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.attribute import CENSUS, REFUSED
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning.scale import Scale
from dpmosaic.common.data.coding import Coding, merged_codes
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.notation import Notation

pytestmark = pytest.mark.slow

UNITS = (None, 1, 0.1, 0.01, 0.25, 5, 25, 1000)


@st.composite
def attributes(draw, nullable=None, formats=("{}", "{}%", "${:,}", "{,} EUR")):
    """Numbers of every kind: bins or edges, scales, atoms at, in and out of bounds, units, policies."""
    integer = draw(st.booleans())
    unit = draw(st.sampled_from([u for u in UNITS if not integer or u is None or float(u).is_integer()]))
    number = st.integers(-3000, 3000) if integer else st.decimals(-3000, 3000, places=2).map(float)
    nullable = draw(st.booleans()) if nullable is None else nullable
    policies = ("clip", "error", "missing") if nullable else ("clip", "error")
    more = {
        "scale": draw(st.sampled_from(Scale)),
        "multiple_of": unit,
        "outside": draw(st.sampled_from(policies)),
        "unreadable": draw(st.sampled_from(("error", "missing") if nullable else ("error",))),
        "format": Notation(draw(st.sampled_from(formats))),
    }
    bounds = sorted(draw(st.sets(number, min_size=2, max_size=8)))
    if draw(st.booleans()):
        more["edges"] = tuple(bounds)
        bins = len(bounds) - 1
    else:
        bins = draw(st.one_of(st.none(), st.integers(1, 40)))
    atoms = st.one_of(number, st.sampled_from([*bounds, 0, -1, 99999]))
    more["atoms"] = tuple(sorted(draw(st.sets(atoms, max_size=4))))
    ends = (None, None) if bins is None and draw(st.booleans()) else (bounds[0], bounds[-1])
    try:
        return NumericAttribute("x", *ends, bins, nullable, integer, **more)
    except DataError:
        assume(False)


def cell_of(attribute, value):
    """By definition: the last cell that begins at or below the value."""
    return max(k for k, (low, _) in enumerate(attribute.cells.tolist()) if low <= value)


def least_and_largest(attribute):
    return attribute.grid[0], attribute.grid[-1] - (1 if attribute.integer else 0)


@settings(deadline=None)
@given(attributes(), st.integers(0, 2**32))
def test_encoding_what_was_decoded_gives_the_codes_back(attribute, seed):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(attribute.size), rng.integers(0, attribute.size, 50)])
    values = attribute.decode(codes, rng)
    for cells in (values, values.tolist(), attribute.spelled(values), attribute.spelled(values).tolist()):
        assert np.array_equal(attribute.encode(cells), codes)
    assert not set(attribute.census(values)) - {"missing"}


@settings(deadline=None)
@given(attributes(), st.data())
def test_a_decoded_value_is_in_the_bin_of_the_value_and_an_atom_is_exact(attribute, data):
    low, high = least_and_largest(attribute)
    number = st.integers(int(low), int(high)) if attribute.integer else st.floats(low, high)
    values = [*data.draw(st.lists(number, max_size=20)), *attribute.atoms]
    if attribute.lattice is not None:
        near = attribute.lattice.values(attribute.lattice.nearest(np.array(values, dtype=float)))
        values = [*near[(near >= low) & (near <= high)].tolist(), *attribute.atoms]
    assume(values)
    codes = attribute.encode(values)
    assert codes.tolist() == [cell_of(attribute, value) for value in values]
    back = attribute.decode(codes, np.random.default_rng(1))
    for value, drawn, cell in zip(values, back.tolist(), attribute.cells[codes].tolist(), strict=True):
        assert cell[0] <= drawn < cell[1]
        if value in attribute.atoms:
            assert drawn == value


@settings(deadline=None)
@given(attributes())
def test_cells_are_disjoint_and_in_the_order_of_the_values(attribute):
    cells = attribute.cells
    assert np.all(cells[:, 0] < cells[:, 1])
    assert np.all(cells[:-1, 1] <= cells[1:, 0])
    assert set(attribute.atoms) <= set(cells[:, 0])


@settings(deadline=None)
@given(attributes())
def test_the_reach_of_a_cell_is_of_its_smallest_and_largest_value(attribute):
    codes = np.arange(len(attribute.cells))
    for end in attribute.reach.T:
        assert np.array_equal(attribute.encode(end), codes)
        assert not attribute.census(end)
    single = np.isin(attribute.reach[:, 0], attribute.atoms)
    assert np.array_equal(attribute.reach[single, 0], attribute.reach[single, 1])


@settings(deadline=None)
@given(attributes(nullable=True))
def test_missing_stays_missing(attribute):
    codes = attribute.encode(["", None, math.nan])
    assert codes.tolist() == [attribute.size - 1] * 3
    decoded = attribute.decode(codes, np.random.default_rng(1)).tolist()
    assert all(value is None or math.isnan(value) for value in decoded)
    assert attribute.spelled(attribute.decode(codes, np.random.default_rng(1))).tolist() == [
        pytest.approx(value, nan_ok=True) if attribute.format == Notation() else None for value in decoded
    ]


@settings(deadline=None)
@given(attributes(), st.integers(0, 2**32))
def test_amounts_come_back_as_multiples_as_short_as_they_are_written(attribute, seed):
    assume(attribute.unit is not None)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(attribute.cells), 50)
    digits = len(repr(float(attribute.unit)).partition(".")[2])
    for value in attribute.decode(codes, rng).tolist():
        if value not in attribute.atoms:
            assert value == round(value, digits)
            assert round(value / attribute.unit) * attribute.unit == pytest.approx(value)


@settings(deadline=None)
@given(attributes(), st.data())
def test_merging_gives_the_merged_codes_of_the_same_values(attribute, data):
    cells, size = len(attribute.cells), attribute.size
    single = np.isin(attribute.cells[:, 0], attribute.atoms)
    cuts = data.draw(st.lists(st.booleans(), min_size=cells - 1, max_size=cells - 1))
    starts = [0, *(k for k in range(1, cells) if cuts[k - 1] or single[k] or single[k - 1])]
    starts += [cells] if attribute.nullable else []
    runs = merged_codes(attribute, tuple(starts))
    merged = attribute.merged(runs)
    assert merged.size == len(starts)
    assert not merged.open
    values = attribute.decode(np.arange(size), np.random.default_rng(1))
    assert np.array_equal(merged.encode(values), runs)
    assert Domain.from_json(json.loads(json.dumps(Domain((merged,)).to_json()))) == Domain((merged,))
    if attribute.minimum is not None:
        assert Coding({"x": tuple(starts)}).domain(Domain((attribute,))) == Domain((merged,))


@settings(deadline=None)
@given(attributes())
def test_a_domain_file_holds_all_of_it(attribute):
    domain = Domain((attribute,))
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


@settings(deadline=None)
@given(attributes(nullable=False))
def test_absent_is_one_more_code_and_the_others_keep_their_meaning(attribute):
    more = attribute.with_absent()
    codes = np.arange(attribute.size)
    assert np.array_equal(more.encode(attribute.decode(codes, np.random.default_rng(1))), codes)
    assert more.encode([None]).tolist() == [attribute.size]


cells = st.lists(
    st.one_of(
        st.none(),
        st.floats(allow_nan=True),
        st.integers(-5000, 5000),
        st.sampled_from(["", "text", "inf", "1e999", "7", "12%", "$1,200", "1_000", " ", "-1", "0", "99999"]),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None, max_examples=300)
@given(attributes(), cells)
def test_encoding_fails_exactly_if_the_census_names_rows_that_are_refused(attribute, values):
    census = attribute.census(values)
    assert set(census) <= set(CENSUS)
    assert all(0 < rows <= len(values) for rows in census.values())
    if set(census) & set(REFUSED):
        with pytest.raises(DataError, match=r"^column 'x', row"):
            attribute.encode(values)
    else:
        codes = attribute.encode(values)
        assert np.all((codes >= 0) & (codes < attribute.size))
        blank = np.isnan(attribute.within(values))
        assert np.array_equal(blank, codes == len(attribute.cells))
        assert blank.sum() == census.get("missing", 0) + census.get("blanked", 0)


@pytest.mark.parametrize(
    ("more", "values", "codes", "census"),
    [
        ({}, [-5, 5, 12, 15], [0, 0, 1, 1], {"clipped": 3}),
        ({"outside": "missing"}, [-5, 5, 12, 15], [2, 0, 2, 2], {"blanked": 3}),
        ({"outside": "missing"}, [5, "", None], [0, 2, 2], {"missing": 2}),
        ({"unreadable": "missing"}, ["5", "n/a", "inf", ""], [0, 2, 2, 2], {"missing": 1, "blanked": 2}),
        ({"atoms": (-5,)}, [-5, -4, 15], [0, 1, 2], {"clipped": 2}),
        ({"multiple_of": 0.5}, [5, 5.5, 5.25], [0, 1, 0], {"rounded": 1}),
        ({"format": Notation("{}%")}, ["5%", "5", 5], [0, 0, 0], {}),
    ],
)
def test_a_policy_says_what_becomes_of_a_value_without_a_code(more, values, codes, census):
    edges = (0, 5.5, 10) if "multiple_of" in more else (0, 6, 10)
    attribute = NumericAttribute("x", 0, 10, 2, True, False, edges=edges, **more)
    assert attribute.encode(values).tolist() == codes
    assert attribute.census(values) == census


@pytest.mark.parametrize(
    ("more", "cell", "key", "reason"),
    [
        ({}, "secret", "unreadable", "expected a number, found text"),
        ({}, "12%", "unreadable", "expected a number, found text"),
        ({}, "1,200", "unreadable", "expected a number, found text"),
        ({}, "inf", "infinite", "expected a finite number"),
        ({}, math.inf, "infinite", "expected a finite number"),
        ({"outside": "error"}, 77, "outside", "expected a number within the bounds"),
        ({"integer": True}, 7.25, "fraction", "expected a whole number"),
        ({}, "", "empty", "expected a number, found a missing value"),
    ],
)
def test_by_default_a_value_that_cannot_be_read_is_refused_by_row_and_hidden(more, cell, key, reason):
    attribute = NumericAttribute("age", 0, 10, 2, **more)
    with pytest.raises(DataError, match=f"^column 'age', row 3: {reason}") as refusal:
        attribute.encode([1, "2", cell, cell])
    assert "secret" not in str(refusal.value)
    assert "77" not in str(refusal.value)
    assert attribute.census([1, "2", cell, cell]) == {key: 2}


def test_zero_and_a_cap_come_back_as_they_were():
    attribute = NumericAttribute("gain", 1, 99999, 20, integer=True, scale=Scale.LOG, atoms=(0, 99999))
    values = np.array([0] * 90 + [99999] * 3 + [3000] * 7)
    back = attribute.decode(attribute.encode(values), np.random.default_rng(1))
    assert (back == 0).sum() == 90
    assert (back == 99999).sum() == 3


def test_a_whole_multiple_within_whole_bounds_means_integers():
    assert NumericAttribute("x", 0, 1000, 4, multiple_of=25).integer is True
    assert NumericAttribute("x", 0, 1000, 4, multiple_of=2.5).integer is False
    assert NumericAttribute("x", 0.5, 1000, 4, multiple_of=25).integer is False


def test_a_last_bin_of_one_integer_survives_merging():
    attribute = NumericAttribute("x", 1, 10, None, integer=True)
    merged = attribute.merged(np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))
    assert merged.encode(range(1, 11)).tolist() == [0] * 9 + [1]
    assert NumericAttribute("x", 4, 4, None, integer=True).merged(np.array([0])).encode([4]).tolist() == [0]


def test_nothing_needs_to_be_known_of_a_number_whose_bins_are_chosen():
    for integer in (True, False):
        attribute = NumericAttribute("x", None, None, None, integer=integer, multiple_of=None)
        values = np.array([0, 1, -1, 22, 1e6, -1e9, 1e12])
        back = attribute.decode(attribute.encode(values), np.random.default_rng(1)).astype(float)
        assert np.all(np.abs(back - values) <= 0.1 * np.abs(values) + 1e-5)


@pytest.mark.parametrize(
    ("arguments", "more", "reason"),
    [
        ((0, 9, 3), {"multiple_of": 0}, "multiple_of is a number from"),
        ((0, 9, 3), {"multiple_of": -1}, "multiple_of is a number from"),
        ((0, 9, 3), {"multiple_of": math.nan}, "multiple_of is a number from"),
        ((0, 9, 3), {"multiple_of": "5"}, "multiple_of is a number from"),
        ((0, 1e200, 3), {"multiple_of": 0.01}, "bounds too far apart"),
        ((0, 9, 3, False, True), {"multiple_of": 2.5}, "integers are multiples of a whole number"),
        ((0.1, 0.9, 3), {"multiple_of": 1}, "no multiple of multiple_of"),
        ((0, 9, 3), {"scale": Scale.LOG}, "the scale log needs a positive min"),
        ((0, 9, 3), {"atoms": (2, 1)}, "edges and atoms have to increase"),
        ((0, 9, 3), {"atoms": (1, 1)}, "edges and atoms have to increase"),
        ((0, 9, 2), {"edges": (0, 0, 9)}, "edges and atoms have to increase"),
        ((0, 9, 3), {"atoms": (math.inf,)}, "expected numbers below 1e300"),
        ((-1e300, 9, 3), {}, "expected numbers below 1e300"),
        ((2**53, 2**53 + 3, 4, False, True), {}, r"integer bins need whole bounds up to 2\^53"),
        ((0, 9, 3), {"outside": "drop"}, "outside is one of clip, error, missing"),
        ((0, 9, 3), {"outside": "missing"}, "outside is one of clip, error, missing, and missing needs"),
        ((0, 9, 3), {"unreadable": "clip"}, "unreadable is one of error, missing"),
        ((0, None, None), {}, "expected both min and max, or none"),
        ((None, None, 3), {}, "bins need min and max"),
        ((0, 9, 3, False, True), {"edges": (0, 0.5, 1, 9)}, "edges and atoms of integers are whole"),
        ((0, 9, 3, False, True), {"atoms": (0.5,)}, "edges and atoms of integers are whole"),
        ((0, 9, 5), {"edges": (0, 1, 9)}, "edges begin with min"),
        ((0, 9, 2), {"edges": (0, 1, 8)}, "edges begin with min"),
    ],
)
def test_refuses_an_entry_in_one_sentence(arguments, more, reason):
    with pytest.raises(DataError, match=f"^attribute 'x': {reason}"):
        NumericAttribute("x", *arguments, **more)


@pytest.mark.parametrize(
    "more",
    [{}, {"multiple_of": 0.001}, {"multiple_of": 0.125}, {"multiple_of": 0.01, "atoms": (0.005,)}],
)
def test_refuses_a_format_with_fewer_decimals_than_values_have(more):
    with pytest.raises(DataError, match="its format has 2 decimals, and its values may have more"):
        NumericAttribute("x", 0, 10, 2, format=Notation("{:.2f}"), **more)


@pytest.mark.parametrize("more", [{"multiple_of": 0.05}, {"multiple_of": 0.25}, {"integer": True}])
def test_values_with_a_number_of_decimals_come_back_as_they_were(more):
    attribute = NumericAttribute("x", 0, 10, 2, format=Notation("${:,.2f}"), **more)
    values = attribute.decode(np.array([0, 1] * 50), np.random.default_rng(0))
    written = attribute.spelled(values)
    assert all(len(text.partition(".")[2]) == 2 for text in written)
    assert np.array_equal(attribute.numbers(written), values)


def test_the_numbers_next_to_an_edge_or_an_atom_are_written_as_these():
    rain = NumericAttribute("rain", -10, 60, 7, atoms=(0.0, 2.5))
    marks = np.array([-10.0, 0.0, 2.5, 20.0, 60.0])
    for number in (marks, np.nextafter(marks, np.inf), np.nextafter(marks, -np.inf)):
        np.testing.assert_array_equal(rain.written(number), marks)
    np.testing.assert_array_equal(rain.written(np.array([1e-300, 2.4999])), [1e-300, 2.4999])


def test_thousands_may_be_missing():
    attribute = NumericAttribute("x", 1000.0, 5e6, 4, True, False, format=Notation("{:.1K}"))
    values = attribute.decode(np.arange(attribute.size), np.random.default_rng(0))
    assert np.isnan(values).tolist() == [False] * 4 + [True]
    assert attribute.spelled(values)[-1] is None
    assert attribute.encode(attribute.spelled(values)).tolist() == list(range(attribute.size))

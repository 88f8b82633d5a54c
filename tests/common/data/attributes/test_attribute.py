import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.attribute import LARGEST_SIZE
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

pytestmark = pytest.mark.slow

finite = st.floats(-1e299, 1e299)
categories = st.lists(
    st.one_of(
        st.text(max_size=4),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def coded(draw):
    return CodedAttribute("x", draw(st.integers(1, 300)))


@st.composite
def categorical(draw):
    try:
        return CategoricalAttribute("x", tuple(draw(categories)))
    except DataError:
        assume(False)


@st.composite
def real(draw):
    low, high = sorted((draw(finite), draw(finite)))
    try:
        return NumericAttribute("x", low, high, draw(st.integers(1, 200)), draw(st.booleans()), integer=False)
    except DataError:
        assume(False)


@st.composite
def integer(draw):
    low = draw(st.integers(-(2**52), 2**52))
    count = draw(st.integers(1, 1000))
    bins = draw(st.integers(1, count))
    return NumericAttribute("x", low, low + count - 1, bins, draw(st.booleans()), integer=True)


@settings(deadline=None)
@given(st.one_of(coded(), categorical(), real(), integer()), st.integers(0, 2**32))
def test_encoding_what_was_decoded_gives_the_codes_back(attribute, seed):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(attribute.size), rng.integers(0, attribute.size, 50)])
    values = attribute.decode(codes, rng)
    assert np.array_equal(attribute.encode(values), codes)
    assert np.array_equal(attribute.encode(values.tolist()), codes)


@settings(deadline=None)
@given(st.one_of(coded(), real(), integer()), st.integers(0, 2**32))
def test_numbers_written_as_text_have_the_same_codes(attribute, seed):
    rng = np.random.default_rng(seed)
    codes = np.arange(attribute.size)
    cells = ["" if v is None or math.isnan(v) else repr(v) for v in attribute.decode(codes, rng).tolist()]
    assert np.array_equal(attribute.encode(cells), codes)


@settings(deadline=None)
@given(st.one_of(real(), integer()), st.integers(0, 2**32))
def test_decoded_numbers_stay_in_bounds(attribute, seed):
    rng = np.random.default_rng(seed)
    values = attribute.decode(rng.integers(0, attribute.bins, 200), rng).astype(float)
    assert values.min() >= attribute.minimum
    assert values.max() <= attribute.maximum


@given(st.one_of(real(), integer()), st.integers(-(2**53), 2**53))
def test_a_number_out_of_bounds_is_clipped(attribute, value):
    clipped = min(max(value, attribute.minimum), attribute.maximum)
    assert attribute.encode([value]) == attribute.encode([clipped])


def test_the_bounds_belong_to_the_first_and_last_bin():
    attribute = NumericAttribute("x", 0, 1, 4, integer=False)
    assert attribute.encode([-5, 0, 0.25, 0.5, 0.999, 1, 7]).tolist() == [0, 0, 1, 2, 3, 3, 3]


def test_integer_bins_are_runs_as_even_as_possible():
    attribute = NumericAttribute("x", 1, 10, 4, integer=True)
    assert attribute.encode(range(1, 11)).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]


def test_decoding_an_integer_bin_gives_every_integer_of_it():
    attribute = NumericAttribute("x", 1, 10, 4, integer=True)
    values = attribute.decode(np.zeros(200, dtype=np.uint8), np.random.default_rng(1))
    assert values.dtype == np.int64
    assert set(values.tolist()) == {1, 2, 3}


@pytest.mark.parametrize(
    ("bounds", "bins", "integer"),
    [((17, 90), 74, True), ((17, 90), 73, False), ((0.5, 3.5), 4, False), ((3, 3), 1, True)],
)
def test_by_default_one_bin_for_each_integer_means_integers(bounds, bins, integer):
    assert NumericAttribute("x", *bounds, bins).integer is integer


def test_a_missing_number_is_the_last_code_of_a_nullable_attribute():
    for integer, missing in ((True, None), (False, math.nan)):
        attribute = NumericAttribute("x", 0, 9, 5, nullable=True, integer=integer)
        assert attribute.size == 6
        assert attribute.encode(["", "9", None, math.nan]).tolist() == [5, 4, 5, 5]
        assert repr(attribute.decode(np.array([5]), np.random.default_rng(1)).tolist()[0]) == repr(missing)


@pytest.mark.parametrize(
    ("attribute", "cell", "reason"),
    [
        (NumericAttribute("age", 0, 9, 10), None, "expected a number, found a missing value; declare"),
        (NumericAttribute("age", 0, 9, 10), "7.25", 'found a fraction; declare "integer": false'),
        (CodedAttribute("age", 3), "", "expected a code, found a missing value"),
        (CodedAttribute("age", 3), 3, "expected a whole number from 0 to 2"),
        (CodedAttribute("age", 3), "-1", "expected a whole number from 0 to 2"),
        (CodedAttribute("age", 3), 1.5, "expected a whole number from 0 to 2"),
        (CategoricalAttribute("age", ("a", "b")), None, 'found a missing value; add ""'),
        (CategoricalAttribute("age", ("a", "b")), "77secret", "expected one of the categories"),
        (CategoricalAttribute("age", (1, 2)), "77secret", "expected one of the categories"),
    ],
)
def test_refuses_a_value_without_a_code_by_row_and_hides_the_value(attribute, cell, reason):
    good = attribute.decode(np.zeros(16, dtype=int), np.random.default_rng(1)).tolist()
    with pytest.raises(DataError, match=r"^column 'age', row 17: ") as refusal:
        attribute.encode([*good, cell])
    assert reason in str(refusal.value)
    assert "77secret" not in str(refusal.value)
    assert "7.25" not in str(refusal.value)


def test_categories_match_by_their_json_text():
    attribute = CategoricalAttribute("x", (1, 2.5, True, "7", "", "007"))
    cells = ["1", 1, 1.0, "1.0", "2.50", "True", "TRUE", "true", True, 7, None, "", "007"]
    assert attribute.encode(cells).tolist() == [0, 0, 0, 0, 1, 2, 2, 2, 2, 3, 4, 4, 5]


def test_a_text_category_matches_only_its_own_text():
    with pytest.raises(DataError, match="row 2"):
        CategoricalAttribute("x", ("7", "true")).encode(["7", "7.0"])
    with pytest.raises(DataError, match="row 1"):
        CategoricalAttribute("x", ("7", "true")).encode(["True"])


def test_other_stands_for_all_values_that_are_not_listed_but_not_for_missing_ones():
    attribute = CategoricalAttribute("x", ("a", 1, "rest"), other="rest")
    cells = ["a", "1.0", 1, "b", 2, "1_0", "rest"]
    assert attribute.encode(cells).tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert attribute.census([*cells, ""]) == {"other": 3, "empty": 1}
    with pytest.raises(DataError, match="found a missing value"):
        attribute.encode([""])
    assert CategoricalAttribute("x", ("a", "", "rest"), other="rest").census(["", "b"]) == {
        "missing": 1,
        "other": 1,
    }


def test_the_census_counts_values_that_are_not_listed():
    assert CategoricalAttribute("x", ("a", "b")).census(["a", "c", None, "c"]) == {"unlisted": 2, "empty": 1}
    assert CodedAttribute("x", 3).census([0, 3, "", "c", 1.5]) == {"unreadable": 1, "outside": 2, "empty": 1}


@pytest.mark.parametrize(
    "attribute",
    [
        CategoricalAttribute("x", ("S", "M", "L"), ordered=True),
        CategoricalAttribute("x", ("a", "rest"), other="rest", missing=("NA",)),
        CategoricalAttribute("x", ("rest",), other="rest", open=True, reviewed=False),
        CategoricalAttribute("x", (1, 2.5, True, "", "b")),
        CodedAttribute("x", 3),
    ],
)
def test_a_domain_file_holds_all_of_an_attribute(attribute):
    domain = Domain((attribute,))
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"other": "c"}, "other names one of the categories"),
        ({"open": True}, "open categories need it"),
        ({"ordered": "yes"}, "ordered, open, prefixes, nearest and reviewed are true or false"),
        ({"reviewed": 1}, "ordered, open, prefixes, nearest and reviewed are true or false"),
        ({"missing": ("a",)}, "a category stands among missing too"),
    ],
)
def test_refuses_what_categories_cannot_be(more, reason):
    with pytest.raises(DataError, match=f"attribute 'x': .*{reason}"):
        CategoricalAttribute("x", ("a", "b"), **more)


@pytest.mark.parametrize(
    ("listed", "dtype"),
    [((1, 2), np.int64), ((0.5, 2.0), np.float64), ((True, False), np.bool_), (("a", 1), object)],
)
def test_categories_of_one_type_decode_to_that_type(listed, dtype):
    values = CategoricalAttribute("x", listed).decode(np.array([1, 0]), np.random.default_rng(1))
    assert values.dtype == dtype
    assert values.tolist() == [listed[1], listed[0]]


@pytest.mark.parametrize("n", [0, -1, True, 2.0, LARGEST_SIZE + 1])
def test_refuses_an_invalid_number_of_codes(n):
    with pytest.raises(DataError, match="attribute 'x': expected from 1 to"):
        CodedAttribute("x", n)


@pytest.mark.parametrize("name", ["", 3, None])
def test_refuses_an_attribute_without_a_name(name):
    with pytest.raises(DataError, match="name is text"):
        CodedAttribute(name, 2)


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ((), "expected from 1 to"),
        (("a", "b", "a"), "listed twice"),
        ((1, "1"), "listed twice"),
        ((1, 1.0), "listed twice"),
        ((True, "true"), "listed twice"),
        ((None,), 'write a missing value as ""'),
        ((math.nan,), "finite number"),
        ((["a"],), "expected categories that are text"),
    ],
)
def test_refuses_invalid_categories(listed, reason):
    with pytest.raises(DataError, match=reason):
        CategoricalAttribute("x", listed)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((0, 9, 0), "expected from 1 to"),
        ((0, 9, 2.5), "expected from 1 to"),
        ((9, 0, 3), "expected min below max"),
        ((3, 3, 2), "expected min below max"),
        ((0.5, 0.5, 1), "expected min below max"),
        ((9, 0, 3, False, True), "integer bins need"),
        ((0, 9, 11, False, True), "integer bins need"),
        ((0.5, 9, 2, False, True), "integer bins need"),
        ((0, 2**60, 2, False, True), "integer bins need"),
        ((0, math.inf, 3), "expected numbers below 1e300"),
        ((math.nan, 1, 3), "expected numbers below 1e300"),
        ((-1e308, 1e308, 3), "expected numbers below 1e300"),
        (("0", 1, 3), "expected numbers below 1e300"),
        ((True, 3, 3), "expected numbers below 1e300"),
        ((0, 9, 3, "yes"), "nullable, integer and reviewed are true or false"),
        ((0, 9, 3, False, 1), "nullable, integer and reviewed are true or false"),
        ((1.0, 1.0 + 2**-50, 100), "bins too narrow"),
    ],
)
def test_refuses_invalid_bounds_and_bins(arguments, reason):
    with pytest.raises(DataError, match=f"attribute 'x': {reason}"):
        NumericAttribute("x", *arguments)


@given(st.one_of(coded(), categorical(), real(), integer()))
def test_absent_is_one_more_code_the_last_and_the_others_keep_their_meaning(attribute):
    assume(not getattr(attribute, "nullable", False))
    more = attribute.with_absent()
    assert (more.name, more.size) == (attribute.name, attribute.size + 1)
    every = np.arange(attribute.size)
    rng = np.random.default_rng(1)
    assert np.array_equal(more.encode(attribute.decode(every, rng)), every)
    last = np.array([attribute.size])
    assert np.array_equal(more.encode(more.decode(last, rng)), last)


@pytest.mark.parametrize(
    "attribute",
    [CategoricalAttribute("x", ("absent", "a")), NumericAttribute("x", 0, 9, 10, nullable=True)],
)
def test_a_value_that_could_not_be_told_from_absent_is_refused(attribute):
    with pytest.raises(DataError, match=r"attribute 'x': .*population"):
        attribute.with_absent()


def test_what_is_absent_is_written_as_a_category_a_code_or_an_empty_cell():
    rng = np.random.default_rng(1)
    written = [
        attribute.with_absent().decode(np.array([attribute.size]), rng).tolist()
        for attribute in (
            CategoricalAttribute("x", ("a", "b")),
            CodedAttribute("x", 3),
            NumericAttribute("x", 0, 9, 10),
        )
    ]
    assert written == [["absent"], [3], [None]]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=6, unique=True))
def test_a_text_of_numbers_counts_as_the_nearest_that_is_listed(pairs):
    listed = tuple(f"{first}/{second}" for first, second in pairs)
    read = CategoricalAttribute("x", (*listed, "other"), other="other", nearest=True)
    cells = [*listed, "128/79", "128-79", "n.d."]
    nearest = min(range(len(pairs)), key=lambda place: math.dist(pairs[place], (128, 79)))
    *known, code, other, text = read.encode(np.array(cells, dtype=object)).tolist()
    assert known == list(range(len(listed)))
    assert math.dist(pairs[code], (128, 79)) == math.dist(pairs[nearest], (128, 79))
    assert (other, text) == (len(listed), len(listed))

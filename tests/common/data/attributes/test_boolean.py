import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.boolean import BooleanAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

SMOKER = BooleanAttribute("smoker", nullable=True, false=("N", "no", 0), true=("Y", "yes", 1))


@pytest.mark.parametrize(
    "cells",
    [
        ["true", "false", "True", "FALSE"],
        [True, False, True, False],
        np.array([True, False, True, False]),
        pd.Series([True, False, True, False], dtype="boolean"),
    ],
)
def test_booleans_and_their_json_texts_are_read(cells):
    attribute = BooleanAttribute("x")
    assert attribute.encode(cells).tolist() == [1, 0, 1, 0]
    assert SMOKER.encode(cells).tolist() == [1, 0, 1, 0]


def test_cells_are_read_as_the_domain_spells_them_and_written_by_the_first_spelling():
    codes = SMOKER.encode(["yes", "N", "", 1, 0.0, "1.0", None, "no", "Y"])
    assert codes.tolist() == [1, 0, 2, 1, 0, 1, 2, 0, 1]
    values = SMOKER.decode(codes[:3], np.random.default_rng(0))
    assert values.tolist() == [True, False, None]
    assert SMOKER.spelled(values).tolist() == ["Y", "N", None]
    assert SMOKER.encode(SMOKER.spelled(values)).tolist() == [1, 0, 2]


def test_booleans_without_a_missing_value_are_a_numpy_array_of_them():
    values = BooleanAttribute("x").decode(np.array([1, 0]), np.random.default_rng(0))
    assert values.dtype == bool
    assert BooleanAttribute("x").spelled(values).tolist() == [True, False]


def test_refuses_other_values_and_missing_ones_without_their_value():
    with pytest.raises(DataError, match="column 'x', row 2: expected true or false, found another") as caught:
        BooleanAttribute("x").encode(["true", "perhaps"])
    assert "perhaps" not in str(caught.value)
    with pytest.raises(DataError, match="row 1: expected true or false, found a missing value"):
        BooleanAttribute("x").encode(["", "true"])
    assert SMOKER.census(["", "Y", "perhaps"]) == {"missing": 1, "unlisted": 1}


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"true": ["Y"]}, "both as lists"),
        ({"true": ["Y"], "false": [["N"]]}, "false 1: expected a text, a finite number"),
        ({"true": "Y", "false": "N"}, "true: expected a list, got a text"),
        ({"true": ["Y"], "false": ["Y"]}, "once, and none empty"),
        ({"true": [1], "false": ["1"]}, "once, and none empty"),
        ({"true": ["Y"], "false": [""]}, "once, and none empty"),
        ({"true": ["false"], "false": ["N"]}, "true is not false"),
        ({"true": ["Y"], "false": ["N"], "missing": ["Y"]}, "stands among missing too"),
        ({"nullable": 1}, "nullable: expected true or false, got 1"),
        ({"yes": ["Y"]}, "unknown keys yes"),
    ],
)
def test_refuses_an_entry_that_does_not_tell_true_from_false(form, reason):
    with pytest.raises(DataError, match=reason):
        Domain.from_json({"x": {"type": "boolean", **form}})


def test_texts_that_stand_for_a_missing_value_are_missing():
    attribute = BooleanAttribute("x", nullable=True, missing=("NA", "?"))
    assert attribute.encode(["true", "NA", "?", ""]).tolist() == [1, 2, 2, 2]


def test_absent_people_have_an_empty_cell():
    absent = BooleanAttribute("x").with_absent()
    assert (absent.size, absent.nullable) == (3, True)
    with pytest.raises(DataError, match="could not be told from people"):
        SMOKER.with_absent()

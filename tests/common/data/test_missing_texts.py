import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

NUMBER = NumericAttribute("x", 0, 9, 10, nullable=True, missing=("NA", "."))


@pytest.mark.parametrize(
    "values",
    [
        ["NA", "3", "", ".", None],
        np.array(["NA", "3", "", ".", ""]),
        np.array(["NA", 3, "", ".", None], object),
    ],
)
def test_texts_for_missing_values_are_missing_numbers(values):
    assert NUMBER.encode(values).tolist() == [10, 3, 10, 10, 10]
    assert NUMBER.census(values) == {"missing": 4}


def test_other_texts_and_numbers_stay_what_they_are():
    with pytest.raises(DataError, match="row 2"):
        NUMBER.encode(["1", "N/A"])
    assert NUMBER.encode(np.arange(3)).tolist() == [0, 1, 2]


def test_a_text_for_a_missing_value_needs_a_code_for_one():
    with pytest.raises(DataError, match="row 1: expected a number, found a missing value"):
        NumericAttribute("x", 0, 9, 10, missing=("NA",)).encode(["NA"])
    countries = CategoricalAttribute("land", ("DE", "other"), other="other", missing=("?",))
    with pytest.raises(DataError, match="row 1: expected a category, found a missing value"):
        countries.encode(["?"])


def test_namibia_is_a_category_where_it_is_listed_and_missing_where_that_is_said():
    assert CategoricalAttribute("land", ("", "DE", "NA")).encode(["NA", "DE", ""]).tolist() == [2, 1, 0]
    assert CategoricalAttribute("land", ("", "DE"), missing=("NA",)).encode(["NA", "DE"]).tolist() == [0, 1]
    with pytest.raises(DataError, match="stands among missing too"):
        CategoricalAttribute("land", ("", "NA"), missing=("NA",))


@pytest.mark.parametrize("missing", ["NA", [1], [""]])
def test_a_domain_file_lists_texts_for_missing_values(missing):
    with pytest.raises(DataError, match=r"missing( 1)?: expected a|missing is a list"):
        Domain.from_json({"x": {"type": "categorical", "categories": ["", "a"], "missing": missing}})


def test_the_texts_are_kept_in_the_domain_file():
    domain = Domain((NUMBER, CategoricalAttribute("c", ("", "a"), missing=("NA",))))
    assert Domain.from_json(domain.to_json()) == domain

"""Columns name an attribute and its groups; different ones have different names."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.columns import columns_of, groups_of, names_of, width

NAMES = st.text(min_size=1, max_size=6)
LABELS = st.lists(st.integers(0, 300), max_size=4).map(tuple)


@given(NAMES, LABELS)
@example("\x1da", ())
@example("\x1d0,1\x1da", ())
@example("a\x1d", (0, 1))
def test_a_column_says_its_attribute_and_its_groups(name, labels):
    columns = columns_of(View((name,), (labels,)))
    assert names_of(columns) == (name,)
    assert groups_of(columns) == ((labels,) if labels else ())


@given(NAMES, LABELS, NAMES, LABELS)
@example("a", (0, 1), "\x1d0,1\x1da", ())
@example("a", (0, 11), "a", (0, 1, 1))
def test_only_equal_attributes_and_groups_have_equal_columns(name, labels, other, others):
    same = columns_of(View((name,), (labels,))) == columns_of(View((other,), (others,)))
    assert same == ((name, labels) == (other, others))


def test_attributes_without_groups_are_columns_by_their_names():
    assert columns_of(View(("a", "b"), ())) == ("a", "b")
    assert groups_of(("a", "b")) == ()


def test_the_width_of_a_column_is_its_number_of_codes_or_groups():
    domain = Domain.coded({"a": 4, "b": 5})
    grouped, single = columns_of(View(("a", "b"), ((0, 2, 1, 0), ())))
    assert (width(domain, grouped), width(domain, single)) == (3, 5)


@pytest.mark.parametrize(
    "column",
    [
        "\x1d",
        "\x1d0,1a",
        "\x1d00,1\x1da",
        "\x1d0, 1\x1da",
        "\x1dx\x1da",
        "\x1d\x1da",
        "\x1d٣\x1da",
        f"\x1d0,{'1' * 5000}\x1da",
    ],
)
def test_other_names_are_refused(column):
    with pytest.raises(ProtocolError, match="compare versions"):
        names_of((column,))

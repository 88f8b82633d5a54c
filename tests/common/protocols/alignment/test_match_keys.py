from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.errors import DataError
from dpmosaic.common.protocols.alignment.match_keys import (
    check_identifier,
    check_match,
    key_texts,
    matched_identifiers,
)
from dpmosaic.common.protocols.alignment.plan import AlignmentPlan
from support.terms import SOMEBODY

COLUMNS = {
    "given_name": ["Anna", "Bo", "", "anna "],
    "born": ["1970-01-31", "31.01.1970", "1970-01-31", "19700131"],
}


def test_rows_are_equal_in_a_match_key_if_all_its_fields_are():
    first, second, third, fourth = key_texts(COLUMNS, ("given_name:text", "born:date"))
    assert first == fourth != b""
    assert second == third == b""


def test_a_row_that_lacks_a_field_has_no_text():
    assert key_texts(COLUMNS, ("given_name:initial", "born:year"))[2] == b""
    assert key_texts(COLUMNS, ("born:year",))[2] != b""


@pytest.mark.slow
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=4, max_size=4))
def test_fields_do_not_flow_into_each_other(values):
    a, b, c, d = values
    texts = key_texts({"x": [a, c], "y": [b, d]}, ("x:exact", "y:exact"))
    assert (texts[0] == texts[1]) == ((a.strip(), b.strip()) == (c.strip(), d.strip()))


def test_a_million_rows_do_not_need_a_value_to_come_again():
    """More different values than are remembered have the texts of their own."""
    values = [str(number) for number in range(70_000)]
    texts = key_texts({"key": values}, ("key:exact",))
    assert [text[4:].decode() for text in texts] == values


@pytest.mark.parametrize(
    ("match", "reason"),
    [
        ((), "1 to 16 match keys"),
        (((),), "at least one field"),
        (tuple((f"a{number}:exact",) for number in range(17)), "1 to 16 match keys"),
        ((("key",),), "got 'key'; write the agreed name"),
        (((":exact",),), "such as 'national_id:exact'"),
        ((("Key:exact",),), "such as 'national_id:exact'"),
        ((("key:exact:text",),), "normalisations exact, text, digits.* got 'key:exact:text'"),
        ((("key:metaphone",),), "normalisations exact, text, digits.* got 'key:metaphone'"),
        ((("key:exact", "key:exact"),), "each field once"),
        ((("a:exact", "b:text"), ("b:text", "a:exact")), "got one twice"),
    ],
)
def test_match_keys_that_a_party_could_not_compute_are_refused(match, reason):
    with pytest.raises(DataError, match=reason):
        check_match(match)


def test_a_plan_checks_its_match_keys():
    roster = tuple(replace(entry, record_count=0) for entry in SOMEBODY.roster)
    AlignmentPlan(SOMEBODY.domain, roster, match=(("key:exact",), ("name:text", "name:soundex")))
    with pytest.raises(DataError, match="'key:none'"):
        AlignmentPlan(SOMEBODY.domain, roster, match=(("key:none",),))


def test_a_plan_says_which_identifiers_it_needs():
    assert matched_identifiers((("name:text", "born:year"), ("name:soundex",))) == ("born", "name")


@pytest.mark.parametrize("name", ["", "1st", "Name", "a:b", "a b", "é", "a" * 65])
def test_names_that_a_field_cannot_contain_are_refused(name):
    with pytest.raises(DataError, match="lower-case letters, digits and underscores"):
        check_identifier(name)


@pytest.mark.parametrize("name", ["a", "national_id", "line_2"])
def test_agreed_names_are_words(name):
    check_identifier(name)
    check_match(((f"{name}:exact",),))

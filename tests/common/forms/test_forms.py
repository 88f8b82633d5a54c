"""A form judges a value and states a JSON schema of the same values."""

from datetime import date, datetime

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.nearest import hint, nearest
from dpmosaic.common.forms.several import TEXTS, Either, ListOf
from dpmosaic.common.forms.tables import Cases, Key, MapOf, Table, check_file, file_schema
from dpmosaic.common.forms.values import (
    POSITIVE,
    SHARE,
    Choice,
    Day,
    Nothing,
    Null,
    Number,
    Scalar,
    Text,
    Truth,
    whole,
)
from support.schemas import Draft202012Validator

COLOURED = Table(
    {"kind": Key(Choice(("round", "square"))), "size": Key(POSITIVE, required=True)},
    Cases(
        "kind", "round", {"round": {"radius": Key(whole(1))}, "square": {"side": Key(SHARE, required=True)}}
    ),
)

CASES = [
    (Number(), [0, -1.5, 2], ["1", True, None, []]),
    (SHARE, [0.5], [0, 1, -1, "0.5"]),
    (Number(least=0, most=2), [0, 2, 1.5], [-1, 3]),
    (whole(1, 3), [1, 3], [0, 4, 1.5, True, "1"]),
    (Text(), ["", "a"], [1, None, ["a"]]),
    (Text("a+", "letters a"), ["a", "aa"], ["", "ab", 1]),
    (Choice(("one", "two")), ["one"], ["on", 1, None]),
    (Truth(), [True, False], [0, 1, "true"]),
    (Nothing(), ["none"], ["no", 0]),
    (Null(), [None], ["none", 0]),
    (Scalar(), ["a", 1, 1.5, True], [None, [], {}]),
    (Day(), ["2030-12-31", ""], ["tomorrow", 2030]),
    (Either((Nothing(), whole(1))), ["none", 2], [0, "two"]),
    (TEXTS, [[], ["a"]], ["a", [1], {}]),
    (ListOf(whole(0), some=True), [[0]], [[], [-1]]),
    (MapOf(Text(), some=True), [{"a": "b"}], [{}, {"a": 1}, []]),
    (
        COLOURED,
        [{"size": 1}, {"size": 1, "radius": 2}, {"kind": "square", "size": 1, "side": 0.5}],
        [
            {},
            {"size": 1, "side": 0.5},
            {"kind": "square", "size": 1},
            {"kind": "square", "size": 1, "radius": 2},
            {"size": 1, "radius": 0},
            {"size": 1, "colour": "red"},
            {"kind": "oval", "size": 1},
            [],
        ],
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "right", "wrong"), CASES, ids=lambda case: type(case).__name__)
def test_a_form_and_its_schema_accept_and_refuse_the_same_values(form, right, wrong):
    schema = file_schema("a file", form)
    Draft202012Validator.check_schema(schema)
    judge = Draft202012Validator(schema)
    for value in right:
        assert list(form.faults(value)) == []
        assert form.fits(value)
        assert judge.is_valid(value), value
    for value in wrong:
        assert list(form.faults(value)), value
        assert not form.fits(value)
        assert not judge.is_valid(value), value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400], ids=range(4))
def test_numbers_are_finite(value):
    assert not Number().fits(value)
    assert not Scalar().fits(value)


def test_a_day_of_toml_is_a_day_and_a_time_is_none():
    assert Day().fits(date(2030, 12, 31))
    assert not Day().fits(datetime(2030, 12, 31))


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (whole(1), "3", 3),
        (Number(), "1e-3", 0.001),
        (Truth(), "true", True),
        (Either((Nothing(), POSITIVE)), "none", None),
        (Either((Nothing(), POSITIVE)), "2", 2.0),
        (Either((Nothing(), Text())), "file.pt", "file.pt"),
        (Choice(("a",)), "a", "a"),
    ],
)
def test_a_text_of_the_command_line_stands_for_a_value(form, text, value):
    assert form.read(text) == value
    assert form.fits(value)


@pytest.mark.parametrize("text", ["three", "3.5", ""])
def test_a_text_that_stands_for_no_value_fits_no_number(text):
    assert not whole(1).fits(whole(1).read(text))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            {"sise": {}},
            r"file.toml: \[sise\]: unknown key \(did you mean 'size'\?\); it has size, rows; fix it",
        ),
        ({"size": {}}, r"file.toml: kilos in \[size\]: expected a number above 0, found nothing; fix it"),
        ({"size": {"kilos": -1}}, r"kilos in \[size\]: expected a number above 0, got -1; fix it"),
        ({"size": {"kilos": True}}, r"expected a number above 0, got true"),
        (
            {"size": {"kilos": 1}, "rows": [{"names": ["a"]}, {"names": [1]}]},
            r"names 1 in \[rows\] 2: expected",
        ),
        ({"size": {"kilos": 1}, "rows": 3}, r"\[rows\]: expected a list, got 3"),
    ],
)
def test_the_refusal_of_a_file_names_the_place_what_was_expected_and_what_came(content, reason):
    rows = ListOf(Table({"names": Key(TEXTS)}))
    form = Table({"size": Key(Table({"kilos": Key(POSITIVE, required=True)})), "rows": Key(rows)})
    with pytest.raises(DataError, match=reason):
        check_file("file.toml", form, content)


def test_a_refusal_repeats_no_text_which_may_be_a_secret():
    with pytest.raises(DataError) as refused:
        check_file("file.toml", Table({"url": Key(Text("http://.*", "an address"))}), {"url": "pass:word"})
    assert "pass:word" not in str(refused.value)


def test_the_nearest_name_is_offered_only_if_it_is_near():
    assert nearest("epsilom", ["delta", "epsilon"]) == "epsilon"
    assert nearest("colour", ["delta", "epsilon"]) is None
    assert hint("colour", ["delta"]) == ""

"""What parents say of their rows, by hand on a few of them, and rows that are made to agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.boolean import BooleanAttribute
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.common.errors import DataError
from dpmosaic.curator.people.drawing.keeping import least_numbers, summaries_kept, times_kept
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.shape import Family
from dpmosaic.curator.people.summaries import AnyOf, CountOf, FirstOf, LastOf, TimeTo, summary_of
from dpmosaic.curator.results.raw_frames import encode_frame

PARENT = np.array([0, 0, 0, 2, 2])
ROWS = pd.DataFrame({"code": ["I63", " I64 ", "J18", None, "I63"], "n": [10.0, 11.0, 12.0, 13.0, 14.0]})
TIMES = np.array([3.0, 5.0, 9.0, 1.0, 7.0])
STROKE = ("I63", "I64")


def said(summary):
    return summary.of(ROWS, PARENT, 4, TIMES).tolist()


def test_any_reads_values_as_they_are_written_and_blanks_as_none():
    assert said(AnyOf("x", "code", STROKE)) == [True, False, True, False]
    assert said(AnyOf("x", "n", ("10",))) == [True, False, False, False]
    assert said(AnyOf("x", "code", ("",))) == [False, False, True, False]


def test_a_count_is_of_rows_with_one_of_the_values():
    assert said(CountOf("x", "code", STROKE)) == [2, 0, 1, 0]


def test_the_first_and_the_last_row_of_a_parent_speak():
    first = FirstOf("x", "code").of(ROWS, PARENT, 4, TIMES)
    assert first.fillna("none").tolist() == ["I63", "none", "none", "none"]
    last = said(LastOf("x", "n"))
    assert last == pytest.approx([12.0, np.nan, 14.0, np.nan], nan_ok=True)


def test_a_time_is_that_of_the_first_row_with_a_value():
    assert said(TimeTo("x", "code", ("I64", "J18"))) == pytest.approx(
        [5, np.nan, np.nan, np.nan], nan_ok=True
    )
    assert said(TimeTo("x", "code", ("I63",))) == pytest.approx([3, np.nan, 7, np.nan], nan_ok=True)


@pytest.mark.parametrize("summary", [FirstOf("x", "code"), LastOf("x", "code"), TimeTo("x", "code", STROKE)])
def test_of_no_rows_nothing_is_said(summary):
    none = summary.of(ROWS.iloc[:0], PARENT[:0], 2, TIMES[:0])
    assert none.isna().tolist() == [True, True]


@pytest.mark.parametrize("summary", [FirstOf("x", "code"), LastOf("x", "code")])
@pytest.mark.parametrize(
    ("held", "cells"),
    [
        (CategoricalAttribute("code", ("a", "", "b")), ["b", "a", None, "b", "a"]),
        (CodedAttribute("code", 3), [2, 1, 0, 1, 2]),
        (BooleanAttribute("code"), [True, False, True, False, False]),
        (NumericAttribute("code", 0, 9, 3), [9.0, 4.0, 0.0, 3.0, 8.0]),
        (NumericAttribute("code", 0, 9, 3, nullable=True), [9.0, 4.0, None, 3.0, None]),
    ],
)
def test_codes_of_the_first_and_last_row_are_those_that_its_cells_have(summary, held, cells):
    attribute = summary.attribute(held, None, None)
    said = summary.of(pd.DataFrame({"code": cells}), PARENT, 4, None).rename("x").to_frame()
    rows = held.encode(np.array(cells, dtype=object))
    found = summary.codes_from(rows, PARENT, 4, attribute)
    assert found.tolist() == encode_frame(Domain((attribute,)), said).column("x").tolist()


@pytest.mark.parametrize(
    ("held", "none"),
    [
        (CategoricalAttribute("code", ("a", "b")), 2),
        (CategoricalAttribute("code", ("", "b")), 0),
        (CodedAttribute("code", 3), 3),
        (BooleanAttribute("code"), 2),
        (NumericAttribute("code", 0, 9, 3), 3),
        (NumericAttribute("code", 0, 9, 3, nullable=True), 3),
    ],
)
def test_codes_of_a_first_row_are_those_of_the_row(held, none):
    found = FirstOf("x", "code").attribute(held, None, None)
    codes = np.arange(held.size)
    assert found.name == "x"
    assert found.encode(held.decode(codes, np.random.default_rng(0))).tolist() == codes.tolist()
    assert found.encode(np.array([None], dtype=object)).tolist() == [none]


@pytest.mark.parametrize(
    "stated",
    [
        {"what": "first"},
        {"what": "third", "column": "code"},
        {"what": "first", "column": "code", "values": ["x"]},
        {"what": "count", "column": "code"},
        {"code": ["x"], "ward": ["y"]},
        {"what": "first", "column": ["code"]},
        {},
    ],
)
def test_other_statements_are_refused(stated):
    with pytest.raises(DataError, match="summary 'x'"):
        summary_of("x", stated)


def test_statements_are_read():
    assert summary_of("x", {"code": "I63"}) == AnyOf("x", "code", ("I63",))
    assert summary_of("x", {"what": "any", "column": "code", "values": [1]}) == AnyOf("x", "code", ("1",))
    assert summary_of("x", {"what": "last", "column": "code"}) == LastOf("x", "code")


WHEN = NumericAttribute("day", 0, 100, 10, integer=True)
NUMBER = NumericAttribute("number_of_codes", 0, 7, 4, integer=True, edges=(0.0, 1.0, 2.0, 4.0, 7.0))
CODE = CategoricalAttribute("code", ("I63", "I64", "J18", "E11"))


def family(*summaries):
    return Family(
        (
            Kin("people", Domain((NUMBER,))),
            Kin(
                "codes",
                Domain((CODE,)),
                parent="people",
                foreign="id",
                ordered=True,
                steps=Steps(WHEN),
                summaries=summaries,
            ),
        )
    )


def drawn(summary, seed):
    """Random rows, and random statements of their parents, which have rows enough for them."""
    rng, related = np.random.default_rng(seed), family(summary)
    ((_, attribute),) = related.summaries_in_release("codes")
    parents = Rows({attribute.name: rng.integers(0, attribute.size, 300)}, np.arange(300), 300)
    numbers = np.maximum(rng.poisson(1.5, 300), least_numbers(related, "codes", parents))
    parent = np.repeat(np.arange(300), numbers)
    rows = Rows({"code": rng.integers(0, 4, len(parent))}, parent, 300)
    return related, attribute, parents, rows, rng


def frame(rows):
    return pd.DataFrame({"code": np.array(CODE.categories)[rows.codes["code"]]})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "summary",
    [
        AnyOf("x", "code", STROKE),
        CountOf("x", "code", STROKE),
        FirstOf("x", "code"),
        LastOf("x", "code"),
    ],
    ids=lambda one: one.what,
)
def test_rows_agree_with_what_parents_say(summary, seed):
    related, attribute, parents, rows, rng = drawn(summary, seed)
    found = summaries_kept(related, "codes", rows, parents, rng)
    says = attribute.encode(summary.of(frame(found), found.parent, 300, None).to_numpy(object))
    some = rows.numbers > 0
    known = some if isinstance(summary, (FirstOf, LastOf)) else np.ones(300, dtype=bool)
    known &= parents.codes["x"] < CODE.size if isinstance(summary, (FirstOf, LastOf)) else True
    assert (says == parents.codes["x"])[known].all()
    assert known.sum() > 100


@pytest.mark.parametrize("seed", range(5))
def test_rows_agree_with_times_and_stay_in_order(seed):
    summary = TimeTo("x", "code", STROKE)
    related, attribute, parents, rows, rng = drawn(summary, seed)
    times = rng.integers(0, 101, len(rows)).astype(float)
    times = times[np.lexsort((times, rows.parent))]
    found, moved = times_kept(related, "codes", rows, times, (None, None), parents, rng)
    says = attribute.encode(summary.of(frame(found), found.parent, 300, moved).to_numpy(float))
    assert (says == parents.codes["x"]).all()
    assert (np.diff(moved)[np.diff(found.parent) == 0] >= 0).all()
    assert np.bincount(found.parent, moved != times, 300).max() <= 1


def test_a_time_ends_with_its_parent():
    summary = TimeTo("x", "code", STROKE)
    related, _, parents, rows, rng = drawn(summary, 0)
    times, ends = np.zeros(len(rows)), np.full(len(rows), 4.0)
    _, moved = times_kept(related, "codes", rows, times, (None, ends), parents, rng)
    assert moved.max() <= 4


def test_a_summary_of_a_column_that_is_not_released_is_left_out():
    assert family(FirstOf("x", "ward")).summaries_in_release("codes") == ()
    assert [one.name for one in family(AnyOf("x", "ward", STROKE)).own("people")][-1] == "x"


def test_tables_with_summaries_are_read_again():
    kin = family(TimeTo("x", "code", STROKE), FirstOf("y", "code"))["codes"]
    assert Kin.from_json(kin.to_json()) == kin

import json
import math

import numpy as np
import pytest

from dpmosaic.curator.analysis.queries.answer import Answer, Row
from dpmosaic.curator.analysis.queries.estimates import Estimate

NOTE = "no interval: a reason"
ANSWER = Answer(
    "SELECT n, sex, day FROM release",
    0.95,
    "table",
    "model",
    ("sex",),
    ("n", "sex", "day"),
    (
        Row(("<F>",), [Estimate(1234.56, 1200.1, 1270.2), Estimate(np.datetime64("2020-01-02"), note=NOTE)]),
        Row((None,), [Estimate(7.0, note=NOTE), Estimate(float("nan"), note="none")]),
    ),
)


def test_the_frame_has_columns_for_the_estimate_and_the_ends_and_notes_where_there_are_any():
    frame = ANSWER.frame
    assert list(frame) == ["n", "n_low", "n_high", "n_note", "sex", "day", "day_low", "day_high", "day_note"]
    assert frame["n_low"].tolist()[0] == 1200.1
    assert math.isnan(frame["n_low"][1])
    assert frame["n_note"].tolist() == ["", NOTE]


def test_it_prints_as_a_table_with_its_notes():
    text = repr(ANSWER)
    assert "1,235 (1,200 to 1,270)" in text
    assert "2020-01-02" in text
    assert "missing" in text
    assert text.endswith(f"with probability 0.95.\n{NOTE}\nnone")


def test_html_is_escaped():
    page = ANSWER._repr_html_()
    assert "<td>&lt;F&gt;</td>" in page
    assert "<F>" not in page
    assert NOTE in page


def test_json_has_null_where_there_is_no_number():
    form = json.loads(json.dumps(ANSWER.to_json(), allow_nan=False))
    assert form["rows"][0] == {
        "n": {"estimate": 1234.56, "low": 1200.1, "high": 1270.2},
        "sex": "<F>",
        "day": {"estimate": "2020-01-02", "low": None, "high": None, "note": NOTE},
    }
    assert form["rows"][1]["day"] == {"estimate": None, "low": None, "high": None, "note": "none"}


def test_an_answer_of_one_number_has_a_value_and_an_interval():
    one = Answer("q", 0.9, "population", "rows", (), ("n",), (Row((), [Estimate(2.0, 1.0, 3.0)]),))
    assert one.value == 2
    assert one.interval == (1, 3)
    assert "the population of which the table is a sample with probability 0.9." in repr(one)


@pytest.mark.parametrize("wanted", ["value", "interval"])
def test_an_answer_of_several_numbers_has_no_single_value(wanted):
    with pytest.raises(ValueError, match="4 numbers"):
        getattr(ANSWER, wanted)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.12345, 0.1201, 0.1302), "0.123 (0.120 to 0.130)"),
        (Estimate(5.0, 5.0, 5.0), "5 (5 to 5)"),
        (Estimate(2.0, 1.0, 2.0), "2 (1 to 2)"),
        (Estimate(1.5, 1.0, 2.0), "1.5 (1.0 to 2.0)"),
        (Estimate(123456.7), "123,457 (no interval)"),
        (Estimate(np.datetime64("2020-01-02")), "2020-01-02 (no interval)"),
        (Estimate(float("nan")), "-"),
    ],
)
def test_numbers_are_rounded_to_what_the_interval_tells(estimate, text):
    one = Answer("q", 0.9, "table", "rows", (), ("n",), (Row((), [estimate]),))
    assert one.texts() == [(text,)]

import pytest

from dpmosaic.party.drafting.known import Offer
from dpmosaic.party.drafting.review_table import as_html, as_text, review_column

MARK = {"reviewed": False}


@pytest.mark.parametrize(
    ("entry", "kind", "values", "read"),
    [
        ({"type": "codes", "n": 3}, "codes", "0 to 2", "largest code"),
        ({"type": "categorical", "categories": ["", "a"]}, "categories", "a, or missing", "the list"),
        (
            {"type": "categorical", "categories": [*range(20)], "ordered": True},
            "ordered categories",
            "0, 1, 2, 3, 4, 5, 6, 12 more, 19",
            "the list",
        ),
        (
            {"type": "categorical", "categories": ["other"], "other": "other", "open": True},
            "open categories",
            "other",
            "whether values are missing",
        ),
        (
            {
                "type": "numeric",
                "min": 0,
                "max": 9,
                "bins": "auto",
                "integer": True,
                "atoms": [-1],
                "nullable": True,
                "missing": [" "],
            },
            "whole numbers",
            "0 to 9, -1 as values of their own, or missing (' ')",
            "bounds, frequent values, whether values are missing",
        ),
        (
            {"type": "numeric", "edges": [0, 5, 9], "decimals": 2, "format": "{}%"},
            "numbers",
            "0 to 9, decimals: 2, written {}%",
            "bounds, decimals, format",
        ),
        (
            {"type": "numeric", "bins": "auto", "multiple_of": 5},
            "numbers",
            "bounds that the release finds",
            "multiples",
        ),
        ({"type": "boolean", "true": ["Y"], "false": ["N"]}, "yes or no", "Y, N", "how they are written"),
        (
            {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "granularity": "month"},
            "dates",
            "2020-01-01 to 2020-12-31, by month",
            "years",
        ),
        (
            {"type": "identifier", "pattern": "P-{:06d}", "empty": 0.3},
            "names of records",
            "none in 30% of the rows",
            "how many rows have none",
        ),
    ],
)
def test_an_unreviewed_entry_says_what_was_read_and_what_is_learned(entry, kind, values, read):
    column = review_column("x", entry | MARK)
    assert (column.kind, column.reviewed) == (kind, "no")
    assert values in column.values
    assert read in column.read
    assert column.learned
    reviewed = review_column("x", entry)
    assert (reviewed.read, reviewed.reviewed, reviewed.learned) == ("", "yes", "nothing that is not public")


@pytest.mark.parametrize("entry", [3, ["a", "b"]])
def test_short_entries_are_reviewed(entry):
    assert review_column("x", entry).reviewed == "yes"


def test_identifiers_and_dropped_text_have_nothing_to_review():
    for entry in ({"type": "identifier", "pattern": "P-{:d}"}, {"type": "text", "drop": True}):
        column = review_column("x", entry)
        assert (column.reviewed, column.learned[:7]) == ("nothing to review", "nothing")


def test_the_tables_show_every_cell_and_obey_no_text_of_the_rows(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    offer = Offer({"type": "numeric", "min": 0, "max": 120, "bins": "auto"}, "ages")
    column = review_column(
        "<b>age\x1b[1m", {"type": "numeric", "min": 18, "max": 90, "bins": 9} | MARK, offer
    )
    text = as_text([column], [("x", "<i>a remark</i>")], ["a note"])
    page = as_html([column], [("x", "<i>a remark</i>")], ["a note"])
    for shown in (" ".join(text.split()), page):
        assert "\x1b" not in shown
        assert "a note" in shown
        assert "18 to 90" in shown
        assert "0 to 120 (public" in shown
    assert "<i>" not in page
    assert "<b>age" not in page
    assert "<i>a remark</i>" in text

"""Columns of texts: words, frequent texts, codes, identifiers, and texts that are left out."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.boolean import BooleanAttribute
from dpmosaic.common.data.attributes.unmodelled import Dropped, Identifier

ROWS = 1200


def chosen(*texts, seed=3):
    return np.random.default_rng(seed).choice(np.array(texts, dtype=object), ROWS)


def released(learned, cells):
    return learned(pd.DataFrame({"x": cells})).columns["x"].released


@pytest.mark.parametrize(
    ("true", "false"), [("true", "false"), ("TRUE", "FALSE"), ("yes", "no"), ("Yes", "No"), ("Y", "N")]
)
def test_words_for_true_and_false_stay_these_words(learned, true, false):
    assert released(learned, chosen(true, false)) == BooleanAttribute("x", False, (false,), (true,))


@pytest.mark.parametrize(
    "texts",
    [
        ("female", "male"),
        ("north", "south"),
        ("I21.4", "J45.0", "A00"),
        ("007", "042", "100"),
        ("A", "other"),
    ],
)
def test_texts_of_many_rows_are_categories(learned, texts):
    assert set(released(learned, chosen(*texts)).categories) == set(texts)


def test_a_text_of_one_row_is_no_category(learned):
    cells = chosen("north", "south")
    cells[7] = "a single house"
    assert "a single house" not in released(learned, cells).categories


def test_texts_of_few_rows_among_others_are_other(learned):
    rare = [f"village {number}" for number in range(100)]
    cells = np.array([*rare, *chosen("north", "south")[100:]], dtype=object)
    assert set(released(learned, cells).categories) == {"north", "south", "other"}


def test_missing_values_are_a_category_if_they_occur(learned):
    assert released(learned, chosen("north", "south", None)).categories[0] == ""
    assert "" not in released(learned, chosen("north", "south")).categories


@pytest.mark.parametrize("blank", ["NA", "N/A", "-", "?", "None"])
@pytest.mark.parametrize(("one", "two"), [("Yes", "No"), ("F", "M"), ("north", "south")])
def test_a_text_for_no_value_never_counts_as_another(learned, one, two, blank):
    cells = chosen(one, two, blank)
    column = learned(pd.DataFrame({"x": cells})).columns["x"]
    released, codes = column.finish(column.reading, column.missing, 0)
    rows = np.bincount(codes[column.reading.encode(cells)], minlength=released.size)
    assert sorted(rows) == sorted((cells == text).sum() for text in (one, two, blank))
    assert column.counted.values == pytest.approx(rows, abs=0.5)


def test_texts_that_all_differ_name_the_rows(learned):
    found = learned(pd.DataFrame({"name": [f"P{number}-x" for number in range(ROWS)], "y": chosen("a", "b")}))
    [identifier] = found.unmodelled
    assert isinstance(identifier, Identifier)
    assert identifier.name == "name"


def test_free_text_is_left_out(learned):
    sentences = [f"the patient said on day {number} that it was fine" for number in range(ROWS)]
    halves = [f"note {number // 2}-x" if number % 2 else f"note {number}-y" for number in range(ROWS)]
    found = learned(pd.DataFrame({"long": sentences, "short": halves, "y": chosen("a", "b")}))
    assert [type(one) for one in found.unmodelled if one.name == "long"] == [Dropped]
    assert "short" not in found.columns


@pytest.mark.parametrize("text", ["well, {} of them", "the patient said on day {} that it was fine"])
def test_of_free_text_that_is_often_empty_is_kept_whether_there_is_one(learned, text):
    letters = np.random.default_rng(1).choice(list("abcdefghij"), (ROWS, 8))
    cells = [text.format("".join(row)) if place % 3 else "" for place, row in enumerate(letters)]
    found = learned(pd.DataFrame({"x": cells, "y": chosen("a", "b")}))
    assert found.columns["x"].released.categories == ("", "other")
    assert found.columns["x"].counted.values == pytest.approx([ROWS / 3, ROWS * 2 / 3], abs=1)


def test_names_of_a_form_that_some_rows_lack_are_names(learned):
    cells = [f"{number}@example.org" if number % 3 else "" for number in range(ROWS)]
    assert isinstance(learned(pd.DataFrame({"x": cells, "y": chosen("a", "b")})).unmodelled[0], Identifier)


def test_long_texts_that_many_rows_share_are_categories(learned):
    bound = "95 percent interval of the {} over all countries, its {} bound"
    texts = [bound.format(*one) for one in (("index", "lower"), ("index", "upper"), ("unit value", "lower"))]
    assert set(released(learned, chosen(*texts)).categories) == set(texts)


def test_counts_of_texts_are_measurements_of_the_released_codes(learned):
    frame = pd.DataFrame(
        {
            "rare": [*(f"village {number}" for number in range(100)), *chosen("north", "south")[100:]],
            "word": chosen("yes", "no", "unknown"),
            "gone": chosen("b", "a", None),
        }
    )
    for name, column in learned(frame).columns.items():
        cells = frame[name].fillna("").astype(str)
        known = [str(category) for category in column.released.categories]
        rows = [(cells == one).sum() + (one == "other") * (~cells.isin(known)).sum() for one in known]
        assert column.counted.clique == (name,)
        assert column.counted.values == pytest.approx(rows, abs=0.5)
        assert column.counted.sigmas.max() < 0.5


@pytest.mark.slow
def test_deviations_of_counts_of_texts_are_those_of_their_noise(learned):
    """The largest of 5 codes in 30 draws: beyond 4.5 deviations once in 1,000 runs."""
    cells = np.array([*chosen("north", "south")[50:], *(f"village {n}" for n in range(50))], dtype=object)
    rows = {"north": (cells == "north").sum(), "south": (cells == "south").sum(), "other": 50}
    errors = []
    for seed in range(30):
        counted = learned(pd.DataFrame({"x": cells}), zcdp_rho=0.3, seed=seed).columns["x"]
        texts = map(str, counted.released.categories)
        true = [rows[one] if one in rows else 0 for one in texts]
        errors += ((counted.counted.values - true) / counted.counted.sigmas).tolist()
    assert max(map(abs, errors)) < 4.5
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) < 1.3


@pytest.mark.parametrize("seed", range(8))
def test_noise_does_not_make_a_few_different_texts_many(learned, seed):
    """Numbers and texts of seven values; 2.5 deviations: one of 8 goes wrong in 1 of 20 runs."""
    hours = chosen("5", "6", "7", "8", "fewer", "more", seed=seed)
    column = learned(pd.DataFrame({"x": hours}), zcdp_rho=0.02, seed=seed).columns["x"]
    assert {"fewer", "more"} <= set(column.released.categories)


def test_a_column_without_values_is_missing_in_every_row(learned):
    column = learned(pd.DataFrame({"x": [None] * ROWS, "y": chosen("a", "b")})).columns["x"]
    assert column.missing
    assert "" in column.released.categories


def test_where_nothing_at_all_was_found_every_row_is_other(learned):
    found = learned(pd.DataFrame({"x": [f"{number} one two three four five" for number in range(ROWS)]}))
    assert found.columns["x"].released.categories == ("other",)
    assert found.unmodelled == ()

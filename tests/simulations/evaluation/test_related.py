"""Distances of related tables, by hand on small ones."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.related import evaluate, mean_distance

RELATIONS = {"visits": {"id": "people"}}
ORDER = {"visits": "day"}


def tables(days=(0, 10, 20, 5, 7), kinds="aabba", ids=(1, 1, 1, 2, 2), sexes="fmf"):
    people = pd.DataFrame({"id": [1, 2, 3], "sex": list(sexes)})
    return {"people": people, "visits": pd.DataFrame({"id": ids, "day": days, "kind": list(kinds)})}


def found(synthetic, order=ORDER):
    return evaluate(tables(), synthetic, RELATIONS, order)["visits"]


def test_a_table_is_at_no_distance_from_itself():
    same = found(tables())
    pairs = (*same.within, *same.across, *same.before)
    assert {pair.total_variation for pair in pairs} == {0.0}
    assert (same.numbers, same.gaps, same.spans, same.orphans) == (0, 0, 0, 0)
    assert same.rows == (5, 5)


def test_new_keys_and_another_order_of_rows_are_at_no_distance():
    mixed = tables()
    visits = mixed["visits"].sample(frac=1, random_state=0)
    other = {"people": mixed["people"].assign(id=[7, 8, 9]), "visits": visits.assign(id=visits.id + 6)}
    assert mean_distance((*found(other).within, *found(other).across, *found(other).before)) == 0
    assert found(other).numbers == 0


def test_numbers_of_rows_are_compared_by_parent_with_those_of_none():
    # Real numbers are 3, 2, 0, these 5, 0, 0.
    assert found(tables(ids=(1, 1, 1, 1, 1))).numbers == pytest.approx(1 / 3)


def test_pairs_count_rows():
    # One of five rows has another kind, and so another cell.
    pairs = {(pair.one, pair.other): pair for pair in found(tables(kinds="aabbb")).across}
    assert pairs["kind", "people.sex"].total_variation == pytest.approx(1 / 5)
    assert pairs["day", "people.sex"].total_variation == 0


def test_the_distance_of_independent_columns_is_that_of_the_real_table():
    pair = next(pair for pair in found(tables()).across if pair.one == "kind")
    shares = np.array([[2, 1], [1, 1]]) / 5
    apart = shares.sum(axis=1)[:, None] * shares.sum(axis=0)
    assert pair.independent == pytest.approx(np.abs(shares - apart).sum() / 2)


def test_transitions_are_of_consecutive_rows_of_one_parent():
    (pair,) = found(tables(kinds="ababa")).transitions
    # Real ones are aa, ab, ba; these ab, ba, ba.
    assert pair.total_variation == pytest.approx(1 / 3)


def test_transitions_within_a_series_are_of_the_last_row_of_it():
    """Person 1 has x, y, x again with the kinds a, a, b; person 2 has x and y."""
    real, other = tables(), tables(kinds="abbba")
    for one in (real, other):
        one["visits"]["test"] = list("xyxxy")
    by_row, by_series = (
        {(pair.one, pair.other): pair for pair in found.before}
        for found in (
            evaluate(real, other, RELATIONS, ORDER)["visits"],
            evaluate(real, other, RELATIONS, ORDER, {"visits": "test"})["visits"],
        )
    )
    # One row has an earlier one of its series: it is a after b in both tables.
    assert by_series["kind", "previous kind"].total_variation == 0
    assert by_series["day", "previous kind"].total_variation == 0
    assert by_row["kind", "previous kind"].total_variation > 0
    # The test itself has that of the row before.
    assert by_series["kind", "previous test"] == by_row["kind", "previous test"]


def test_gaps_and_spans_are_of_the_order_column():
    shifted = found(tables(days=(100, 110, 120, 105, 107)))
    assert (shifted.gaps, shifted.spans) == (0, 0)
    longer = found(tables(days=(0, 10, 20, 5, 500)))
    assert longer.gaps > 0
    assert longer.spans == pytest.approx(1 / 2)


def test_rows_without_an_order_have_no_row_before():
    unordered = found(tables(), order={})
    assert unordered.before == ()
    assert unordered.gaps is None


def test_orphans_are_counted_and_left_out():
    assert found(tables(ids=(1, 1, 1, 2, 99))).orphans == pytest.approx(1 / 5)


def test_a_table_without_rows_has_no_orphans_and_is_far_from_one_with_rows():
    none = tables()
    none["visits"] = none["visits"].iloc[:0]
    assert (found(none).rows, found(none).orphans, found(none).numbers) == ((5, 0), 0.0, pytest.approx(2 / 3))
    for real, synthetic in ((none, tables()), (none, none)):
        one = evaluate(real, synthetic, RELATIONS, ORDER)["visits"]
        assert one.orphans == 0
        assert np.isfinite([one.gaps, one.spans, *(pair.total_variation for pair in one.within)]).all()


def test_columns_of_all_tables_above_are_compared():
    real = {
        "homes": pd.DataFrame({"home": [1, 2], "rooms": [3, 4]}),
        "people": pd.DataFrame({"id": [1, 2], "home": [1, 2], "sex": ["f", "m"]}),
        "visits": pd.DataFrame({"id": [1, 2, 2], "kind": ["a", "b", "b"]}),
    }
    relations = {"people": {"home": "homes"}, "visits": {"id": "people"}}
    pairs = evaluate(real, real, relations)["visits"].across
    assert [pair.other for pair in pairs] == ["people.sex", "homes.rooms"]


def test_numbers_are_in_groups_of_the_real_table():
    days = np.arange(100)
    real = {
        "people": pd.DataFrame({"id": days}),
        "visits": pd.DataFrame({"id": days, "day": days, "kind": ["a"] * 100}),
    }
    moved = {**real, "visits": real["visits"].assign(day=np.where(days < 10, 95, days))}
    (pair,) = evaluate(real, moved, RELATIONS)["visits"].within
    assert pair.total_variation == pytest.approx(0.1)


def test_a_missing_table_is_refused():
    with pytest.raises(DataError, match="visits"):
        evaluate(tables(), {"people": tables()["people"]}, RELATIONS)

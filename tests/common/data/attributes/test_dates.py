import datetime as dt

import numpy as np
import pytest

from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError

YEARS = {"type": "date", "min": "2020-01-01", "max": "2023-12-31"}


def attribute_of(**form):
    return Domain.from_json({"x": form})["x"]


def days(first, beyond):
    return np.arange(first, beyond, dtype="datetime64[D]")


def test_bins_of_dates_are_runs_of_days_of_nearly_equal_length():
    attribute = attribute_of(**YEARS, bins=4)
    every = days("2020-01-01", "2024-01-01")
    codes = attribute.encode(every)
    assert np.bincount(codes).tolist() == [366, 365, 365, 365]
    assert np.all(np.diff(codes) >= 0)


def test_edges_divide_dates_as_they_say():
    edges = ["2020-01-01", "2020-07-01", "2023-01-01", "2023-12-31"]
    attribute = attribute_of(type="date", edges=edges)
    cells = ["2020-01-01", "2020-06-30", "2020-07-01", "2022-12-31", "2023-01-01", "2023-12-31"]
    assert attribute.encode(cells).tolist() == [0, 0, 1, 1, 2, 2]


def test_months_have_a_code_each_and_come_back_as_their_first_day():
    attribute = attribute_of(**YEARS, granularity="month")
    assert attribute.size == 48
    codes = attribute.encode(["2020-01-31", "2021-03-15T10:00:00", dt.date(2023, 12, 1)])
    assert codes.tolist() == [0, 14, 47]
    decoded = attribute.decode(codes, np.random.default_rng(0))
    assert decoded.astype(str).tolist() == ["2020-01-01", "2021-03-01", "2023-12-01"]


def test_dates_outside_the_bounds_follow_the_policy():
    cells = ["1999-01-01", "2021-01-01", "2099-01-01"]
    clipped = attribute_of(**YEARS, granularity="year")
    assert clipped.encode(cells).tolist() == [0, 1, 3]
    assert clipped.census(cells) == {"clipped": 2}
    missing = attribute_of(**YEARS, granularity="year", nullable=True, outside="missing")
    assert missing.encode(cells).tolist() == [4, 1, 4]
    refused = attribute_of(**YEARS, granularity="year", outside="error")
    with pytest.raises(DataError, match="row 1: expected a date or timestamp within the bounds") as caught:
        refused.encode(cells)
    assert "1999" not in str(caught.value)


def test_what_is_no_date_is_refused_or_missing():
    cells = ["2021-01-01", "yesterday", ""]
    with pytest.raises(DataError, match="row 2: expected a date or timestamp in the format") as caught:
        attribute_of(**YEARS, nullable=True).encode(cells)
    assert "yesterday" not in str(caught.value)
    with pytest.raises(DataError, match="row 1: expected a date or timestamp, found a missing value"):
        attribute_of(**YEARS).encode([""])
    blanked = attribute_of(**YEARS, granularity="year", nullable=True, unreadable="missing")
    assert blanked.encode(cells).tolist() == [1, 4, 4]
    assert blanked.census(cells) == {"missing": 1, "blanked": 1}
    assert attribute_of(**YEARS).census(cells) == {"unreadable": 1, "empty": 1}


def test_atoms_are_dates_with_a_code_of_their_own_also_outside_the_bounds():
    attribute = attribute_of(**YEARS, bins=1, atoms=["1900-01-01", "2021-01-01", "9999-12-31"])
    cells = ["1900-01-01", "2020-12-31", "2021-01-01", "2021-01-02", "9999-12-31"]
    codes = attribute.encode(cells)
    assert codes.tolist() == [0, 1, 2, 3, 4]
    assert attribute.decode(codes, np.random.default_rng(0)).astype(str)[[0, 2, 4]].tolist() == cells[::2]


def test_chosen_bins_of_dates_give_the_merged_codes_of_the_same_dates():
    domain = Domain.from_json({"x": {**YEARS, "bins": "auto"}, "y": {**YEARS, "bins": 3}})
    assert domain.open == ("x",)
    every = days("2020-01-01", "2024-01-01")
    table = encode_table(domain, {"x": every, "y": every})
    coding = Coding({"x": (0, 100, 101, 400)})
    chosen = coding.domain(domain)
    assert not chosen.open
    assert encode_table(chosen, {"x": every, "y": every}).digest() == coding.table(table).digest()
    assert Domain.from_json(chosen.to_json()) == chosen


def test_timestamps_are_drawn_to_the_granularity_and_within_their_bins():
    form = {"type": "timestamp", "min": "2024-01-01", "max": "2024-12-31T23:59:59"}
    attribute = attribute_of(**form, granularity="minute", bins=366)
    codes = np.repeat(np.arange(366), 5)
    drawn = attribute.decode(codes, np.random.default_rng(0))
    assert np.array_equal(drawn.astype("datetime64[m]"), drawn)
    assert np.array_equal((drawn.astype("datetime64[D]") - np.datetime64("2024-01-01")).astype(int), codes)


def test_timestamps_with_a_time_zone_are_divided_by_local_time():
    form = {"type": "timestamp", "min": "2024-07-01", "max": "2024-07-03T23:59:59", "bins": 3}
    attribute = attribute_of(**form, timezone="Europe/Berlin")
    assert attribute.encode(["2024-07-01T21:59:59Z", "2024-07-01T22:00:00Z"]).tolist() == [0, 1]


@pytest.mark.parametrize("more", [{"granularity": "year"}, {"parts": ["year"]}])
def test_texts_that_stand_for_a_missing_value_are_missing(more):
    attribute = attribute_of(**YEARS, **more, nullable=True, missing=["NA"])
    assert attribute.encode(["2021-05-05", "NA", ""]).tolist() == [1, 4, 4]
    assert attribute_of(**attribute.to_json()) == attribute


def test_dates_as_numbers_are_units_since_1970_after_the_policies():
    attribute = attribute_of(**YEARS, nullable=True)
    found = attribute.within(["2020-01-02", "1999-01-01", ""])
    assert found[:2].tolist() == [18263, 18262]
    assert np.isnan(found[2])


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"type": "date", "bins": "auto"}, "expected the keys max, min"),
        ({"type": "date", "min": "2020", "max": "2021-01-01"}, "in ISO 8601"),
        ({"type": "date", "min": 2020, "max": "2021-01-01"}, "min: expected a text, got 2020"),
        ({"type": "date", "min": "2021-01-01", "max": "2020-01-01", "bins": 2}, "expected min before max"),
        ({"type": "date", "edges": ["2021-01-01"]}, "two or more edges"),
        ({"type": "date", "edges": "2021-01-01"}, "edges: expected a list of texts"),
        ({**YEARS, "granularity": "hour"}, "the granularity of dates is one of"),
        ({**YEARS, "granularity": "fortnight"}, "granularity: expected one of microsecond"),
        ({**YEARS, "format": "%d.%m."}, "cannot be read back"),
        ({**YEARS, "format": 3}, "format: expected a text, got 3"),
        ({**YEARS, "timezone": "UTC"}, "unknown keys timezone"),
        ({**YEARS, "outside": "missing"}, "missing needs"),
        ({**YEARS, "parts": []}, "parts are some of"),
        ({**YEARS, "parts": ["hour"]}, 'choose the type "timestamp"'),
        ({**YEARS, "parts": ["month", "month"]}, "each once"),
        ({**YEARS, "parts": ["month"], "granularity": "month"}, "at most one day"),
        ({**YEARS, "parts": ["month"], "bins": 3}, "unknown keys bins"),
    ],
)
def test_refuses_an_entry_that_is_no_date(form, reason):
    with pytest.raises(DataError, match=reason):
        Domain.from_json({"x": form})


def test_each_combination_of_parts_within_the_bounds_is_a_code():
    attribute = attribute_of(**YEARS, parts=["year", "month", "weekday"])
    every = days("2020-01-01", "2024-01-01")
    parts = [(day.year, day.month, day.weekday()) for day in every.tolist()]
    order = sorted(set(parts))
    assert attribute.size == len(order)
    assert attribute.encode(every).tolist() == [order.index(part) for part in parts]
    codes = np.repeat(np.arange(attribute.size), 40)
    drawn = attribute.decode(codes, np.random.default_rng(0)).tolist()
    assert [(day.year, day.month, day.weekday()) for day in drawn] == [order[code] for code in codes]
    assert set(drawn) == set(every.tolist())


def test_a_day_is_drawn_evenly_from_those_that_have_the_parts():
    attribute = attribute_of(type="date", min="2023-01-01", max="2023-01-31", parts=["weekday"])
    mondays = attribute.decode(np.zeros(50_000, dtype=int), np.random.default_rng(0))
    counts = np.unique(mondays, return_counts=True)[1]
    # Five standard deviations of a share of a fifth.
    assert len(counts) == 5
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(50_000 * 0.2 * 0.8)


def test_parts_of_timestamps_reach_to_the_hour_and_leave_the_rest_to_chance():
    form = {"type": "timestamp", "min": "2024-01-01", "max": "2024-01-31T23:59:59", "nullable": True}
    attribute = attribute_of(**form, parts=["weekday", "hour"])
    assert attribute.size == 7 * 24 + 1
    codes = np.append(np.repeat(np.arange(168), 30), 168)
    drawn = attribute.decode(codes, np.random.default_rng(0))
    assert np.isnat(drawn[-1])
    assert [t.weekday() * 24 + t.hour for t in drawn[:-1].tolist()] == codes[:-1].tolist()
    assert len({(t.minute, t.second) for t in drawn[:-1].tolist()}) > 1000

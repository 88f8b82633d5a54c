"""Columns that follow from a date or number: what they exclude, and values that keep to them."""

import datetime as dt
import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.dates import bins_of
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules.breaking import broken
from dpmosaic.common.data.rules.follows import PARTS, part_of
from dpmosaic.common.data.rules.values import drawn_together
from dpmosaic.common.data.table import Table, decode_table, encode_table
from dpmosaic.common.errors import DataError
from support.kinds import domains, following

NAMES = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()
WEEK = {str(number): name for number, name in enumerate(NAMES, start=1)}

BY_PYTHON = {
    "year": lambda time: time.year,
    "quarter": lambda time: (time.month + 2) // 3,
    "month": lambda time: time.month,
    "week": lambda time: time.isocalendar().week,
    "weekday": lambda time: time.isoweekday(),
    "day": lambda time: time.day,
    "hour": lambda time: time.hour,
    "minute": lambda time: time.minute,
}


def ruled(attributes, *rules):
    return Domain.from_json({"attributes": attributes, "rules": list(rules)})


def dates(bins=12, **more):
    return {"type": "date", "min": "2019-12-20", "max": "2021-03-10", "bins": bins} | more


def allowed_rows(domain, rows, rng):
    """Random codes of rows that no rule excludes."""
    codes = {name: rng.integers(0, domain[name].size, rows) for name in domain}
    excluded = np.any([rule.forbids(domain, codes) for rule in domain.rules], axis=0)
    return Table.from_codes(domain, codes).take(np.flatnonzero(~excluded))


def days_of(attribute, code):
    """All days of a bin of days."""
    low, high = attribute.units.reach[code].astype(int)
    return [dt.date(1970, 1, 1) + dt.timedelta(days) for days in range(low, high + 1)]


def test_parts_are_those_of_the_calendar():
    rng = np.random.default_rng(1)
    seconds = rng.integers(-2 * 10**9, 4 * 10**9, 3000)
    times = seconds.astype("datetime64[s]").astype("datetime64[us]")
    for part in PARTS:
        expected = [BY_PYTHON[part](time) for time in times.tolist()]
        assert part_of(part, times).tolist() == expected, part


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ("hour", "minute")])
@pytest.mark.parametrize("bins", [3, 40, 447])
def test_a_part_excludes_the_bins_without_such_a_day(part, bins):
    day = {"type": "numeric", "min": 1, "max": 60, "bins": 20, "integer": True, "nullable": True}
    of_part = {"type": "numeric", "min": 2018, "max": 2022, "bins": 2, "integer": True} | {"nullable": True}
    domain = ruled(
        {"day": dates(bins, nullable=True), "part": of_part if part == "year" else day},
        {"part": part, "column": "part", "of": "day"},
    )
    places = np.ix_(*(np.arange(size) for size in domain.sizes))
    found = domain.rules[0].forbids(domain, dict(zip(domain, places, strict=True)))
    held = domain["part"]
    expected = np.zeros(domain.sizes, dtype=bool)
    for code in range(domain["day"].size - 1):
        values = {BY_PYTHON[part](day) for day in days_of(domain["day"], code)}
        expected[code, :-1] = [
            not any(low <= value <= high for value in values) for low, high in held.reach.tolist()
        ]
    np.testing.assert_array_equal(found, expected)


def test_steps_exclude_what_no_number_of_a_bin_has():
    ages = {"type": "numeric", "edges": [0, 10, 20, 50, 99], "integer": True, "atoms": [18], "nullable": True}
    rule = {"steps": "group", "of": "age", "at": [18, 65], "values": ["child", "adult", "old"]}
    domain = ruled({"age": ages, "group": ["adult", "child", "old", ""]}, rule)
    places = np.ix_(*(np.arange(size) for size in domain.sizes))
    found = domain.rules[0].forbids(domain, dict(zip(domain, places, strict=True)))
    for code, (low, high) in enumerate(domain["age"].reach.astype(int).tolist()):
        groups = {"child" if age < 18 else "adult" if age < 65 else "old" for age in range(low, high + 1)}
        assert found[code].tolist() == [one not in groups for one in ("adult", "child", "old")] + [False]
    assert not found[-1].any()


CALENDAR = {
    "weekday": NAMES,
    "month": [*range(1, 13)],
    "year": {"type": "numeric", "min": 2019, "max": 2021, "bins": 3, "integer": True},
    "day": {"type": "numeric", "min": 1, "max": 31, "bins": 7, "integer": True, "nullable": True},
}


def test_dates_move_inside_their_bins_to_where_the_parts_are():
    rules = [
        {"part": "weekday", "column": "weekday", "of": "date", "map": WEEK},
        *({"part": part, "column": part, "of": "date"} for part in ("month", "year", "day")),
    ]
    domain = ruled({"date": dates(nullable=True)} | CALENDAR, *rules)
    table = allowed_rows(domain, 100_000, np.random.default_rng(2))
    values = decode_table(table, np.random.default_rng(3))
    assert not any(rows.any() for rows in broken(domain, values))
    again = encode_table(domain, values)
    kept = {name: (again.column(name) == table.column(name)).mean() for name in domain}
    # The first rule can hold in each row; what follows where not all can is the part of the date.
    assert kept["date"] == kept["weekday"] == 1.0
    assert kept["month"] > 0.9
    assert kept["year"] > 0.9


@pytest.mark.parametrize(
    "more", [{}, {"rhythm": {"weekdays": [0.3, 0.1, 0.1, 0.1, 0.2, 0.2, 0.0], "monthdays": {"1": 0.4}}}]
)
def test_a_date_is_distributed_as_all_of_its_bin_given_its_parts(more):
    rule = {"part": "weekday", "column": "weekday", "of": "date", "map": WEEK}
    domain = ruled({"date": dates(6, **more), "weekday": NAMES}, rule)
    attribute, rows, rng = domain["date"], 400_000, np.random.default_rng(4)
    counts = np.array([100, 900, 500, 100, 300, 50])
    every = attribute.decode(np.full(rows, 1), rng, counts)
    wanted = rng.integers(0, 6, rows)
    codes = {"date": np.full(rows, 1), "weekday": wanted}
    spread = {"date": counts, "weekday": np.ones(7, dtype=int)}
    values = {name: domain[name].decode(codes[name], rng) for name in domain}
    found = drawn_together(domain, codes, values, lambda name, _: values[name], spread, rng)
    for weekday in range(6):
        expected = every[(every.astype(int) + 3) % 7 == weekday]
        drawn = found["date"][wanted == weekday]
        days = np.unique(np.concatenate([expected, drawn]))
        shares = [np.array([(one == day).mean() for day in days]) for one in (expected, drawn)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.02


def test_a_day_that_the_rhythm_leaves_out_is_taken_where_only_it_has_the_part():
    rule = {"part": "weekday", "column": "weekday", "of": "date", "map": WEEK}
    never = dates(6, rhythm={"weekdays": [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0]})
    domain = ruled({"date": never, "weekday": NAMES}, rule)
    rows = np.random.default_rng(5).integers(0, 6, 2000)
    table = Table.from_codes(domain, {"date": rows, "weekday": np.full(2000, 6)})
    values = decode_table(table, np.random.default_rng(5))
    assert {day.isoweekday() for day in values["date"].tolist()} == {7}
    assert len(np.unique(values["date"])) > 30


def test_hours_and_days_are_those_of_local_time():
    zone = {
        "type": "timestamp",
        "min": "2021-03-01",
        "max": "2021-04-30",
        "bins": 20,
        "timezone": "Europe/Berlin",
    }
    parts = {"hour": [*range(24)], "day": [*range(1, 32)], "month": [3, 4]}
    rules = [{"part": part, "column": part, "of": "time"} for part in parts]
    domain = ruled({"time": zone} | parts, *rules)
    table = allowed_rows(domain, 60_000, np.random.default_rng(6))
    values = decode_table(table, np.random.default_rng(7))
    written = [dt.datetime.fromisoformat(text) for text in domain["time"].spelled(values["time"]).tolist()]
    for part in parts:
        assert [BY_PYTHON[part](time) for time in written] == values[part].tolist()


def test_steps_of_numbers_dates_and_what_is_computed_from_them_hold_together():
    rules = [
        {"sum": "total", "of": ["a", "b", 10]},
        {"product": "cents", "of": ["total", 100]},
        {"steps": "large", "of": "total", "at": [60.5], "values": [False, True]},
        {"steps": "band", "of": "a", "at": [3.25, 40], "values": ["x", "y", "x"]},
        {"steps": "before", "of": "day", "at": ["2020-02-29", "2020-11-05"], "values": [0, 1, 2]},
        {"part": "year", "column": "year", "of": "day"},
        {"steps": "decade", "of": "year", "at": [2020], "values": ["2010s", "2020s"]},
        {"at_most": ["day", "end"]},
        {"part": "month", "column": "month", "of": "end"},
    ]
    amount = {"type": "numeric", "min": 0, "max": 50, "bins": 4, "decimals": 2}
    domain = ruled(
        {
            "a": amount | {"scale": "symlog", "nullable": True},
            "b": amount,
            "total": amount | {"max": 110, "bins": 11},
            "cents": {"type": "numeric", "min": 0, "max": 11000, "bins": 3, "integer": True},
            "large": {"type": "boolean", "nullable": True},
            "band": ["x", "y"],
            "day": dates(9),
            "before": {"type": "codes", "n": 3},
            "year": CALENDAR["year"],
            "decade": ["2010s", "2020s"],
            "end": dates(5, format="%d.%m.%Y"),
            "month": CALENDAR["month"],
        },
        *rules,
    )
    assert domain.to_json()["rules"] == rules
    table = allowed_rows(domain, 300_000, np.random.default_rng(8))
    assert table.record_count > 500
    values = decode_table(table, np.random.default_rng(9))
    assert [rows.mean() for rows in broken(domain, values)] == [0.0] * len(rules)
    again = encode_table(domain, values)
    for name in ("a", "b", "band"):
        assert (again.column(name) == table.column(name)).all(), name


def test_what_follows_from_a_date_after_another_is_set_from_the_date():
    after = {"type": "date", "after": {"start": {"min": 0, "max": 400, "bins": 20}}}
    rule = {"part": "month", "column": "month", "of": "end"}
    domain = ruled({"start": dates(5), "end": after, "month": CALENDAR["month"]}, rule)
    table = allowed_rows(domain, 3000, np.random.default_rng(10))
    values = decode_table(table, np.random.default_rng(11))
    assert [day.month for day in values["end"].tolist()] == values["month"].tolist()


def test_two_dates_may_have_the_same_part():
    rules = [{"part": "hour", "column": "hour", "of": of} for of in ("clock", "time")]
    time = {"type": "timestamp", "min": "2021-03-01", "max": "2021-03-31", "bins": 7, "granularity": "minute"}
    clock = {"type": "clock", "format": "HHMM", "bins": 10}
    domain = ruled({"time": time, "clock": clock, "hour": [*range(24)]}, *rules)
    table = allowed_rows(domain, 20_000, np.random.default_rng(12))
    values = decode_table(table, np.random.default_rng(13))
    assert not any(rows.any() for rows in broken(domain, values))
    assert [one.hour for one in values["time"].tolist()] == values["hour"].tolist()


def test_missing_and_unlisted_values_say_nothing():
    rule = {"part": "weekday", "column": "w", "of": "date", "map": {"1": "Mo", "2": "Di"}}
    domain = ruled({"date": dates(3, nullable=True), "w": ["Mo", "Di", ""]}, rule)
    columns = {
        "date": np.array(["2020-06-01", "2020-06-02", "2020-06-02", None, "2020-06-03"], dtype=object),
        "w": np.array(["Mo", "Mo", "", "Mo", "Mo"], dtype=object),
    }
    assert broken(domain, columns)[0].tolist() == [False, True, False, False, False]


def test_people_whom_a_party_does_not_have_keep_to_what_follows():
    rules = [
        {"part": "weekday", "column": "w", "of": "date", "map": WEEK},
        {"part": "month", "column": "month", "of": "date"},
    ]
    number = {"type": "numeric", "min": 1, "max": 12, "bins": 12, "integer": True}
    domain = ruled({"date": dates(), "w": NAMES, "month": number}, *rules).with_absent()
    table = allowed_rows(domain, 4000, np.random.default_rng(14))
    values = decode_table(table, np.random.default_rng(15))
    assert not any(rows.any() for rows in broken(domain, values))
    again = encode_table(domain, values)
    for name in ("date", "w"):
        assert (again.column(name) == table.column(name)).all()
    assert (values["w"] == "absent").any()


def test_a_bin_in_which_every_day_has_a_part_that_the_column_lacks_is_excluded():
    domain = ruled({"date": dates(447), "year": [2020]}, {"part": "year", "column": "year", "of": "date"})
    codes = {"date": np.arange(447), "year": np.zeros(447, dtype=int)}
    years = [days_of(domain["date"], code)[0].year for code in range(447)]
    assert domain.rules[0].forbids(domain, codes).tolist() == [year != 2020 for year in years]


REFUSED = {
    "a part of no date": ({"part": "month", "column": "month", "of": "year"}, "no dates"),
    "an unknown part": ({"part": "moon", "column": "month", "of": "date"}, "one of"),
    "an hour of days": ({"part": "hour", "column": "month", "of": "date"}, "counted in days"),
    "a day of months": ({"part": "day", "column": "month", "of": "monthly"}, "counted in months"),
    "a month of a clock": ({"part": "month", "column": "month", "of": "clock"}, "times of day"),
    "values that the column lacks": (
        {"part": "month", "column": "month", "of": "date", "map": {"1": "Jan"}},
        "none of the values",
    ),
    "a date that follows": ({"part": "year", "column": "date", "of": "monthly"}, "holds dates"),
    "steps that fall": (
        {"steps": "month", "of": "year", "at": [2, 1], "values": [1, 2, 3]},
        "increasing steps",
    ),
    "a value too few": ({"steps": "month", "of": "year", "at": [1, 2], "values": [1, 2]}, "one value more"),
    "steps of another kind": ({"steps": "month", "of": "date", "at": [1], "values": [1, 2]}, "another kind"),
    "no date": ({"steps": "month", "of": "date", "at": ["May"], "values": [1, 2]}, "increasing steps"),
    "steps of categories": ({"steps": "year", "of": "month", "at": [1], "values": [1, 2]}, "no numbers"),
}


@pytest.mark.parametrize(("rule", "reason"), REFUSED.values(), ids=REFUSED)
def test_refuses(rule, reason):
    attributes = {
        "date": dates(),
        "monthly": dates(granularity="month"),
        "clock": {"type": "clock", "format": "HH:MM", "bins": 4},
        "month": CALENDAR["month"],
        "year": CALENDAR["year"],
    }
    with pytest.raises(DataError, match=reason):
        ruled(attributes, rule)


def test_a_column_has_one_total_or_follows():
    rules = [
        {"sum": "year", "of": ["day", 2000]},
        {"part": "year", "column": "year", "of": "date"},
    ]
    for order in itertools.permutations(rules):
        with pytest.raises(DataError, match="one rule that computes 'year'"):
            ruled({"date": dates()} | CALENDAR, *order)


@settings(deadline=None, max_examples=60)
@given(domains(most=4), st.data())
def test_values_of_any_domain_keep_to_what_follows(domain, data):
    domain = data.draw(following(domain))
    seed = data.draw(st.integers(0, 1000))
    table = allowed_rows(domain, 500, np.random.default_rng(seed))
    assume(table.record_count)
    values = decode_table(table, np.random.default_rng(seed))
    again = encode_table(domain, values)
    for rule, rows in zip(domain.rules, broken(domain, values), strict=True):
        assert not rows.any(), rule
        bins = bins_of(domain[rule.of])
        assert bins is not None
        # Nothing else moves the number or date, so it stays in its bin.
        assert (again.column(rule.of) == table.column(rule.of)).all()
        if len(domain.rules) == 1:
            assert (again.column(rule.column) == table.column(rule.column)).all()

"""Numbers that are the time between two dates: ages in years, lengths in days, hours and minutes."""

import datetime as dt
import itertools
import zoneinfo

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules.elapsed import ELAPSED, units_between
from dpmosaic.common.data.table import Table, decode_table
from dpmosaic.common.errors import DataError

DAY = {"type": "date", "min": "2000-01-01", "max": "2003-12-31", "bins": 7}
TIME = {
    "type": "timestamp",
    "min": "2020-01-01",
    "max": "2020-03-31T23:59",
    "bins": 9,
    "granularity": "minute",
}
WHOLE = {"type": "numeric", "min": 0, "max": 2000, "bins": 40, "integer": True}


def by_hand(unit, begin, end):
    """The time between two times as people count it."""
    if unit == "days":
        return (end.date() - begin.date()).days
    if unit in ("hours", "minutes"):
        return (end - begin) // dt.timedelta(**{unit: 1})
    months = (end.year - begin.year) * 12 + end.month - begin.month
    months -= (end.day, end.time()) < (begin.day, begin.time())
    return months if unit == "months" else months // 12


def microseconds(times):
    return np.array(times, dtype="datetime64[us]").astype(np.int64).astype(np.float64)


@pytest.mark.parametrize("unit", ELAPSED)
def test_units_are_counted_as_people_do(unit):
    rng = np.random.default_rng(3)
    seconds = rng.integers(-3_000_000_000, 3_000_000_000, (2, 500))
    leap = [
        dt.datetime(2004, 2, 29),
        dt.datetime(2005, 2, 28),
        dt.datetime(2005, 3, 1),
        dt.datetime(2008, 2, 29),
    ]
    times = [[dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(one)) for one in side] for side in seconds]
    pairs = [*zip(*times, strict=True), *itertools.product(leap, leap)]
    found = units_between(unit, *(microseconds(side) for side in zip(*pairs, strict=True)))
    assert found.tolist() == [by_hand(unit, *pair) for pair in pairs]
    assert np.isnan(units_between(unit, np.array([np.nan, 0.0]), np.array([0.0, np.nan]))).all()


@pytest.mark.parametrize("unit", ["years", "months", "days"])
def test_bins_between_whose_dates_no_such_time_lies_are_excluded_and_no_others(unit):
    number = WHOLE | {"years": {"max": 4, "bins": 5}, "months": {"max": 50, "bins": 10}, "days": {}}[unit]
    rules = [{unit: "n", "from": "a", "to": "b"}]
    domain = Domain.from_json({"attributes": {"a": DAY, "b": DAY, "n": number}, "rules": rules})
    days = [dt.datetime(2000, 1, 1) + dt.timedelta(days=day) for day in range(0, 1461)]
    codes = domain["a"].encode(np.array([day.date() for day in days], dtype=object))
    edges = [[day for day, code in zip(days, codes, strict=True) if code == one] for one in range(7)]
    found = domain.rules[0].forbids(
        domain, dict(zip("abn", np.ix_(range(7), range(7), range(number["bins"])), strict=True))
    )
    for a, b in itertools.product(range(7), range(7)):
        least, most = (by_hand(unit, edges[a][i], edges[b][j]) for i, j in ((-1, 0), (0, -1)))
        values = np.arange(max(least, 0), most + 1)
        held = {*domain["n"].encode(values[values <= number["max"]]).tolist()} if len(values) else set()
        assert {*np.flatnonzero(~found[a, b]).tolist()} == held


@pytest.mark.parametrize(
    ("entries", "unit"),
    [
        ({"a": DAY, "b": DAY}, "years"),
        ({"a": DAY, "b": DAY}, "days"),
        ({"a": DAY, "b": {"type": "date", "after": {"a": {"min": 0, "max": 90, "bins": 9}}}}, "days"),
        ({"a": DAY, "b": {"type": "date", "after": {"a": {"min": 0, "max": 900, "bins": 9}}}}, "months"),
        ({"a": TIME, "b": TIME}, "hours"),
        ({"a": TIME | {"timezone": "Europe/Berlin"}, "b": TIME | {"timezone": "Europe/Berlin"}}, "minutes"),
        ({"a": TIME | {"timezone": "Europe/Berlin"}, "b": TIME | {"timezone": "Europe/Berlin"}}, "days"),
        ({"a": TIME, "b": TIME | {"nullable": True}}, "minutes"),
    ],
)
def test_drawn_rows_obey_whatever_their_codes(entries, unit):
    """Codes that no dates have between them give way; the number is that of the dates."""
    number = WHOLE | {"max": 200_000, "nullable": True}
    form = {"attributes": entries | {"n": number}, "rules": [{unit: "n", "from": "a", "to": "b"}]}
    domain, rng = Domain.from_json(form), np.random.default_rng(4)
    codes = {name: rng.integers(0, domain[name].size, 600) for name in domain}
    codes |= domain.rules[0].dependent(domain, codes)
    values = decode_table(Table.from_codes(domain, codes), rng)
    zone = zoneinfo.ZoneInfo("Europe/Berlin") if "timezone" in entries["a"] and unit != "days" else dt.UTC
    begun, ended = (np.asarray(values[name]).astype("datetime64[us]").tolist() for name in "ab")
    for n, low, high in zip(values["n"].tolist(), begun, ended, strict=True):
        if None not in (n, low, high):
            # Hours go by while clocks change.
            pair = (one.replace(tzinfo=zone).astimezone(dt.UTC) for one in (low, high))
            assert n == by_hand(unit, *pair)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"a": WHOLE, "b": DAY, "n": WHOLE}, "'a' holds no dates"),
        ({"a": DAY, "b": {"type": "clock", "format": "HH:MM", "bins": 4}, "n": WHOLE}, "'b' holds no dates"),
        ({"a": DAY, "b": DAY, "n": ["x", "y"]}, "'n' holds no numbers"),
        ({"a": DAY, "b": DAY, "n": DAY}, "'n' holds no numbers"),
        ({"a": DAY, "b": DAY}, "no attribute 'n'"),
    ],
)
def test_what_has_no_time_between_is_refused(entries, said):
    with pytest.raises(DataError, match=said):
        Domain.from_json({"attributes": entries, "rules": [{"years": "n", "from": "a", "to": "b"}]})

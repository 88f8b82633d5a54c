"""Random tables of times and numbers, and a row or a person that stands out of each."""

import numpy as np
import pandas as pd

_FORMATS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%d/%m/%y %H:%M"),
    *("%d %b %Y", "%Y-%m-%d %H:%M:%S.%f", "%H:%M", "%I:%M %p", "%Y%m%d", "%Y-%m", "%Y-%m-%dT%H:%M:%S+01:00"),
)
_ODD_TIMES = (
    *("0001-01-01", "9999-12-31 23:59:59.999999", "1900-01-01", "2020-02-30", "2020-06-31 25:00", "24:00"),
    *("ongoing", "12", "-5", "", "nan", "inf", "epoch", "23:59:60", "2020-03-29 02:30", "PT5H", "2020-W05"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "290000-01-01", "4713-01-01 (BC)", "\u202e"),
    *("2020-01-01 10:00:00.123456789", "31.12.9999", "31/12/68 23:59", "0001-01-01 00:00:00 CET", "9999-12"),
)
_ODD_NUMBERS = (
    *("", "abc", "1e308", "-1e308", "1e-320", "inf", "nan", "-0", "0.1", "123456789012345678901234567890"),
    *("1,5", "1.234,5", "<5", "12%", "1_000", "0x10", "\u0661\u0662", "1e5", "007", "5 kg", "(5)", "5-"),
)
_ODD_INSTANTS = (
    -62135596800000000,
    253402300799999999,
    253402300800000000,
    -62135596800000001,
    0,
    1,
    1 - 2**63,
)
"""Microseconds since 1970: the ends of the calendar, and what lies beyond."""

_MIDDLE = np.datetime64("2020-01-01T00:00:00")


def _times(rng, rows, before):
    """Times, perhaps near others, by day or in quarters of working hours."""
    spread = rng.choice([60, 3600, 5 * 86400])
    if before is not None and rng.random() < 0.6:
        found = before + rng.exponential(spread, rows).astype("timedelta64[s]")
    else:
        found = _MIDDLE + rng.integers(0, 86400 * rng.choice([30, 400, 9000]), rows).astype("timedelta64[s]")
    if rng.random() < 0.4:
        quarters = rng.integers(0, 30, rows) * 15
        return found.astype("datetime64[D]") + (480 + quarters).astype("timedelta64[m]")
    return found.astype(f"datetime64[{rng.choice(['s', 'm', 'h', 'D'])}]")


def _written(times, form):
    return pd.Series([time.strftime(form) for time in times.astype("datetime64[us]").tolist()], dtype=object)


def _with_some(rng, cells, texts):
    """The cells, a tenth of which may be one of some texts."""
    for text in texts:
        if rng.random() < 0.25:
            cells[rng.random(len(cells)) < 0.1] = text
    return cells


def _column_of_times(rng, times):
    """A column, and the one with an odd cell behind."""
    if rng.random() < 0.6:
        cells = _with_some(rng, _written(times, rng.choice(_FORMATS)), ("", "9999-12-31", "ongoing"))
        return cells, pd.concat([cells, pd.Series([rng.choice(_ODD_TIMES)], dtype=object)])
    odd = np.array([rng.choice(_ODD_INSTANTS)], dtype="datetime64[us]")
    both = [
        pd.Series(one.astype("datetime64[us]")) for one in (times, np.append(times.astype(odd.dtype), odd))
    ]
    if rng.random() < 0.3:
        both = [one.dt.tz_localize("UTC").dt.tz_convert("America/New_York") for one in both]
    return both


def _numbers(rng, rows):
    kind = rng.integers(4)
    if kind == 0:
        cells = [f"{number:.2f}" for number in rng.lognormal(3, 1, rows)]
    elif kind == 1:
        cells = [str(5 * number) for number in rng.integers(0, 40, rows)]
    else:
        cells = [f"{number} kg" if kind == 2 else str(number) for number in rng.integers(40, 90, rows)]
    return _with_some(rng, pd.Series(cells, dtype=object), ("", "<5"))


def table_and_neighbour(rng):
    """A table of some columns of times, perhaps near each other, and one of numbers; and with an odd row."""
    rows, times, both = int(rng.choice([60, 300, 600])), None, {}
    for place in range(rng.integers(1, 4)):
        times = _times(rng, rows, times)
        both[f"time{place}"] = _column_of_times(rng, times)
    numbers = _numbers(rng, rows)
    both["number"] = numbers, pd.concat([numbers, pd.Series([rng.choice(_ODD_NUMBERS)], dtype=object)])
    tables = [
        pd.DataFrame({name: pair[which].reset_index(drop=True) for name, pair in both.items()})
        for which in (0, 1)
    ]
    assert [*map(str, tables[0].dtypes)] == [*map(str, tables[1].dtypes)]
    return tables


_ODD_ORDERS = (
    *("0001-01-01", "9999-12-31 23:59", "5", "1e6", "31.12.2999", "2020-02-03", "12/31/2020", "1677-01-01"),
    *("2020-01-01T00:00:00+05:00", "20200101", "2020-01-01 00:00:00.0000001", "no order", ""),
)


def people_and_neighbour(rng):
    """People with stays, what happened in these, and one odd person more; all cells are texts."""
    people = int(rng.choice([120, 250]))
    whose = np.repeat(np.arange(people), rng.integers(1, 5, people))
    begun, form = _times(rng, len(whose), None), rng.choice(_FORMATS[:6])
    by_number = rng.random() < 0.5
    stays = {
        "who": [f"P{number:04d}" for number in whose],
        "begun": [*rng.integers(0, 1000, len(whose)).astype(str)] if by_number else _written(begun, form),
        "ended": [*rng.integers(0, 1000, len(whose)).astype(str)]
        if by_number
        else _written(begun + rng.exponential(900, len(whose)).astype("timedelta64[m]"), form),
        "ward": rng.choice(["a", "b", "c"], len(whose)),
        "value": rng.integers(0, 30, len(whose)).astype(str),
        "sex": np.array(["f", "m"])[whose % 2],
    }
    number = int(rng.choice([1, 3, 40]))
    more = {
        "who": ["P9999"] * number,
        "begun": rng.choice(_ODD_ORDERS, number),
        "ended": rng.choice([*_ODD_ORDERS, *_ODD_TIMES], number),
        "ward": rng.choice(["a", *_ODD_NUMBERS], number),
        "value": rng.choice(["7", *_ODD_NUMBERS], number),
        "sex": [rng.choice(["f", "x"])] * number,
    }
    rows = pd.DataFrame(stays, dtype=object)
    return [rows, pd.concat([rows, pd.DataFrame(more, dtype=object)], ignore_index=True)]


def as_related(rows):
    """The same as people, stays and one event of each stay at its end."""
    names = [f"S{place}" for place in range(len(rows))]
    stays = rows[["who", "begun", "ended", "ward"]].assign(stay=names)
    return {
        "people": rows[["who", "sex"]][~rows.who.duplicated()].reset_index(drop=True),
        "stays": stays,
        "events": pd.DataFrame({"stay": names, "at": rows.ended, "value": rows.value}),
    }

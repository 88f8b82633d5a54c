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


_PLAN = ("screening", "base", "week4", "week8", "week12")
_MISSING = {"outside": "clip", "unreadable": "missing", "nullable": True}
STUDY = {
    "people": {
        "sex": {"type": "categorical", "categories": ["f", "m", "x", ""], "other": "x"},
        "enrolled": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "bins": 12} | _MISSING,
    },
    "visits": {
        "day": {"type": "date", "min": "2019-12-01", "max": "2022-06-30", "bins": 24} | _MISSING,
        "kind": {
            "type": "categorical",
            "categories": [*_PLAN, "other", ""],
            "other": "other",
            "ordered": True,
        },
        "arm": {"type": "categorical", "categories": ["a", "b", "other", ""], "other": "other"},
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 20, "integer": True} | _MISSING,
    },
    "events": {"code": {"type": "categorical", "categories": ["x", "y", "other", ""], "other": "other"}},
}
"""Domains of `study_and_neighbour`, which refuse no cell."""


def study_and_neighbour(rng):
    """People, visits by a plan and events at these, and one person more who keeps to nothing; texts."""
    people = int(rng.choice([80, 160]))
    numbers = rng.integers(1, 6, people)
    whose = np.repeat(np.arange(people), numbers)
    place = np.arange(len(whose)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    who, sex = np.array([f"P{number:04d}" for number in range(people)]), rng.choice(["f", "m"], people)
    enrolled = np.datetime64("2020-01-01") + rng.integers(0, 500, people)
    visits = {
        "visit": [f"V{number}" for number in range(len(whose))],
        "who": who[whose],
        "day": (enrolled[whose] + place * 28 - 14 + rng.integers(-3, 4, len(whose))).astype(str),
        "kind": np.array(_PLAN)[place],
        "seq": (place + 1).astype(str),
        "arm": np.array(["a", "b"])[whose % 2],
        "age": (20 + whose % 50 + place).astype(str),
        "sex": sex[whose],
    }
    of = np.repeat(np.arange(len(whose)), rng.integers(0, 4, len(whose)))
    events = {
        "visit": np.array(visits["visit"])[of],
        "who": visits["who"][of],
        "line": (1 + np.arange(len(of)) - np.searchsorted(of, of)).astype(str),
        "code": rng.choice(["x", "y"], len(of)),
    }
    rows, more = int(rng.choice([1, 2, 7, 40])), int(rng.choice([0, 1, 30]))
    odd = {
        "people": {"who": ["P9999"], "sex": ["q"], "enrolled": _odd(rng, 1)},
        "visits": {
            "visit": [f"W{number}" for number in range(rows)],
            "who": ["P9999"] * rows,
            "kind": rng.choice(["screening", "week12", "zz"], rows),
            **{name: _odd(rng, rows) for name in ("day", "seq", "arm", "age", "sex")},
        },
        "events": {
            "visit": rng.choice([f"W{number}" for number in range(rows)], more),
            "who": rng.choice(["P9999", "P0000", "nobody"], more),
            **{name: _odd(rng, more) for name in ("line", "code")},
        },
    }
    people = {"who": who, "sex": sex, "enrolled": enrolled.astype(str)}
    plain = {"people": people, "visits": visits, "events": events}
    tables = {name: pd.DataFrame(one, dtype=object) for name, one in plain.items()}
    both = {
        name: pd.concat([one, pd.DataFrame(odd[name], dtype=object)], ignore_index=True)
        for name, one in tables.items()
    }
    return [tables, both]


def _odd(rng, rows):
    odd = [*_ODD_ORDERS, *_ODD_TIMES, *_ODD_NUMBERS, "0", "1", "9007199254740993", str(-(2**63)), "a"]
    return rng.choice(odd, rows).astype(object)


def said_of_a_study(rng):
    """Options of a release of a study: what it says of rows, which one person may contradict."""
    known, often = bool(rng.random() < 0.5), lambda: rng.random() < 0.6
    said = {
        "relations": {"visits": {"who": "people"}, "events": {"visit": "visits"}},
        "order": {"visits": "day", "events": True},
        "same": {"visits": ["arm"]} if often() else None,
        "rising": {"visits": ["age", *(["kind"] if known else [])]} if often() else None,
        "once": {"visits": ["kind" if known else "day"]} if often() else None,
        "near": {"visits": "enrolled"} if (near := often()) else None,
        "within": None if near else {"visits": ("enrolled", None)},
    }
    if known or often():
        said["repeats"] = {"visits": {"sex": "people"}, "events": {"who": "people"}}
        said["counts"] = {"visits": {"seq": 1}, "events": {"line": 1}}
    return said | ({"domain": STUDY} if known else {"anyway": True})

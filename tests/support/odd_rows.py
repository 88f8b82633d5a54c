"""A table as people have it, and rows that stand out of it: each is what one person can do to a release."""

import numpy as np
import pandas as pd

ROWS = 300

NO_UTF8 = "\ufdd0"
"""A character that stands for no text; in a file, an octet that is no UTF-8 stands in its place."""


def plain_rows(count=ROWS):
    """Cells as texts, as a CSV has them; "" is a missing value."""
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, count), "D")
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, count).astype(str),
            "price": [f"{x:.2f}" for x in rng.uniform(1, 90, count)],
            "flag": rng.choice(["true", "false"], count),
            "day": days.strftime("%Y-%m-%d"),
            "city": rng.choice(["Bern", "Z\u00fcrich", "Genf"], count),
            "code": [f"{x:04d}" for x in rng.integers(0, 5, count) * 37],
            "number": np.arange(1, count + 1).astype(str),
            "empty": "",
        }
    )


USUAL = {
    "age": "33",
    "price": "12.50",
    "flag": "true",
    "day": "2020-02-03",
    "city": "Bern",
    "code": "0037",
    "number": str(ROWS + 1),
    "empty": "",
}
"""A row like the others."""

ODD = {
    "an ordinary row": {},
    "a unique extreme": {"age": "1000000000000"},
    "a negative extreme": {"price": "-1e308"},
    "a number that is none": {"price": "inf"},
    "the only missing cell": {"age": ""},
    "the only text among numbers": {"age": "unknown"},
    "a fraction among whole numbers": {"age": "30.5"},
    "more decimals": {"price": "12.34567"},
    "a leading zero": {"age": "033"},
    "thousands with a comma": {"price": "1,234.50"},
    "the only label of its kind": {"city": "Zug"},
    "a label like other": {"city": "other"},
    "a very long text": {"city": "x" * 20_000},
    "a formula": {"city": "=1+1"},
    "an octet that is no UTF-8": {"city": NO_UTF8},
    "quotes and line ends": {"city": 'a "b",\nc'},
    "a date in another format": {"day": "03.02.2020"},
    "a date out of range": {"day": "9999-12-31"},
    "a time among dates": {"day": "2020-02-03 10:30"},
    "no date": {"day": "2020-02-31"},
    "maybe": {"flag": "maybe"},
    "true in capitals": {"flag": "TRUE"},
    "a cell in an empty column": {"empty": "7"},
    "a number twice": {"number": "1"},
    "a longer code": {"code": "00037"},
}
"""Name -> the cells in which a row differs from the usual one."""


def with_row(rows, cells):
    """The rows and one more."""
    return pd.concat([rows, pd.DataFrame([USUAL | cells])], ignore_index=True)


def as_typed(rows):
    """The rows as a data frame of types that somebody chose, so that no cell decides one."""
    typed = rows.copy()
    for name in {"age", "price", "number", "empty"} & set(rows):
        typed[name] = pd.to_numeric(rows[name], errors="coerce").astype("float64")
    if "day" in rows:
        days = pd.to_datetime(rows["day"], format="%Y-%m-%d", errors="coerce")
        typed["day"] = days.astype("datetime64[us]")
    return typed


DOMAIN = {
    "age": {
        **{"type": "numeric", "min": 0, "max": 99, "bins": "auto", "integer": True, "nullable": True},
        **{"outside": "clip", "unreadable": "missing"},
    },
    "price": {
        **{"type": "numeric", "min": 0, "max": 100, "bins": 10, "nullable": True},
        **{"outside": "clip", "unreadable": "missing"},
    },
    "flag": {"type": "categorical", "categories": ["true", "false", "", "other"], "other": "other"},
    "city": {"type": "categorical", "categories": ["Bern", "Z\u00fcrich", "other"], "other": "other"},
    "code": {"type": "categorical", "categories": ["other"], "other": "other", "open": True},
}
"""A reviewed domain in which every cell has a code."""

"""Tables of every shape and kind, drawn at random, end in a release."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import dpmosaic

TABLES = 20

WEIRD = [
    *(
        "",
        " ",
        "\ud800",
        "a\0b",
        "é",
        "😀",
        "x" * 300,
        "a b c d e f g h",
        "other",
        "absent",
        "missing",
        "nan",
        "NA",
    ),
    *(
        "007",
        "1,234",
        "96%",
        "$5",
        "2020-01-01",
        "31/12/2020",
        "10:30",
        "true",
        "Yes",
        "a\nb",
        'q"uo',
        "{:d}",
    ),
    *(
        "\u200b",
        "1e400",
        "1_000",
        "+5",
        "-0",
        "٣",
        "²",
        "9" * 30,
        "inf",
        "NaT",
        "\t",
        "0000-00-00",
        "2020-02-30",
    ),
]
OBJECTS = [
    b"\xff",
    [1, 2],
    {"a": 1},
    1j,
    np.zeros(2),
    dt.date(1, 1, 1),
    dt.time(10),
    pd.NaT,
    True,
    2.5,
    float("inf"),
]
NAMES = [
    "a",
    "id",
    "x y",
    'q"u',
    "c,d",
    "😀",
    "select",
    "c0",
    "file",
    "{x}",
    "{}",
    "name\n2",
    "0th",
    "other",
    "'",
    "%s",
]
FAR = np.array(["0001-01-01", "9999-12-31T23:59:59", "2020-01-31", "NaT"], dtype="datetime64[us]")


def drawn(rng, values, rows, dtype=object):
    return pd.Series([values[place] for place in rng.integers(0, len(values), rows)], dtype=dtype)


KINDS = {
    "nothing": lambda rng, n: pd.Series([None] * n, dtype=object),
    "no numbers": lambda rng, n: pd.Series([np.nan] * n),
    "a constant": lambda rng, n: pd.Series([2013] * n),
    "weird texts": lambda rng, n: drawn(rng, WEIRD, n),
    "one weird text": lambda rng, n: drawn(rng, [WEIRD[rng.integers(len(WEIRD))], None], n),
    "different texts": lambda rng, n: pd.Series([f"name {number}" for number in range(n)], dtype=object),
    "objects": lambda rng, n: drawn(rng, OBJECTS, n),
    "bytes": lambda rng, n: pd.Series(rng.integers(0, 9, n).astype("uint8")),
    "large numbers": lambda rng, n: drawn(rng, [2**63 - 1, -(2**63), 0, 5], n, "int64"),
    "larger numbers": lambda rng, n: drawn(rng, [2**64 - 1, 2**63, 0], n, "uint64"),
    "longer numbers": lambda rng, n: drawn(rng, [10**5000, -(10**25), 3], n),
    "decimals": lambda rng, n: drawn(rng, [Decimal("1.10"), Decimal("NaN"), Decimal("1e50")], n),
    "floats": lambda rng, n: pd.Series(rng.normal(0, 10.0 ** rng.integers(-30, 30), n)),
    "wild floats": lambda rng, n: drawn(
        rng, [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0], n, "float64"
    ),
    "half floats": lambda rng, n: pd.Series(rng.normal(0, 1, n).astype("float16")),
    "listed": lambda rng, n: drawn(rng, ["a", "b", None, "other"], n, "category"),
    "listed numbers": lambda rng, n: drawn(rng, [3, 1], n, pd.CategoricalDtype([3, 2, 1], True)),
    "listed intervals": lambda rng, n: pd.Series(pd.cut(rng.random(n), 3)),
    "an empty list": lambda rng, n: pd.Series([None] * n, dtype=pd.CategoricalDtype([])),
    "nullable numbers": lambda rng, n: drawn(rng, [None, 1, 500], n, "Int64"),
    "nullable booleans": lambda rng, n: drawn(rng, [None, True], n, "boolean"),
    "strings": lambda rng, n: drawn(rng, [None, "a", "7"], n, "string"),
    "numbers of Arrow": lambda rng, n: drawn(rng, [None, 1, 500], n, "int64[pyarrow]"),
    "days of Arrow": lambda rng, n: drawn(
        rng, [None, dt.date(1, 1, 1), dt.date(9999, 12, 31)], n, "date32[pyarrow]"
    ),
    "far times": lambda rng, n: pd.Series(rng.choice(FAR, n)),
    "instants": lambda rng, n: (
        pd.Series(rng.choice(FAR, n)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    ),
    "nanoseconds": lambda rng, n: pd.Series(
        pd.date_range("2020", periods=n, tz="Europe/Berlin").as_unit("ns")
    ),
    "keys": lambda rng, n: pd.Series(np.arange(n) + 10**6),
}


def table(seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.choice([1, 2, 5, 40, 150])), int(rng.choice([1, 2, 5, 12]))
    kinds = [list(KINDS.values())[place] for place in rng.integers(0, len(KINDS), columns)]
    return pd.DataFrame(dict(zip(rng.permutation(NAMES), (kind(rng, rows) for kind in kinds), strict=False)))


def checked(rows, folder, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = dpmosaic.synthesize(
            rows,
            epsilon=float(np.random.default_rng(seed).choice([0.1, 10, 1000])),
            anyway=True,
            mechanism="independent",
            seed=seed,
            progress=False,
        )
    assert set(release.table) <= set(rows)
    assert len(release.generate(3, seed=1)) == 3
    assert release.query("SELECT COUNT(*) AS n FROM release").frame["n"][0] >= 0
    release.save(folder, "parquet")
    assert dpmosaic.load(folder).rows.digest() == release.rows.digest()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(TABLES))
def test_a_table_of_any_shape_ends_in_a_release_that_can_be_loaded(tmp_path, seed):
    checked(table(seed), tmp_path, seed)


@pytest.mark.slow
def test_a_table_of_all_kinds_at_once_ends_in_a_release(tmp_path):
    rng = np.random.default_rng(1)
    checked(pd.DataFrame({name: kind(rng, 60) for name, kind in KINDS.items()}), tmp_path, 1)

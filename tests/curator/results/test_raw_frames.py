"""What a cell of a data frame is read as depends on this cell alone, whatever stands in others."""

import itertools
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.results.raw_frames import encode_frame

TOLERANT = {"nullable": True, "outside": "clip", "unreadable": "missing"}
FORM = {
    "listed": {
        "type": "categorical",
        "categories": ["2020-01-01", "2020-01-01 10:00:00", "2020-01-01 00:00:00+00:00", 1, 0.7, "", "other"],
        "other": "other",
    },
    "number": {"type": "numeric", "min": 0, "max": 2, "bins": 20, **TOLERANT},
    "flag": {"type": "boolean", "nullable": True},
    "day": {"type": "date", "min": "2019-01-01", "max": "2021-12-31", "bins": 36, **TOLERANT},
    "time": {
        **{"type": "timestamp", "min": "2020-01-01T00:00:00", "max": "2020-01-02T00:00:00", "bins": 24},
        **TOLERANT,
    },
    "here": {
        **{"type": "timestamp", "min": "2020-01-01T00:00:00", "max": "2020-01-02T00:00:00", "bins": 24},
        **{"timezone": "Europe/Zurich", **TOLERANT},
    },
    "clock": {
        "type": "clock",
        "format": "HH:MM:SS",
        "bins": 24,
        "min": "00:00:00",
        "max": "23:59:59",
        **TOLERANT,
    },
}
DOMAIN = Domain.from_json(FORM)

TIMES = [
    *("2020-01-01", "2020-01-01 10:00", "2020-01-01 10:00:00.5", "2020-01-01 10:00:00.000001"),
    *("2021-06-01 23:59:59", "1700-01-01", "2100-01-01", None),
]
NUMBERS = [0, 1, 0.7, 0.1, 2.5, -1, 1e20, None]
WHOLE = [0, 1, 2, 100, None]
FLAGS = [True, False, None]
TEXTS = ["2020-01-01", "2020-01-01 10:00", "1", "0.7", "true", "10:30:00", "none", "\u00e9", None]


def times(kind):
    return pd.to_datetime(pd.Series(TIMES), format="ISO8601").astype(kind)


def columns():
    """Columns of one type each."""
    found = {f"datetime64[{unit}]": times(f"datetime64[{unit}]") for unit in ("s", "ms", "us", "ns")}
    found["with a zone"] = times("datetime64[us]").dt.tz_localize("UTC")
    found["nanoseconds with a zone"] = times("datetime64[ns]").dt.tz_localize("UTC")
    found["of Arrow"] = times("datetime64[us]").astype("timestamp[us][pyarrow]")
    days = [None if one is None else date.fromisoformat(one[:10]) for one in TIMES]
    found["days of Arrow"] = pd.Series(days, dtype=pd.ArrowDtype(pa.date32()))
    found |= {f"written {kind}": pd.Series(TEXTS, dtype=kind) for kind in ("str", "object", "category")}
    found |= {kind: pd.Series(NUMBERS, dtype=kind) for kind in ("float32", "float64", "Float64", "object")}
    found |= {kind: pd.Series(WHOLE, dtype=kind) for kind in ("Int64", "UInt8", "int64[pyarrow]")}
    found |= {kind: pd.Series(FLAGS, dtype=kind) for kind in ("boolean", "bool[pyarrow]")}
    mixed = [*TEXTS, *NUMBERS, *FLAGS, *map(pd.Timestamp, TIMES[:-1]), np.float32(0.7), [1], b"1"]
    return found | {"of all kinds": pd.Series(mixed, dtype=object)}


COLUMNS = columns()


def code_of(domain, column):
    """The codes of a column; None if it is refused."""
    try:
        return encode_frame(domain, column.to_frame(domain.names[0])).column(domain.names[0]).tolist()
    except DataError:
        return None


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", FORM)
def test_a_cell_has_the_same_code_alone_and_beside_any_other(name, kind):
    column, domain = COLUMNS[kind], DOMAIN.project([name])
    alone = [code_of(domain, column.iloc[[place]]) for place in range(len(column))]
    for one, other in itertools.permutations(range(len(column)), 2):
        refused = alone[one] is None or alone[other] is None
        expected = None if refused else alone[one] + alone[other]
        assert code_of(domain, column.iloc[[one, other]]) == expected, (column.iloc[one], column.iloc[other])

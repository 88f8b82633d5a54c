"""Drafts of columns whose type a Parquet file states: dates, timestamps and booleans."""

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.party.sources.source import read_table

DAYS = [dt.date(2021, 1, 1) + dt.timedelta(days=7 * number) for number in range(100)]
TIMES = [dt.datetime(2021, 3, 1, 8) + dt.timedelta(hours=5, seconds=11) * number for number in range(100)]
HALVES = [*TIMES[:-1], dt.datetime(2021, 12, 1, 1, 2, 3, 500_000)]


def drafted(tmp_path, cells, kind):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": pa.array(cells, kind)}), path)
    form = draft_file(path).to_json()
    read_table(path, Domain.from_json(form))
    return form["x"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "kind", "entry"),
    [
        (DAYS, pa.date32(), {"type": "date", "max": "2022-12-31"}),
        ([*DAYS, None], pa.date32(), {"type": "date", "max": "2022-12-31", "nullable": True}),
        (
            [dt.datetime(day.year, day.month, day.day) for day in DAYS],
            pa.timestamp("ns"),
            {"type": "timestamp", "granularity": "day"},
        ),
        (TIMES, pa.timestamp("us"), {"type": "timestamp", "min": "2021-01-01T00:00:00"}),
        (TIMES, pa.timestamp("us", tz="Asia/Tokyo"), {"type": "timestamp", "timezone": "UTC"}),
        (HALVES, pa.timestamp("us"), {"type": "timestamp", "granularity": "microsecond"}),
    ],
)
def test_dates_and_timestamps_are_drafted_by_their_type(tmp_path, monkeypatch, cells, kind, entry):
    monkeypatch.setenv("TZ", "America/New_York")
    found = drafted(tmp_path, cells, kind)
    assert {key: found.get(key) for key in entry} == entry
    assert found["bins"] == "auto"
    assert "format" not in found


def test_booleans_are_drafted_by_their_type(tmp_path):
    found = drafted(tmp_path, [True, False, None] * 20, pa.bool_())
    assert found == {"type": "boolean", "nullable": True, "reviewed": False}

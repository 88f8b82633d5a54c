"""Columns of data frames that no file has, such as durations, or that are empty in some rows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpmosaic.simulations.tables.frames import draft
from dpmosaic.synthesis.synthesize import synthesize

ROWS = 1000

DURATIONS = {
    "seconds": ("s", 86400 * 3, "HH:MM:SS"),
    "minutes": ("min", 600, "HH:MM"),
    "days": ("D", 60, "HH:MM"),
    "microseconds": ("us", 10**9, "HH:MM:SS.ffffff"),
}


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
@pytest.mark.parametrize("unit", DURATIONS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_durations_of_data_frames_are_clocks_without_a_domain_and_in_drafts(learned, unit, missing):
    rng = np.random.default_rng(9)
    code, most, form = DURATIONS[unit]
    cells = pd.Series(pd.to_timedelta(rng.integers(0, most, ROWS), code)).where(rng.random(ROWS) >= missing)
    rows = pd.DataFrame({"x": cells, "y": "a"})
    assert learned(rows).columns["x"].reading.moments.format.replace(":00", ":SS") in (form, f"{form}:SS")
    drafted = draft(rows).entries["x"]
    assert (drafted["format"], drafted["nullable"]) == (form, missing > 0)
    released = synthesize(rows, epsilon=20.0, mechanism="independent", seed=1, progress=False).table["x"]
    assert released.dtype == "timedelta64[us]"
    assert released.isna().mean() == pytest.approx(missing, abs=0.05)
    assert released.mean() / cells.mean() == pytest.approx(1, abs=0.1)


def test_a_draft_names_durations_that_no_entry_states():
    cells = pd.to_timedelta(np.arange(-500, 500), "s")
    drafted = draft(pd.DataFrame({"x": cells, "y": ["a", "b"] * 500}))
    assert drafted.entries["x"] == {"type": "text", "drop": True}
    assert [remark for name, remark in drafted.remarks if name == "x" and "durations" in remark]


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
def test_infinite_numbers_of_a_data_frame_are_missing_by_its_draft():
    cells = np.random.default_rng(10).normal(size=ROWS)
    cells[::50] = np.inf
    rows = pd.DataFrame({"x": cells, "y": "a"})
    released = synthesize(
        rows, epsilon=20.0, domain=draft(rows), mechanism="independent", seed=1, progress=False
    ).table
    assert released["x"].isna().mean() == pytest.approx(0.02, abs=0.01)


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
def test_a_column_of_no_type_comes_back_empty(tmp_path):
    rows = pa.table({"x": pa.nulls(ROWS), "y": ["a", "b"] * (ROWS // 2)})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
    for data in (rows, tmp_path / "rows.parquet", rows.to_pandas(types_mapper=pd.ArrowDtype)):
        release = synthesize(data, epsilon=20.0, mechanism="independent", seed=1, progress=False)
        assert pd.isna(release.table["x"].to_pylist() if data is rows else release.table["x"]).all()


NAMES = {
    "addresses": "{:x}@mail.example",
    "numbers of cases": "CASE-{:06d}",
    "telephone numbers": "+49 171 {:07d}",
}


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("empty", [0.3, 0.7])
def test_names_that_some_rows_lack_stand_in_as_many_new_rows(tmp_path, kind, empty):
    rng = np.random.default_rng(11)
    keys = rng.permutation(10**6)[: 4 * ROWS].tolist()
    cells = [NAMES[kind].format(key) if rng.random() >= empty else "" for key in keys]
    rows = pd.DataFrame({"x": cells, "y": "a"})
    drafted = draft(rows)
    unseen = synthesize(rows, mechanism="independent", seed=1, progress=False, domain=drafted)
    assert unseen.table["x"].notna().all()
    drafted.confirm("x")
    for domain in ({}, {"domain": drafted}):
        release = synthesize(rows, epsilon=20.0, mechanism="independent", seed=1, progress=False, **domain)
        names = release.table["x"]
        assert names.isna().mean() == pytest.approx(empty, abs=0.05)
        assert names.dropna().is_unique
        release.save(tmp_path / f"release{len(domain)}")
        read = pd.read_csv(tmp_path / f"release{len(domain)}" / "synthetic.csv")
        assert read["x"].isna().sum() == names.isna().sum()

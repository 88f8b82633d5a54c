"""Drafts of columns of several numbers in one cell, such as 120/80."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.party.drafting.texts import FEW_TEXTS

ROWS = 400

BOUNDS = np.array([1, 1.3])

MEASURED = {
    "blood pressures": lambda rng: "{}/{}".format(*rng.normal((125, 78), (15, 9)).astype(int)),
    "means and deviations": lambda rng: "{:.1f}±{:.1f}".format(*rng.uniform((5, 0.1), (15, 1))),
    "times of work": lambda rng: "{} yrs {} mos".format(*rng.integers(0, (25, 12))),
    "estimates": lambda rng: "{0:.1f} ({0:.1f}-{1:.1f})".format(
        *rng.lognormal(0.4, 0.4) * np.array([1, 1.3])
    ),
}


def drafted(tmp_path, cells):
    pd.DataFrame({"x": cells, "y": 1}).to_csv(tmp_path / "rows.csv", index=False)
    draft = draft_file(tmp_path / "rows.csv")
    return draft.entries["x"], " ".join(remark for name, remark in draft.remarks if name == "x")


@pytest.mark.parametrize("odd", ["", "not measured"])
@pytest.mark.parametrize("kind", MEASURED)
def test_several_numbers_count_as_the_nearest_of_some_rounded_ones(tmp_path, kind, odd):
    rng = np.random.default_rng(1)
    cells = [odd if odd and row % 50 == 0 else MEASURED[kind](rng) for row in range(ROWS)]
    entry, remark = drafted(tmp_path, cells)
    assert "a column of its own" in remark
    assert entry["nearest"]
    assert len(entry["categories"]) <= FEW_TEXTS + bool(odd)
    attribute = read_entry("x", entry)
    codes = attribute.encode(np.array(cells, dtype=object))
    texts = np.array(attribute.categories)[codes]
    assert [text in ("not measured", "other") for text in texts] == [cell == "not measured" for cell in cells]


@pytest.mark.parametrize("form", ["{:.4f}, {:.4f}", "{:.5f} {:.5f}"])
def test_coordinates_that_few_rows_share_are_left_out_and_are_no_names(tmp_path, form):
    rng = np.random.default_rng(2)
    cells = [form.format(*rng.normal((51.5, 0.4), 3)) for _ in range(ROWS)]
    entry, remark = drafted(tmp_path, cells)
    assert entry == {"type": "text", "drop": True}
    assert "a column of its own" in remark


def test_two_numbers_that_name_the_rows_are_names(tmp_path):
    entry, _ = drafted(tmp_path, [f"{number // 100:03d}/{number % 100:02d}" for number in range(ROWS)])
    assert entry == {"type": "identifier", "pattern": "{:03d}/{:02d}"}

"""Drafted dates that come after those of another column."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.drafting.inference import draft_file

N = 400
RNG = np.random.default_rng(11)
FIRST = np.datetime64("2019-01-01") + RNG.integers(0, 1000, N)


def drafted(tmp_path, **columns):
    """The draft of a table with these columns of dates, NaT being a missing value."""
    path = tmp_path / "rows.csv"
    texts = [["" if np.isnat(day) else str(day) for day in days] for days in columns.values()]
    lines = [",".join(columns), *(",".join(row) for row in zip(*texts, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return draft_file(path)


def missing(days, share):
    return np.where(RNG.random(len(days)) < share, np.datetime64("NaT"), days)


def test_a_date_that_mostly_follows_soon_is_drafted_by_its_gap(tmp_path):
    died = missing(FIRST + RNG.geometric(0.15, N), 0.9)
    draft = drafted(tmp_path, admitted=FIRST, died=died)
    gap = draft["died"]["after"]["admitted"]
    assert (draft["died"]["type"], draft["died"]["nullable"], draft["died"]["reviewed"]) == (
        "date",
        True,
        False,
    )
    assert "min" not in draft["died"]
    known = (died - FIRST)[~np.isnat(died)].astype(int)
    assert 0 <= gap["min"] <= known.min() <= known.max() <= gap["max"] < 100
    assert ("admitted", "died") not in {tuple(rule.get("at_most", ())) for rule in draft.suggested_rules}
    assert [name for name, remark in draft.remarks if "comes after 'admitted'" in remark] == ["died"]
    assert draft.domain["died"].difference == "died - admitted"


def test_each_follows_the_column_to_which_it_is_nearest(tmp_path):
    left = FIRST + RNG.integers(0, 60, N)
    draft = drafted(tmp_path, billed=left + RNG.integers(1, 5, N), admitted=FIRST, left=left)
    assert list(draft["billed"]["after"]) == ["left"]
    assert list(draft["left"]["after"]) == ["admitted"]
    assert "after" not in draft["admitted"]


def test_a_date_that_is_always_near_another_is_drafted_by_its_gap(tmp_path):
    draft = drafted(
        tmp_path, planned=FIRST, held=FIRST + RNG.integers(-3, 12, N), other=RNG.permutation(FIRST)
    )
    assert draft["held"]["after"]["planned"]["min"] < 0
    assert "after" not in draft["other"]


def test_equal_columns_do_not_follow_each_other(tmp_path):
    draft = drafted(tmp_path, a=FIRST, b=FIRST)
    assert sum("after" in draft[name] for name in draft) == 1
    Domain.from_json(draft.to_json())


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(FIRST + RNG.integers(-9, 9, N), id="before it as often as after it"),
        pytest.param(np.datetime64("2024-01-01") + RNG.integers(0, 300, N), id="at any distance"),
        pytest.param(np.where(np.arange(N) < 15, FIRST + 3, np.datetime64("NaT")), id="in few rows"),
    ],
)
def test_other_dates_keep_bounds_of_their_own(tmp_path, second):
    assert "after" not in drafted(tmp_path, first=FIRST, second=second)["second"]


def test_a_date_whose_rows_lack_the_other_one_keeps_bounds_of_its_own(tmp_path):
    draft = drafted(tmp_path, first=missing(FIRST, 0.2), second=FIRST + 3)
    assert "after" not in draft["second"]


def test_a_column_that_another_comes_after_is_dropped_with_it(tmp_path):
    draft = drafted(tmp_path, admitted=FIRST, left=FIRST + RNG.integers(1, 20, N), other=FIRST[::-1])
    with pytest.raises(DataError, match="'left' comes after 'admitted': drop both"):
        draft.drop("admitted")
    draft.drop("admitted", "left")
    assert draft.domain.names == ("other",)


def test_a_person_reviews_the_bounds_of_the_gap(tmp_path):
    draft = drafted(tmp_path, admitted=FIRST, left=FIRST + RNG.integers(1, 20, N))
    path = tmp_path / "draft.json"
    draft.save(path)
    shown = CliRunner().invoke(app, ["domain", "review", str(path)], input="a\ne\n0\n90\n")
    assert shown.exit_code == 0, shown.output
    assert "1 to 19 days after admitted" in shown.output
    gap = json.loads(path.read_text())["left"]["after"]["admitted"]
    assert (gap["min"], gap["max"]) == (0, 90)

"""Tables that are too small for their columns are refused before anything but the rows is counted."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.synthesis.learning.limits import check_learnable, learning_share, weight
from dpmosaic.synthesis.learning.private_counts import PrivateCounts

SMALL = pd.DataFrame({f"x{number}": np.arange(100) % 7 for number in range(20)})


def test_the_refusal_says_what_came_what_was_expected_and_the_ways_on():
    with pytest.raises(DataError) as refused:
        check_learnable(100.0, 0.02, 20, "Nothing was spent.")
    assert str(refused.value) == (
        "about 100 rows are too few to learn what 20 columns hold from a budget of this size, which takes "
        "about 3,400: ranges and categories would be mostly noise. Nothing was spent. Describe the columns "
        "instead, by `dpmosaic domain infer DATA --out domain.json`, `dpmosaic domain review domain.json` "
        "and `dpmosaic synthesize DATA --domain domain.json --out NEW_FOLDER`; in Python by draft = "
        "dpmosaic.draft(data), draft.confirm() after you have reviewed it, and synthesize(data, "
        "domain=draft). Fewer columns, a larger epsilon or --anyway (anyway=True) go on without a domain"
    )


def test_of_people_the_refusal_speaks_of_people_and_of_their_options():
    with pytest.raises(DataError) as refused:
        check_learnable(100.0, 0.02, 1, "Nothing was spent.", of_people=True)
    told = str(refused.value)
    assert told.startswith("about 100 people are too few to learn what a column holds from")
    assert "--domain domain.json beside --key" in told
    assert "--relations DRAFTS/relations.toml" in told


def test_as_many_rows_as_were_expected_are_enough():
    check_learnable(3400.0, 0.02, 20, "")
    check_learnable(100.0, 30.0, 20, "")
    check_learnable(800.0, 0.02, 1, "")


def test_small_tables_take_a_larger_share_of_the_budget():
    shares = [learning_share(weight(records, 0.02, 5)) for records in (0, 1, 300, 3000, 10**7)]
    assert shares == sorted(shares, reverse=True)
    assert 0.5 > shares[0] > shares[-1] > 0


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
@pytest.mark.parametrize(
    ("adjacency", "spent"),
    [("add-remove", "2% of the budget went into the number"), ("zero-out", "Nothing was spent")],
)
def test_nothing_but_the_number_of_rows_is_counted_before_a_refusal(monkeypatch, adjacency, spent):
    for name in ("histograms", "ladders", "frequent"):
        monkeypatch.setattr(PrivateCounts, name, _counting)
    if adjacency == "zero-out":
        monkeypatch.setattr(PrivateCounts, "total", _counting)
    with pytest.raises(DataError, match=spent):
        dpmosaic.synthesize(SMALL, adjacency=adjacency, seed=1, progress=False)


def _counting(*_, **__):
    raise AssertionError("rows were counted")

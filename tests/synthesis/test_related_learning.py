"""What is learned of related tables without a domain: from how many people, by what part of the budget."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.synthesis.learning.private_counts import PrivateCounts
from dpmosaic.synthesis.related import describing

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:no domain")]


def panel(people, rows_each, columns):
    """Rows of people, with columns of three categories."""
    rng = np.random.default_rng(1)
    cells = {f"x{place}": rng.choice(["a", "b", "c"], people * rows_each) for place in range(columns)}
    return pd.DataFrame({"id": np.repeat(np.arange(people), rows_each), **cells})


@pytest.mark.parametrize("per_person", [[], ["x0", "x1"]])
def test_people_who_are_too_few_for_the_columns_of_all_tables_are_refused_before_any_is_learned(
    monkeypatch, per_person
):
    """Of each table alone they would be enough, and rows are many more than people."""
    rows = panel(400, 6, 12)
    for name in per_person:
        rows[name] = rows.groupby("id")[name].transform("first")
    asked, charge = [], PrivateCounts._charge

    def watched(self, step, *arguments, **options):
        asked.append(step)
        return charge(self, step, *arguments, **options)

    monkeypatch.setattr(PrivateCounts, "_charge", watched)
    with pytest.raises(
        DataError, match=r"people are too few to learn what 12 columns hold .* number of people"
    ):
        dpmosaic.synthesize(rows, 1.0, key="id", per_person=per_person, progress=False)
    assert asked == ["the number of people"]


def test_a_table_of_few_of_the_people_is_named_if_its_columns_are_learned():
    tables = {"people": panel(6000, 1, 2), "stays": panel(60, 3, 2)}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dpmosaic.synthesize(
            tables, 1.0, relations={"stays": {"id": "people"}}, mechanism="independent", progress=False
        )
    assert [
        one for one in told if re.search("stays: about .* people have rows of it, too few", str(one.message))
    ]


def test_all_columns_are_learned_from_parts_of_one_size(monkeypatch):
    """Whichever table they stand in, and however small the part of this table is."""
    learned, begun = {}, describing.begun_without

    def watched(cells, read, ordered, granted, adjacency, budget, *others):
        learned[len(cells.names)] = float(granted(budget)) * others[-2]
        return begun(cells, read, ordered, granted, adjacency, budget, *others)

    monkeypatch.setattr(describing, "begun_without", watched)
    rows = panel(3000, 2, 14)
    rows["x0"] = rows.groupby("id")["x0"].transform("first")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dpmosaic.synthesize(
            rows, 5.0, key="id", per_person=["x0"], mechanism="independent", progress=False, seed=1
        )
    assert learned[1] == pytest.approx(learned[13] / 13, rel=0.01)


def booked(people=2500):
    """Stays that were booked some minutes before they began, each person's on other days."""
    rng = np.random.default_rng(1)
    whose = np.repeat(np.arange(people), rng.integers(1, 5, people))
    rows = len(whose)
    days = np.datetime64("2020-01-01T08:00") + rng.integers(0, 900, rows).astype("timedelta64[D]")
    times = {"booked": days + rng.integers(0, 450, rows).astype("timedelta64[m]")}
    times["begun"] = times["booked"] + rng.integers(5, 50, rows).astype("timedelta64[m]")
    times["ended"] = times["begun"] + rng.integers(60, 5000, rows).astype("timedelta64[m]")
    return pd.DataFrame({"who": whose, **{n: one.astype("datetime64[us]") for n, one in times.items()}})


@pytest.mark.parametrize("order", ["booked", "begun", "ended"])
def test_the_order_of_rows_is_counted_from_no_date_near_it_and_others_are_from_it(order):
    made = dpmosaic.synthesize(
        booked(), 4.0, key="who", order=order, mechanism="independent", progress=False, ledger=False
    )
    rows, minute = made.table, pd.Timedelta(minutes=1)
    assert made.family["rows"].steps is not None
    assert (rows.groupby("who")[order].diff().dropna() >= pd.Timedelta(0)).all()
    assert 15 < ((rows["begun"] - rows["booked"]) / minute).median() < 40
    assert 1500 < ((rows["ended"] - rows["begun"]) / minute).median() < 3500


def test_an_order_that_a_domain_counts_from_another_column_is_refused_before_anything_is_asked(monkeypatch):
    monkeypatch.setattr(PrivateCounts, "_charge", None)
    bounds = {"type": "timestamp", "min": "2020-01-01", "max": "2022-12-31"}
    gaps = {"type": "timestamp", "after": {"booked": {"min": 0, "max": 4000, "bins": 9}}}
    ended = {**bounds, "bins": 9}
    with pytest.raises(DataError, match=r"order 'begun': expected .* one that comes after another"):
        dpmosaic.synthesize(
            booked(20),
            4.0,
            key="who",
            order="begun",
            domain={"booked": {**bounds, "bins": 9}, "begun": gaps, "ended": ended},
            progress=False,
            ledger=False,
        )

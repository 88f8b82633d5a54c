"""Columns that follow from the rows above and the order are as they follow, and are not counted."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic import Holders, simulate_people
from dpmosaic.common.errors import DataError
from support.related import DOMAINS, ORDER, RELATIONS, patients, release, saved_and_loaded

REPEATS = {
    "stays": {"gender": "patients.sex"},
    "codes": {"id": "stays", "sex": "patients", "ward": "stays", "day": "stays", "whose": "stays.gender"},
}
COUNTS = {"stays": {"visit": 1}, "codes": {"line": 0}}
STATED = {"repeats": REPEATS, "counts": COUNTS}


def wide(**options):
    """Patients whose stays and codes say once more what stands above, and which one of its rows each is."""
    data = patients(**options)
    stays = data["stays"].merge(data["patients"][["id", "sex"]], on="id").rename(columns={"sex": "gender"})
    stays = stays.sort_values(["id", "day"], kind="stable")
    stays["visit"] = stays.groupby("id").cumcount() + 1
    above = stays[["stay", "id", "ward", "day", "gender"]].assign(sex=stays["gender"])
    codes = data["codes"].merge(above, on="stay").rename(columns={"gender": "whose"})
    codes["line"] = codes.groupby("stay").cumcount()
    return data | {"stays": stays, "codes": codes}


def follows(tables):
    """Whether all columns follow as stated."""
    people, stays = (tables[name].set_index(key) for name, key in (("patients", "id"), ("stays", "stay")))
    codes = tables["codes"]
    own = stays.loc[codes["stay"]]
    assert (people["sex"].loc[stays["id"]].to_numpy() == stays["gender"].to_numpy()).all()
    assert (people["sex"].loc[codes["id"]].to_numpy() == codes["sex"].to_numpy()).all()
    assert (codes["sex"].to_numpy() == codes["whose"].to_numpy()).all()
    for name in ("id", "ward", "day"):
        assert (own[name].to_numpy() == codes[name].to_numpy()).all()
    assert (stays["visit"] == stays.groupby("id").cumcount() + 1).all()
    assert (codes["line"] == codes.groupby("stay").cumcount()).all()
    in_order = stays.sort_values(["id", "visit"], kind="stable")
    assert in_order.groupby("id")["day"].is_monotonic_increasing.all()


@pytest.mark.slow
def test_synthetic_rows_follow_and_have_all_columns_in_their_order():
    data = wide()
    tables = release(data, **STATED).tables
    for name, rows in data.items():
        assert [*tables[name].columns] == [*rows.columns]
    follows(tables)


@pytest.mark.slow
def test_nothing_of_them_is_counted():
    """The same release as that of tables without them, to the last digit."""
    data = wide()
    columns = {name: [*rows.columns] for name, rows in patients().items()}
    plain = {name: rows[columns[name]] for name, rows in data.items()}
    plain["codes"] = plain["codes"].loc[data["codes"].sort_values("line", kind="stable").index]
    one, other = release(data, seed=3, **STATED), release(plain, seed=3, order=ORDER | {"codes": True})
    for name, rows in one.tables.items():
        pd.testing.assert_frame_equal(rows[columns[name]], other.tables[name])


@pytest.mark.slow
@pytest.mark.parametrize("table_format", ["csv", "parquet", "xlsx"])
def test_a_saved_release_is_read_as_it_was(tmp_path, table_format):
    data = wide()
    # As in a file: how days are written, a file says.
    data["stays"] = data["stays"].assign(day=data["stays"]["day"].astype(str))
    made = release(data, **STATED)
    loaded = saved_and_loaded(made, tmp_path / "out", table_format)
    for name, rows in made.tables.items():
        pd.testing.assert_frame_equal(loaded.tables[name], rows)
    follows(loaded.generate(50))


@pytest.mark.slow
def test_rows_are_in_the_order_that_a_column_counts():
    """Codes that take turns from line to line do so in whichever order the lines of a file are."""
    rng = np.random.default_rng(5)
    whose = np.repeat(np.arange(500), 6)
    lines = pd.DataFrame({"id": whose, "line": np.tile(np.arange(1, 7), 500)})
    lines["code"] = np.where(lines["line"] % 2, "x", "y")
    data = {"people": pd.DataFrame({"id": range(500)}), "lines": lines.iloc[rng.permutation(3000)]}
    made = dpmosaic.synthesize(
        *(data, 100.0),
        **{"relations": {"lines": {"id": "people"}}, "counts": {"lines": {"line": 1}}},
        domain={"lines": {"code": ["x", "y"]}},
    )
    found = made.tables["lines"]
    assert (found["code"].eq("x") == (found["line"] % 2 == 1)).mean() > 0.9


@pytest.mark.slow
def test_over_parties_they_are_filled_in_by_the_curator():
    holders = Holders((("patients",), ("stays", "codes")), collusions=0)
    stated = {"relations": RELATIONS, "order": ORDER, "domain": DOMAINS, "mechanism": "independent"}
    made = simulate_people(wide(people=200), 100.0, holders=holders, progress=False, **stated, **STATED)
    follows(made.tables)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"repeats": {"patients": {"sex": "stays"}}}, "repeats: expected tables that belong to another"),
        ({"repeats": {"codes": {"ward": "wards"}}}, "a table to which its rows belong beside 'ward'"),
        ({"repeats": {"stays": {"ward": "codes"}}}, "a table to which its rows belong beside 'ward'"),
        ({"repeats": {"stays": {"gender": "patients.sxe"}}}, "did you mean 'sex'"),
        ({"repeats": {"stays": {"gendre": "patients.sex"}}}, "did you mean 'gender'"),
        ({"repeats": {"stays": {"id": "patients"}}}, "a column that is nothing else, got 'id'"),
        ({"repeats": {"stays": {"ward": "patients.sex"}}}, "no attribute 'ward' in its domain"),
        ({"counts": {"stays": {"stay": 1}}}, "a column that is nothing else, got 'stay'"),
        ({"counts": {"stays": {"visits": 1}}}, "did you mean 'visit'"),
        ({"counts": {"stays": {"visit": 2}}}, "counts: expected"),
        ({"counts": {"codes": {"day": 1}}}, "counts: expected a column of whole numbers, got datetime64"),
        ({"repeats": {"codes": {"line": "stays.visit"}}, "counts": COUNTS}, "nothing else, got 'line'"),
        ({"data": wide()["codes"], "key": "stay", "relations": None, "order": None, **STATED}, "per_person"),
        ({"counts": {"visit": 1}}, "counts: expected one for each table"),
    ],
)
def test_what_does_not_follow_is_refused(options, said):
    with pytest.raises(DataError, match=said):
        release(**{"data": wide(people=50)} | options)

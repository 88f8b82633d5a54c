"""Drafts of folders find which columns are computed from rows above, beside and below, and no others."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.party.drafting.related.relations import draft_folder, save_folder
from dpmosaic.party.drafting.related.rules_as_formulas import with_what_follows
from dpmosaic.synthesis.relations_file import read_relations

PEOPLE = 600


def tables(seed=0):
    """People with accounts and payments, of which many columns follow from others."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"person id": np.arange(PEOPLE) + 5000, "town": rng.choice([*"abc"], PEOPLE)})
    people["born"] = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 22_000, PEOPLE), unit="D")
    visits = people.loc[np.repeat(people.index, rng.integers(0, 6, PEOPLE)), ["person id", "born"]]
    visits = visits.reset_index(drop=True)
    visits["visit"] = [f"V-{number:05}" for number in range(len(visits))]
    spread = rng.integers(0, 1500, len(visits))
    visits["begin"] = pd.Timestamp("2019-01-01") + pd.to_timedelta(spread, unit="D")
    visits = visits.sort_values(["person id", "begin"], kind="stable").drop_duplicates(["person id", "begin"])
    visits["end"] = visits["begin"] + pd.to_timedelta(rng.integers(0, 40, len(visits)), unit="D")
    visits["days"] = (visits["end"] - visits["begin"]).dt.days
    begun, born = visits["begin"].dt, visits["born"].dt
    had = (begun.month > born.month) | ((begun.month == born.month) & (begun.day >= born.day))
    visits["age"] = begun.year - born.year - ~had
    visits["band"] = np.where(visits["age"] < 65, "young", "old")
    visits["next"] = visits.groupby("person id")["begin"].shift(-1).fillna(pd.Timestamp("9999-12-31"))
    visits["since last"] = visits.groupby("person id")["begin"].diff().dt.days
    visits["paid"] = rng.integers(1, 200, len(visits)) / 2
    visits["paid so far"] = visits.groupby("person id")["paid"].cumsum()
    items = visits.loc[np.repeat(visits.index, rng.integers(0, 5, len(visits))), ["visit"]]
    items["price"] = rng.integers(100, 9000, len(items)) / 100
    items["kind"] = rng.choice(["x", "y"], len(items))
    by_visit, by_person = items.groupby("visit")["price"], visits.groupby("person id")
    visits["items"] = visits["visit"].map(by_visit.size()).fillna(0).astype(int)
    visits["total"] = visits["visit"].map(by_visit.sum()).round(2)
    visits["dearest"] = visits["visit"].map(by_visit.max())
    people["visits"] = people["person id"].map(by_person.size()).fillna(0).astype(int)
    people["paid"] = people["person id"].map(by_person["paid"].sum()).fillna(0)
    people["first"] = people["person id"].map(by_person["begin"].min())
    people["last"] = people["person id"].map(by_person["begin"].max())
    people["mean days"] = people["person id"].map(by_person["days"].mean()).round(3)
    return {"people": people, "visits": visits.drop(columns="born"), "items": items}


def written(folder, found, **options):
    folder.mkdir()
    for name, rows in found.items():
        rows.to_csv(folder / f"{name}.csv", index=False, **options)
    return folder


def computed(folder):
    """What the draft of a folder says of columns that are computed, by table."""
    return {
        table.name: {
            name: entry["computed"]
            for name, entry in table.draft.entries.items()
            if isinstance(entry, dict) and "computed" in entry
        }
        for table in draft_folder(folder)
    }


FOUND = {
    "people": {
        "visits": "count(visits)",
        "paid": "coalesce(sum(visits.paid), 0)",
        "first": "min(visits.begin)",
        "last": "max(visits.begin)",
        "mean days": "avg(visits.days)",
    },
    "visits": {
        "days": "date_diff('day', begin, \"end\")",
        "age": "date_sub('year', people.born, begin)",
        "band": "CASE WHEN age < 65 THEN 'young' ELSE 'old' END",
        "next": "coalesce(lead(begin), DATE '9999-12-31')",
        "since last": "date_diff('day', lag(begin), begin)",
        "paid so far": "sum(paid) OVER (ROWS UNBOUNDED PRECEDING)",
        "items": "count(items)",
        "total": "sum(items.price)",
        "dearest": "max(items.price)",
    },
    "items": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("german", [False, True])
def test_a_draft_finds_what_follows_from_other_rows(tmp_path, german):
    options = {"sep": ";", "decimal": ",", "date_format": "%d.%m.%Y"} if german else {}
    assert computed(written(tmp_path / "data", tables(), **options)) == FOUND


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_of_columns_that_follow_from_nothing_it_says_nothing(tmp_path, seed):
    """The same columns, each in another order of its rows."""
    rng = np.random.default_rng(seed)
    found = tables(seed)
    for name, rows in found.items():
        for column in {*FOUND[name], "kind", "price"}.intersection(rows):
            rows[column] = rng.permutation(rows[column].to_numpy())
    assert not any(computed(written(tmp_path / "data", found)).values())


@pytest.mark.parametrize(
    ("nullable", "found"),
    [
        (False, "CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END"),
        (True, "CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' WHEN age >= 65 THEN 'old' END"),
    ],
)
def test_who_has_no_age_is_in_no_group_of_ages(nullable, found):
    age = {"type": "numeric", "min": 0, "max": 99, "bins": "auto", "nullable": nullable}
    entries = {"age": age, "group": ["child", "adult", "old"]}
    rule = {"steps": "group", "of": "age", "at": [18, 65], "values": ["child", "adult", "old"]}
    made = with_what_follows(entries, [rule], {"age": age | {"computed": "year - born"}})
    assert made["group"]["computed"] == found
    assert made["group"]["reviewed"] is False


@pytest.mark.slow
def test_an_end_that_is_the_next_beginning_is_measured_where_there_is_none(tmp_path):
    """Of people who left, last ends differ; then the column names itself, and no rule is about it."""
    rng = np.random.default_rng(1)
    whose = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    begun = pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(len(whose)) * 9, unit="D")
    rows = pd.DataFrame({"person": whose, "since": begun, "pay": rng.integers(1, 99, len(whose))})
    last = begun.to_series(index=rows.index) + pd.to_timedelta(rng.integers(0, 400, len(whose)), unit="D")
    last = last.where(rng.random(len(rows)) < 0.5, pd.Timestamp("9999-01-01"))
    rows["until"] = rows.groupby("person")["since"].shift(-1).fillna(last)
    people = pd.DataFrame({"person": range(400), "sex": rng.choice(["f", "m"], 400)})
    folder = written(tmp_path / "data", {"people": people, "pay": rows})
    (pay,) = (table for table in draft_folder(folder) if table.name == "pay")
    entry = pay.draft.entries["until"]
    assert entry["computed"] == 'coalesce(lead("since"), greatest("until", "since"))'.replace('"', "")
    assert entry["measured"]
    assert not [rule for rule in pay.draft.suggested_rules if "until" in str(rule)]


@pytest.mark.slow
def test_a_release_by_the_draft_keeps_all_of_it(tmp_path):
    folder = written(tmp_path / "data", tables())
    stated = read_relations(save_folder(draft_folder(folder), tmp_path / "drafts"), folder)
    made = dpmosaic.synthesize(
        stated.files,
        20.0,
        relations=stated.relations,
        order=stated.order,
        domain=dict(stated.domains),
        mechanism="independent",
    ).tables
    for name, rows in made.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    again = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in made}
    visits, items = again["visits"], again["items"]
    assert (visits["items"] == visits["visit"].map(items.groupby("visit").size()).fillna(0)).all()
    assert np.allclose(
        visits["total"].fillna(0),
        visits["visit"].map(items.groupby("visit")["price"].sum()).fillna(0),
        atol=0.006,
    )
    assert np.allclose(visits["paid so far"], visits.groupby("person id")["paid"].cumsum(), atol=0.01)
    days = (pd.to_datetime(visits["end"]) - pd.to_datetime(visits["begin"])).dt.days
    assert (days == visits["days"]).all()
    last = visits["next"].str.startswith("9999")
    assert (last == ~visits.duplicated("person id", keep="last")).all()
    assert (
        visits["next"].shift(1)[~last.shift(1, fill_value=True)]
        == visits["begin"][~last.shift(1, fill_value=True)]
    ).all()

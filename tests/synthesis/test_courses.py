"""Rows of a parent that follow a plan: columns that rise, values that come once, days near to its own."""

import json

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

import dpmosaic
from dpmosaic import Holders, simulate_people
from dpmosaic.command import app
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.errors import DataError
from dpmosaic.curator.people.drawing.between import apart, kept_between
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.rows import records
from dpmosaic.curator.releasing.obedience import breaking
from dpmosaic.party.drafting.related.relations import draft_folder, save_folder
from dpmosaic.simulations.evaluation.people import evaluate_people
from dpmosaic.synthesis.related.making import Making
from dpmosaic.synthesis.relations_file import read_relations

PLAN = ("screening", "start", "week 4", "week 12", "end")
DAYS = dict(zip(PLAN, (-14, 0, 28, 84, 364), strict=True))


def study(people=1500, seed=1):
    """People with visits by a plan, of which some stop early and some leave one out, and years of a panel."""
    rng = np.random.default_rng(seed)
    enrolled = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, people), "D")
    visits = []
    for place in range(people):
        last = 5 if rng.random() < 0.7 else rng.integers(1, 5)
        for name in PLAN[:last]:
            if rng.random() < 0.95:
                day = enrolled[place] + pd.Timedelta(days=DAYS[name] + int(rng.integers(-3, 4)))
                age = 30.0 + place % 40 + DAYS[name] // 100
                visits.append((place, name, day, age, "xy"[place % 3 % 2], 9 * (place % 11)))
    years = [(place, 2010 + year) for place in range(people) for year in range(8) if rng.random() < 0.6]
    return {
        "people": pd.DataFrame(
            {"id": range(people), "enrolled": enrolled, "sex": rng.choice(["f", "m"], people)}
        ),
        "visits": pd.DataFrame(visits, columns=["id", "visit", "day", "age", "arm", "size"]),
        "panel": pd.DataFrame(years, columns=["id", "year"]).assign(job=lambda rows: rows["year"] % 3 == 0),
    }


DAY = {"type": "date", "min": "2020-12-01", "max": "2023-12-31", "bins": "auto"}
STATED = {
    "relations": {"visits": {"id": "people"}, "panel": {"id": "people"}},
    "order": {"visits": "day", "panel": "year"},
    "near": {"visits": "enrolled"},
    "rising": {"visits": ["visit", "age"]},
    "once": {"visits": ["visit"], "panel": ["year"]},
    "same": {"visits": ["arm", "size"]},
    "domain": {
        "people": {"enrolled": DAY, "sex": ["f", "m"]},
        "visits": {
            **{"visit": [*PLAN], "day": DAY, "arm": ["x", "y"]},
            "age": {"type": "numeric", "min": 18, "max": 99, "bins": "auto", "decimals": 1},
            "size": {"type": "numeric", "min": 0, "max": 99, "bins": 40, "integer": True},
        },
        "panel": {
            "year": {"type": "numeric", "min": 2008, "max": 2020, "bins": 13, "integer": True},
            "job": {"type": "boolean"},
        },
    },
}


def release(data, epsilon, **options):
    return dpmosaic.synthesize(data, epsilon, **STATED | {"progress": False} | options)


def keeps_its_course(tables):
    visits, panel = tables["visits"], tables["panel"]
    place = visits["visit"].map({name: place for place, name in enumerate(PLAN)})
    by = visits.assign(place=place).groupby("id")
    assert (by["place"].diff().dropna() > 0).all()
    assert (by[["arm", "size"]].nunique() == 1).all().all()
    assert (by["age"].diff().dropna() >= 0).all()
    assert (by["day"].diff().dropna() >= pd.Timedelta(0)).all()
    assert not panel.duplicated(["id", "year"]).any()


@pytest.mark.slow
def test_rows_keep_their_course_at_any_noise(tmp_path):
    data = study()
    for epsilon in (0.5, 30.0):
        made = release(data, epsilon)
        keeps_its_course(made.tables)
        told = {one.rule: one for one in evaluate_people(data, made).rules}
        for said in (
            "visit is less than in the row before",
            "year is in two rows of one of 'people'",
            "arm is not the same as in the row before",
        ):
            assert (told[said].real, told[said].synthetic) == (0, 0)
    made.write(tmp_path)
    again = dpmosaic.load_people(tmp_path)
    assert again.family["visits"].to_json() == made.family["visits"].to_json()
    keeps_its_course(again.generate(300))


@pytest.mark.slow
def test_days_are_as_near_to_that_of_the_parent_as_they_were():
    data = study()
    made = release(data, 30.0)

    def away(tables):
        rows = tables["visits"].merge(tables["people"], on="id")
        days = (rows["day"] - rows["enrolled"]).dt.days
        return days.groupby(rows["visit"]).median().loc[[*PLAN]].to_numpy()

    # Gaps of a year have bins of two months.
    assert np.abs(away(made.tables) - away(data)).max() <= 25
    first = made.tables["visits"].merge(made.tables["people"], on="id")
    before = first[first["visit"] == "screening"]
    assert ((before["day"] - before["enrolled"]).dt.days.between(-20, -8)).mean() > 0.9
    whole = (made.tables["visits"]["visit"] == "start").sum() / (data["visits"]["visit"] == "start").sum()
    assert 0.9 < whole < 1.1


@pytest.mark.slow
def test_records_of_rows_that_keep_their_course_break_no_rule(monkeypatch):
    """What is taken for impossible does not occur: otherwise the model would be of other rows."""
    seen = []

    def watched(self, name, *arguments):
        table = records(self._family, name, self._rows)
        seen.append((name, len(table.domain.rules), breaking(table, table.domain.rules).sum()))
        return taken(self, name, *arguments)

    taken = Making._release_table
    monkeypatch.setattr(Making, "_release_table", watched)
    release(study(300), 30.0)
    assert [broken for _, _, broken in seen] == [0, 0, 0]
    assert dict((name, rules) for name, rules, _ in seen)["visits"] > 10


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.integers(0, 2**32 - 1), st.booleans())
def test_any_rows_are_put_on_their_course(numbers, seed, rising):
    rng = np.random.default_rng(seed)
    parent = np.repeat(np.arange(len(numbers)), numbers)
    size = max(numbers, default=1) + int(rng.integers(0, 3)) + 1
    one, other = (CategoricalAttribute(name, tuple(map(str, range(size)))) for name in "ab")
    third = CategoricalAttribute("c", one.categories)
    domain = Domain((one, other, third))
    kin = Kin("rows", domain, rising=("a",) if rising else (), once=("a",), same=("c",))
    codes = {name: rng.integers(0, size, len(parent)) for name in "abc"}
    found = kept_between(kin, Rows(codes, parent, len(numbers)), rng)
    for place in range(len(numbers)):
        mine = found.codes["a"][parent == place]
        assert len({*mine.tolist()}) == len(mine)
        assert not rising or (np.diff(mine) > 0).all()
        assert sorted(found.codes["b"][parent == place]) == sorted(codes["b"][parent == place])
        assert (found.codes["c"][parent == place] == codes["c"][parent == place][:1]).all()
    # Rows that keep their course stay as they are.
    again = kept_between(kin, found, rng)
    assert all((again.codes[name] == found.codes[name]).all() for name in "abc")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=8), min_size=1, max_size=8))
def test_values_of_a_parent_are_a_unit_apart_within_its_end(values):
    parent = np.repeat(np.arange(len(values)), [len(one) for one in values])
    rows = Rows({}, parent, len(values))
    held = np.array([value for one in values for value in sorted(one)], dtype=np.float64)
    if not len(held):
        return
    found = apart(held, rows, 1.0, np.zeros(len(held)), np.full(len(held), 30.0))
    inside = np.diff(found)[np.diff(parent) == 0]
    assert (inside >= 1).all()
    assert found.min() >= 0
    assert found.max() <= 30
    # What is apart already stays.
    for place, one in enumerate(values):
        if len({*one}) == len(one):
            assert (found[parent == place] == sorted(one)).all()


@pytest.mark.slow
@pytest.mark.parametrize("described", [True, False])
def test_one_table_with_a_key_keeps_its_course(tmp_path, described):
    data = study()
    rows = data["visits"].assign(nth=lambda rows: rows.groupby("id").cumcount() + 1)
    rows.sample(frac=1, random_state=1).to_csv(tmp_path / "visits.csv", index=False)
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps(STATED["domain"]["visits"] | {"day": DAY | {"format": "%Y-%m-%d"}}))
    asked = ["--key", "id", "--order", "day", "--rising", "age", "--counts", "nth", "--epsilon", "8"]
    described_ones = ["--domain", str(domain), "--rising", "visit", "--once", "visit"]
    asked += described_ones if described else ["--once", "day"]
    out = ["--no-ledger", "--out", str(tmp_path / "out")]
    made = CliRunner().invoke(app, ["synthesize", str(tmp_path / "visits.csv"), *asked, *out])
    assert made.exit_code == 0, made.output
    found = pd.read_csv(tmp_path / "out" / "tables" / "rows.csv")
    assert [*found.columns] == [*rows.columns]
    by = found.sort_values(["id", "nth"]).groupby("id")
    assert (by["nth"].max() == by.size()).all()
    assert (by["age"].diff().dropna() >= 0).all()
    assert (by["day"].shift().dropna() <= found["day"].loc[by["day"].shift().dropna().index]).all()
    if described:
        place = found["visit"].map({name: place for place, name in enumerate(PLAN)})
        assert (place.groupby(found["id"]).diff().dropna() > 0).all()
    else:
        assert not found.duplicated(["id", "day"]).any()


@pytest.mark.filterwarnings("ignore:no domain")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rising": {"visits": ["age"]}}, "rising: expected columns alone"),
        ({"same": {"visits": ["age"]}}, "same in all rows of a person in per_person"),
        ({"counts": {"visits": {"nth": 1}}}, "counts: expected columns alone"),
        ({"releases": 2, "until": "2022-01-01", "once": ["day"]}, "expected none in releases that share"),
        ({"rising": ["day"]}, "in order by another one, got 'day'"),
    ],
)
def test_a_table_with_a_key_states_columns_alone(options, said):
    with pytest.raises(DataError, match=said):
        dpmosaic.synthesize(study(60)["visits"], 1.0, key="id", order="day", anyway=True, **options)


@pytest.mark.slow
def test_over_parties_rows_keep_their_course():
    data = study(200)
    stated = {name: of for name, of in STATED.items() if name != "near"}
    bins = {"domain": json.loads(json.dumps(STATED["domain"]).replace('"auto"', "12"))}
    holders = Holders((("people",), ("visits", "panel")), collusions=0)
    made = simulate_people(data, 50.0, holders=holders, progress=False, **stated | bins)
    keeps_its_course(made.tables)


@pytest.mark.slow
def test_the_draft_of_a_folder_finds_courses(tmp_path):
    (tmp_path / "tables").mkdir()
    for name, rows in study().items():
        rows.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    drafted = draft_folder(tmp_path / "tables")
    named = {table.name: table for table in drafted}
    assert named["visits"].rising == ("visit", "age")
    assert named["visits"].once == ("visit",)
    assert named["visits"].same == ("arm", "size")
    assert named["visits"].around.near == "enrolled"
    assert named["visits"].draft.entries["visit"]["categories"] == [*PLAN]
    assert (named["panel"].rising, named["panel"].around.near) == ((), "")
    stated = read_relations(save_folder(drafted, tmp_path / "drafts"), tmp_path / "tables")
    assert stated.near == {"visits": "enrolled"}
    assert stated.implied.rising == {"visits": ["visit", "age"]}


def test_columns_of_chance_have_no_course(tmp_path):
    """Also where few rows stand beside another of their person, and one value is of most rows."""
    rng = np.random.default_rng(3)
    whose = np.sort(rng.integers(0, 400, 1500))
    days = pd.Timestamp("2022-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 500, 1500)), "D")
    rows = {"id": whose, "day": days, "kind": rng.choice(["a", "b", "c"], 1500)}
    # The same in all rows of a person: it does not rise.
    rows |= {"born": 1950 + whose % 40, "number": rng.integers(0, 90, 1500)}
    pd.DataFrame({"id": range(400), "sex": "f"}).to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame(rows).to_csv(tmp_path / "visits.csv", index=False)
    (visits,) = (table for table in draft_folder(tmp_path) if table.name == "visits")
    assert (visits.rising, visits.once, visits.same) == ((), (), ("born",))
    few = pd.DataFrame({"id": [*range(400), *range(25)], "day": days[:425], "kind": "a"})
    few.loc[few["id"] % 20 == 19, "kind"] = "b"
    few.to_csv(tmp_path / "visits.csv", index=False)
    (visits,) = (table for table in draft_folder(tmp_path) if table.name == "visits")
    assert visits.same == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"near": {"visits": "enroled"}}, "did you mean 'enrolled'"),
        ({"near": {"people": "enrolled"}}, "near: expected tables with a column of their order"),
        ({"within": {"visits": ("enrolled", None)}}, "leave one of the two out"),
        ({"rising": {"visits": ["vist"]}}, "did you mean 'visit'"),
        ({"same": {"visits": ["day"]}}, "other than the order, got 'day'"),
        ({"same": {"panel": ["job"]}}, "expected a column of numbers, or of categories"),
        ({"rising": {"visits": ["day"]}}, "in order by another one, got 'day'"),
        ({"rising": {"people": ["sex"]}}, "rising: expected tables that belong to another"),
        ({"rising": {"panel": ["job"]}}, "expected a column of numbers, or of categories"),
        ({"once": {"visits": ["age"]}}, "expected a column of categories that a domain lists"),
        ({"order": {"panel": "year"}, "near": {}}, "of rows that are in order by another one, got 'visit'"),
    ],
)
def test_what_has_no_course_is_refused(options, said):
    with pytest.raises(DataError, match=said):
        release(study(60), 1.0, anyway=True, **options)

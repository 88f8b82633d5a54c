"""Columns that are computed from others are as they follow from these, and are not counted."""

import json

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic import Holders, simulate_people
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.stopping import counted_spending
from support.related import DOMAINS, ORDER, RELATIONS, patients, release, saved_and_loaded

WHOLE = {"type": "numeric", "min": 0, "max": 200, "bins": "auto", "integer": True}
DAY = DOMAINS["stays"]["day"]
COMPUTED = {
    "patients": {
        "stays": WHOLE | {"computed": "count(stays)"},
        "found": WHOLE | {"computed": "coalesce(sum(stays.codes), 0)"},
        "latest": DAY | {"nullable": True, "computed": "max(stays.day)"},
    },
    "stays": {
        "age": WHOLE | {"computed": "year(day) - patients.born"},
        "grown": {"type": "boolean", "computed": "age >= 18"},
        "codes": WHOLE | {"computed": "count(codes)"},
        "next": DAY | {"nullable": True, "computed": "lead(day)"},
    },
    "codes": {"what": {"type": "categorical", "categories": ["x1"], "computed": "code || patients.sex"}},
}
WITH_COMPUTED = {name: form | COMPUTED[name] for name, form in DOMAINS.items()}


def follows(tables):
    """Whether all columns are what they follow from."""
    people, stays, codes = (tables[name] for name in ("patients", "stays", "codes"))
    assert (people["stays"] == people["id"].map(stays.groupby("id").size()).fillna(0)).all()
    assert (people["found"] == people["id"].map(stays.groupby("id")["codes"].sum()).fillna(0)).all()
    latest = people["id"].map(stays.groupby("id")["day"].max())
    assert ((people["latest"] == latest) | (people["latest"].isna() & latest.isna())).all()
    whose = stays.merge(people[["id", "sex", "born"]], on="id", how="left")
    assert (stays["age"] == stays["day"].dt.year - whose["born"]).all()
    assert (stays["grown"] == (stays["age"] >= 18)).all()
    assert (stays["codes"] == stays["stay"].map(codes.groupby("stay").size()).fillna(0)).all()
    later = stays.groupby("id")["day"].shift(-1)
    assert ((stays["next"] == later) | (stays["next"].isna() & later.isna())).all()
    sex = codes["stay"].map(dict(zip(stays["stay"], whose["sex"], strict=True)))
    assert (codes["what"] == codes["code"] + sex).all()


@pytest.mark.slow
def test_synthetic_rows_follow_in_every_table_and_nothing_of_them_is_counted():
    """All else is the same release as without them, to the last digit; they stand after the other columns."""
    plain, made = release(seed=3), release(seed=3, domain=WITH_COMPUTED)
    follows(made.tables)
    for name, rows in plain.tables.items():
        assert [*made.tables[name]] == [*rows, *COMPUTED[name]]
        pd.testing.assert_frame_equal(made.tables[name][[*rows]], rows)
    follows(made.generate(50))


@pytest.mark.slow
def test_rows_below_may_repeat_them(tmp_path):
    data = patients()
    data["stays"]["age"] = data["codes"]["age of stay"] = 0
    made = release(data, domain=WITH_COMPUTED, repeats={"codes": {"age of stay": "stays.age"}})
    made.save(tmp_path / "out")
    for tables in (made.tables, dpmosaic.load_people(tmp_path / "out").tables):
        ages = tables["stays"].set_index("stay")["age"]
        assert (tables["codes"]["age of stay"] == tables["codes"]["stay"].map(ages)).all()


@pytest.mark.slow
def test_they_stand_where_the_real_table_has_them_and_what_it_holds_there_is_not_read():
    data = patients()
    data["stays"].insert(1, "age", "anything")
    made = release(data, domain=WITH_COMPUTED)
    assert [*made.tables["stays"]][:2] == ["stay", "age"]
    assert release(data, seed=1, domain=WITH_COMPUTED).tables["stays"]["age"].dtype == "int64"


@pytest.mark.slow
@pytest.mark.parametrize("table_format", ["csv", "parquet", "xlsx"])
def test_a_saved_release_is_read_as_it_was(tmp_path, table_format):
    made = release(domain=WITH_COMPUTED)
    loaded = saved_and_loaded(made, tmp_path / "out", table_format)
    for name, rows in made.tables.items():
        pd.testing.assert_frame_equal(loaded.tables[name], rows)
    follows(loaded.generate(50))


@pytest.mark.slow
def test_questions_about_them_are_answered_from_the_tables_and_those_of_others_as_before():
    made = release(domain=WITH_COMPUTED)
    answer = made.query("SELECT grown, count(*) AS n FROM stays GROUP BY grown")
    assert sum(row.estimates[0].value for row in answer.rows) == len(made.tables["stays"])
    assert not np.isnan(made.query("SELECT count(*) AS n FROM patients").rows[0].estimates[0].low)


def posts(people=800, seed=5):
    """People with posts, each of which lasts until the next one; of the last ones seven of ten are open."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, 5, people)
    whose = np.repeat(np.arange(people), numbers)
    hired = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 1500, people), unit="D")
    rows = pd.DataFrame({"id": whose + 10, "begin": hired[whose]})
    steps = pd.to_timedelta(rng.integers(200, 700, len(rows)), unit="D")
    later = steps.to_series(index=rows.index).groupby(rows["id"]).cumsum()
    rows["begin"] += later.groupby(rows["id"]).shift(fill_value=pd.Timedelta(0))
    gone = rows["begin"] + pd.to_timedelta(rng.integers(1, 900, len(rows)), unit="D")
    last = gone.where(rng.random(len(rows)) < 0.3, pd.Timestamp("2100-12-31"))
    rows["end"] = rows.groupby("id")["begin"].shift(-1).fillna(last)
    people_rows = pd.DataFrame(
        {"id": np.arange(people) + 10, "sex": rng.choice(["f", "m"], people), "hired": hired}
    )
    return {"people": people_rows, "posts": rows}


OF_POSTS = {
    "people": {
        "sex": ["f", "m"],
        "hired": {"type": "date", "min": "2000-01-01", "max": "2012-12-31", "bins": 12},
    },
    "posts": {
        "begin": {"type": "date", "min": "2000-01-01", "max": "2012-12-31", "bins": 26},
        "end": {
            "type": "date",
            "min": "2000-01-01",
            "max": "2015-12-31",
            "bins": "auto",
            "atoms": ["2100-12-31"],
            "computed": 'coalesce(lead("begin"), greatest("end", "begin"))',
            "measured": True,
        },
    },
}
STATED_OF_POSTS = {
    "relations": {"posts": {"id": "people"}},
    "order": {"posts": "begin"},
    "domain": OF_POSTS,
    "mechanism": "independent",
}


def check_posts(tables):
    """Each post lasts until the next; about as many of the last are open; and no table has another column."""
    rows = tables["posts"].sort_values(["id", "begin"], kind="stable")
    later = rows.groupby("id")["begin"].shift(-1)
    assert (rows["end"] == later)[later.notna()].all()
    assert (rows["end"] >= rows["begin"]).all()
    assert abs((rows["end"][later.isna()] == pd.Timestamp("2100-12-31")).mean() - 0.7) < 0.08
    assert [*tables["people"]] == ["id", "sex", "hired"]


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{}, {"within": {"posts": ("hired", None)}}])
def test_a_column_that_names_itself_is_as_measured_where_a_row_has_no_neighbour(tmp_path, bounds):
    made = dpmosaic.synthesize(posts(), 20.0, **STATED_OF_POSTS, **bounds)
    check_posts(made.tables)
    if bounds:
        first = made.tables["posts"].groupby("id")["begin"].min()
        hired = made.tables["people"].set_index("id")["hired"].reindex(first.index)
        assert (first == hired).mean() > 0.9
    made.save(tmp_path / "out")
    check_posts(dpmosaic.load_people(tmp_path / "out").generate(600))


@pytest.mark.slow
def test_over_parties_it_is_so_too():
    holders = Holders((("people",), ("posts",)), collusions=0)
    made = simulate_people(posts(people=300), 200.0, holders=holders, progress=False, **STATED_OF_POSTS)
    check_posts(made.tables)


@pytest.mark.slow
def test_over_parties_the_curator_computes_them_and_parties_need_not_hold_them():
    holders = Holders((("patients",), ("stays", "codes")), collusions=0)
    stated = {"relations": RELATIONS, "order": ORDER, "domain": WITH_COMPUTED, "mechanism": "independent"}
    follows(simulate_people(patients(people=200), 100.0, holders=holders, progress=False, **stated).tables)


@pytest.mark.slow
def test_beside_a_key_they_may_follow_from_the_columns_of_the_person():
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        {"id": np.repeat(np.arange(300), 3), "born": np.repeat(rng.integers(1950, 1990, 300), 3)}
    )
    rows["year"] = np.tile([2001, 2002, 2003], 300)
    domain = {
        "born": {"type": "numeric", "min": 1950, "max": 1989, "bins": 8, "integer": True},
        "year": {"type": "numeric", "min": 2001, "max": 2003, "bins": 3, "integer": True},
        "age": WHOLE | {"computed": "year - born"},
        "of": WHOLE | {"computed": "count(*) OVER ()"},
    }
    made = dpmosaic.synthesize(rows, 5.0, key="id", per_person=["born"], order="year", domain=domain).table
    assert (made["age"] == made["year"] - made["born"]).all()
    assert (made["of"] == made.groupby("id")["year"].transform("size")).all()


@pytest.mark.slow
def test_in_one_table_they_are_written_as_the_domain_says_whatever_the_block(tmp_path):
    """A German file of more rows than one block."""
    rng = np.random.default_rng(4)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 40_000), unit="D")
    rows = pd.DataFrame({"Tag": days.strftime("%d.%m.%Y"), "Netto": rng.integers(1, 100, 40_000)})
    rows["Netto"] = rows["Netto"].astype(str) + ",00 €"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    money = {"type": "numeric", "min": 0, "max": 200, "bins": "auto", "format": "{,} €", "decimals": 2}
    day = {"type": "date", "min": "2020-01-01", "max": "2023-12-31", "bins": 12, "format": "%d.%m.%Y"}
    domain = {
        "Tag": day,
        "Netto": money,
        "Brutto": money | {"computed": '"Netto" * 1.19'},
        "Frist": day | {"computed": '"Tag" + INTERVAL 14 DAY'},
    }
    made = dpmosaic.synthesize(tmp_path / "rows.csv", 5.0, domain=domain, mechanism="independent")
    made.save(tmp_path / "out")
    found = pd.read_csv(tmp_path / "out" / "synthetic.csv")
    net, gross = (found[name].str[:-2].str.replace(",", ".").astype(float) for name in ("Netto", "Brutto"))
    assert np.allclose(gross, net * 1.19, atol=0.0051)
    begun, ended = (pd.to_datetime(found[name], format="%d.%m.%Y") for name in ("Tag", "Frist"))
    assert ((ended - begun).dt.days == 14).all()


@pytest.fixture(scope="module")
def stays_of_one_table():
    rng = np.random.default_rng(6)
    rows = pd.DataFrame(
        {"came": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 4000), unit="D")}
    )
    rows["left"] = rows["came"] + pd.to_timedelta(rng.integers(0, 60, 4000), unit="D")
    rows["age"] = rng.integers(0, 100, 4000)
    rows["ward"] = rng.choice(["a", "b"], 4000)
    domain = {
        "came": DAY,
        "left": {"type": "date", "after": {"came": {"min": 0, "max": 60, "bins": 12}}},
        "age": {"type": "numeric", "min": 0, "max": 100, "bins": 20, "integer": True},
        "ward": ["a", "b"],
        "days": WHOLE | {"computed": "date_diff('day', came, \"left\")"},
        "year": WHOLE | {"computed": "year(came)"},
        "group": {
            "type": "categorical",
            "categories": ["young", "old"],
            "computed": "CASE WHEN age < 50 THEN 'young' ELSE 'old' END",
        },
    }
    return rows, dpmosaic.synthesize(rows, 10.0, domain=domain, mechanism="independent", seed=1)


@pytest.mark.slow
def test_queries_of_one_table_put_the_expression_in_the_place_of_the_column(stays_of_one_table):
    rows, made = stays_of_one_table
    days, year = (rows["left"] - rows["came"]).dt.days, rows["came"].dt.year
    truth = {
        "SELECT AVG(days) FROM release": days.mean(),
        "SELECT COUNT(*) FROM release WHERE Days > 30": (days > 30).sum(),
        "SELECT COUNT(*) FROM release WHERE year = 2021": (year == 2021).sum(),
    }
    for text, value in truth.items():
        answer = made.query(text)
        (estimate,) = answer.rows[0].estimates
        assert estimate.low <= value <= estimate.high
    answer = made.query('SELECT "group", COUNT(*) AS n FROM release GROUP BY "group"')
    assert answer.columns == ("group", "n")
    counts = dict(zip(("young", "old"), ((rows["age"] < 50).sum(), (rows["age"] >= 50).sum()), strict=True))
    for row in answer.rows:
        assert row.estimates[0].low <= counts[row.key[0]] <= row.estimates[0].high


@pytest.mark.slow
@pytest.mark.parametrize("where", [{}, {"where": {"age": (20, 29), "ward": "a"}}])
def test_more_rows_of_one_table_follow_too(stays_of_one_table, where):
    _, made = stays_of_one_table
    more = made.generate(500, **where)
    assert (more["days"] == (more["left"] - more["came"]).dt.days).all()
    assert (more["year"] == more["came"].dt.year).all()
    assert (more["group"] == np.where(more["age"] < 50, "young", "old")).all()


@pytest.mark.parametrize(
    ("table", "entry", "said"),
    [
        ("stays", WHOLE | {"computed": "count(cods)"}, "a table below, .* got cods"),
        ("stays", WHOLE | {"computed": "patients.brn"}, "did you mean 'born'"),
        ("stays", WHOLE | {"computed": "day"}, "expected a number"),
        ("codes", WHOLE | {"computed": "count(stays)"}, "a table below, .* got stays"),
        ("patients", WHOLE | {"computed": "new + 1"}, "it needs itself"),
        ("stays", DAY | {"computed": "id"}, "expected a date or a time"),
        ("patients", WHOLE | {"computed": ""}, "expected as computed an SQL expression"),
        ("patients", WHOLE | {"computed": 3}, "expected as computed an SQL"),
        ("patients", {"type": "codes", "n": 2, "measured": True}, "expected as computed an SQL"),
        ("patients", WHOLE | {"computed": "1", "measured": 1}, "measured: expected true or false"),
        ("patients", DAY | {"after": {"day": {"min": 0, "max": 9}}, "computed": "day"}, "min"),
    ],
)
def test_what_cannot_be_computed_is_refused_before_anything_is_spent(table, entry, said):
    domain = DOMAINS | {table: DOMAINS[table] | {"new": entry}}
    with counted_spending() as spending, pytest.raises(DataError, match=said):
        release(patients(people=30), domain=domain)
    assert not spending.anything


@pytest.mark.slow
def test_the_spending_of_related_tables_adds_up_to_the_budget():
    with counted_spending() as spending:
        release()
    assert spending.share == pytest.approx(1.0, abs=0.01)


def test_an_unreviewed_expression_makes_the_columns_of_its_table_unreviewed():
    form = {"a": ["x", "y"], "b": {"type": "codes", "n": 2, "computed": "(a = 'x')::INT", "reviewed": False}}
    domain = dpmosaic.Domain.from_json(form)
    assert domain.unreviewed == ("a",)
    assert dpmosaic.Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain

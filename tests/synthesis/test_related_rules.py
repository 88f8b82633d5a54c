"""Rules that rows of related tables keep to: inside a row, after its order, in the life of its parent."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.errors import DataError
from dpmosaic.curator.people.drawing.keeping import rows_exchanged, rules_kept
from dpmosaic.curator.people.kin import Kin
from support.related import DOMAINS, ORDER, RELATIONS, patients, release

pytestmark = pytest.mark.slow

DAYS = {"type": "numeric", "min": 0, "max": 2000, "bins": 40, "integer": True}
RULES = [{"impossible": {"ward": ["a"], "kind": ["x"]}}, {"determines": {"from": "ward", "to": "house"}}]


def tables():
    """People followed over a time of their own, stays inside it, and events inside stays; by numbers."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"id": np.arange(600), "born": rng.integers(0, 300, 600)})
    people["died"] = people.born + rng.integers(100, 1500, 600)
    of = np.repeat(np.arange(600), rng.integers(0, 5, 600))
    begun, ended = people.born.to_numpy()[of], people.died.to_numpy()[of]
    start = begun + ((ended - begun) * rng.random(len(of))).astype(int)
    stays = pd.DataFrame({"stay": np.arange(len(of)), "id": of, "start": start})
    stays["end"] = np.minimum(start + rng.geometric(0.1, len(of)), ended)
    stays["ward"] = rng.choice(["a", "b", "c"], len(of))
    stays["kind"] = np.where(stays.ward == "a", "y", rng.choice(["x", "y"], len(of)))
    stays["house"] = np.where(stays.ward == "c", "new", "old")
    at = np.repeat(np.arange(len(of)), rng.integers(0, 4, len(of)))
    length = (stays.end - stays.start).to_numpy()[at]
    day = stays.start.to_numpy()[at] + (length * rng.random(len(at))).astype(int)
    events = pd.DataFrame({"stay": at, "day": day, "code": rng.choice(["p", "q"], len(at))})
    return {"people": people, "stays": stays, "events": events}


def domains():
    stays = {"start": DAYS, "end": DAYS, "ward": ["a", "b", "c"], "kind": ["x", "y"], "house": ["new", "old"]}
    return {
        "people": {"attributes": {"born": DAYS, "died": DAYS}, "rules": [{"at_most": ["born", "died"]}]},
        "stays": {"attributes": stays, "rules": [*RULES, {"at_most": ["start", "end"]}]},
        "events": {"day": DAYS, "code": ["p", "q"]},
    }


def made(**options):
    stated = {
        "relations": {"stays": {"id": "people"}, "events": {"stay": "stays"}},
        "order": {"stays": "start", "events": "day"},
        "within": {"stays": ("born", "died"), "events": ("start", "end")},
        "domain": domains(),
        "mechanism": "independent",
        "seed": 5,
    }
    return dpmosaic.synthesize(tables(), 3.0, **{**stated, **options})


@pytest.fixture(scope="module")
def found():
    return made()


def test_rows_keep_to_the_rules_of_their_table(found):
    stays = found.tables["stays"]
    assert not ((stays.ward == "a") & (stays.kind == "x")).any()
    assert (stays.groupby("ward").house.nunique() == 1).all()


def test_an_end_is_not_before_its_start_nor_after_the_life_of_the_parent(found):
    stays = found.tables["stays"].merge(found.tables["people"], on="id")
    assert (stays.born <= stays.start).all()
    assert (stays.start <= stays.end).all()
    assert (stays.end <= stays.died).all()


def test_rows_further_below_lie_in_the_period_of_their_parent(found):
    events = found.tables["events"].merge(found.tables["stays"], on="stay")
    assert (events.start <= events.day).all()
    assert (events.day <= events.end).all()
    assert len(events) > 300


def test_how_long_rows_last_is_kept(found):
    real, synthetic = (one["end"] - one["start"] for one in (tables()["stays"], found.tables["stays"]))
    # Kolmogorov's distance; ends that were drawn by themselves have .5 and more.
    at = np.union1d(real, synthetic)
    shares = [np.searchsorted(np.sort(one), at, "right") / len(one) for one in (real, synthetic)]
    assert np.abs(shares[0] - shares[1]).max() < 0.3


def test_the_evaluation_counts_what_breaks_a_rule(found):
    rules = {(one.table, one.rule): one for one in dpmosaic.evaluate(tables(), found).rules}
    assert {one.synthetic for one in rules.values()} == {0.0}
    assert ("stays", "end before start") in rules
    assert ("stays", "end after died") in rules
    assert sum(one.table == "stays" for one in rules.values()) == 6


def test_a_release_with_rules_is_read_again(found, tmp_path):
    found.save(tmp_path / "out")
    again = dpmosaic.load_people(tmp_path / "out")
    assert again.family == found.family
    for name, rows in found.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], rows, check_dtype=False)


def with_ends(unit="D"):
    data = patients()
    later = np.random.default_rng(0).integers(0, 40, len(data["stays"]))
    data["stays"]["left"] = data["stays"].day + pd.to_timedelta(later, unit=unit)
    return data


GAP = {"type": "date", "after": {"day": {"min": 0, "max": 60, "bins": 12}}}
DATE = {"type": "date", "min": "2020-01-01", "max": "2023-12-31", "bins": 12}


@pytest.mark.parametrize(
    "stays",
    [
        DOMAINS["stays"] | {"left": GAP},
        {"attributes": DOMAINS["stays"] | {"left": DATE}, "rules": [{"at_most": ["day", "left"]}]},
    ],
    ids=["after", "rule"],
)
def test_dates_that_end_rows_come_after_dates_that_begin_them(stays, tmp_path):
    made = release(with_ends(), domain=DOMAINS | {"stays": stays}, seed=1)
    rows = made.tables["stays"]
    far = (pd.to_datetime(rows.left) - pd.to_datetime(rows.day)).dt.days
    assert far.min() >= 0
    assert far.median() == pytest.approx(20, abs=8)
    made.save(tmp_path / "out")
    again = dpmosaic.load_people(tmp_path / "out").tables["stays"]
    assert pd.to_datetime(again.left).equals(pd.to_datetime(rows.left))


BAD = {
    "another rule about the order": (
        {"rules": [{"sum": "end", "of": ["start", "more"]}], "more": DAYS},
        "expected rules about the order",
    ),
    "the order after": ({"rules": [{"at_most": ["end", "start"]}]}, "expected rules about the order"),
    "two rules about an end": (
        {"rules": [{"at_most": ["start", "end"]}, {"at_most": ["end", "more"]}], "more": DAYS},
        "expected no rule about 'end'",
    ),
}


@pytest.mark.parametrize(("change", "told"), BAD.values(), ids=BAD)
def test_rules_that_cannot_be_kept_are_refused(change, told):
    known = domains()
    more = {name: one for name, one in change.items() if name != "rules"}
    known["stays"] = {"attributes": known["stays"]["attributes"] | more, "rules": change["rules"]}
    data = tables()
    data["stays"]["more"] = data["stays"].end + 1
    with pytest.raises(DataError, match=told):
        dpmosaic.synthesize(
            data,
            relations={"stays": {"id": "people"}, "events": {"stay": "stays"}},
            order={"stays": "start"},
            domain=known,
        )


def test_kinds_that_cannot_be_compared_are_refused():
    domain = {
        "attributes": DOMAINS["stays"] | {"hours": {"type": "numeric", "min": 0, "max": 9, "bins": 3}},
        "rules": [{"at_most": ["day", "hours"]}],
    }
    data = patients()
    data["stays"]["hours"] = 3
    with pytest.raises(DataError):
        dpmosaic.synthesize(data, relations=RELATIONS, order=ORDER, domain={**DOMAINS, "stays": domain})


@pytest.mark.parametrize("seed", range(10))
def test_rows_that_break_a_rule_take_what_others_have(seed):
    rng = np.random.default_rng(seed)
    domain = Domain.from_json(
        {"attributes": {"ward": ["a", "b", "c"], "kind": ["x", "y"], "other": 4}, "rules": RULES[:1]}
    )
    codes = {name: rng.integers(0, domain[name].size, 500) for name in domain}
    kept = rules_kept(domain, Rows(codes, np.arange(500), 500), None, rng).codes
    wrong = (codes["ward"] == 0) & (codes["kind"] == 0)
    assert wrong.any()
    assert not ((kept["ward"] == 0) & (kept["kind"] == 0)).any()
    assert (kept["ward"][~wrong] == codes["ward"][~wrong]).all()
    assert (kept["other"] == codes["other"]).all()


def test_if_all_rows_break_a_rule_they_get_values_that_do_not():
    domain = Domain.from_json({"attributes": {"ward": ["a", "b"], "kind": ["x", "y"]}, "rules": RULES[:1]})
    rows = Rows({"ward": np.zeros(5, int), "kind": np.zeros(5, int)}, np.arange(5), 5)
    kept = rules_kept(domain, rows, None, np.random.default_rng(0)).codes
    assert not ((kept["ward"] == 0) & (kept["kind"] == 0)).any()


def stays_with_parts():
    """Stays of people with parts of their dates, and of the dates of their ends."""
    rng = np.random.default_rng(4)
    of = np.repeat(np.arange(400), rng.integers(1, 5, 400))
    begun = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 900, len(of))), "D")
    ended = begun + pd.to_timedelta(rng.integers(0, 60, len(of)), "D")
    stays = pd.DataFrame({"id": of, "begun": begun.strftime("%Y-%m-%d"), "ended": ended.strftime("%Y-%m-%d")})
    stays["year"], stays["month"], stays["left"] = begun.year, begun.month, ended.month
    stays["weekday"] = begun.day_name()
    stays["late"] = np.where(begun.year > 2020, "yes", "no")
    stays["ward"] = np.where(begun.day_of_week > 4, "b", rng.choice(["a", "b"], len(of)))
    date = {"type": "date", "min": "2020-01-01", "max": "2022-12-31", "bins": 12}
    names = dict(enumerate(pd.date_range("2020-01-06", periods=7).day_name(), start=1))
    attributes = {
        "begun": date,
        "ended": {"type": "date", "after": {"begun": {"min": 0, "max": 90, "bins": 9}}},
        "year": {"type": "numeric", "min": 2020, "max": 2022, "bins": 3, "integer": True},
        "month": [*range(1, 13)],
        "left": [*range(1, 13)],
        "weekday": [*names.values()],
        "late": ["no", "yes"],
        "ward": ["a", "b"],
    }
    rules = [
        {"part": "year", "column": "year", "of": "begun"},
        {"part": "month", "column": "month", "of": "begun"},
        {"part": "month", "column": "left", "of": "ended"},
        {"part": "weekday", "column": "weekday", "of": "begun", "map": {str(k): v for k, v in names.items()}},
        {"steps": "late", "of": "year", "at": [2021], "values": ["no", "yes"]},
        {"impossible": {"weekday": ["Saturday", "Sunday"], "ward": ["a"]}},
    ]
    return stays, {"attributes": attributes, "rules": rules}


def check_parts(found):
    begun, ended = pd.to_datetime(found.begun), pd.to_datetime(found.ended)
    assert (begun.dt.year == found.year).all()
    assert (begun.dt.month == found.month).all()
    assert (ended.dt.month == found.left).all()
    assert (begun.dt.day_name() == found.weekday).all()
    assert ((begun.dt.year > 2020) == (found.late == "yes")).all()
    # What follows from the date stays, and the others change around it.
    weekend = found.weekday.isin(["Saturday", "Sunday"])
    assert weekend.sum() > 100
    assert (found.ward[weekend] == "b").all()
    assert (found.ward[~weekend] == "a").mean() > 0.2


def test_columns_follow_from_the_order_of_rows_and_from_what_comes_after_it(tmp_path):
    stays, domain = stays_with_parts()
    people = pd.DataFrame({"id": np.arange(400), "sex": np.repeat(["F", "M"], 200)})
    stated = {"relations": {"stays": {"id": "people"}}, "order": {"stays": "begun"}}
    domains = {"stays": domain, "people": {"sex": ["F", "M"]}}
    made = dpmosaic.synthesize(
        {"people": people, "stays": stays}, 3.0, domain=domains, mechanism="independent", seed=5, **stated
    )
    check_parts(made.tables["stays"])
    kin = made.family["stays"]
    assert len(kin.follows) == 5
    assert Kin.from_json(kin.to_json()).follows == kin.follows


@pytest.mark.parametrize("order", ["begun", None])
def test_columns_follow_from_dates_in_the_rows_of_a_key(order):
    stays, domain = stays_with_parts()
    made = dpmosaic.synthesize(
        stays, 3.0, key="id", order=order, domain=domain, mechanism="independent", seed=5
    )
    check_parts(made.table)


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_a_parent_exchange_columns_so_that_as_many_as_can_agree_with_their_dates(seed):
    rng = np.random.default_rng(seed)
    parent = np.sort(rng.integers(0, 30, 400))
    codes = {name: rng.integers(0, size, 400) for name, size in (("day", 7), ("month", 3), ("end", 9))}
    codes["row"] = np.arange(400)
    wanted = {"day": rng.integers(0, 7, 400), "month": rng.integers(0, 3, 400)}
    found = rows_exchanged(Rows(codes, parent, 30), wanted, ["row"])
    assert (found.codes["end"] == codes["end"]).all()
    of = found.codes["row"]
    # Each row's columns go to one row, of the same parent.
    assert sorted(of.tolist()) == list(range(400))
    assert (parent[of] == parent).all()
    both = [codes["day"] * 3 + codes["month"], wanted["day"] * 3 + wanted["month"]]
    for one in range(30):
        here = parent == one
        counts = [np.bincount(kinds[here], minlength=21) for kinds in both]
        assert (both[0][of] == both[1])[here].sum() == np.minimum(*counts).sum()


def test_what_follows_from_a_date_in_order_keeps_its_pairs_with_other_columns():
    rng = np.random.default_rng(6)
    of = np.repeat(np.arange(500), 20)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(
        rng.integers(0, 90, 500)[of] + np.tile(range(20), 500), "D"
    )
    sold = rng.random(len(of)) < np.where(days.day_of_week > 4, 0.1, 0.8)
    frame = pd.DataFrame({"id": of, "day": days.strftime("%Y-%m-%d"), "weekday": days.day_of_week + 1})
    frame["sold"] = np.where(sold, "yes", "no")
    attributes = {
        "day": {"type": "date", "min": "2021-01-01", "max": "2021-04-30", "bins": 12},
        "weekday": [*range(1, 8)],
        "sold": ["no", "yes"],
    }
    domain = {"attributes": attributes, "rules": [{"part": "weekday", "column": "weekday", "of": "day"}]}
    made = dpmosaic.synthesize(
        frame, 50.0, key="id", order="day", domain=domain, seed=5, progress=False
    ).table
    weekend = pd.to_datetime(made["day"]).dt.day_of_week > 4
    assert (made["weekday"].astype(int) > 5).equals(weekend)
    assert (made["sold"][weekend] == "yes").mean() < 0.3
    assert (made["sold"][~weekend] == "yes").mean() > 0.65

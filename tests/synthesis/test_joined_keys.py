"""Tables that belong to another one by several columns, such as values by a person and a visit."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic import Holders, simulate_people
from dpmosaic.common.errors import DataError

VISITS = ["screening", "day 1", "week 4", "week 8"]
RELATIONS = {"visits": {"id": "people"}, "values": {"person": "visits.id", "visit": "visits"}}
STATED = {
    "delta": 1e-6,
    "mechanism": "independent",
    "relations": RELATIONS,
    "order": {"visits": True},
    "domain": {
        "people": {"sex": ["f", "m"]},
        "visits": {"visit": VISITS, "place": ["a", "b"]},
        "values": {"test": ["x", "y"]},
    },
}
NUMBER = {"type": "numeric", "min": 0, "max": 9, "bins": 3}
AT_TWO_SITES = {
    "delta": 1e-6,
    "mechanism": "independent",
    "relations": {"visits": {"site": "people", "id": "people"}},
    "domain": {"people": {"site": ["a", "b"], "sex": ["f", "m"]}, "visits": {"place": ["a", "b"]}},
}


def tables(people=300):
    """People with visits in order, of which each has its own, and values of these."""
    rng = np.random.default_rng(3)
    persons = pd.DataFrame({"id": np.arange(people) + 100, "sex": rng.choice(["f", "m"], people)})
    numbers = rng.integers(0, len(VISITS) + 1, people)
    visits = pd.DataFrame(
        {
            "visit": np.concatenate([VISITS[:number] for number in numbers]),
            "id": np.repeat(persons["id"].to_numpy(), numbers),
            "place": rng.choice(["a", "b"], numbers.sum()),
        }
    )
    values = visits.loc[np.repeat(visits.index, rng.integers(0, 4, len(visits))), ["visit", "id"]]
    values = values.rename(columns={"id": "person"}).assign(test=rng.choice(["x", "y"], len(values)))
    return {"people": persons, "visits": visits, "values": values.sample(frac=1, random_state=1)}


def at_two_sites():
    """People of two sites, each of which numbers its own."""
    found = tables()
    people, visits = (found[name].assign(id=found[name]["id"] // 2) for name in ("people", "visits"))
    sites = np.where(found["people"]["id"] % 2, "a", "b")
    return {
        "people": people.assign(site=sites),
        "visits": visits.drop(columns="visit").assign(site=np.where(found["visits"]["id"] % 2, "a", "b")),
    }


def agree(made):
    """Whether each row finds one row of the table above by all columns of its key, and the right one."""
    visits, values = made["visits"], made["values"]
    assert not visits.duplicated(["id", "visit"]).any()
    found = values.merge(visits, left_on=["person", "visit"], right_on=["id", "visit"], how="left")
    assert len(values)
    assert (found["visits_key_x"] == found["visits_key_y"]).all()
    assert found["id"].isin(made["people"]["id"]).all()


@pytest.mark.slow
def test_rows_belong_to_one_row_by_all_columns_of_its_key(tmp_path):
    real = tables()
    made = dpmosaic.synthesize(real, 1.0, **STATED)
    for name, rows in real.items():
        assert [one for one in made.tables[name].columns if one != "visits_key"] == [*rows.columns]
    agree(made.tables)
    made.save(tmp_path / "out")
    loaded = dpmosaic.load_people(tmp_path / "out")
    agree(loaded.generate(50))
    found = dpmosaic.evaluate(real, loaded).children["values"]
    assert found.rows[0] == len(real["values"])
    assert found.orphans == 0


@pytest.mark.slow
def test_the_last_column_of_a_key_of_people_is_a_new_key_and_the_others_are_modelled(tmp_path):
    real = at_two_sites()
    made = dpmosaic.synthesize(real, 1.0, **AT_TWO_SITES)
    people, visits = made.tables["people"], made.tables["visits"]
    assert {name: [*rows.columns] for name, rows in made.tables.items()} == {
        name: [*rows.columns] for name, rows in real.items()
    }
    assert people["id"].is_unique
    sites = people.set_index("id")["site"]
    assert (sites.loc[visits["id"]].to_numpy() == visits["site"].to_numpy()).all()
    assert dpmosaic.evaluate(real, made).children["visits"].orphans == 0


@pytest.mark.slow
def test_a_number_of_the_visit_may_be_counted_and_is_the_same_below():
    real = tables()
    numbers = {visit: number for number, visit in enumerate(VISITS, 1)}
    for name in ("visits", "values"):
        real[name] = real[name].assign(visit=real[name]["visit"].map(numbers))
    domain = STATED["domain"] | {"visits": {"place": ["a", "b"]}}
    made = dpmosaic.synthesize(real, 1.0, **STATED | {"domain": domain, "counts": {"visits": {"visit": 1}}})
    agree(made.tables)


@pytest.mark.parametrize(
    ("changed", "stated", "words"),
    [
        (lambda held: held["visits"].drop(columns="visit"), {}, "expected the column 'visit'"),
        (lambda held: pd.concat([held["visits"]] * 2), {}, "expected each key 'id, visit' once"),
        (lambda held: held["visits"].iloc[::2], {}, "a key of 'visits' in every row"),
        (lambda held: held["visits"].assign(visit=None), {}, "expected a key 'id, visit' in every row"),
        (
            lambda held: held["visits"].assign(values_key=1),
            {"relations": RELATIONS | {"values": {"person": "people.id", "visit": "people.id"}}},
            "expected one row of 'people' to which a row belongs",
        ),
        (
            lambda held: held["visits"],
            {"relations": RELATIONS | {"values": {"person": "people.id", "visit": "visits"}}},
            "expected columns that hold the key of one parent",
        ),
        (
            lambda held: held["visits"].assign(visits_key=1),
            {},
            "expected no column 'visits_key'",
        ),
        (
            lambda held: held["visits"],
            {"domain": STATED["domain"] | {"visits": {"visit": NUMBER}}},
            "key of 'visits': expected a column of categories",
        ),
    ],
)
def test_what_is_no_key_of_several_columns_is_refused(changed, stated, words):
    real = tables()
    with pytest.raises(DataError, match=words):
        dpmosaic.synthesize(real | {"visits": changed(real)}, 1.0, **STATED | stated)


def test_over_parties_a_key_is_one_column():
    holders = Holders((("people",), ("visits", "values")), collusions=0)
    stated = {name: STATED[name] for name in ("relations", "order", "domain", "mechanism")}
    with pytest.raises(DataError, match="expected over parties a key of one column"):
        simulate_people(tables(), 1.0, holders=holders, progress=False, **stated)

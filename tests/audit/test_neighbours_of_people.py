"""A person with rows in several tables or periods shows only in noisy counts; see `replayed_noise`.

Rows are in an order that nothing draws, since an order of others that is drawn anew is no leak.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from support import leaks
from support.related import DOMAINS, RELATIONS, patients
from support.replayed_noise import alarms
from support.shown import people_in_python

pytestmark = pytest.mark.slow

ORDER = {"stays": "day", "codes": True}
SETTINGS = {"mechanism": "independent", "epsilon": 30.0, "progress": False}
PERSON, STAY = 5000, "S90000"


def several():
    """Patients, stays on different days, what was found in them, and a public table of drugs."""
    tables = patients(people=200)
    stays, codes = tables["stays"], tables["codes"]
    places = np.arange(len(stays)) * 37 % 1000
    stays["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(places, unit="D")
    codes["drug"] = np.array(["d1", "d2"])[np.arange(len(codes)) % 2]
    return {**tables, "drugs": pd.DataFrame({"drug": ["d1", "d2", "d3"], "price": [1, 2, 3]})}


def with_person(tables, days, person=None, codes=1):
    """The tables with one more person, who has a stay on each of these days, and codes of the first one."""
    who = {"id": PERSON, "sex": "f", "born": 1950} | (person or {})
    stays = [
        {"stay": f"S{90000 + place}", "id": who["id"], "day": pd.Timestamp(day), "ward": "a"}
        for place, day in enumerate(days)
    ]
    found = [{"stay": STAY, "code": "z", "drug": "d3"}] * (codes if days else 0)
    more = {"patients": [who], "stays": stays, "codes": found}
    return {
        name: pd.concat([rows, pd.DataFrame(more[name])], ignore_index=True) if more.get(name) else rows
        for name, rows in tables.items()
    }


DAYS = [*pd.date_range("2020-01-01", periods=300, freq="D")]
ODD = {
    "one stay": ([DAYS[90]], {}, 1),
    "no stay": ([], {}, 0),
    "many stays": (DAYS, {}, 300),
    "first and last day": (["2022-12-31", "2020-01-01"], {"sex": "m", "born": 2009}, 2),
    "another key": ([DAYS[90]], {"id": 10**12}, 0),
}
RELATED = {
    "relations": RELATIONS | {"codes": {"stay": "stays", "drug": "drugs"}},
    "public": ["drugs"],
    "order": ORDER,
}
SAID = {"ever_a": {"ward": ["a"]}, "last_ward": {"what": "last", "column": "ward"}}
OPTIONS = {
    "domains": {"domain": DOMAINS},
    "learned": {"anyway": True},
    "summaries": {"domain": DOMAINS, "summaries": {"stays": SAID}},
    "incomplete": {"domain": DOMAINS, "drop_incomplete": True},
    "pairs": {"domain": DOMAINS, "mechanism": "mosaic"},
}


CASES = [(odd, options) for options in OPTIONS for odd in ODD if options != "pairs" or odd == "many stays"]


@pytest.mark.parametrize(("odd", "options"), CASES)
def test_a_person_with_rows_in_several_tables_shows_only_in_noisy_counts(odd, options):
    tables = several()
    # What numbers of rows cost stands in the certificate of the whole alone.
    found = alarms(
        people_in_python(**SETTINGS | RELATED | OPTIONS[options]), tables, with_person(tables, *ODD[odd])
    )
    assert found - {"cost"} == set()


def test_a_planted_fault_is_found_in_several_tables(monkeypatch):
    leaks.a_row_weighs_as_much_as_a_person(monkeypatch)
    tables = several()
    both = tables, with_person(tables, *ODD["many stays"])
    assert "counts" in alarms(people_in_python(**SETTINGS, **RELATED, domain=DOMAINS), *both)


def visits(people=150):
    """Three rows of each person, on different days of three years."""
    whose, rng = np.repeat(np.arange(people), 3), np.random.default_rng(7)
    places = np.arange(len(whose)) * 37 % 1090
    return pd.DataFrame(
        {
            "who": [f"P-{person:05d}" for person in whose],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(places, unit="D"),
            "test": rng.choice(["hb", "na"], len(whose)),
            "born": 1930 + whose % 70,
        }
    )


SHARED = {
    "key": "who",
    "order": "day",
    "per_person": ["born"],
    "releases": 3,
    "domain": {
        "day": {"type": "date", "min": "2020-01-01", "max": "2022-12-31", "bins": 36},
        "test": ["hb", "na"],
        "born": {"type": "numeric", "min": 1930, "max": 1999, "bins": 10, "integer": True},
    },
}
ENDS = ("2020-12-31", "2021-12-31", "2022-12-31")
PERIODS = {
    "both": ["2020-05-05", "2021-06-06"],
    "the new one": ["2021-06-06"],
    "the one before": ["2020-05-05"],
    "a later one": ["2022-05-05"],
    "first and last days": ["2020-12-31", "2021-01-01", "2021-12-31"],
    "every day": [*pd.date_range("2020-01-01", "2022-12-31")],
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Folders of the first two releases that share a promise."""
    folders = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for until in ENDS[:2]:
            before = {"continues": folders[-1]} if folders else {}
            made = dpmosaic.synthesize(visits(), ledger=False, **SETTINGS, **SHARED, until=until, **before)
            folders.append(tmp_path_factory.mktemp("earlier") / "out")
            made.save(folders[-1])
    return [None, *folders]


@pytest.mark.parametrize("days", PERIODS)
@pytest.mark.parametrize("number", range(3))
def test_a_person_with_rows_in_some_periods_shows_only_in_noisy_counts(earlier, number, days):
    rows, found = visits(), pd.to_datetime(PERIODS[days])
    person = {
        "who": "Zoë",
        "day": found,
        "test": "hb",
        "born": [1950, 1960, *[1970] * len(found)][: len(found)],
    }
    more = pd.concat([rows, pd.DataFrame(person)], ignore_index=True)
    before = {"continues": earlier[number]} if number else {}
    release = people_in_python(**SETTINGS, **SHARED, until=ENDS[number], **before)
    assert alarms(release, rows, more) - {"cost"} == set()

"""One row more or less changes nothing that leaves, if noisy counts are the same; see `replayed_noise`."""

import json

import numpy as np
import pandas as pd
import pytest

from support import leaks
from support.odd_rows import DOMAIN, NO_UTF8, ODD, as_typed, plain_rows, with_row
from support.replayed_noise import alarms
from support.shown import by_command, csv_of, in_python, people_in_python

pytestmark = pytest.mark.slow

EPSILON = 30.0
"""So large that the columns of few rows are learned; the same noise is repeated, so its size is no matter."""


DAYS = {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12, "outside": "clip"}
SETTINGS = {"mechanism": "independent", "epsilon": EPSILON}
COMMAND = ("--mechanism", "independent", "--epsilon", str(EPSILON))


@pytest.mark.parametrize("odd", ODD)
def test_a_row_shows_only_in_noisy_counts_of_a_frame_without_a_domain(odd):
    rows = plain_rows()
    both = as_typed(rows), as_typed(with_row(rows, ODD[odd]))
    assert alarms(in_python(**SETTINGS, anyway=True), *both) == set()


@pytest.mark.parametrize("odd", ODD)
def test_a_row_shows_only_in_noisy_counts_of_a_csv_without_a_domain(odd, tmp_path):
    rows = plain_rows()
    both = csv_of(rows), csv_of(with_row(rows, ODD[odd]))
    assert alarms(by_command(tmp_path, *COMMAND, "--anyway"), *both) == set()


@pytest.mark.parametrize("odd", ODD)
def test_a_row_shows_only_in_noisy_counts_under_a_domain(odd):
    rows = plain_rows()
    both = as_typed(rows), as_typed(with_row(rows, ODD[odd]))
    assert alarms(in_python(**SETTINGS, domain=DOMAIN), *both) == set()


@pytest.mark.parametrize("options", [{"anyway": True}, {"domain": DOMAIN}])
def test_the_only_row_of_a_table_shows_only_in_noisy_counts(options):
    none = plain_rows().iloc[:0]
    both = as_typed(none), as_typed(with_row(none, {"age": "1000000000000"}))
    assert alarms(in_python(**SETTINGS, **options), *both) == set()


@pytest.mark.parametrize("options", [("--anyway",), ("--domain",)])
def test_the_only_row_of_a_file_shows_only_in_noisy_counts(options, tmp_path):
    if options == ("--domain",):
        (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
        options = (*options, str(tmp_path / "domain.json"))
    none = plain_rows().iloc[:0]
    both = csv_of(none), csv_of(with_row(none, {"age": "unknown"}))
    assert alarms(by_command(tmp_path, *COMMAND, *options), *both) == set()


def of_people(rows):
    """Three rows of each person, in an order."""
    table = as_typed(rows)[["age", "price", "flag", "day"]]
    return table.assign(who=np.arange(len(rows)) // 3, day=np.datetime64("2020-01-01") + np.arange(len(rows)))


PEOPLE = {
    "key": "who",
    "order": "day",
    "epsilon": EPSILON,
    "mechanism": "independent",
    "progress": False,
}


@pytest.mark.parametrize("odd", ["a unique extreme", "the only missing cell", "a negative extreme", "maybe"])
@pytest.mark.parametrize(
    "options",
    [
        {"anyway": True},
        {"domain": {**{name: DOMAIN[name] for name in ("age", "price", "flag")}, "day": DAYS}},
        {
            "domain": {**{name: DOMAIN[name] for name in ("age", "price", "flag")}, "day": DAYS},
            "series": "flag",
        },
    ],
    ids=["learned", "domain", "series"],
)
def test_a_person_with_three_rows_shows_only_in_noisy_counts(odd, options):
    rows = plain_rows()
    more = with_row(with_row(with_row(rows, ODD[odd]), ODD[odd]), {})
    # What numbers of rows cost stands in the certificate of the whole alone.
    found = alarms(people_in_python(**PEOPLE, **options), of_people(rows), of_people(more))
    assert found - {"cost"} == set()


@pytest.mark.parametrize(
    ("fault", "alarm"),
    [
        (leaks.a_row_weighs_as_much_as_a_person, "counts"),
        (leaks.the_most_rows_of_a_person_end_their_bins, "asked"),
    ],
)
def test_a_planted_fault_in_what_people_are_is_found(fault, alarm, monkeypatch):
    fault(monkeypatch)
    rows = plain_rows()
    four = of_people(pd.concat([rows, *[plain_rows(1)] * 4], ignore_index=True)).assign(
        who=[*np.arange(300) // 3, *[100] * 4]
    )
    assert alarm in alarms(people_in_python(**PEOPLE, anyway=True), of_people(rows), four)


FAULTS = [
    (leaks.raw_counts_decide_a_kind, "seen: table.csv"),
    (leaks.the_real_maximum_ends_a_range, "seen: domain"),
    (leaks.types_of_the_real_frame, "seen: types of table"),
    (leaks.exact_number_of_rows, "seen: certificate"),
    (leaks.a_refusal_on_the_exact_number_of_rows, "seen: refusal"),
    (leaks.half_the_noise_in_one_histogram, "cost"),
    (leaks.half_of_all_noise, "noise"),
    (leaks.one_charge_for_all_columns, "cost"),
    (leaks.a_row_that_counts_twice, "counts"),
]


@pytest.mark.parametrize(("fault", "alarm"), FAULTS)
def test_a_planted_fault_is_found(fault, alarm, monkeypatch):
    fault(monkeypatch)
    rows = plain_rows()
    odd = {"age": "unknown", "price": "70000"}
    assert alarm in alarms(in_python(**SETTINGS, anyway=True), rows, with_row(rows, odd))


def test_a_file_that_decides_how_it_is_read_is_found(tmp_path, monkeypatch):
    leaks.the_file_decides_its_encoding(monkeypatch)
    rows = plain_rows()
    both = csv_of(rows), csv_of(with_row(rows, {"city": NO_UTF8}))
    assert "asked" in alarms(by_command(tmp_path, *COMMAND, "--anyway"), *both)


def test_a_refusal_of_too_few_rows_follows_from_the_noisy_number_alone():
    rows = plain_rows()
    assert alarms(
        in_python(mechanism="independent", epsilon=0.5), rows, with_row(rows, {"age": "unknown"})
    ) == {"refused"}


def test_the_default_mechanism_sees_only_noisy_counts():
    rows = plain_rows()[["age", "flag", "city"]]
    odd = with_row(rows, {"age": "unknown"})[list(rows)]
    assert alarms(in_python(anyway=True, epsilon=EPSILON), rows, odd) == set()


@pytest.mark.parametrize("kind", ["right", "wrong", "of few rows"])
@pytest.mark.parametrize(
    ("options", "epsilon"),
    [({"anyway": True}, EPSILON), ({"domain": DOMAIN}, EPSILON), ({"domain": DOMAIN}, 0.3)],
)
def test_a_prior_is_believed_or_not_by_noisy_counts_alone(kind, options, epsilon):
    rows = plain_rows()[["age", "flag", "city"]]
    odd = with_row(rows, {"age": "unknown", "city": "Zug"})[list(rows)]
    rng = np.random.default_rng(5)
    prior = {
        "right": rows[:200],
        "wrong": pd.DataFrame({name: rng.permutation(column) for name, column in rows.items()}),
        "of few rows": odd[-3:],
    }[kind]
    if "domain" in options:
        options = {"domain": {name: DOMAIN[name] for name in rows}}
    release = in_python(**options, epsilon=epsilon, prior=prior.reset_index(drop=True), prior_is_public=True)
    assert alarms(release, rows, odd) == set()

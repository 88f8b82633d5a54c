"""Lower bounds on epsilon from all that releases of related tables show, with and without one heavy person.

See `test_black_box`. A correct program fails in one of 10^4 runs of this module at most (`betting.ALPHA`).
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.people import PeopleRows
from dpmosaic.curator.people import rows as weighing
from dpmosaic.curator.people.numbers_of_rows import classes_of, number_of_rows
from dpmosaic.synthesis.related import describing
from support.betting import lower_bound
from support.one_record import Pair
from support.related import DOMAINS, patients

pytestmark = pytest.mark.slow

EPSILON = 0.1
RELEASES, MOST = 40, 90
"""Releases that bound epsilon, and those within which a planted leak is found."""

VISITS = 2000
STAYS = {name: DOMAINS[name] for name in ("patients", "stays")}


def tables():
    """A hundred people with few stays each."""
    data = patients(100, heaviest=3)
    return {"patients": data["patients"], "stays": data["stays"][["id", "day", "ward"]]}


def with_a_heavy_person(data):
    """The same with a person of an odd key, who was born first and has very many stays in one ward."""
    person = pd.DataFrame({"id": ["A-1"], "sex": ["m"], "born": [1930]})
    visits = pd.DataFrame({"id": ["A-1"] * VISITS, "day": pd.Timestamp("2020-01-01"), "ward": "c"})
    return {
        "patients": pd.concat([person, data["patients"]], ignore_index=True),
        "stays": pd.concat([visits, data["stays"]], ignore_index=True),
    }


def seen_of(folder, **options):
    """A release: all files, what is printed and what is warned of, by name."""

    def release(data):
        seen = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = dpmosaic.synthesize(
                    data,
                    EPSILON,
                    relations={"stays": {"id": "patients"}},
                    order={"stays": "day"},
                    ledger=False,
                    **options,
                )
            except dpmosaic.MosaicError as refusal:
                seen["refusal"] = repr(refusal)
            else:
                seen["shown"] = repr(made)
                seen["types"] = str({name: rows.dtypes.to_dict() for name, rows in made.tables.items()})
                out = folder / str(next(_NUMBERS))
                made.save(out)
                files = (path for path in out.rglob("*") if path.is_file())
                seen |= {path.relative_to(out).as_posix(): path.read_bytes() for path in files}
        return seen | {"warnings": "\n".join(str(one.message) for one in caught)}, []

    return release


_NUMBERS = iter(range(10**9))


def pair_of(folder, **options):
    return Pair(
        seen_of(folder, **{"mechanism": "independent", "domain": STAYS} | options),
        tables(),
        with_a_heavy_person(tables()),
        EPSILON,
    )


def test_a_heavy_person_does_not_show(tmp_path):
    assert lower_bound(*pair_of(tmp_path).seen(RELEASES)) < EPSILON


def test_a_heavy_person_does_not_show_where_columns_are_learned(tmp_path):
    pair = pair_of(tmp_path, domain=None, anyway=True)
    assert lower_bound(*pair.seen(RELEASES)) < EPSILON


def rows_that_count_as_people(monkeypatch):
    monkeypatch.setattr(
        weighing, "weights", lambda family, name, rows: np.full(len(rows[name]), weighing.WEIGHT_PARTS)
    )
    monkeypatch.setattr(PeopleRows, "weigh", lambda self, rows, clique, groups: rows)


def all_rows_are_learned_from(monkeypatch):
    monkeypatch.setattr(
        describing, "one_row_of_each", lambda tables, name, rng: np.arange(len(tables[name].parent))
    )


def the_largest_number_of_rows(monkeypatch):
    seen = []

    def watched(numbers):
        seen.append(numbers.max())
        return classes_of(numbers)

    def exactly(name, values, sigma, least):
        number_of_rows(name, values, sigma, least)
        return NumericAttribute(name, 0, 31 if seen[-1] > 100 else 15, 8, integer=True)

    monkeypatch.setattr(describing, "classes_of", watched)
    monkeypatch.setattr(describing, "number_of_rows", exactly)


@pytest.mark.parametrize(
    ("leak", "options"),
    [
        (rows_that_count_as_people, {}),
        (the_largest_number_of_rows, {}),
        (all_rows_are_learned_from, {"domain": {"patients": DOMAINS["patients"]}, "anyway": True}),
    ],
)
def test_a_planted_leak_is_found(leak, options, tmp_path, monkeypatch):
    leak(monkeypatch)
    assert pair_of(tmp_path, **options).leaks(RELEASES - 2, MOST)

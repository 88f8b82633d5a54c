"""What a person changes in what a period is measured by, by brute force: one record in each table at most."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.rows import records
from dpmosaic.curator.people.shape import Family, number_name
from dpmosaic.curator.results.raw_frames import encode_frame
from dpmosaic.synthesis.periods.period import Before, Period, domain_of_rows, domains_in, rows_after
from dpmosaic.synthesis.related.keyed import PEOPLE, keyed_domains, read_keyed

DOMAIN = Domain.from_json(
    {
        "year": {"type": "numeric", "min": 0, "max": 5, "bins": 6, "integer": True},
        "sex": ["f", "m"],
        "job": ["work", "school", "none"],
        "pay": {"type": "numeric", "min": 0, "max": 3, "bins": 4, "integer": True},
    }
)
WHOLE = keyed_domains(DOMAIN, "id", ("sex",))
OWN = domain_of_rows(WHOLE["rows"], "year")
STEPS = Steps(DOMAIN["year"])
PUBLISHED = pd.DataFrame({"id": [1, 2, 3], "job": ["work", "school", "none"], "pay": [0, 2, 3]})
BEFORE = Before.of(OWN, ("id", "year", "sex"), PUBLISHED)


def measured(data, period):
    """The records of people and of their rows in a period."""
    tables = read_keyed(data, "id", ("sex",), "year", np.random.default_rng(0))
    people, rows = rows_after(tables, period, OWN, BEFORE)
    domains = domains_in(WHOLE, period, BEFORE)
    number = NumericAttribute(number_name("rows"), 0, 3, 4, integer=True)
    family = Family(
        (
            Kin(PEOPLE, Domain((*domains[PEOPLE].attributes, number), rules=domains[PEOPLE].rules)),
            Kin("rows", domains["rows"], parent=PEOPLE, ordered=True),
        )
    )
    size = len(people.parent)
    coded = [encode_frame(domains[one.name], one.rows) for one in (people, rows)]
    codes = [{name: one.column(name).astype(np.int64) for name in one.domain} for one in coded]
    codes[0][number.name] = np.minimum(np.bincount(rows.parent, minlength=size), 3)
    held = {PEOPLE: Rows(codes[0], np.arange(size), size), "rows": Rows(codes[1], rows.parent, size)}
    return {name: records(family, name, held) for name in held}


def tables():
    """Random tables of six people with up to two rows a year, in any years."""
    rng = np.random.default_rng(4)
    for _ in range(4):
        rows = [
            {"id": person, "year": year, "sex": "fm"[person % 2]}
            for person in range(6)
            for year in range(4)
            for _ in range(rng.integers(0, 3))
        ]
        more = {
            "job": rng.choice(["work", "school", "none"], len(rows)),
            "pay": rng.integers(0, 4, len(rows)),
        }
        yield pd.DataFrame(rows).assign(**more)


def changes():
    """What each person adds to each marginal of up to two columns, in each period."""
    for data, end in itertools.product(tables(), (1, 2, 3)):
        period = Period(STEPS, end - 1, end)
        with_ = measured(data, period)
        for person in data.id.unique():
            without = measured(data[data.id != person].reset_index(drop=True), period)
            for name, whole in with_.items():
                for clique in itertools.combinations(whole.domain.names, 2):
                    yield whole.marginal(clique) - without[name].marginal(clique)


@pytest.mark.slow
def test_a_person_adds_at_most_one_record_to_each_marginal_of_each_period():
    largest = 0
    for change in changes():
        assert change.min() >= 0
        assert change.sum() <= WEIGHT_PARTS
        largest = max(largest, change.sum())
    assert largest == WEIGHT_PARTS


def test_rows_after_the_period_are_not_looked_at():
    data = next(tables())
    period = Period(STEPS, 0, 1)
    one, other = (measured(rows, period) for rows in (data, data[data.year <= 1].reset_index(drop=True)))
    for name in one:
        for column in one[name].domain:
            assert np.array_equal(one[name].marginal((column,)), other[name].marginal((column,)))


def test_of_rows_before_the_period_the_last_one_is_looked_at_alone():
    data = next(tables())
    period = Period(STEPS, 2, 3)
    early = data[
        (data.year > 2)
        | ~data[data.year <= 2].duplicated("id", keep="last").reindex(data.index, fill_value=False)
    ]
    one, other = (measured(rows.reset_index(drop=True), period) for rows in (data, early))
    for name in one:
        for column in one[name].domain:
            assert np.array_equal(one[name].marginal((column,)), other[name].marginal((column,)))


def test_a_period_of_one_value_has_no_order_and_one_of_several_has_its_own():
    assert Period(STEPS, 1, 2).order is None
    inside = Period(STEPS, 1, 4).order
    assert (inside.minimum, inside.maximum, inside.size) == (2, 4, 3)


@pytest.mark.parametrize(("last", "known"), [(2, 1), (1, 2), (0, 3), (-5, 3)])
def test_how_long_ago_a_person_had_a_row_is_told_in_periods(last, known):
    assert Period(STEPS, 2, 3).long_before(np.array([float(last)])).tolist() == [known]

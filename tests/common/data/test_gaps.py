"""Dates that come after those of another column: coded by the gap, written as dates."""

import json

import numpy as np
import pytest

from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules.breaking import broken
from dpmosaic.common.data.table import Table, decode_table, encode_table
from dpmosaic.common.errors import DataError

ADMITTED = {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "bins": 24}
DIED = {"type": "date", "after": {"admitted": {"min": 0, "max": 60, "bins": 61}}, "nullable": True}
STAY = {"admitted": ADMITTED, "died": DIED}


def of(died=None, admitted=None, **others):
    return Domain.from_json({"admitted": ADMITTED | (admitted or {}), "died": DIED | (died or {}), **others})


def codes(domain, admitted, died):
    return encode_table(domain, {"admitted": admitted, "died": died}).column("died").tolist()


def gaps(values, unit="D"):
    between = values["died"].astype("datetime64[us]") - values["admitted"].astype("datetime64[us]")
    return between.astype(f"timedelta64[{unit}]").astype(np.int64)


def test_a_date_is_coded_by_the_days_after_the_other_one():
    first = ["2020-03-01", "2020-03-01", "2020-12-31", "2020-05-01"]
    assert codes(of(), first, ["2020-03-01", "2020-03-07", "2021-01-05", None]) == [0, 6, 5, 61]


def test_a_date_that_is_missing_on_either_side_has_no_gap():
    domain = of(admitted={"nullable": True})
    assert codes(domain, [None, None], ["2020-03-01", None]) == [61, 61]
    table = Table.from_codes(domain, {"admitted": np.array([24, 0]), "died": np.array([5, 61])})
    assert np.isnat(decode_table(table, np.random.default_rng(0))["died"]).all()


def test_a_gap_outside_the_bounds_is_clipped_missing_or_refused():
    first, died = ["2020-03-05", "2020-03-05"], ["2020-03-01", "2021-03-01"]
    assert codes(of(), first, died) == [0, 60]
    assert codes(of(died={"outside": "missing"}), first, died) == [61, 61]
    with pytest.raises(DataError, match="within the bounds after the other column's"):
        codes(of(died={"outside": "error"}), first, died)


def test_a_missing_value_is_refused_where_the_domain_allows_none():
    with pytest.raises(DataError, match="and one in the column that it comes after, found a missing value"):
        codes(of(died={"nullable": False}), ["2020-03-05"], [None])


def test_a_cell_that_is_no_date_is_refused_or_counts_as_missing():
    with pytest.raises(DataError, match="expected a date or timestamp in the format"):
        codes(of(), ["2020-03-05"], ["soon"])
    assert codes(of(died={"unreadable": "missing"}), ["2020-03-05"], ["soon"]) == [61]
    assert codes(of(died={"missing": ["NA"]}), ["2020-03-05"], ["NA"]) == [61]


def test_negative_gaps_and_values_of_their_own_have_codes():
    gap = {"edges": [-5, 0, 30, 60], "atoms": [0, 999]}
    domain = of(died={"after": {"admitted": gap}})
    died = ["2020-01-08", "2020-01-10", "2020-01-11", "2022-10-05", None]
    assert codes(domain, ["2020-01-10"] * 5, died) == [0, 1, 2, 4, 5]


@pytest.mark.parametrize(
    ("entry", "unit"),
    [
        ({"type": "date"}, "D"),
        ({"type": "date", "granularity": "week"}, "W"),
        ({"type": "timestamp", "granularity": "minute"}, "m"),
        ({"type": "timestamp", "granularity": "hour", "timezone": "Europe/Berlin"}, "h"),
        ({"type": "date", "format": "%d/%m/%Y"}, "D"),
    ],
)
@pytest.mark.parametrize(
    "other", [{}, {"type": "timestamp", "granularity": "minute"}, {"format": "%d.%m.%y"}]
)
def test_rows_that_are_drawn_and_written_have_the_codes_that_they_were_drawn_from(entry, unit, other):
    domain = of(died=entry, admitted=other)
    rng = np.random.default_rng(3)
    drawn = {name: rng.integers(0, domain[name].size, 200) for name in domain}
    table = Table.from_codes(domain, drawn)
    values = decode_table(table, rng)
    written = {name: domain[name].spelled(column) for name, column in values.items()}
    assert encode_table(domain, values).digest() == table.digest()
    assert encode_table(domain, {n: c.tolist() for n, c in written.items()}).digest() == table.digest()
    assert np.isnat(values["died"]).tolist() == (drawn["died"] == 61).tolist()


def test_days_lie_within_their_bins_after_whatever_day_the_other_date_is():
    domain = of(died={"after": {"admitted": {"edges": [0, 7, 30]}}, "nullable": False})
    table = Table.from_codes(domain, {"admitted": np.repeat([0, 23], 50), "died": np.tile([0, 1], 50)})
    found = gaps(decode_table(table, np.random.default_rng(1)))
    assert set(found[table.column("died") == 0]) <= set(range(7))
    assert set(found[table.column("died") == 1]) <= set(range(7, 31))


def test_minutes_count_from_the_beginning_of_a_day_without_a_time():
    domain = of(died={"type": "timestamp", "granularity": "minute"})
    assert codes(domain, ["2020-03-01"], ["2020-03-01T00:45:59"]) == [45]


def test_columns_come_after_each_other_in_a_chain_whatever_their_order():
    died = {"type": "date", "after": {"left": {"min": 0, "max": 9, "bins": 10}}}
    left = {"type": "date", "after": {"admitted": {"min": 0, "max": 9, "bins": 10}}}
    domain = Domain.from_json({"died": died, "left": left, "admitted": ADMITTED})
    rows = {"admitted": ["2020-03-01"], "left": ["2020-03-04"], "died": ["2020-03-09"]}
    table = encode_table(domain, rows)
    assert [table.column(name).tolist() for name in ("left", "died")] == [[3], [5]]
    values = decode_table(table, np.random.default_rng(0))
    assert (values["died"] - values["admitted"]).astype(int).tolist() == [8]


def test_bins_that_a_release_chose_are_those_of_the_gaps():
    domain = of(died={"after": {"admitted": {"min": 0, "max": 60, "bins": "auto"}}})
    assert domain.open == ("died",)
    chosen = Coding({"died": (0, 7, 31, 61)}).domain(domain)
    assert chosen["died"].to_json()["after"] == {"admitted": {"edges": [0, 7, 31, 60]}}
    assert codes(chosen, ["2020-03-01"] * 3, ["2020-03-05", "2020-03-08", None]) == [0, 1, 3]


def test_a_domain_is_the_same_after_json():
    gap = {"min": -2, "max": 400, "bins": "auto", "scale": "symlog", "atoms": [0]}
    domain = of(died={"after": {"admitted": gap}, "format": "%d.%m.%Y", "missing": ["NA"], "reviewed": False})
    form = json.loads(json.dumps(domain.to_json()))
    assert Domain.from_json(form) == domain
    assert form["died"]["after"] == {"admitted": gap}


@pytest.mark.parametrize(
    ("died", "problem"),
    [
        (
            {"after": {"entered": DIED["after"]["admitted"]}},
            "comes after 'entered', which the domain does not",
        ),
        ({"after": {"sex": DIED["after"]["admitted"]}}, "expected a column of dates or timestamps"),
        ({"after": {"at": DIED["after"]["admitted"]}}, "expected a column of dates or timestamps"),
        ({"after": {"died": DIED["after"]["admitted"]}}, "does not come after 'died' itself"),
        ({"after": {"admitted": {"min": 0, "bins": 5}}}, "expected the keys max"),
        ({"after": {"admitted": {"bins": "auto"}}}, "expected min and max"),
        ({"after": {"admitted": {"min": 0, "max": 9, "bin": 5}}}, "did you mean 'bins'"),
        ({"after": {"admitted": {"min": 0, "max": 1.5, "bins": 2}}}, "integer bins need whole bounds"),
        ({"after": {}}, "expected another column's name"),
        ({"after": {"admitted": {"edges": [0, 9]}, "left": {"edges": [0, 9]}}}, "got more"),
        ({"min": "2020-01-01", "max": "2020-12-31"}, "unknown keys max, min"),
        ({"format": "%d.%m."}, "cannot be read back"),
    ],
)
def test_refuses_an_entry_that_is_no_gap(died, problem):
    others = {"sex": ["f", "m"], "at": {"type": "clock", "format": "HH:MM", "bins": 24}}
    with pytest.raises(DataError, match=problem):
        of(died=died, **others)


def test_refuses_a_ring():
    gap = {"min": 0, "max": 9, "bins": 10}
    ring = {name: {"type": "date", "after": {other: gap}} for name, other in ("ab", "bc", "ca")}
    with pytest.raises(DataError, match=r"does not come after '[abc]' itself"):
        Domain.from_json(ring)


def test_refuses_to_encode_or_to_write_rows_without_the_other_column():
    with pytest.raises(DataError, match="expected a column 'admitted', found none"):
        encode_table(of(), {"died": ["2020-03-01"]})
    table = Table.from_codes(of(), {"admitted": np.array([0]), "died": np.array([0])})
    with pytest.raises(DataError, match="'died' comes after 'admitted', which the table does not have"):
        decode_table(table.project(["died"]), np.random.default_rng(0))


def test_rules_see_the_gap_and_whether_it_is_missing():
    alive = {"null": "died", "when": {"state": ["alive"]}}
    late = {"impossible": {"state": ["dead"], "died": {"above": 30}}}
    form = {"attributes": {**STAY, "state": ["alive", "dead"]}, "rules": [alive, late]}
    domain = Domain.from_json(form)
    gap = np.array([5.0, np.nan, 40.0])
    columns = {"died": gap, "state": np.array(["alive", "alive", "dead"], dtype=object)}
    assert [rows.tolist() for rows in broken(domain, columns)] == [[True, False, False], [False, False, True]]


@pytest.mark.parametrize("rule", [{"at_most": ["admitted", "died"]}, {"sum": "n", "of": ["m", "died"]}])
def test_rules_of_order_and_sums_are_refused(rule):
    number = {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True}
    with pytest.raises(DataError, match="is counted from another column"):
        Domain.from_json({"attributes": {**STAY, "n": number, "m": number}, "rules": [rule]})

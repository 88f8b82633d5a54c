"""The first step of a release: what it spends, what it states, and what one row can change."""

import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from math import fsum

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.curator.certificates import checking

pytestmark = pytest.mark.slow

ROWS = 3000
CODED = {"a": 3, "b": 2}


def table():
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, ROWS), "D")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 91, ROWS).astype(str),
            "cost": np.round(rng.exponential(900, ROWS), 2).astype(str),
            "town": rng.choice(["north", "south", "east"], ROWS),
            "paid": rng.choice(["yes", "no"], ROWS),
            "day": days.strftime("%d.%m.%Y"),
        }
    )


BASE = table()


def released(rows, **options):
    defaults = {"epsilon": 2.0, "mechanism": "independent", "seed": 1, "progress": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = dpmosaic.synthesize(rows, **{**defaults, **options})
    return made, [str(one.message) for one in caught]


def without_numbers(said):
    """Warnings without the noisy numbers in them, which one row moves by one."""
    return [re.sub(r"[0-9][0-9,.-]*", "#", one) for one in said]


@pytest.fixture(scope="module")
def base():
    return released(BASE)


@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out"])
def test_the_charges_add_up_to_what_the_release_states(tmp_path, adjacency):
    made, _ = released(BASE, adjacency=adjacency)
    made.save(tmp_path)
    first = dpmosaic.Certificate.load(tmp_path / "bins" / "certificate.json")
    assert fsum(first.steps.values()) == pytest.approx(made.certificate.plan.bins.zcdp_rho)
    assert first.digest().hex() == made.certificate.plan.bins.certificate
    assert made.certificate.promise.epsilon_with_bins <= 2.0
    assert made.certificate.promise.epsilon_with_bins == pytest.approx(2.0, rel=0.02)
    assert ("number of rows" in first.steps) == (adjacency == "add-remove")


def test_missing_values_lie_beyond_no_bound():
    rng = np.random.default_rng(3)
    children = pd.array(rng.integers(0, 9, ROWS), dtype="Int64")
    children[rng.random(ROWS) < 0.4] = pd.NA
    made, _ = released(pd.DataFrame({"children": children}), epsilon=20.0)
    (unseen,) = made.certificate.plan.unseen
    assert unseen.below < ROWS / 100
    assert unseen.above < ROWS / 100


def test_a_public_number_of_rows_and_a_domain_need_no_first_step():
    rows = pd.DataFrame({"a": np.arange(600) % 3, "b": np.arange(600) % 2})
    made, said = released(rows, domain=CODED, adjacency="zero-out")
    assert made.certificate.plan.bins is None
    assert (len(made.table), said) == (600, [])
    private, _ = released(rows, domain=CODED)
    assert private.certificate.promise.epsilon_with_bins <= 2.0


@pytest.mark.parametrize(
    "odd",
    [
        {"age": "unknown"},
        {"age": "30.5"},
        {"age": "10000000"},
        {"age": ""},
        {"cost": "n/a"},
        {"cost": "1e300"},
        {"town": "a single house"},
        {"town": None},
        {"paid": "maybe"},
        {"day": "2020-01-01 10:00"},
        {"day": "99.99.9999"},
    ],
    ids=str,
)
def test_one_odd_cell_changes_no_column_type_order_or_warning(base, odd):
    made, said = released(
        BASE.assign(**{name: BASE[name].where(BASE.index > 0, cell) for name, cell in odd.items()})
    )
    assert made.table.dtypes.to_dict() == base[0].table.dtypes.to_dict()
    assert list(made.table) == list(base[0].table)
    assert [type(one) for one in made.domain.attributes] == [type(one) for one in base[0].domain.attributes]
    assert without_numbers(said) == without_numbers(base[1])


def test_one_row_more_changes_counts_alone(base):
    made, said = released(pd.concat([BASE, BASE.iloc[:1]]))
    assert made.table.dtypes.to_dict() == base[0].table.dtypes.to_dict()
    assert abs(len(made.table) - len(base[0].table)) <= 1
    assert without_numbers(said) == without_numbers(base[1])


def test_columns_come_back_as_what_they_hold(base):
    found = base[0].table
    assert list(found) == list(BASE)
    assert found["age"].astype(float).between(15, 95).all()
    assert set(found["town"]) == {"north", "south", "east"}
    assert set(found["paid"].astype(str)) <= {"yes", "no", "True", "False"}


@pytest.mark.parametrize(
    "domain",
    [None, {"town": {"type": "categorical", "categories": ["north", "rest"], "other": "rest", "open": True}}],
)
def test_both_second_opinions_are_computed_where_it_is_said(domain, monkeypatch):
    """In a command that is another process, so that this one imports no second implementation."""
    opinions, threads = checking.checked_epsilons, []

    def watched(*given):
        threads.append(threading.current_thread().name)
        return opinions(*given)

    monkeypatch.setattr(checking, "checked_epsilons", watched)
    rows = BASE if domain is None else BASE[["town"]]
    with ThreadPoolExecutor(1, "checks") as checks:
        released(rows, checks=checks, domain=domain)
    assert [name.partition("_")[0] for name in threads] == ["checks"] * 2

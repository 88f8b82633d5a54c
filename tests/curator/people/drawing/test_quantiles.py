"""Rows of a parent move together until values of the order are as frequent as released."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.drawing.quantiles import map_to_quantiles, quantiles_of, with_quantiles
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.results.evidence import Evidence, Known

DAY = NumericAttribute("day", 0, 99, 10, integer=True)
TABLE = Kin("visits", None, parent="people", foreign="id", steps=Steps(DAY))
NO_BOUNDS = (None, None)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def released(shares, records, sigma):
    """A release that has measured the days of as many records, here without noise."""
    cells = records * (np.asarray(shares) - np.mean(shares))
    known = {("day",): Known(cells, sigma)}
    return SimpleNamespace(published=SimpleNamespace(evidence=Evidence(Domain((DAY,)), records, known)))


def moved(days, held, release, bounds=NO_BOUNDS):
    """Where days of rows move to, each of weight one."""
    table = with_quantiles(TABLE, days, held, bounds, np.ones(len(days)), release)
    return map_to_quantiles(days, held, table, bounds)


def rows_of(numbers):
    numbers = np.asarray(numbers)
    return Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))


def shares_of(values):
    return np.bincount(values.astype(int) // 10, minlength=10) / len(values)


def test_days_of_single_rows_become_as_frequent_as_released(rng):
    days, shares = rng.integers(0, 100, 20_000).astype(float), np.arange(1, 11) / 55
    found = moved(days, rows_of(np.ones(len(days), int)), released(shares, len(days), 1e-6))
    # A bin of 3,600 days at most: 4 standard deviations of days within bins are 0.02.
    assert np.abs(shares_of(found) - shares).max() < 0.02 < np.abs(shares_of(days) - shares).max()


def test_what_noise_explains_moves_nothing(rng):
    days = rng.integers(0, 100, 5_000).astype(float)
    shares = shares_of(days) + np.tile([0.004, -0.004], 5)
    assert (moved(days, rows_of(np.ones(len(days), int)), released(shares, len(days), 200.0)) == days).all()


def test_rows_that_move_together_come_nearer_than_by_one_map(rng):
    held, gaps = rows_of(np.full(4_000, 4)), np.tile([0.0, 15, 30, 45], 4_000)
    days = rng.integers(0, 50, 4_000)[held.parent] + gaps
    # This can be had: it is what rows of other first days have.
    shares = shares_of(np.floor(50 * rng.beta(5, 1.5, 4_000))[held.parent] + gaps)
    found = moved(days, held, released(shares, len(days), 1e-6))
    # One map leaves .055 to .063 in four seeds, all of them .014 to .030; without, it is .08.
    assert np.abs(shares_of(found) - shares).max() < 0.045


def test_rows_of_a_parent_keep_what_lies_between_them_and_stay_within_bounds(rng):
    numbers = rng.integers(0, 5, 3_000)
    held = rows_of(numbers)
    days = rng.integers(20, 60, 3_000)[held.parent] + 3.0 * (np.arange(len(held)) % 7)
    days = days[np.lexsort((days, held.parent))]
    low = np.full(len(days), 15.0)
    high = np.where(held.parent % 2, 99.0, 70.0 + np.zeros(len(days)))
    high = np.maximum(
        high, np.maximum.reduceat(days, np.flatnonzero(held.first)).repeat(numbers[numbers > 0])
    )
    found = moved(days, held, released([0.01] * 9 + [0.91], len(days), 1e-6), (low, high))
    later = ~held.first
    assert (np.diff(found)[later[1:]] == np.diff(days)[later[1:]]).all()
    assert ((found >= low) & (found <= high)).all()
    assert found.mean() > days.mean() + 5


def test_quantiles_increase_on_both_sides(rng):
    days = rng.choice([0.0, 50.0, 99.0], 1_000, p=[0.9, 0.05, 0.05])
    mass = np.array([0, 0, 5, 0, 0, 900, 0, 0, 0, 10.0])
    drawn, became = zip(*quantiles_of(days, np.ones(1_000), DAY.cells[:, 0], mass, 0.0, 100.0), strict=True)
    assert (np.diff(drawn) > 0).all()
    assert (np.diff(became) > 0).all()
    assert (drawn[0], became[0], drawn[-1], became[-1]) == (0.0, 0.0, 100.0, 100.0)


def test_a_table_without_a_measurement_of_the_order_stays_as_it_is(rng):
    days = rng.integers(0, 100, 100).astype(float)
    without = SimpleNamespace(published=SimpleNamespace(evidence=None))
    assert with_quantiles(TABLE, days, rows_of(np.ones(100, int)), NO_BOUNDS, np.ones(100), without) == TABLE


def test_a_table_with_quantiles_is_read_as_it_was_written():
    one, other = ((0.0, 0.0), (40.5, 50.0), (100.0, 100.0)), ((0.0, 0.0), (20.0, 19.0), (100.0, 100.0))
    table = replace(TABLE, moves=(one, other))
    assert Kin.from_json(table.to_json()) == table


def test_a_table_of_version_0_1_0_has_one_map_or_none():
    one = ((0.0, 0.0), (40.5, 50.0), (100.0, 100.0))
    form = TABLE.to_json()
    del form["moves"]
    assert Kin.from_json({**form, "quantiles": one}) == replace(TABLE, moves=(one,))
    assert Kin.from_json({**form, "quantiles": []}) == TABLE


def test_rows_that_would_pass_a_bound_stay_and_do_not_gather_there(rng):
    """Half of the days are past 89 as released; a row may not lie after its parent's own end."""
    days = rng.integers(0, 60, 5_000).astype(float)
    ends = np.minimum(days + rng.integers(0, 60, 5_000), 99.0)
    shares = np.append(np.full(9, 0.5 / 9), 0.5)
    held, bounds = rows_of(np.ones(len(days), int)), (None, ends)
    found = moved(days, held, released(shares, len(days), 1e-6), bounds)
    assert (found <= ends).all()
    assert (found != days).mean() > 0.3
    assert (found == ends).mean() < 0.3

"""Numbers of rows are moved between parents, and their distribution stays."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.drawing.numbers import (
    Margin,
    limit_of_equal_counts,
    move_numbers,
    shrink_tail,
    spans_by_numbers,
)
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.results.evidence import Evidence, Known

SIZE = 4_000


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def a_margin(codes, cells, noise, ordered=True):
    cells = np.asarray(cells, dtype=float)
    return Margin(codes, cells - cells.mean(), noise, cells.sum(), ordered)


def test_numbers_keep_their_distribution(rng):
    numbers, codes = rng.geometric(0.2, SIZE), rng.integers(0, 8, SIZE)
    margin = a_margin(codes, np.arange(1.0, 9.0) * 100, 1.0)
    found = move_numbers(numbers, np.ones(SIZE), 5, [margin], rng)
    assert sorted(found) == sorted(numbers)


@pytest.mark.parametrize("ordered", [True, False])
def test_numbers_go_nearly_half_of_the_way_to_a_margin_without_noise(rng, ordered):
    numbers, codes = rng.geometric(0.2, SIZE), rng.integers(0, 8, SIZE)
    # Real numbers grow with the code.
    real = np.sort(numbers)[np.argsort(np.argsort(codes + rng.normal(0, 4, SIZE)))]
    wanted = np.bincount(codes, np.minimum(real / 5, 1))
    found = move_numbers(numbers, np.ones(SIZE), 5, [a_margin(codes, wanted, 1e-9, ordered)], rng)
    before = np.abs(np.bincount(codes, np.minimum(numbers / 5, 1)) - wanted).sum()
    after = np.abs(np.bincount(codes, np.minimum(found / 5, 1)) - wanted).sum()
    assert 0.5 < after / before < 0.65
    # Of numbers beyond the five that a margin tells apart, too: by rows they are nearer.
    by_rows = [np.bincount(codes, each) for each in (numbers, found, real)]
    assert np.abs(by_rows[1] - by_rows[2]).sum() < 0.7 * np.abs(by_rows[0] - by_rows[2]).sum()


def test_no_code_gets_most_rows_where_noise_asks_for_more_than_it_can_have(rng):
    numbers, codes = rng.geometric(0.2, SIZE), np.arange(SIZE) % 8
    cells = np.bincount(codes, np.minimum(numbers / 5, 1))
    cells[7] = 1.2 * SIZE / 8
    found = move_numbers(numbers, np.ones(SIZE), 5, [a_margin(codes, cells, 10.0**2, ordered=False)], rng)
    rows = np.bincount(codes, found) / found.sum()
    assert rows[7] < 2 / 8


def test_a_difference_within_the_noise_moves_little(rng):
    numbers, codes = rng.geometric(0.2, SIZE), np.arange(SIZE) % 8
    now = np.bincount(codes, np.minimum(numbers / 5, 1))
    noisy = now + rng.normal(0, 60, 8)
    found = move_numbers(numbers, np.ones(SIZE), 5, [a_margin(codes, noisy, 60.0**2, ordered=False)], rng)
    after = np.bincount(codes, np.minimum(found / 5, 1))
    # Half of what the noise asks for: exceeded once in 200 seeds.
    assert np.abs(after - now).sum() < np.abs(noisy - now).sum() / 2


def test_nothing_moves_where_all_parents_have_equally_many_rows(rng):
    numbers = np.full(10, 3)
    margin = a_margin(np.arange(10) % 2, [1.0, 9.0], 1e-9)
    assert (move_numbers(numbers, np.ones(10), 1, [margin], rng) == 3).all()


def test_numbers_move_between_parents_of_one_code_alone(rng):
    numbers, alike = rng.integers(0, 9, SIZE), rng.integers(0, 5, SIZE)
    codes = rng.integers(0, 4, SIZE)
    margin = a_margin(codes, np.array([1300.0, 900.0, 900.0, 900.0]), 1e-9, ordered=False)
    found = move_numbers(numbers, np.ones(SIZE), 5, [margin], rng, alike)
    assert (found != numbers).any()
    for code in range(5):
        assert np.sort(found[alike == code]).tolist() == np.sort(numbers[alike == code]).tolist()


def test_spans_follow_from_numbers_where_these_explain_half_of_them(rng):
    steps = Steps(NumericAttribute("day", 0, 1460, 50, integer=True))
    table = Kin("rows", None, parent="people", foreign="id", steps=steps)
    numbers, none = rng.integers(0, 20, SIZE), steps.places("rows")[1].size - 1
    monthly, by_chance = numbers, rng.integers(0, 20, SIZE)
    for spans, follows in ((monthly, True), (by_chance, False), (np.full(SIZE, none), False)):
        codes = np.where(numbers < 2, none, spans)
        parents = Rows({table.places[1].name: codes}, np.arange(SIZE), SIZE)
        found = spans_by_numbers(table, parents, numbers)
        assert (found is not None) == follows


def test_evened_numbers_leave_three_quarters_of_the_weight():
    numbers = np.repeat([0, 1, 2, 4, 8, 64], 100)
    most = limit_of_equal_counts(numbers)
    held = np.minimum(numbers, most) / most
    further = np.minimum(numbers, most + 1) / (most + 1)
    assert held.sum() >= 0.75 * 500 > further.sum()
    assert limit_of_equal_counts(np.repeat([0, 1], 50)) == 1
    assert limit_of_equal_counts(np.zeros(50, dtype=np.int64)) == 1


def shrunk(counts, sigma, codes=None):
    """The numbers 0, 1, ... that are left where so many parents have each, with noise of this deviation.

    Args:
        counts: the noisy ones, of which the release draws those above 0.
        sigma: deviation of their noise.
        codes: drawn from these counts; 10,000 by default.
    """
    size, rng = len(counts), np.random.default_rng(3)
    domain = Domain((NumericAttribute("number_of_visits", 0, size - 1, size, integer=True),))
    known = {("number_of_visits",): Known(counts - counts.mean(), sigma)}
    evidence = Evidence(domain, int(counts.sum()), known=known)
    mass = np.maximum(counts, 0)
    release = SimpleNamespace(
        published=SimpleNamespace(evidence=evidence), model=SimpleNamespace(marginal=lambda clique: mass)
    )
    if codes is None:
        codes = rng.choice(size, 10_000, p=mass / mass.sum())
    return shrink_tail(codes, "number_of_visits", release, rng)


def test_numbers_that_are_less_than_their_noise_are_not_drawn():
    counts = np.where(np.arange(40) < 12, 300.0, 0.0) + np.random.default_rng(2).normal(0, 5, 40)
    assert shrunk(counts, 5.0).max() == 11


def test_a_tail_of_many_parents_stays():
    counts = np.array([500.0, 300, 150, 50])
    found = np.bincount(shrunk(counts, 1.0), minlength=4) / 10_000
    # Four shares of 10,000 draws: a right one is farther off in one of 10^5 seeds.
    np.testing.assert_allclose(found, counts / 1000, atol=0.022)


def test_who_loses_rows_has_as_many_as_the_next_smaller_number_says():
    counts = np.array([100.0, 100, 0, 40])
    # The last two cells have 40, with noise of a variance of 20^2 * 2 * 2 / 4.
    kept = 1 - 400 / 40**2
    found = shrunk(counts, 20.0, np.repeat([0, 1, 3], 4000))
    assert (found[:8000] == np.repeat([0, 1], 4000)).all()
    assert set(found[8000:]) == {1, 3}
    # Four thousand draws of a share of 3/4: farther off in one of 10^5 seeds.
    assert np.mean(found[8000:] > 1) == pytest.approx(kept, abs=0.03)


def test_the_number_of_rows_is_right_on_average_where_noise_is_as_large_as_the_tail():
    """Of 300 parents 30 have three rows or more, at a deviation of 11: none of them, and all that noise makes
    of them, would both be 10 % off."""
    real, rng = np.array([100.0, 80, 50, 40, 20, 10, 0, 0]), np.random.default_rng(1)
    means = []
    for noise in rng.normal(0, 11, (200, 8)):
        means.append(shrunk(real + noise - noise.mean(), 11.0).mean())
    # The mean of 200 has a deviation of .02 of 1.43.
    assert np.mean(means) == pytest.approx(real @ np.arange(8) / 300, rel=0.06)


def test_one_row_is_left_where_more_than_half_of_the_parents_seem_to_have_some():
    assert shrunk(np.array([9.0, 20, 3, 2]), 40.0).max() == 1
    assert shrunk(np.array([200.0, 5, -8, 3]), 27.0).max() == 0


def test_a_release_without_evidence_keeps_numbers(rng):
    release = SimpleNamespace(published=SimpleNamespace(evidence=None))
    assert shrink_tail(np.arange(5), "number_of_visits", release, rng).tolist() == [0, 1, 2, 3, 4]

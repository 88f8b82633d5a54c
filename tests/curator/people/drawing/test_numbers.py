"""Numbers of rows are moved between parents, and their distribution stays."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.people.drawing.numbers import Margin, cap_by_noise, limit_of_equal_counts, move_numbers
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
def test_a_margin_without_noise_is_met(rng, ordered):
    numbers, codes = rng.geometric(0.2, SIZE), rng.integers(0, 8, SIZE)
    # Real numbers grow with the code.
    real = np.sort(numbers)[np.argsort(np.argsort(codes + rng.normal(0, 4, SIZE)))]
    wanted = np.bincount(codes, np.minimum(real / 5, 1))
    found = move_numbers(numbers, np.ones(SIZE), 5, [a_margin(codes, wanted, 1e-9, ordered)], rng)
    before = np.abs(np.bincount(codes, np.minimum(numbers / 5, 1)) - wanted).sum()
    after = np.abs(np.bincount(codes, np.minimum(found / 5, 1)) - wanted).sum()
    assert after < before / 5


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


def test_evened_numbers_leave_three_quarters_of_the_weight():
    numbers = np.repeat([0, 1, 2, 4, 8, 64], 100)
    most = limit_of_equal_counts(numbers)
    held = np.minimum(numbers, most) / most
    further = np.minimum(numbers, most + 1) / (most + 1)
    assert held.sum() >= 0.75 * 500 > further.sum()
    assert limit_of_equal_counts(np.repeat([0, 1], 50)) == 1
    assert limit_of_equal_counts(np.zeros(50, dtype=np.int64)) == 1


def test_numbers_that_noise_explains_are_not_drawn():
    domain = Domain((NumericAttribute("number_of_visits", 0, 39, 40, integer=True),))
    size = domain["number_of_visits"].size
    counts = np.where(np.arange(size) < 12, 300.0, 0.0) + np.random.default_rng(2).normal(0, 5, size)
    known = {("number_of_visits",): Known(counts - counts.mean(), 5.0)}
    evidence = Evidence(domain, int(counts.sum()), known=known)
    release = SimpleNamespace(published=SimpleNamespace(evidence=evidence))
    # A tail of noise is taken for real in one seed of 700.
    assert cap_by_noise(np.arange(size), "number_of_visits", release).max() == 11


def test_a_release_without_evidence_keeps_numbers():
    release = SimpleNamespace(published=SimpleNamespace(evidence=None))
    assert cap_by_noise(np.arange(5), "number_of_visits", release).tolist() == [0, 1, 2, 3, 4]

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpmosaic.curator.pgm.rows import sampling


@pytest.mark.slow
@pytest.mark.parametrize("long", [1, 2**20])
def test_every_order_of_a_run_is_as_likely_as_any_other(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_LONG_RUN", long)
    runs = 12_000
    values = np.tile(np.arange(4, dtype=np.uint8), runs)
    sampling._shuffle_runs(values, np.arange(0, 4 * runs + 1, 4), np.random.default_rng(12))
    orders = values.reshape(runs, 4)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(4), (runs, 1)))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    # False alarm 1e-6.
    assert stats.chisquare(counts).pvalue > 1e-6
    # Neighbouring runs are shuffled each on its own; false alarm 1e-6.
    followed = np.zeros((4, 4))
    np.add.at(followed, (orders[:-1, 0], orders[1:, 0]), 1)
    assert stats.chi2_contingency(followed).pvalue > 1e-6


def test_values_of_a_long_run_reach_every_place_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_LONG_RUN", 1000)
    size, repeats, rng = 2000, 300, np.random.default_rng(13)
    met = np.zeros((20, 20))
    for _ in range(repeats):
        values = np.arange(size, dtype=np.uint16)
        sampling._shuffle_runs(values, np.array([0, size]), rng)
        np.testing.assert_array_equal(np.sort(values), np.arange(size))
        np.add.at(met, (np.arange(size) * 20 // size, values.astype(np.int64) * 20 // size), 1)
    # The margins of each permutation are fixed, so the statistic has (20 - 1)^2 degrees of freedom up to a
    # factor 2000 / 1999. False alarm 1e-6 on either side: the cells of too regular an order vary too little.
    expected = size * repeats / 400
    statistic = ((met - expected) ** 2).sum() / expected
    assert 1e-6 < stats.chi2.sf(statistic, 19**2) < 1 - 1e-6


def test_every_bucket_of_a_long_run_is_shuffled_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = []

    def note(values: object, starts: NDArray[np.int64], *rest: object) -> tuple[int, int]:
        cuts.extend(starts)
        return len(starts) - 1, 0

    monkeypatch.setattr(sampling, "_LONG_RUN", 1000)
    monkeypatch.setattr(sampling, "_shuffle", note)
    runs = [np.arange(3000), np.arange(500)[::-1], np.arange(0), np.arange(2000)]
    values = np.concatenate(runs).astype(np.uint16)
    sampling._shuffle_runs(values, np.array([0, 3000, 3500, 3500, 5500]), np.random.default_rng(18))
    assert len(cuts) == 5 + 2 * 256
    assert cuts == sorted(cuts)
    # Inside a bucket the values are still in order, so that wherever they fall a bucket begins.
    falls = np.flatnonzero(values[:-1] > values[1:]) + 1
    assert len(falls[falls < 3000]) > 200
    assert set(falls) - set(range(3001, 3500)) <= set(cuts)
    np.testing.assert_array_equal(values[3000:3500], runs[1])


def test_words_that_would_favour_an_index_are_skipped() -> None:
    values = np.arange(3, dtype=np.uint8)
    starts = np.array([0, 3])
    words = np.array([0, 2**32 - 1, 0], dtype=np.uint32)
    # 2^32 is one more than a multiple of 3, so one word is left out of the draw among 3; none among 2.
    assert sampling._shuffle(values, starts, 0, 0, words) == (1, 3)
    np.testing.assert_array_equal(values, [2, 1, 0])


def test_a_shuffle_continues_where_its_words_ran_out() -> None:
    words = np.random.default_rng(14).integers(0, 2**32, size=100, dtype=np.uint32)
    starts = np.array([0, 7, 7, 8, 30, 50])
    whole, pieces = np.arange(50, dtype=np.uint8), np.arange(50, dtype=np.uint8)
    assert sampling._shuffle(whole, starts, 0, 0, words) == (5, 50)
    group = place = 0
    for start in range(0, 100, 3):
        group, place = sampling._shuffle(pieces, starts, group, place, words[start : start + 3])
    np.testing.assert_array_equal(pieces, whole)
    assert not np.array_equal(whole, np.arange(50))

"""Counts of pairs on all cores, against those by one thread."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.counting import pairs_counted
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, code_dtype
from dpmosaic.curator.pgm.rows import counting
from dpmosaic.curator.pgm.rows.counting import keep_pairs, pairs_on_cores

SIZES = {"a": 2, "b": 3, "c": 2, "d": 40, "e": 1, "f": 70_000, "g": 5}
PAIRS = list(itertools.combinations(SIZES, 2))


def columns(rows, sizes=SIZES):
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, size, rows).astype(code_dtype(size)) for name, size in sizes.items()}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1, 5000])
@pytest.mark.parametrize(("rows_at_once", "cells_at_once"), [(700, 2**23), (2**18, 1), (2**18, 100_000)])
def test_counts_are_those_by_one_thread(monkeypatch, rows, rows_at_once, cells_at_once):
    monkeypatch.setattr(counting, "COUNTED_AT_ONCE", rows_at_once)
    monkeypatch.setattr(counting, "CELLS_AT_ONCE", cells_at_once)
    codes, expected = columns(rows), pairs_counted(columns(rows), SIZES, PAIRS)
    found = pairs_on_cores(codes, SIZES, PAIRS)
    assert list(found) == PAIRS
    for pair, counts in found.items():
        assert counts.dtype == np.int64
        assert np.array_equal(counts, expected[pair])


def test_a_single_pair_and_none_are_counted():
    codes = columns(100)
    for pairs in ([("d", "a")], [("a", "c")], []):
        expected = pairs_counted(codes, SIZES, pairs)
        found = pairs_on_cores(codes, SIZES, pairs)
        assert {pair: counts.tolist() for pair, counts in found.items()} == {
            pair: counts.tolist() for pair, counts in expected.items()
        }


def test_kept_pairs_are_not_counted_again(monkeypatch):
    sizes = {name: size for name, size in SIZES.items() if size < 100}
    table = Table(Domain.coded(sizes), tuple(columns(500, sizes).values()))
    pairs = list(itertools.combinations(sizes, 2))
    expected = [table.marginal(pair).tolist() for pair in pairs]
    # The pairs up to ("b", "c") have 108 cells.
    monkeypatch.setattr(counting, "KEPT_COUNTS", 108)
    keep_pairs(table, [("a",), *pairs, ("a", "b", "c")])
    asked = []

    def counting_others(codes, of, wanted):
        asked.extend(wanted)
        return pairs_counted(codes, of, wanted)

    found = table.marginals(pairs, pairs=counting_others)
    assert [counts.tolist() for counts in found] == expected
    assert asked == pairs[pairs.index(("b", "c")) + 1 :]

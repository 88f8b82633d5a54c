import itertools
from collections import Counter

import numpy as np
import pytest

from dpmosaic.common.data import counting
from dpmosaic.common.data.counting import pairs_counted
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, code_dtype

SIZES = {"a": 2, "b": 3, "c": 2, "d": 40, "e": 1, "f": 300, "g": 5}


def columns(rows, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, size, rows).astype(code_dtype(size)) for name, size in SIZES.items()}


def by_hand(codes, pair):
    cells = Counter(zip(*(codes[name].tolist() for name in pair), strict=True))
    return [cells[cell] for cell in itertools.product(*(range(SIZES[name]) for name in pair))]


@pytest.mark.parametrize("rows", [0, 1, 50, 5000])
@pytest.mark.parametrize(("rows_at_once", "cells_at_once"), [(7, 2**23), (2**18, 1), (2**18, 2000)])
def test_counts_of_pairs_are_those_by_hand(monkeypatch, rows, rows_at_once, cells_at_once):
    monkeypatch.setattr(counting, "COUNTED_AT_ONCE", max(rows_at_once, rows // 20))
    monkeypatch.setattr(counting, "CELLS_AT_ONCE", cells_at_once)
    codes = columns(rows)
    pairs = list(itertools.combinations(SIZES, 2))
    found = pairs_counted(codes, SIZES, pairs)
    assert list(found) == pairs
    for pair, counts in found.items():
        assert counts.dtype == np.int64
        assert counts.tolist() == by_hand(codes, pair)


def test_a_pair_may_be_asked_for_in_either_order_and_alone():
    codes = columns(100)
    for pair in (("d", "a"), ("a", "d"), ("f", "d")):
        assert pairs_counted(codes, SIZES, [pair])[pair].tolist() == by_hand(codes, pair)
    assert pairs_counted(codes, SIZES, []) == {}


def table(rows=500):
    codes = columns(rows)
    return Table(Domain.coded(SIZES), tuple(codes.values()))


def test_several_marginals_of_a_table_are_those_one_by_one():
    cliques = [("a", "b"), ("d",), ("f", "d"), ("a", "c", "g"), (), ("a", "b")]
    rows = table()
    for _ in range(2):
        for clique, counts in zip(cliques, rows.marginals(cliques), strict=True):
            assert counts.tolist() == rows.marginal(clique).tolist()


@pytest.mark.parametrize(
    "same", [lambda rows: rows.project(("a", "b", "c")), lambda rows: rows.rows(0, rows.record_count)]
)
def test_the_same_rows_are_counted_once(monkeypatch, same):
    rows = table(200)
    pairs = [("a", "b"), ("b", "c")]
    counted = [counts.tolist() for counts in rows.marginals(pairs)]
    monkeypatch.setattr(Table, "_count", lambda _, pairs, cliques: dict.fromkeys(cliques))
    assert [counts.tolist() for counts in same(rows).marginals(pairs)] == counted


def test_a_kept_marginal_is_given_as_a_copy(monkeypatch):
    rows = table(200)
    (kept,) = rows.marginals([("a", "b")])
    monkeypatch.setattr(Table, "cell_codes", None)
    rows.marginal(("a", "b"))[0] = -1
    assert rows.marginal(("a", "b")).tolist() == kept.tolist()


def test_some_of_the_rows_are_counted_anew():
    rows = table(200)
    rows.marginals([("a", "b")])
    (counts,) = rows.rows(0, 150).marginals([("a", "b")])
    assert counts.sum() == 150


def test_kept_counts_cannot_be_changed():
    (counts,) = table().marginals([("a", "b")])
    with pytest.raises(ValueError, match="read-only"):
        counts[0] = 1


def test_a_table_keeps_counts_only_as_far_as_there_is_room(monkeypatch):
    monkeypatch.setattr("dpmosaic.common.data.counting.KEPT_COUNTS", 100)
    rows = table()
    pairs = list(itertools.combinations(SIZES, 2))
    for _ in range(2):
        assert [counts.sum() for counts in rows.marginals(pairs)] == [500] * len(pairs)
    assert 0 < sum(counts.size for counts in rows._kept._counts.values()) <= 100


@pytest.mark.slow
def test_pairs_of_any_number_of_attributes_of_one_code_are_counted():
    """Ten tables of up to 300 attributes; more than 64 of one code once made an array of too many axes."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        wide, rows = int(rng.integers(65, 300)), int(rng.integers(1, 11))
        sizes = {f"a{place}": int(rng.choice([1, 1, 1, 2, 7])) for place in range(wide)}
        codes = {name: rng.integers(0, size, rows).astype(code_dtype(size)) for name, size in sizes.items()}
        pairs = [tuple(map(str, rng.choice(list(sizes), 2, replace=False))) for _ in range(300)]
        for (one, other), counts in pairs_counted(codes, sizes, pairs).items():
            cells = codes[one].astype(int) * sizes[other] + codes[other]
            assert counts.tolist() == np.bincount(cells, minlength=sizes[one] * sizes[other]).tolist()

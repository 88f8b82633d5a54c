"""Related tables sorted on disk."""

import contextlib

import numpy as np
import pytest

from dpmosaic.common.errors import PolicyError
from dpmosaic.party.counting.sorted_tables import FOREIGN, KEY, PARENT, SortedTables


def texts(*values):
    return np.array(values, dtype=object)


@pytest.fixture
def held(tmp_path):
    with contextlib.closing(SortedTables(tmp_path, 64)) as made:
        yield made
    assert not any(tmp_path.iterdir()), "nothing is left on disk"


def column(held, table, name, kind="int64"):
    return held.columns(table, {name: np.dtype(kind)})[name].tolist()


def test_rows_are_beside_those_of_their_parent_in_the_order_asked_for(held):
    held.add(0, [{KEY: texts("b", "a"), "x": np.array([5, 6])}, {KEY: texts("c"), "x": np.array([7])}])
    assert held.number_keys(0)
    assert held.keys(0) == ["b", "a", "c"]
    assert held.count_keys(0) == 3
    times, rows = np.array([3, 1, 3, 2, 3]), np.arange(5)
    batches = [slice(0, 2), slice(2, 5)]
    foreign = texts("c", "b", "b", "c", "b")
    held.add(1, [{FOREIGN: foreign[at], "time": times[at], "row": rows[at]} for at in batches])
    assert held.sort(1, 0, "time")
    assert column(held, 1, PARENT, "int32") == [0, 0, 0, 2, 2]
    # Rows of one time stay as they were.
    assert column(held, 1, "row") == [1, 2, 4, 3, 0]
    assert column(held, 0, "x") == [5, 6, 7]


@pytest.mark.slow
def test_many_rows_keep_the_order_of_their_source(held):
    rng = np.random.default_rng(0)
    parent = rng.integers(0, 700, 300_000)
    held.add(0, [{KEY: np.arange(700).astype(str).astype(object)}])
    assert held.number_keys(0)
    held.add(
        1,
        (
            {FOREIGN: part.astype(str).astype(object), "row": at}
            for part, at in zip(np.split(parent, 4), np.split(np.arange(len(parent)), 4), strict=True)
        ),
    )
    assert held.sort(1, 0, "")
    assert np.array_equal(column(held, 1, "row"), np.argsort(parent, kind="stable"))
    assert np.array_equal(column(held, 1, PARENT), np.sort(parent))


def test_parents_that_no_table_holds_are_in_the_order_of_their_first_rows(held):
    held.add(0, [{FOREIGN: texts("q", "p", "q")}])
    held.add(1, [{FOREIGN: texts("r", "p")}])
    assert held.number_parents(2, [0, 1])
    assert held.keys(2) == ["q", "p", "r"]


@pytest.mark.parametrize("keys", [("a", "b", "a"), ("a", "", "b")])
def test_keys_that_stand_twice_or_are_missing_are_found(held, keys):
    held.add(0, [{KEY: texts(*keys)}])
    assert not held.number_keys(0)


def test_rows_without_a_parent_are_found(held):
    held.add(0, [{KEY: texts("a")}])
    held.number_keys(0)
    held.add(1, [{FOREIGN: texts("a", "b")}])
    assert not held.sort(1, 0, "")


def test_rows_that_need_more_room_than_the_limit_are_refused_while_they_are_added_or_sorted(tmp_path):
    # More than 1 MiB of texts.
    keys = np.random.default_rng(0).integers(0, 10**15, 1 << 17).astype(str).astype(object)

    def full(most_mb):
        return contextlib.closing(SortedTables(tmp_path, most_mb))

    with full(1) as made, pytest.raises(PolicyError, match="within max_disk_mb of the policy"):
        made.add(0, [{FOREIGN: keys}])
    with full(2) as made:
        made.add(0, [{FOREIGN: keys}])
        with pytest.raises(PolicyError, match="the party's owner raises the limit"):
            made.sort(0, 1, "")
    assert not any(tmp_path.iterdir())

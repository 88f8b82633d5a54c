import itertools
import math

import numpy as np
import pytest

from dpmosaic.curator.pgm.inference import cuts
from dpmosaic.curator.pgm.inference.cuts import Cut, cut, table_of


def pairs(count: int) -> list[frozenset[int]]:
    return [frozenset(pair) for pair in itertools.combinations(range(count), 2)]


def cells_of_tables(shape: list[int], found: Cut) -> int:
    batch, outer, middle, run = (math.prod(shape[axis] for axis in part) for part in found)
    return batch * (outer * middle + outer * run + (middle * run if middle > 1 else 0))


def random_clique(seed: int) -> tuple[list[int], list[frozenset[int]], frozenset[int]]:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    shape = [int(size) for size in rng.integers(1, 14, count)]
    sources = [
        frozenset(int(axis) for axis in rng.permutation(count)[: rng.integers(1, min(4, count) + 1)])
        for _ in range(rng.integers(1, 8))
    ]
    # Not all axes with more than one value.
    wide = [axis for axis in range(count) if shape[axis] > 1] or [0]
    separator = frozenset(axis for axis in range(count) if rng.random() < 0.5 and axis != wide[0])
    return shape, sources, separator


@pytest.mark.slow
def test_every_source_has_no_axis_in_some_part_and_the_separator_none_in_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(150):
        shape, sources, separator = random_clique(seed)
        monkeypatch.setattr(cuts, "_ONE_RUN_CELLS", 10)
        found = cut(shape, sources, separator)
        assert sorted(itertools.chain(*found)) == list(range(len(shape)))
        part_of = {axis: number for number, part in enumerate(found) for axis in part}
        for source in sources:
            assert not {1, 2, 3} <= {part_of[axis] for axis in source if shape[axis] > 1}
        assert not separator & set(found.run)


def test_attributes_of_one_value_go_to_the_batch() -> None:
    found = cut([1, 30, 1, 20, 12], pairs(5), frozenset({0, 1}))
    assert {0, 2} <= set(found.batch)
    assert found.run


@pytest.mark.parametrize("separator", [frozenset(), frozenset({1}), frozenset({0, 2})])
def test_a_small_clique_is_one_run_for_each_value_of_its_separator(separator: frozenset[int]) -> None:
    found = cut([4, 8, 4], pairs(3), separator)
    assert found == Cut((), tuple(sorted(separator)), (), tuple(sorted({0, 1, 2} - separator)))


@pytest.mark.parametrize("sizes", [[16] * 5, [40, 3, 25, 12, 9], [7] * 7], ids=str)
def test_the_tables_of_a_big_clique_of_pairs_are_much_smaller_than_it(sizes: list[int]) -> None:
    # Without a middle part one of the tables is as large as the clique.
    found = cut(sizes, pairs(len(sizes)), frozenset({0}))
    assert cells_of_tables(sizes, found) < math.prod(sizes) / 8


def test_a_source_as_large_as_the_clique_gets_a_table_as_large() -> None:
    found = cut([20, 30, 10], [frozenset({0, 1, 2})], frozenset())
    assert cells_of_tables([20, 30, 10], found) >= 6000


def test_a_cut_is_not_slower_than_the_trivial_one() -> None:
    for seed in range(60):
        shape, sources, separator = random_clique(seed)
        if math.prod(shape) <= cuts._ONE_RUN_CELLS:
            continue
        axes = [axis for axis in range(len(shape)) if shape[axis] > 1]
        clique = cuts._Clique(
            [shape[axis] for axis in axes],
            [frozenset(n for n, axis in enumerate(axes) if axis in source) for source in sources],
            frozenset(n for n, axis in enumerate(axes) if axis in separator),
        )
        part_of = {axis: n for n, part in enumerate(cut(shape, sources, separator)) for axis in part}
        trivial = tuple(1 if n in clique.separator else 3 for n in range(len(axes)))
        assert clique.time(tuple(part_of[axis] for axis in axes)) <= clique.time(trivial)


@pytest.mark.parametrize(
    ("touched", "table"),
    [(set(), 0), ({0, 1}, 0), ({2}, 0), ({1, 2}, 0), ({3}, 1), ({0, 1, 3}, 1), ({2, 3}, 2)],
)
def test_the_table_of_a_source_is_named_by_the_parts_that_it_touches(touched: set[int], table: int) -> None:
    assert table_of(touched) == table

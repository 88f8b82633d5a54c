import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from dpmosaic.curator.pgm.inference import stages
from dpmosaic.curator.pgm.inference.stages import Stage, stage_table


def every(stage: Stage) -> Iterator[Stage]:
    yield stage
    for part in stage.parts:
        yield from every(part)


def cells(stage: Stage, shape: list[int]) -> int:
    return math.prod(shape[axis] for axis in stage.axes)


def test_every_source_is_added_once_to_a_table_with_its_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(stages, "_ONE_BY_ONE_CELLS", int(rng.integers(1, 60)))
        count = int(rng.integers(2, 9))
        shape = [int(size) for size in rng.integers(1, 5, count)]
        sources = [
            frozenset(int(axis) for axis in rng.permutation(count)[: rng.integers(1, count + 1)])
            for _ in range(rng.integers(1, 30))
        ]
        _, whole = stage_table(shape, sources, frozenset())
        assert whole.axes == tuple(range(count))
        added = [number for stage in every(whole) for number in stage.sources]
        assert sorted(added) == list(range(len(sources)))
        for stage in every(whole):
            assert 1 <= stage.columns <= len(stage.axes)
            assert all(sources[number] <= set(stage.axes) for number in stage.sources)
            assert all(set(part.axes) < set(stage.axes) for part in stage.parts)


@pytest.mark.parametrize("k", [2, 3])
def test_small_factors_of_many_attributes_pass_through_small_tables(k: int) -> None:
    shape = [2] * 18
    sources = [frozenset(axes) for axes in itertools.combinations(range(18), k)]
    _, whole = stage_table(shape, sources, frozenset(range(17)))
    assert not whole.sources
    assert sum(cells(part, shape) for part in whole.parts) < 2**18 / 4
    assert max(len(stage.sources) for stage in every(whole) if cells(stage, shape) > 2**12) <= 3


def test_a_factor_of_nearly_all_axes_is_added_directly_in_long_rows() -> None:
    shape, message = [2] * 16, frozenset(range(1, 16))
    pairs = [frozenset(axes) for axes in itertools.combinations(range(16), 2)]
    time, whole = stage_table(shape, [*pairs, message], frozenset(range(1, 15)))
    assert whole.sources == (len(pairs),)
    assert 2**whole.columns >= 16
    assert time < 2**16 * 20

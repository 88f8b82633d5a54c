import numpy as np
import pytest
from numba.core import caching
from numpy.typing import NDArray

from dpmosaic.curator.pgm.compiled import compiled


def total(values: NDArray[np.float64]) -> float:
    found = 0.0
    for value in values:
        found += value
    return found


def test_a_compiled_function_gives_what_python_gives() -> None:
    values = np.arange(10.0)
    assert compiled(total)(values) == total(values)


def test_infinities_and_nan_keep_their_meaning() -> None:
    assert compiled(total)(np.array([np.inf, 1.0])) == np.inf
    assert np.isnan(compiled(total)(np.array([np.inf, -np.inf])))


def test_functions_are_compiled_even_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert compiled(total)(np.ones(3)) == 3.0

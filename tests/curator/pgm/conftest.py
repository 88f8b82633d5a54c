"""Graphs of every kind on domains small enough for the full joint distribution."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain

Array = NDArray[np.float64]

SHAPES: dict[str, tuple[dict[str, int], list[Clique]]] = {
    "no cliques": ({"a": 2, "b": 3}, []),
    "one attribute": ({"a": 4}, [("a",)]),
    "one attribute of size one": ({"a": 1}, [("a",)]),
    "chain": ({"a": 2, "b": 3, "c": 4, "d": 2}, [("a", "b"), ("b", "c"), ("c", "d")]),
    "chain against the domain order": (
        {"a": 3, "b": 2, "c": 2, "d": 3},
        [("a", "d"), ("b", "d"), ("b", "c")],
    ),
    "star": ({"a": 2, "b": 3, "c": 2, "d": 4, "e": 2}, [("a", "c"), ("b", "c"), ("c", "d"), ("c", "e")]),
    "loop": (
        {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2},
        [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "e")],
    ),
    "two loops": (
        {"a": 2, "b": 2, "c": 3, "d": 2, "e": 3, "f": 2},
        [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("c", "f")],
    ),
    "disconnected": ({"a": 2, "b": 3, "c": 2, "d": 3, "e": 4}, [("a", "c"), ("d", "e")]),
    "attributes of size one": ({"a": 1, "b": 3, "c": 1, "d": 2}, [("a", "b"), ("b", "c"), ("c", "d")]),
    "triples": (
        {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2},
        [("a", "b", "c"), ("b", "c", "d"), ("c", "d", "e")],
    ),
    "nested": ({"a": 2, "b": 3, "c": 2}, [("a",), ("a", "b"), ("b",), ("a", "b", "c"), ("c",)]),
    "everything": ({"a": 2, "b": 3, "c": 2}, [("a", "b", "c")]),
    "long chain": (
        {name: 2 for name in "abcdefgh"},
        [(one, two) for one, two in zip("abcdefg", "bcdefgh", strict=True)],
    ),
}


@pytest.fixture(params=SHAPES, ids=lambda name: name.replace(" ", "-"))
def shape(request: pytest.FixtureRequest) -> tuple[Domain, list[Clique]]:
    """A domain and cliques on it."""
    sizes, cliques = SHAPES[request.param]
    return Domain.coded(sizes), cliques


@pytest.fixture
def joint() -> Callable[[Domain, Mapping[Clique, Array]], Array]:
    """The unnormalised joint table of log-potentials, one axis for each attribute."""

    def build(domain: Domain, potentials: Mapping[Clique, Array]) -> Array:
        log = np.zeros(domain.sizes)
        for clique, potential in potentials.items():
            log = log + potential.reshape([n if name in clique else 1 for name, n in _items(domain)])
        return np.exp(log)

    return build


@pytest.fixture
def summed() -> Callable[[Domain, Array, Sequence[str]], Array]:
    """A joint table summed to a clique, as one vector."""

    def sum_to(domain: Domain, table: Array, clique: Sequence[str]) -> Array:
        axes = tuple(axis for axis, name in enumerate(domain.names) if name not in clique)
        return np.asarray(table.sum(axis=axes)).reshape(-1)

    return sum_to


def _items(domain: Domain) -> list[tuple[str, int]]:
    return list(zip(domain.names, domain.sizes, strict=True))

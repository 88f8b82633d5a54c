"""The interface of every fitted distribution."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.table import Table


class ReleasedModel(Protocol):
    """A distribution of synthetic rows, such as a `MarkovRandomField` or a `BayesianNetwork`."""

    @property
    def domain(self) -> Domain:
        """The attributes."""
        ...

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The attributes of each of its tables."""
        ...

    @property
    def size_mb(self) -> float:
        """Memory of these tables, in MiB."""
        ...

    def marginal(self, clique: Iterable[str]) -> NDArray[np.float64]:
        """The expected counts of a clique's cells, shape (n_r,), in row-major order."""
        ...

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[NDArray[np.float64] | None]:
        """Several marginals; None for each clique whose computation needs too large a table."""
        ...

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        """Synthetic rows in random order; the seed of `rng` determines them."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the model to one file in numpy's .npz format, without pickled objects."""
        ...

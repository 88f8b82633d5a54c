"""Selected rows as a released model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.table import Table
from ...pgm import archive


@dataclass(frozen=True, eq=False)
class SelectedRecords(archive.Archived):
    """Selected rows; a `ReleasedModel`.

    Attributes:
        table: the rows.
        cliques: the marginals by which they were selected.
        total: number of records; the sum of each marginal.
    """

    format: ClassVar[str] = "dpmosaic selected records 1"
    kind: ClassVar[str] = "selected records"

    table: Table
    cliques: tuple[Clique, ...]
    total: float

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.table.domain

    @property
    def size_mb(self) -> float:
        """Memory of the rows, in MiB."""
        return sum(column.nbytes for column in self.table.columns) / 2**20

    def marginal(self, clique: Iterable[str]) -> NDArray[np.float64]:
        """Counts of the rows, scaled to the total; shape (n_r,)."""
        counts = self.table.marginal(clique).astype(np.float64)
        return counts * (self.total / self.table.record_count)

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[NDArray[np.float64] | None]:
        """Several marginals."""
        return [self.marginal(clique) for clique in cliques]

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        """Rows in random order; none is repeated before all were used."""
        count = self.table.record_count
        places = [rng.permutation(count) for _ in range(-(-rows // count))]
        return self.table.take(np.concatenate(places)[:rows])

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """One column of codes for each attribute."""
        form = {
            "domain": self.table.domain.to_json(),
            "cliques": self.cliques,
            "total": float(self.total),
        }
        return form, {f"codes_{name}": self.table.column(name) for name in self.table.domain}

    @classmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: archive.Arrays) -> SelectedRecords:
        domain = Domain.from_json(form["domain"])
        table = Table.from_codes(domain, {name: arrays[f"codes_{name}"] for name in domain})
        return cls(table, tuple(map(tuple, form["cliques"])), float(form["total"]))

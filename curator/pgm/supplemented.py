"""A model with marginals to which drawn rows are adjusted: pairs outside the model, and larger marginals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from . import archive
from .model import MarkovRandomField

Array = NDArray[np.float64]

FORMAT = "dpmosaic supplemented model 2"


@dataclass(frozen=True, eq=False)
class SupplementedModel:
    """A model in which some pairs are replaced.

    A further pair can make a junction tree much larger; in a table of rows it needs no room. There may be no
    distribution with all these marginals; rows come as close as possible, by the sum of squares.

    Attributes:
        model: distribution from which rows are drawn.
        pairs: two attributes in domain order -> their marginal, shape (n_a n_b,), not negative; its sum is
            the model's total.
        larger: cliques of three and more attributes that contain none of the pairs; rows are adjusted to
            their marginals in the model too, not only to its pairs.
    """

    model: MarkovRandomField
    pairs: Mapping[Clique, Array]
    larger: tuple[Clique, ...] = ()

    def __post_init__(self) -> None:
        for clique, marginal in self.pairs.items():
            if len(clique) != 2 or self.domain.canonical(clique) != clique:
                raise ValueError(f"{clique} is not two attributes in domain order")
            if marginal.shape != (self.domain.cells(clique),) or marginal.min() < 0:
                raise ValueError(f"the marginal of {clique} is one vector of counts of its cells")
            if not np.isclose(marginal.sum(), self.model.total):
                raise ValueError(f"the marginal of {clique} does not sum to the model's total")
            marginal.flags.writeable = False
        for clique in self.larger:
            if len(clique) < 3 or self.domain.canonical(clique) != clique:
                raise ValueError(f"{clique} is not three or more attributes in domain order")
            if any(pair in self.pairs for pair in itertools.combinations(clique, 2)):
                raise ValueError(f"a pair of {clique} is not the model's")

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.model.domain

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The cliques of the model's tree, and the pairs."""
        return (*self.model.cliques, *self.pairs)

    @property
    def size_mb(self) -> float:
        """Memory of the model's beliefs and the pairs, in MiB."""
        return self.model.size_mb + sum(marginal.size for marginal in self.pairs.values()) * 8 / 2**20

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        """Rows drawn from the model, then adjusted to pairs, larger marginals and the model's own pairs."""
        return self.model.generate(rows, rng, self.pairs, self.larger)

    def marginal(self, clique: Iterable[str]) -> Array:
        """The expected counts of a clique's cells, from the pairs or else from the model.

        Raises:
            DataError: an attribute is unknown or named twice.
            ModelError: the computation needs too large a table.
        """
        named = self.domain.canonical(clique)
        return self.pairs[named].copy() if named in self.pairs else self.model.marginal(named)

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[Array | None]:
        """Several marginals, with None for each clique whose computation needs too large a table."""
        asked = [self.domain.canonical(clique) for clique in cliques]
        others = [clique for clique in asked if clique not in self.pairs]
        found = dict(zip(others, self.model.marginals_within_limits(others), strict=True))
        return [self.pairs[clique].copy() if clique in self.pairs else found[clique] for clique in asked]

    def save(self, path: str | Path) -> None:
        """Write model and pairs to one file in numpy's .npz format, without pickled objects."""
        form, arrays = self.model.parts()
        arrays |= {f"pair_{place}": marginal for place, marginal in enumerate(self.pairs.values())}
        form = {"format": FORMAT, "model": form, "pairs": list(self.pairs), "larger": self.larger}
        archive.write(path, form, arrays)

    @classmethod
    def load(cls, path: str | Path) -> SupplementedModel:
        """Read a model that `save` wrote.

        Raises:
            DataError: the file cannot be read, or holds no such model.
        """
        return archive.read(path, cls._of_parts, "supplemented model")

    @classmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: archive.Arrays) -> SupplementedModel:
        if form["format"] != FORMAT:
            raise ValueError("another format")
        pairs = {
            tuple(clique): archive.counts(arrays[f"pair_{place}"])
            for place, clique in enumerate(form["pairs"])
        }
        larger = tuple(map(tuple, form["larger"]))
        return cls(MarkovRandomField.of_parts(form["model"], arrays), pairs, larger)

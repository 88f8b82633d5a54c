"""A model with marginals to which drawn rows are adjusted: pairs outside the model, and larger marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups, check_groups, grouped_shape
from ...common.data.table import Table
from . import archive
from .grouped_marginals import grouped_marginals
from .model import MarkovRandomField
from .rows.refinement import Grouped

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupedMarginal:
    """The marginal of groups of codes.

    Attributes:
        clique: attributes, in domain order.
        groups: the grouping of each; empty for single codes.
        counts: shape (n_r,), of the cells of the groups, not negative.
    """

    clique: Clique
    groups: Groups
    counts: Array

    def wanted(self, domain: Domain) -> Grouped:
        """What rows are adjusted to, in counts of the model."""
        places = tuple(map(domain.position, self.clique))
        return Grouped(places, self.groups or ((),) * len(places), self.counts)


@dataclass(frozen=True, eq=False)
class SupplementedModel(archive.Archived):
    """A model in which some pairs are replaced.

    A further pair can make a junction tree much larger; in a table of rows it needs no room. There may be no
    distribution with all these marginals; rows come as close as possible, by the sum of squares.

    Attributes:
        model: distribution from which rows are drawn.
        pairs: two attributes in domain order -> their marginal, shape (n_a n_b,), not negative; its sum is
            the model's total.
        larger: cliques of three and more attributes that contain none of the pairs; rows are adjusted to
            their marginals in the model too, not only to its pairs.
        grouped: marginals of groups of codes to which rows are adjusted too; each sums to the model's total.
    """

    format: ClassVar[str] = "dpmosaic supplemented model 1"
    kind: ClassVar[str] = "supplemented model"

    model: MarkovRandomField
    pairs: Mapping[Clique, Array]
    larger: tuple[Clique, ...] = ()
    grouped: tuple[GroupedMarginal, ...] = ()

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
        for one in self.grouped:
            shape = self.domain.shape(one.clique)
            check_groups(shape, one.groups)
            if one.counts.shape != (math.prod(grouped_shape(shape, one.groups)),) or one.counts.min() < 0:
                raise ValueError(f"the marginal of groups of {one.clique} is one vector of counts")
            if not np.isclose(one.counts.sum(), self.model.total):
                raise ValueError(f"the marginal of groups of {one.clique} does not sum to the model's total")
            one.counts.flags.writeable = False

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

    def generate(self, rows: int, rng: np.random.Generator, draft: bool = False) -> Table:
        """Rows drawn from the model, then adjusted to all these marginals and to the model's own pairs."""
        grouped = [one.wanted(self.domain) for one in self.grouped]
        return self.model.generate(rows, rng, self.pairs, self.larger, grouped, draft)

    def marginal(self, clique: Iterable[str]) -> Array:
        """The expected counts of a clique's cells: as rows are adjusted to them, or else from the model.

        Raises:
            DataError: an attribute is unknown or named twice.
            ModelError: the computation needs too large a table.
        """
        named = self.domain.canonical(clique)
        return (
            self._given_marginals[named].copy()
            if named in self._given_marginals
            else self.model.marginal(named)
        )

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[Array | None]:
        """Several marginals, with None for each clique whose computation needs too large a table."""
        asked = [self.domain.canonical(clique) for clique in cliques]
        others = [clique for clique in asked if clique not in self._given_marginals]
        found = dict(zip(others, self.model.marginals_within_limits(others), strict=True))
        return [
            self._given_marginals[clique].copy() if clique in self._given_marginals else found[clique]
            for clique in asked
        ]

    @cached_property
    def _given_marginals(self) -> dict[Clique, Array]:
        """Pairs and larger marginals of single codes."""
        return {**{one.clique: one.counts for one in self.grouped if not any(one.groups)}, **self.pairs}

    @cached_property
    def grouped_in_tree(self) -> list[Array | None]:
        """The marginals of the same groups in the model's tree; None where one needs too large a table."""
        return grouped_marginals(self.model, [(one.clique, one.groups) for one in self.grouped])

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The model's, and the pairs."""
        model, arrays = self.model.parts()
        arrays |= {f"pair_{place}": marginal for place, marginal in enumerate(self.pairs.values())}
        arrays |= {f"grouped_{place}": one.counts for place, one in enumerate(self.grouped)}
        form = {
            "model": model,
            "pairs": list(self.pairs),
            "larger": self.larger,
            "grouped": [{"clique": one.clique, "groups": one.groups} for one in self.grouped],
        }
        return form, arrays

    @classmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: archive.Arrays) -> SupplementedModel:
        pairs = {
            tuple(clique): archive.counts(arrays[f"pair_{place}"])
            for place, clique in enumerate(form["pairs"])
        }
        larger = tuple(map(tuple, form["larger"]))
        grouped = tuple(
            GroupedMarginal(
                tuple(one["clique"]),
                tuple(map(tuple, one["groups"])),
                archive.counts(arrays[f"grouped_{place}"]),
            )
            for place, one in enumerate(form["grouped"])
        )
        return cls(MarkovRandomField.of_parts(form["model"], arrays), pairs, larger, grouped)

"""A fitted distribution over the domain, as marginals of the cliques of a junction tree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from ...common.errors import ModelError
from . import archive
from .inference.oracle import MarginalOracle
from .inference.queries import MarginalQueries
from .rows.refinement import ADJUSTING_SWEEPS, ALL_CELLS, LARGEST_ADJUSTED, Grouped, Places, refined
from .rows.sampling import generate
from .rows.triples import count_triples, times_as_many, worthwhile
from .structure.junction_tree import JunctionTree
from .structure.zeros import zeros_of

Array = NDArray[np.float64]

_KEPT_PAIR_CELLS = 1 << 22
"""Largest number of cells of pairs that a model keeps, 8 bytes each."""

_MOST_PAIRS = 5_000
"""Most pairs of the model to which rows are adjusted."""

_SAME = 1e-6
"""Relative difference of the sums of two marginals up to which they are of one model."""


@dataclass(frozen=True, eq=False)
class MarkovRandomField(archive.Archived):
    """The distribution given by the marginals of a junction tree's cliques.

    Attributes:
        domain: the attributes.
        tree: the cliques.
        beliefs: for each clique of the tree its marginal, an array of the clique's shape.
        total: number of records, the sum of every marginal.
        potentials: for each fitted clique its log-potential, shape (n_r,), from which a later fit starts.
            They define this distribution, or one close to it if parts were fitted separately.
        loss: at the end of the fit; 0 for a model that was not fitted.
        iterations: steps of the fit.
        converged: whether the fit converged; otherwise the limit of its steps stopped it, or measurements
            whose scales are too far apart.
    """

    format: ClassVar[str] = "dpmosaic model 1"
    kind: ClassVar[str] = "model"

    domain: Domain
    tree: JunctionTree
    beliefs: tuple[Array, ...]
    total: float
    potentials: Mapping[Clique, Array]
    loss: float
    iterations: int
    converged: bool = True
    _kept: dict[Clique, Array] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.tree.domain != self.domain:
            raise ValueError("the junction tree belongs to another domain")
        if tuple(belief.shape for belief in self.beliefs) != self.tree.shapes:
            raise ValueError("a model has one belief of the clique's shape for each clique of its tree")
        for clique, potential in self.potentials.items():
            if potential.shape != (self.domain.cells(clique),):
                raise ValueError(f"the potential of {clique} is one vector of the clique's cells")
        for array in (*self.beliefs, *self.potentials.values()):
            array.flags.writeable = False

    @classmethod
    def uniform(cls, domain: Domain, total: float) -> MarkovRandomField:
        """The uniform distribution over the cells of the domain that its rules allow."""
        tree = JunctionTree.build(domain, [])
        oracle = MarginalOracle(tree, (), total)
        oracle(np.zeros(0))
        return cls(domain, tree, oracle.beliefs(), total, {}, 0.0, 0)

    @property
    def size_mb(self) -> float:
        """Memory of the beliefs, in MiB."""
        return self.tree.cells * 8 / 2**20

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The cliques of the tree."""
        return self.tree.cliques

    def generate(
        self,
        rows: int,
        rng: np.random.Generator,
        pairs: Mapping[Clique, Array] | None = None,
        larger: Sequence[Clique] = (),
        grouped: Sequence[Grouped] = (),
        draft: bool = False,
    ) -> Table:
        """Synthetic rows by randomised rounding (`sampling`), then adjusted to marginals (`refinement`).

        These are all pairs, and all triples of a small table (`triples`), as many more rows have them.

        Args:
            rows: number of rows.
            rng: source of randomness; its seed determines the rows.
            pairs: marginals to use instead of the model's own, in counts of the model.
            larger: larger cliques to whose marginals in the model rows are adjusted too, and to their pairs.
            grouped: counts of groups of codes, in counts of the model, to which rows are adjusted too.
            draft: whether one sweep over the rows is enough, without triples.
        """
        wanted = self._target_marginals(pairs or {}, larger)
        given = {*wanted, *(one.places for one in grouped if not any(one.groups))}
        asked = [] if draft else worthwhile(self.domain.sizes, rows, given)
        if not asked:
            table = generate(self, rows, rng)
            return self._adjust_rows(table, wanted, grouped, rng, 1 if draft else ADJUSTING_SWEEPS)
        times = times_as_many(rows)
        many = self._adjust_rows(generate(self, times * rows, rng), wanted, grouped, rng, ADJUSTING_SWEEPS)
        triples = {places: counts / times for places, counts in count_triples(many, asked).items()}
        return self._adjust_rows(many.rows(0, rows), wanted, grouped, rng, ADJUSTING_SWEEPS, triples)

    def _target_marginals(
        self, pairs: Mapping[Clique, Array], larger: Sequence[Clique]
    ) -> dict[Places, Array]:
        """Marginals to which rows are adjusted, in counts of the model; see `generate`."""
        masks = dict(zeros_of(self.domain).masks)
        # Those of rules come first: whatever does not fit, rows have to keep to these.
        wanted = dict(zip(masks, self.marginals(masks), strict=True)) | dict(pairs)
        covered = {*wanted}
        for clique, marginal in zip(larger, self.marginals_within_limits(larger), strict=True):
            if marginal is not None:
                wanted[clique] = marginal
                covered |= {*itertools.combinations(clique, 2)}
        # Given pairs come first: if not all fit, these are the ones that the drawn rows lack.
        others = _within_room(
            self.domain,
            [pair for pair in itertools.combinations(self.domain.names, 2) if pair not in covered],
        )
        for clique, marginal in zip(others, self.marginals_within_limits(others), strict=True):
            if marginal is not None:
                wanted[clique] = marginal
        return {self._places(clique): marginal for clique, marginal in wanted.items()}

    def _adjust_rows(
        self,
        table: Table,
        wanted: Mapping[Places, Array],
        grouped: Sequence[Grouped],
        rng: np.random.Generator,
        sweeps: int,
        triples: Mapping[Places, Array] | None = None,
    ) -> Table:
        """Rows adjusted to marginals in counts of the model, and to triples in counts of these rows."""
        share = table.record_count / self.total
        masks = {self._places(clique): mask for clique, mask in zeros_of(self.domain).masks}
        return refined(
            table,
            {places: share * counts for places, counts in wanted.items()},
            rng,
            masks,
            [one._replace(counts=share * one.counts) for one in grouped],
            sweeps,
            triples,
        )

    def _places(self, clique: Clique) -> Places:
        """Positions of attributes in the domain."""
        return tuple(map(self.domain.position, clique))

    def marginal(self, clique: Iterable[str]) -> Array:
        """The expected counts of a clique's cells, for any clique.

        Returns:
            Shape (n_r,), in row-major order of the clique's attributes in domain order.

        Raises:
            DataError: an attribute is unknown or named twice.
            ModelError: the computation needs too large a table.
        """
        return self.marginals([clique])[0]

    def marginals(self, cliques: Iterable[Iterable[str]]) -> list[Array]:
        """The marginals of several cliques, as by `marginal`; common parts are computed once."""
        queries = MarginalQueries(self.tree, self.beliefs)
        return [queries.marginal(self.domain.canonical(clique)).copy() for clique in cliques]

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[Array | None]:
        """As `marginals`, with None for each clique whose computation needs too large a table.

        Pairs are kept for later calls as far as there is room.
        """
        asked = list(map(self.domain.canonical, cliques))
        pairs = sum(len(clique) == 2 and clique not in self._kept for clique in asked)
        queries = MarginalQueries(self.tree, self.beliefs, pairs)
        room = _KEPT_PAIR_CELLS - sum(map(len, self._kept.values()))
        found: list[Array | None] = []
        for clique in asked:
            try:
                marginal = self._kept[clique] if clique in self._kept else queries.marginal(clique)
            except ModelError:
                found.append(None)
                continue
            found.append(marginal.copy())
            if len(clique) == 2 and clique not in self._kept and len(marginal) <= room:
                self._kept[clique] = marginal.copy()
                room -= len(marginal)
        return found

    def l1_distances(self, cliques: Sequence[Clique], vectors: Iterable[Array]) -> list[float | None]:
        """L1 distances of the marginals of cliques from given vectors, without storing the marginals.

        Args:
            cliques: any, in domain order.
            vectors: for each clique one of shape (n_r,).

        Returns:
            the distances; None for each clique whose computation needs too large a table.
        """
        queries = MarginalQueries(self.tree, self.beliefs)
        found: list[float | None] = []
        for clique, vector in zip(cliques, vectors, strict=True):
            try:
                found.append(float(np.abs(queries.marginal(clique) - vector).sum()))
            except ModelError:
                found.append(None)
        return found

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        form = {
            "domain": self.domain.to_json(),
            "cliques": self.tree.cliques,
            "parents": self.tree.parents,
            "fitted": list(self.potentials),
            "total": float(self.total),
            "loss": self.loss,
            "iterations": self.iterations,
            "converged": self.converged,
        }
        arrays: dict[str, NDArray[Any]] = {}
        arrays |= {f"belief_{place}": belief for place, belief in enumerate(self.beliefs)}
        arrays |= {f"potential_{place}": array for place, array in enumerate(self.potentials.values())}
        return form, arrays

    @classmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: archive.Arrays) -> MarkovRandomField:
        domain = Domain.from_json(form["domain"])
        tree = JunctionTree(domain, tuple(map(tuple, form["cliques"])), tuple(form["parents"]))
        beliefs = tuple(archive.counts(arrays[f"belief_{place}"]) for place in range(len(tree.cliques)))
        total = float(form["total"])
        if any(belief.min() < 0 for belief in beliefs):
            raise ValueError("a negative count")
        if not (
            0 < total < math.inf and all(math.isclose(one.sum(), total, rel_tol=_SAME) for one in beliefs)
        ):
            raise ValueError("counts that do not add up to the number of records")
        potentials = {
            tuple(clique): archive.counts(arrays[f"potential_{place}"])
            for place, clique in enumerate(form["fitted"])
        }
        return cls(
            domain,
            tree,
            beliefs,
            total,
            potentials,
            float(form["loss"]),
            int(form["iterations"]),
            bool(form["converged"]),
        )


def _within_room(domain: Domain, pairs: Sequence[Clique]) -> list[Clique]:
    """The pairs that rows can be adjusted to: of too many, those nearest in the domain."""
    if len(pairs) > _MOST_PAIRS:
        place = {name: number for number, name in enumerate(domain.names)}
        apart = sorted(pairs, key=lambda pair: place[pair[1]] - place[pair[0]])
        nearest = {*apart[:_MOST_PAIRS]}
        pairs = [pair for pair in pairs if pair in nearest]
    room, found = ALL_CELLS, []
    for pair in pairs:
        cells = domain.cells(pair)
        if cells <= LARGEST_ADJUSTED and len(pair) * cells <= room:
            room -= len(pair) * cells
            found.append(pair)
    return found

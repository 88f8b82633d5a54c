"""A Bayesian network whose conditional distributions are tables of counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.table import Table
from ....common.errors import ModelError
from ...pgm import archive
from .drawing import draw
from .inference import marginal_of
from .levels import Levels, Node, Nodes, names

Array = NDArray[np.float64]

Drawing = Literal["without-replacement", "with-replacement"]


@dataclass(frozen=True, eq=False)
class DrawingStep:
    """One attribute-parent pair with its table.

    Attributes:
        child: node that is drawn.
        parents: nodes that it depends on, drawn before at the same level or a finer one.
        counts: nonnegative counts, shape (*sizes of the parents, size of the child).
    """

    child: Node
    parents: Nodes
    counts: Array

    @classmethod
    def of(cls, levels: Levels, child: Node, nodes: Nodes, values: Array) -> DrawingStep:
        """The step of a table over the child and its parents; negative counts are set to 0."""
        place = nodes.index(child)
        counts = np.moveaxis(np.maximum(values, 0.0).reshape(levels.shape(nodes)), place, -1)
        return cls(child, nodes[:place] + nodes[place + 1 :], np.ascontiguousarray(counts))


@dataclass(frozen=True, eq=False)
class BayesianNetwork(archive.Archived):
    """P(A_1, ..., A_d) as a product of P(child | parents) over the steps.

    A child whose coarser version was drawn before lies inside that version. Where a table has no counts for
    the values drawn so far, the child follows the sum over all rows of the table.

    Source: PrivBayes, Equation 2.3.

    Attributes:
        levels: hierarchies of the attributes.
        steps: steps in the order of drawing; the last step of every attribute is at level 0.
        total: number of records.
        drawing: method of `generate`.
    """

    format: ClassVar[str] = "dpmosaic network 1"
    kind: ClassVar[str] = "network"

    levels: Levels
    steps: tuple[DrawingStep, ...]
    total: float
    drawing: Drawing = "without-replacement"

    def __post_init__(self) -> None:
        drawn: dict[str, int] = {}
        for step in self.steps:
            name, level = step.child
            for node in (step.child, *step.parents):
                if node.level not in range(self.levels.coarsest(node.name) + 1):
                    raise ValueError(f"{node.name}: expected a level of its hierarchy")
            if drawn.get(name, level + 1) <= level:
                raise ValueError(f"{name}: expected each further step at a finer level")
            for parent in step.parents:
                if drawn.get(parent.name, parent.level + 1) > parent.level:
                    raise ValueError(
                        f"{name}: expected parent {parent.name} drawn before, at its level or a finer one"
                    )
            if step.counts.shape != self.levels.shape((*step.parents, step.child)):
                raise ValueError(f"the table of {name}: expected the shape of its nodes")
            if not (np.all(np.isfinite(step.counts)) and np.all(step.counts >= 0)):
                raise ValueError(f"the table of {name}: expected finite counts, not negative")
            drawn[name] = level
            step.counts.flags.writeable = False
        if drawn != dict.fromkeys(self.domain.names, 0):
            raise ValueError("expected that the steps of a network end with every attribute at level 0")

    @property
    def domain(self) -> Domain:
        """Domain of the table."""
        return self.levels.domain

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The attributes of each step, children with their parents."""
        return tuple(self.domain.canonical(names((*step.parents, step.child))) for step in self.steps)

    @property
    def size_mb(self) -> float:
        """Memory of the tables, in MiB."""
        return sum(step.counts.nbytes for step in self.steps) / 2**20

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        """Synthetic rows, in random order.

        Args:
            rows: number of rows, at least 1.
            rng: source of randomness; its seed determines the table.
        """
        if rows < 1:
            raise ValueError(f"rows: expected at least 1, got {rows}")
        steps = [(step.child, step.parents, step.counts) for step in self.steps]
        codes = draw(self.levels, steps, rows, self.drawing == "without-replacement", rng)
        rng.shuffle(codes)
        last = {step.child.name: place for place, step in enumerate(self.steps)}
        return Table.from_codes(self.domain, np.ascontiguousarray(codes[:, [last[n] for n in self.domain]]))

    def marginal(self, clique: Iterable[str]) -> Array:
        """The expected counts of a clique's cells, shape (n_r,).

        Raises:
            DataError: an attribute is unknown or named twice.
            ModelError: the clique needs too large an intermediate table.
        """
        wanted = self.domain.canonical(clique)
        return self.total * marginal_of(self.levels, self._conditionals, wanted)

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[Array | None]:
        """Several marginals; None for each clique whose computation needs too large a table."""
        found: list[Array | None] = []
        for clique in cliques:
            try:
                found.append(self.marginal(clique))
            except ModelError:
                found.append(None)
        return found

    @cached_property
    def _conditionals(self) -> list[tuple[Node, Nodes, Array]]:
        """P(child | parents, coarser version of the child) for every step, in order."""
        drawn: dict[str, int] = {}
        found = []
        for step in self.steps:
            name, level = step.child
            ratio = self.levels.width(drawn[name] - level) if name in drawn else step.counts.shape[-1]
            found.append((step.child, step.parents, conditional(step.counts, ratio)))
            drawn[name] = level
        return found

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        form = {
            "domain": self.domain.to_json(),
            "group": self.levels.group,
            "steps": [[step.child, step.parents] for step in self.steps],
            "total": float(self.total),
            "drawing": self.drawing,
        }
        return form, {f"counts_{place}": step.counts for place, step in enumerate(self.steps)}

    @classmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: archive.Arrays) -> BayesianNetwork:
        steps = tuple(
            DrawingStep(Node(*child), tuple(Node(*parent) for parent in parents), arrays[f"counts_{place}"])
            for place, (child, parents) in enumerate(form["steps"])
        )
        levels = Levels(Domain.from_json(form["domain"]), form["group"])
        return cls(levels, steps, form["total"], form["drawing"])


def conditional(counts: Array, ratio: int) -> Array:
    """Each row of a table divided by its sums over runs of `ratio` codes of the child.

    A run without counts gets the run's sums over all rows or, if they are 0 too, the uniform distribution.
    """
    size = counts.shape[-1]
    rows = counts.reshape(-1, size)
    starts = np.arange(0, size, ratio)
    lengths = np.diff([*starts, size])
    overall = rows.sum(axis=0)
    overall = np.where(np.repeat(np.add.reduceat(overall, starts) > 0, lengths), overall, 1.0)
    full = np.repeat(np.add.reduceat(rows, starts, axis=1) > 0, lengths, axis=1)
    filled = np.where(full, rows, overall)
    shares = filled / np.repeat(np.add.reduceat(filled, starts, axis=1), lengths, axis=1)
    return np.asarray(shares.reshape(counts.shape))


def head_steps(levels: Levels, order: Sequence[Node], nodes: Nodes, values: Array) -> list[DrawingStep]:
    """The steps of a joint table: each node depends on all earlier ones, by the table's own marginals."""
    steps = []
    counts = np.maximum(values, 0.0).ravel()
    for place, child in enumerate(order):
        first = levels.in_domain_order(order[: place + 1])
        marginal = np.bincount(levels.labels(nodes, first), weights=counts, minlength=levels.cells(first))
        steps.append(DrawingStep.of(levels, child, first, marginal.astype(np.float64)))
    return steps

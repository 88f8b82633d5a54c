"""From potentials of measured cliques to their marginals, repeatedly on one tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.errors import ModelError
from ..structure.junction_tree import JunctionTree
from ..structure.zeros import EXCLUDED_SHARE, zeros_of
from .belief_propagation import Workspace, pass_messages, write_belief
from .layout import lay_out

Array = NDArray[np.float64]


class MarginalOracle:
    """Computes the marginals of the distribution that potentials of some cliques define.

    The potentials of the domain's rules are added; cells that they exclude have no weight.

    Attributes:
        tree: contains each of the cliques in one of its own.
        total: sum of each marginal.
        evaluations: number of calls so far.
    """

    def __init__(self, tree: JunctionTree, cliques: Sequence[Clique], total: float) -> None:
        self.tree = tree
        self.total = total
        self.evaluations = 0
        self._zeros = zeros_of(tree.domain)
        excluded = self._zeros.potentials()
        self._layout, sizes, self._cuts = lay_out(tree, [*cliques, *(c for c, _ in self._zeros.masks)])
        self._work = Workspace.of(sizes)
        self._cells = sizes.potentials - len(excluded)
        self._work.logs[self._cells : sizes.potentials] = excluded

    def __call__(self, potentials: Array) -> tuple[Array, float]:
        """Compute the marginals.

        Args:
            potentials: shape (n,): log-potentials of the cliques, one after another.

        Returns:
            the marginals, shape (n,), and the logarithm of the partition function.

        Raises:
            ModelError: a potential is not finite.
        """
        if not np.isfinite(potentials).all():
            raise ModelError(
                "expected finite potentials; check the measurements for extreme values or scales"
            )
        self._work.logs[: self._cells] = potentials
        # A whole number would compile it once more.
        log_partition = pass_messages(self._layout, self._work, float(self.total))
        self.evaluations += 1
        return self._work.sums[: self._cells].copy(), log_partition

    def excluded_cells(self) -> NDArray[np.bool_] | None:
        """The cells of the cliques that rules exclude, shape (n,); None without rules."""
        if not self._zeros.masks:
            return None
        return self(np.zeros(self._cells))[0] <= EXCLUDED_SHARE * self.total

    def beliefs(self) -> tuple[Array, ...]:
        """The marginals of the tree's cliques at the latest call, each of its clique's shape."""
        found = []
        for place, (shape, cut) in enumerate(zip(self.tree.shapes, self._cuts, strict=True)):
            belief = np.empty([math.prod(shape[axis] for axis in part) for part in cut])
            write_belief(self._layout, self._work, place, belief)
            order = [axis for part in cut for axis in part]
            ordered = belief.reshape([shape[axis] for axis in order])
            found.append(np.ascontiguousarray(ordered.transpose(np.argsort(order))))
        return self._zeros.clear_excluded(self.tree.cliques, self.tree.parents, found)

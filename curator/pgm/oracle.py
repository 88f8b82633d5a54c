"""From potentials of measured cliques to their marginals, over and over on one tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Clique
from .belief_propagation import Schedule, calibrate
from .junction_tree import JunctionTree
from .projection import Projection, split

Array = NDArray[np.float64]


class MarginalOracle:
    """The marginals of the distribution that potentials of some cliques define.

    Holds two arrays of the tree's size, which every call writes anew.

    Attributes:
        tree: has a clique around each of the cliques.
        total: what the marginals sum to.
        beliefs: shape (cells of the tree,): the marginals of the tree's cliques at the latest call.
    """

    def __init__(self, tree: JunctionTree, cliques: Sequence[Clique], total: float) -> None:
        self.tree = tree
        self.total = total
        self.beliefs: Array = np.empty(tree.cells)
        self._schedule = Schedule.of(tree)
        self._projection = Projection.of(tree, cliques)
        self._belief_views = split(self.beliefs, tree.shapes)
        self._potential_views = split(np.empty(tree.cells), tree.shapes)

    def __call__(self, potentials: Array) -> tuple[Array, float]:
        """Compute the marginals.

        Args:
            potentials: shape (n,): log-potentials of the cliques, one after another.

        Returns:
            the marginals, shape (n,), and the log-partition.

        Raises:
            ModelError: a potential is not finite.
        """
        shapes = self._projection.shapes
        self._projection.spread(split(potentials.copy(), shapes), self._potential_views)
        _, log_partition = calibrate(self._schedule, self._potential_views, self.total, self._belief_views)
        marginals = np.empty(len(potentials))
        self._projection.project(self._belief_views, split(marginals, shapes))
        return marginals, log_partition

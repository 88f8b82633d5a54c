"""Hierarchies of coarsened attributes: nested runs of codes, from public facts only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.boxes import Box
from ....common.data.domain import Clique, Domain
from ....common.errors import DataError


class Node(NamedTuple):
    """An attribute at one level of its hierarchy; level 0 is the attribute itself."""

    name: str
    level: int


Nodes = tuple[Node, ...]
"""At most one node of each attribute, in domain order."""


@dataclass(frozen=True)
class Levels:
    """The hierarchies of all attributes of a domain.

    An attribute of more than group^2 codes has a version in which runs of `group` codes become one (the last
    run may be shorter), and so on until at most group^2 codes are left.

    Source: PrivBayes, section 3.1.

    Attributes:
        domain: domain of the table.
        group: number of codes that become one, at least 2.
    """

    domain: Domain
    group: int

    def __post_init__(self) -> None:
        if self.group < 2:
            raise DataError(f"group: expected at least 2 codes to become one, got {self.group}")

    @cached_property
    def _sizes(self) -> dict[Node, int]:
        """Cache of `size`, which a network search calls millions of times for the same nodes."""
        return {}

    def coarsest(self, name: str) -> int:
        """The highest level of an attribute; 0 without coarsened versions."""
        level = 0
        while self.size(Node(name, level)) > self.group**2:
            level += 1
        return level

    def size(self, node: Node) -> int:
        """Number of codes."""
        if node not in self._sizes:
            self._sizes[node] = -(-self.domain[node.name].size // self.width(node.level))
        return self._sizes[node]

    def width(self, level: int) -> int:
        """Number of codes of level 0 in one code of this level."""
        return int(self.group**level)

    def shape(self, nodes: Iterable[Node]) -> tuple[int, ...]:
        """The number of codes of each node."""
        return tuple(self.size(node) for node in nodes)

    def cells(self, nodes: Iterable[Node]) -> int:
        """Number of cells of a table over these nodes."""
        return math.prod(self.shape(nodes))

    def in_domain_order(self, nodes: Iterable[Node]) -> Nodes:
        """The nodes in domain order."""
        return tuple(sorted(nodes, key=lambda node: self.domain.position(node.name)))

    def boxes(self, nodes: Nodes) -> tuple[Box, ...]:
        """The cells of a table as boxes of single cells, row-major; empty if all nodes are at level 0."""
        if not any(node.level for node in nodes):
            return ()
        runs = []
        for node in nodes:
            width, size = self.width(node.level), self.domain[node.name].size
            runs.append([(start, min(start + width, size)) for start in range(0, size, width)])
        return tuple(itertools.product(*runs))

    def labels(self, nodes: Nodes, coarser: Nodes) -> NDArray[np.int64]:
        """For each cell of a table over `nodes`, row-major, the cell of that over `coarser` that contains it.

        Args:
            nodes: nodes of the table.
            coarser: coarser nodes, `within` the first.
        """
        wanted = {node.name: node for node in coarser}
        label = np.zeros((1,) * len(nodes), dtype=np.int64)
        stride = self.cells(coarser)
        for axis, node in enumerate(nodes):
            if node.name in wanted:
                target = wanted[node.name]
                stride //= self.size(target)
                codes = np.arange(self.size(node)) // self.width(target.level - node.level)
                label = label + (codes * stride).reshape([-1 if i == axis else 1 for i in range(len(nodes))])
        return np.broadcast_to(label, self.shape(nodes)).ravel()


def names(nodes: Iterable[Node]) -> Clique:
    """The attributes of the nodes."""
    return tuple(node.name for node in nodes)


def within(coarser: Nodes, nodes: Nodes) -> bool:
    """Whether a table over `nodes` determines the one over `coarser`.

    Source: PrivBayes, Definition 3.1, for tables that are extended by all coarser versions (section 3.2.2).
    """
    levels = dict(nodes)
    return all(node.name in levels and levels[node.name] <= node.level for node in coarser)


def meet(first: Nodes, second: Nodes) -> Nodes:
    """The finest nodes that both determine: the intersection of the extended tables."""
    levels = dict(second)
    return tuple(Node(name, max(level, levels[name])) for name, level in first if name in levels)

"""Structure search: the attribute-parent pairs of a Bayesian network, from noisy scores.

All of it is post-processing of the scores and of public facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from ..parts.allocation import EXPECTED_L1
from .levels import Levels, Node, Nodes

Pairs = Sequence[tuple[Node, Node]]


@dataclass(frozen=True)
class Network:
    """The structure of a Bayesian network.

    Attributes:
        head: nodes of the first, joint table, in the order of selection.
        pairs: each further child with its parents; a child may be a finer version of an earlier one.
    """

    head: Nodes
    pairs: tuple[tuple[Node, Nodes], ...]

    def tables(self, levels: Levels) -> list[Nodes]:
        """The nodes of the head's table and of each pair's, in domain order."""
        return [
            levels.in_domain_order(self.head),
            *(levels.in_domain_order((c, *parents)) for c, parents in self.pairs),
        ]


class Objective(Protocol):
    """The value of a table for pairs of its nodes."""

    def merit(self, pairs: Pairs, cells: int) -> float:
        """The criterion by which the next node of a table is selected."""
        ...

    def worth(self, pairs: Pairs, cells: int) -> float:
        """The value of the table; a node joins if it increases this, and the best table has the largest."""
        ...


@dataclass(frozen=True)
class PaperObjective:
    """The sum of scores; nodes are selected by scores divided by the cells of their pair.

    Source: PrivBayes, Algorithms 2 and 3. The latter does not define the best pair; section 2.1.2 uses the
        sum of scores.
    """

    levels: Levels
    scores: Mapping[frozenset[str], float]

    def merit(self, pairs: Pairs, cells: int) -> float:
        """Sum of normalised scores."""
        return sum(_score(self.scores, pair) / self.levels.cells(pair) for pair in pairs)

    def worth(self, pairs: Pairs, cells: int) -> float:
        """Sum of scores."""
        return sum(_score(self.scores, pair) for pair in pairs)


@dataclass(frozen=True)
class ScoresMinusNoise:
    """The decrease of the L1 error of the pairs' marginals, in records, minus their noise.

    A score is half the L1 distance of a marginal from independence. In a table of c cells each cell of a
    pair's marginal, of p cells, sums c / p noisy ones: their total error is sqrt(2 / pi) sigma sqrt(p c).

    Attributes:
        levels: hierarchies of the attributes.
        scores: scores of pairs of attributes.
        sigma: expected scale of the noise of a cell of any table.
    """

    levels: Levels
    scores: Mapping[frozenset[str], float]
    sigma: float

    def merit(self, pairs: Pairs, cells: int) -> float:
        """The same as `worth`."""
        return self.worth(pairs, cells)

    def worth(self, pairs: Pairs, cells: int) -> float:
        """Sum over the pairs of twice the score minus the noise."""
        noise = sum(math.sqrt(self.levels.cells(pair) * cells) for pair in pairs)
        return sum(2 * _score(self.scores, pair) for pair in pairs) - EXPECTED_L1 * self.sigma * noise


class NetworkSearch:
    """Algorithms 2 and 3 over attributes and their coarsened versions.

    An attribute is selected at its coarsest level and then refined as far as its table stays small enough.
    Scores are those of level 0, an upper bound for coarser versions.

    Args:
        levels: hierarchies of the attributes.
        fits: threshold tau: whether a table over these two or more nodes is small enough to be measured.
        objective: value of tables.
        refine_with_parents: finer versions also depend on parents, not only on their coarser versions.
    """

    def __init__(
        self,
        levels: Levels,
        fits: Callable[[Nodes], bool],
        objective: Objective,
        refine_with_parents: bool,
    ) -> None:
        self._levels = levels
        self._fits = fits
        self._objective = objective
        self._refine_with_parents = refine_with_parents
        self._drawn: dict[str, int] = {}

    def run(self) -> Network:
        """The head, a pair for each other attribute, and one for each that is not yet at level 0."""
        head = self._head()
        self._drawn = {node.name: node.level for node in head}
        pairs = []
        while len(self._drawn) < len(self._levels.domain):
            pairs.append(self._next())
        for name in [name for name, level in self._drawn.items() if level]:
            child = Node(name, 0)
            parents = self._parents(child) if self._refine_with_parents else ()
            self._drawn[name] = 0
            pairs.append((child, self._finest((child, *parents))[1:]))
        return Network(head, tuple(pairs))

    def _head(self) -> Nodes:
        """Algorithm 2: the best pair, then greedily the nodes that fit.

        The algorithm does not check that its first pair fits; here the head may be a single attribute.
        """
        coarse = [self._coarsest(name) for name in self._levels.domain]
        starts = [
            pair for pair in combinations(coarse, 2) if self._is_allowed(pair) and self._joint(pair)[1] > 0
        ]
        if not starts:
            return self._finest(coarse[:1])
        chosen: Nodes = max(starts, key=lambda pair: self._joint(pair)[0])
        rest = [node for node in coarse if node not in chosen]
        while rest:
            best = max(rest, key=lambda node: self._joint((*chosen, node))[0])
            rest.remove(best)
            added = (*chosen, best)
            if self._is_allowed(added) and self._joint(added)[1] > self._joint(chosen)[1]:
                chosen = added
        return self._finest(chosen)

    def _next(self) -> tuple[Node, Nodes]:
        """Algorithm 3: the best parents of each remaining attribute, and of these pairs the best."""
        left = [self._coarsest(name) for name in self._levels.domain if name not in self._drawn]
        candidates = [(child, *self._parents(child)) for child in left]
        best = max(candidates, key=lambda nodes: self._star(nodes)[1])
        child, *parents = self._finest(best)
        self._drawn[child.name] = child.level
        return child, tuple(parents)

    def _parents(self, child: Node) -> Nodes:
        """Parents of a child, selected greedily among the attributes drawn so far."""
        rest = [self._coarsest(name) for name in self._drawn if name != child.name]
        chosen: Nodes = (child,)
        while rest:
            best = max(rest, key=lambda node: self._star((*chosen, node))[0])
            rest.remove(best)
            added = (*chosen, best)
            if self._is_allowed(added) and self._star(added)[1] > self._star(chosen)[1]:
                chosen = added
        return chosen[1:]

    def _finest(self, nodes: Sequence[Node]) -> Nodes:
        """The same attributes, each in turn at the finest level that fits."""
        taken = tuple(nodes)
        for place, (name, coarsest) in enumerate(taken):
            for level in range(self._drawn.get(name, 0), coarsest):
                finer = (*taken[:place], Node(name, level), *taken[place + 1 :])
                if self._is_allowed(finer):
                    taken = finer
                    break
        return taken

    def _joint(self, nodes: Nodes) -> tuple[float, float]:
        """Merit and worth of a table for all pairs of its nodes."""
        return self._merit_and_worth(list(combinations(nodes, 2)), nodes)

    def _star(self, nodes: Nodes) -> tuple[float, float]:
        """Merit and worth of a table for the pairs of its first node with the others."""
        return self._merit_and_worth([(nodes[0], node) for node in nodes[1:]], nodes)

    def _merit_and_worth(self, pairs: Pairs, nodes: Nodes) -> tuple[float, float]:
        cells = self._levels.cells(nodes)
        return self._objective.merit(pairs, cells), self._objective.worth(pairs, cells)

    def _coarsest(self, name: str) -> Node:
        return Node(name, self._levels.coarsest(name))

    def _is_allowed(self, nodes: Nodes) -> bool:
        return len(nodes) == 1 or self._fits(self._levels.in_domain_order(nodes))


def _score(scores: Mapping[frozenset[str], float], pair: tuple[Node, Node]) -> float:
    """The score of the pair's attributes; 0 without a score."""
    return scores.get(frozenset((pair[0].name, pair[1].name)), 0.0)

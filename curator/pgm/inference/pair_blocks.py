"""Marginals of many pairs of attributes of a junction tree, block by block.

What is below a clique depends on the rest only through the separator. Given each of its values, the
probabilities of the codes of all attributes below stand beside each other in one matrix, made from those of
the clique's children. Pairs of attributes that meet at a clique from two of its children, or from one child
and the clique, are then one product of matrices, and not a sum over the tree for each pair.

Source: messages of Lauritzen and Spiegelhalter, "Local computations with probabilities on graphical
    structures and their application to expert systems" (1988), for many queries at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..structure.elimination import bits
from ..structure.junction_tree import JunctionTree

Array = NDArray[np.float64]

_MATRIX_CELLS = 2**23
"""Largest number of cells of all matrices, and of a single product."""

_CELLS_OF_PAIR = 2**11
"""A pair takes as long by itself as so many cells of these matrices: with fewer attributes and larger
separators, blocks are slower."""


@dataclass(frozen=True, eq=False)
class _Below:
    """What is below a clique.

    Attributes:
        separator: mask of the attributes shared with the parent.
        first: attribute -> its first column.
        given: probabilities of the codes of these attributes for each cell of the separator, 0 where that has
            no mass, shape (separator's cells, codes).
    """

    separator: int
    first: dict[int, int]
    given: Array


class PairBlocks:
    """The marginals of pairs.

    Args:
        tree: the cliques.
        summed: for a clique's index and a mask, its belief summed to these attributes, axes in domain order.
    """

    def __init__(self, tree: JunctionTree, summed: Callable[[int, int], Array]) -> None:
        self._tree = tree
        self._summed = summed
        self._sizes = tree.domain.sizes
        self._top: dict[int, int] = {}
        for place, mask in enumerate(tree.masks):
            for v in bits(mask):
                self._top.setdefault(v, place)
        self._depths = [0]
        for parent in tree.parents[1:]:
            self._depths.append(self._depths[parent] + 1)
        self._below = self._gather_below()
        self._blocks: dict[tuple[int, int, int], Array] = {}

    @classmethod
    def worth(cls, tree: JunctionTree, pairs: int) -> bool:
        """Whether the matrices have room, and take less time than so many pairs one by one."""
        codes = [0] * len(tree.masks)
        cells = largest = 0
        for place in range(len(tree.masks) - 1, 0, -1):
            separator = tree.masks[place] & tree.masks[tree.parents[place]]
            sizes = tree.domain.sizes
            codes[place] += sum(sizes[v] for v in bits(tree.masks[place] & ~separator))
            codes[tree.parents[place]] += codes[place]
            given = math.prod(sizes[v] for v in bits(separator))
            cells, largest = cells + given * codes[place], max(largest, given)
        return max(cells, largest * sum(tree.domain.sizes)) <= min(_MATRIX_CELLS, _CELLS_OF_PAIR * pairs)

    def marginal(self, one: int, other: int) -> Array | None:
        """The marginal of two attributes of one component, shape (codes, codes).

        None if both belong to the clique where they meet, whose belief is to be summed.
        """
        tops = [self._top[one], self._top[other]]
        behind = [-1, -1]
        while tops[0] != tops[1]:
            lower = int(self._depths[tops[1]] > self._depths[tops[0]])
            behind[lower] = tops[lower]
            tops[lower] = self._tree.parents[tops[lower]]
        if behind == [-1, -1]:
            return None
        if behind[1] == -1:
            found = self.marginal(other, one)
            return None if found is None else found.T
        columns = self._columns(other, behind[1])
        if behind[0] == -1:
            # Attributes come after cliques in the keys.
            return self._block(tops[0], len(self._tree.masks) + one, behind[1])[:, columns]
        if behind[0] > behind[1]:
            return self._block(tops[0], behind[1], behind[0])[columns, self._columns(one, behind[0])].T
        return self._block(tops[0], behind[0], behind[1])[self._columns(one, behind[0]), columns]

    def _columns(self, v: int, place: int) -> slice:
        first = self._below[place].first[v]
        return slice(first, first + self._sizes[v])

    def _block(self, place: int, one: int, other: int) -> Array:
        """The pairs that meet at a clique: of a child or an attribute, and of another child."""
        key = place, one, other
        if key not in self._blocks:
            own = one - len(self._tree.masks)
            if own >= 0:
                self._blocks[key] = self._joint(place, 1 << own, self._below[other])
            else:
                below = self._below[one]
                joint = self._joint(place, below.separator, self._below[other])
                self._blocks[key] = below.given.T @ joint
        return self._blocks[key]

    def _gather_below(self) -> dict[int, _Below]:
        """What is below each clique that shares attributes with its parent."""
        tree = self._tree
        children: list[list[int]] = [[] for _ in tree.masks]
        found: dict[int, _Below] = {}
        for place in range(len(tree.masks) - 1, 0, -1):
            separator = tree.masks[place] & tree.masks[tree.parents[place]]
            if not separator:
                continue
            children[tree.parents[place]].append(place)
            parts: list[Array] = []
            first: dict[int, int] = {}
            start = 0
            for v in bits(tree.masks[place] & ~separator):
                first[v] = start
                start += self._sizes[v]
                parts.append(self._arrange_belief(place, separator, 1 << v)[0])
            for child in children[place]:
                first |= {v: start + column for v, column in found[child].first.items()}
                start += found[child].given.shape[1]
                parts.append(self._joint(place, separator, found[child]))
            joint = np.concatenate(parts, axis=1)
            mass = self._summed(place, separator).reshape(-1, 1)
            given = np.divide(joint, mass, out=np.zeros_like(joint), where=mass > 0)
            found[place] = _Below(separator, first, given)
        return found

    def _joint(self, place: int, mask: int, below: _Below) -> Array:
        """Attributes of a clique with all that is below a child, shape (cells of the mask, codes)."""
        both = mask & below.separator
        rows, inner = mask & ~both, below.separator & ~both
        given = self._move_axes_first(
            below.given.reshape(*self._shape(below.separator), -1), below.separator, both
        )
        given = given.reshape(self._cells(both), self._cells(inner), -1)
        joint = np.matmul(self._arrange_belief(place, rows, inner, both), given)
        order = np.argsort([*bits(both), *bits(rows)])
        table = joint.reshape(*self._shape(both), *self._shape(rows), -1)
        return np.asarray(table.transpose(*order, len(order)).reshape(self._cells(mask), -1))

    def _arrange_belief(self, place: int, rows: int, columns: int, batch: int = 0) -> Array:
        """A clique's belief, summed to these attributes, shape (batch, rows, columns)."""
        mask = batch | rows | columns
        values = self._summed(place, mask)
        axis = {v: number for number, v in enumerate(bits(mask))}
        order = [axis[v] for part in (batch, rows, columns) for v in bits(part)]
        return values.transpose(order).reshape(self._cells(batch), self._cells(rows), self._cells(columns))

    def _move_axes_first(self, values: Array, mask: int, leading: int) -> Array:
        """An array whose axes are those of the mask and one more, with some of these axes first."""
        axis = {v: number for number, v in enumerate(bits(mask))}
        order = [*(axis[v] for v in bits(leading)), *(axis[v] for v in bits(mask & ~leading))]
        return values.transpose(*order, len(order))

    def _shape(self, mask: int) -> list[int]:
        return [self._sizes[v] for v in bits(mask)]

    def _cells(self, mask: int) -> int:
        return math.prod(self._shape(mask))

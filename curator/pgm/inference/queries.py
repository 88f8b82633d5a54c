"""Marginals of arbitrary cliques of a junction tree's distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.errors import ModelError
from ..blas import one_thread
from ..structure.elimination import bits
from ..structure.junction_tree import JunctionTree
from .pair_blocks import PairBlocks
from .reduction import Reduction
from .stages import segments_of

Array = NDArray[np.float64]

LARGEST_TABLE_CELLS = 2**26
"""Largest number of cells of an intermediate table (512 MiB)."""
_HELD_CELLS = 2**25
"""Largest total number of cells of the tables that are kept for later cliques of the same call."""
_LARGE_CELLS = 2**12
"""From larger tables, few attributes are summed in stages, through tables that other cliques need too."""
_FEW_ATTRIBUTES = 4
"""Largest number of attributes for that."""


@dataclass(frozen=True, eq=False)
class _Factor:
    """A table over the attributes of a mask, axes in domain order."""

    mask: int
    values: Array


@dataclass(frozen=True)
class _Neighbour:
    """A clique's neighbour.

    Attributes:
        place: index of the neighbour.
        separator: mask of the attributes that the two share.
        behind: mask of the attributes on the neighbour's side that are not in the separator.
    """

    place: int
    separator: int
    behind: int


class MarginalQueries:
    """Answers one call for marginals; tables that several cliques need are computed once.

    A clique that no clique of the tree contains is computed along the part of the tree that holds its
    attributes: M_{u->v}(K, S_uv) is the sum over u's other attributes of b_u times
    M_{w->u}(K_w, S_wu) / b(S_wu) for each neighbour w behind which there are wanted attributes K_w; other
    neighbours contribute 1. Attributes in different components are independent, and their marginals are
    multiplied. Many pairs are computed in blocks (`pair_blocks`).

    Args:
        tree: the cliques.
        beliefs: for each clique of the tree its marginal.
        pairs: number of pairs that will be asked for.
    """

    def __init__(self, tree: JunctionTree, beliefs: Sequence[Array], pairs: int = 0) -> None:
        self._tree = tree
        self._beliefs = beliefs
        self._neighbours = _neighbours(tree)
        self._components = _components(tree)
        self._holding: list[list[int]] = [[] for _ in tree.domain]
        for place, clique in enumerate(tree.cliques):
            for name in clique:
                self._holding[tree.domain.position(name)].append(place)
        self._counted: dict[int, int] = {}
        self._held: dict[tuple[int, int, int], _Factor] = {}
        self._held_cells = 0
        self._by_blocks = pairs > 0 and PairBlocks.worth(tree, pairs)

    @cached_property
    def _blocks(self) -> PairBlocks:
        with one_thread():
            return PairBlocks(self._tree, lambda place, mask: self._sum_belief(place, mask).values)

    def marginal(self, clique: Clique) -> Array:
        """The marginal of a clique in domain order, shape (n_r,).

        Raises:
            ModelError: an intermediate table would have more than LARGEST_TABLE_CELLS cells.
        """
        wanted = sum(1 << self._tree.domain.position(name) for name in clique)
        try:
            parts = [wanted & component for component in self._components if wanted & component]
            if len(parts) < 2:
                return self._connected_marginal(wanted).values.reshape(-1)
            self._check_size(wanted)
            product = self._connected_marginal(parts[0]).values.reshape(self._shape(wanted, parts[0]))
            for part in parts[1:]:
                factor = self._connected_marginal(part).values
                product = product * (factor / factor.sum()).reshape(self._shape(wanted, part))
            return product.reshape(-1)
        except _TooLarge as cause:
            raise ModelError(
                f"the marginal of {clique} needs a table of {cause.cells} cells, more than the "
                f"{LARGEST_TABLE_CELLS} allowed; ask for a smaller clique or one inside the model's"
            ) from cause

    def _connected_marginal(self, wanted: int) -> _Factor:
        """The marginal of attributes of one component."""
        masks = self._tree.masks
        places = self._holding[(wanted & -wanted).bit_length() - 1] if wanted else range(len(masks))
        around = [place for place in places if masks[place] & wanted == wanted]
        if around:
            return self._sum_belief(min(around, key=lambda place: self._cells(masks[place])), wanted)
        self._check_size(wanted)
        if self._by_blocks and wanted.bit_count() == 2:
            found = self._blocks.marginal(*bits(wanted))
            if found is not None:
                return _Factor(wanted, found)
        with one_thread():
            return self._gather_marginal(self._root(wanted), -1, wanted)

    def _root(self, wanted: int) -> int:
        """Target of the messages: a clique with most of the wanted cells, the nearest such to the others."""
        masks = self._tree.masks
        touched = {place for v in bits(wanted) for place in self._holding[v]}
        place = max(touched, key=lambda u: (self._cells(masks[u] & wanted), -u))
        while True:
            towards = [near for near in self._neighbours[place] if near.behind & wanted]
            if len(towards) > 1 or masks[place] & wanted & ~towards[0].separator:
                return place
            place = towards[0].place

    def _gather_marginal(self, place: int, towards: int, wanted: int) -> _Factor:
        """The marginal of `wanted`, all at `place` or behind its neighbours other than `towards`."""
        key = (place, towards, wanted)
        if key in self._held:
            return self._held[key]
        sources = [near for near in self._neighbours[place] if near.place != towards and near.behind & wanted]
        own = self._tree.masks[place] & wanted
        for near in sources:
            own |= near.separator
        factor = self._sum_belief(place, own)
        for done, near in enumerate(sources, start=1):
            keep = wanted
            for later in sources[done:]:
                keep |= later.separator
            factor = self._contract(factor, self._conditional(place, near, near.behind & wanted), keep)
        return self._hold(key, factor)

    def _conditional(self, place: int, near: _Neighbour, retained: int) -> _Factor:
        """Probabilities of `retained`, behind a neighbour, given the separator; 0 where it has no mass."""
        key = (near.place, -2 - place, retained)
        if key in self._held:
            return self._held[key]
        joint = self._gather_marginal(near.place, place, retained | near.separator)
        given = self._sum_belief(near.place, near.separator).values
        given = given.reshape(self._shape(joint.mask, near.separator))
        values = np.divide(joint.values, given, out=np.zeros_like(joint.values), where=given > 0)
        return self._hold(key, _Factor(joint.mask, values))

    def _sum_belief(self, place: int, wanted: int) -> _Factor:
        """A clique's belief, summed to some of its attributes."""
        key = (place, place, wanted)
        if key in self._held:
            return self._held[key]
        found = _Factor(self._tree.masks[place], self._beliefs[place])
        for mask in (*self._between(found.mask, wanted), wanted):
            key = (place, place, mask)
            if key in self._held:
                found = self._held[key]
                continue
            axes = [axis for axis, v in enumerate(bits(found.mask)) if not mask >> v & 1]
            values = Reduction.of(found.values.shape, axes).sum(found.values)
            found = self._hold(key, _Factor(mask, values.reshape(self._shape(mask, mask))))
        return found

    def _between(self, mask: int, wanted: int) -> Iterator[int]:
        """The attributes of smaller and smaller tables from which few wanted attributes are summed.

        Attributes are cut into one segment more than are wanted, and the largest segment without wanted
        attributes is left out, so that many cliques share a table.
        """
        few = wanted.bit_count() <= _FEW_ATTRIBUTES
        while few and self._cells(mask) > _LARGE_CELLS:
            order = [v for v in bits(mask) if self._tree.domain.sizes[v] > 1]
            segments = segments_of(order, wanted.bit_count() + 1, self._tree.domain.sizes)
            without = [sum(1 << v for v in segment) for segment in segments]
            without = [segment for segment in without if not segment & wanted]
            if not without:
                return
            mask &= ~max(without, key=self._cells)
            yield mask

    def _contract(self, left: _Factor, right: _Factor, keep: int) -> _Factor:
        """Multiply two tables and sum over the attributes not in `keep`, which are in both."""
        both = left.mask & right.mask
        batch, inner = both & keep, both & ~keep
        rows, columns = left.mask & ~both, right.mask & ~both
        self._check_size(batch | rows | columns)
        shape = [self._cells(batch), self._cells(rows), self._cells(inner), self._cells(columns)]
        product = np.matmul(
            _group_axes(left, [batch, rows, inner]).reshape(shape[0], shape[1], shape[2]),
            _group_axes(right, [batch, inner, columns]).reshape(shape[0], shape[2], shape[3]),
        )
        order = [*bits(batch), *bits(rows), *bits(columns)]
        sizes = self._tree.domain.sizes
        values = product.reshape([sizes[v] for v in order]).transpose(np.argsort(order))
        return _Factor(batch | rows | columns, np.ascontiguousarray(values))

    def _check_size(self, mask: int) -> None:
        if (cells := self._cells(mask)) > LARGEST_TABLE_CELLS:
            raise _TooLarge(cells)

    def _hold(self, key: tuple[int, int, int], factor: _Factor) -> _Factor:
        if self._held_cells + factor.values.size > _HELD_CELLS:
            self._held.clear()
            self._held_cells = 0
        self._held[key] = factor
        self._held_cells += factor.values.size
        return factor

    def _cells(self, mask: int) -> int:
        if mask not in self._counted:
            self._counted[mask] = math.prod(self._tree.domain.sizes[v] for v in bits(mask))
        return self._counted[mask]

    def _shape(self, mask: int, present: int) -> list[int]:
        """The shape of a table over `mask` that is constant along all but `present`."""
        return [self._tree.domain.sizes[v] if present >> v & 1 else 1 for v in bits(mask)]


class _TooLarge(Exception):
    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.cells = cells


def _group_axes(factor: _Factor, groups: Sequence[int]) -> Array:
    """The factor's axes, group after group."""
    axis = {v: place for place, v in enumerate(bits(factor.mask))}
    return factor.values.transpose([axis[v] for group in groups for v in bits(group)])


def _neighbours(tree: JunctionTree) -> list[list[_Neighbour]]:
    """For each clique its parent and children."""
    everything = (1 << len(tree.domain)) - 1
    below = list(tree.masks)
    for place in range(len(below) - 1, 0, -1):
        below[tree.parents[place]] |= below[place]
    neighbours: list[list[_Neighbour]] = [[] for _ in below]
    for place in range(1, len(below)):
        parent = tree.parents[place]
        separator = tree.masks[place] & tree.masks[parent]
        inside = below[place] & ~separator
        neighbours[parent].append(_Neighbour(place, separator, inside))
        neighbours[place].append(_Neighbour(parent, separator, everything & ~inside & ~separator))
    return neighbours


def _components(tree: JunctionTree) -> list[int]:
    """Masks of the attributes that separators connect."""
    found: list[int] = []
    places: list[int] = []
    for mask, parent in zip(tree.masks, tree.parents, strict=True):
        if parent >= 0 and mask & tree.masks[parent]:
            places.append(places[parent])
            found[places[-1]] |= mask
        else:
            places.append(len(found))
            found.append(mask)
    return found

"""Marginals of a Bayesian network, by variable elimination."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.errors import ModelError
from .levels import Levels, Node, Nodes

Array = NDArray[np.float64]
Conditional = tuple[Node, Nodes, Array]
"""A child, its parents, and P(child | parents), the child's axis last."""

NETWORK_TABLE_CELLS = 2**20
"""Most cells of an intermediate table."""


def marginal_of(levels: Levels, conditionals: Sequence[Conditional], clique: Clique) -> Array:
    """The probability of every cell of a clique, shape (n_r,).

    An attribute may appear in factors at several levels; their product has it at the finest, whose codes
    determine the coarser ones.

    Args:
        levels: hierarchies of the attributes.
        conditionals: in the order of drawing.
        clique: attributes in domain order.

    Raises:
        ModelError: an intermediate table would be too large.
    """
    factors: list[tuple[dict[str, int], Array]] = []
    needed = dict.fromkeys(clique, 0)
    coarser: dict[str, list[float]] = {}
    for child, _, _ in conditionals:
        coarser.setdefault(child.name, [math.inf]).append(child.level)
    for child, parents, shares in reversed(conditionals):
        coarser[child.name].pop()
        # Conditionals on which no wanted node depends sum to one; an earlier version may be fine enough.
        if child.name in needed and coarser[child.name][-1] > needed[child.name]:
            factors.append((dict((*parents, child)), shares))
            for parent in parents:
                needed[parent.name] = min(needed.get(parent.name, parent.level), parent.level)
    left = [name for name in needed if name not in clique]
    while left:
        name = min(left, key=lambda name: (_cells(levels, _joint_scope(factors, name)), name))
        left.remove(name)
        scope = _joint_scope(factors, name)
        product = _product(levels, [factor for factor in factors if name in factor[0]], scope)
        factors = [factor for factor in factors if name not in factor[0]]
        axis = list(scope).index(name)
        factors.append(({n: level for n, level in scope.items() if n != name}, product.sum(axis=axis)))
    return _product(levels, factors, dict.fromkeys(clique, 0)).ravel()


def _joint_scope(factors: Sequence[tuple[dict[str, int], Array]], name: str) -> dict[str, int]:
    """The scope of the product of all factors that contain an attribute, each attribute at its finest."""
    scope: dict[str, int] = {}
    for own, _ in factors:
        if name in own:
            scope |= {n: min(level, scope.get(n, level)) for n, level in own.items()}
    return scope


def _cells(levels: Levels, scope: dict[str, int]) -> int:
    return math.prod(levels.size(Node(name, level)) for name, level in scope.items())


def _product(levels: Levels, factors: Sequence[tuple[dict[str, int], Array]], scope: dict[str, int]) -> Array:
    if _cells(levels, scope) > NETWORK_TABLE_CELLS:
        raise ModelError(
            f"expected at most {NETWORK_TABLE_CELLS} cells in each intermediate table of a network's "
            "marginal, got more; ask for fewer attributes"
        )
    product = np.ones(levels.shape(Node(name, level) for name, level in scope.items()))
    for own, values in factors:
        order = [name for name in scope if name in own]
        spread = values.transpose([list(own).index(name) for name in order])
        for axis, name in enumerate(order):
            finer, coarser = scope[name], own[name]
            if finer < coarser:
                codes = np.arange(levels.size(Node(name, finer))) // levels.width(coarser - finer)
                spread = spread.take(codes, axis=axis)
        product *= spread.reshape([product.shape[i] if n in own else 1 for i, n in enumerate(scope)])
    return product

"""A model of the records that meet a condition, exact: evidence is multiplied into a junction tree.

A condition weighs the codes of some attributes: 1 where a record with the code meets it, 0 where none does,
and a share where only some values of the code do. The conditional distribution is the model's, times the
weights. It has the same junction tree, so rows are drawn from it as from any model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from ...common.errors import ModelError
from .grouped_marginals import grouped_marginals
from .model import MarkovRandomField
from .supplemented import GroupedMarginal, SupplementedModel

Array = NDArray[np.float64]
Weights = Mapping[str, Array]
"""Attribute -> weight of each of its codes, from 0 to 1."""

_LATEST: WeakKeyDictionary[MarkovRandomField | SupplementedModel, tuple[bytes, Conditioned]] = (
    WeakKeyDictionary()
)
"""The latest condition of each model and the model given it; rows are often drawn under one several times."""

_RAKINGS = 50
"""Times that a pair is scaled to its two one-way marginals in turn."""


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A model given a condition.

    Attributes:
        model: distribution of the records that meet it; the total is that of the model before.
        probability: share of the records that meet it, by the junction tree.
    """

    model: MarkovRandomField | SupplementedModel
    probability: float


def conditioned(model: MarkovRandomField | SupplementedModel, weights: Weights) -> Conditioned:
    """The model of the records that meet a condition.

    The pairs of a `SupplementedModel` that contain all attributes of the condition are known given it, and
    are exact too. Of another pair only the association is known: what the pair adds to the tree's, as a
    factor of each cell. Such a pair is the tree's times this factor, scaled to the one-way marginals; all
    three but the factor given the condition. So are marginals of groups of codes.

    Args:
        model: distribution of all records.
        weights: weight of each code, shape (size,), for the attributes of the condition.

    Raises:
        ModelError: no record of the model meets the condition.
    """
    condition = b"".join(name.encode() + weights[name].tobytes() for name in sorted(weights))
    latest = _LATEST.get(model)
    if latest is None or latest[0] != condition:
        latest = condition, _condition_model(model, weights)
        _LATEST[model] = latest
    return latest[1]


def _condition_model(model: MarkovRandomField | SupplementedModel, weights: Weights) -> Conditioned:
    if isinstance(model, MarkovRandomField):
        return Conditioned(*_tree(model, weights))
    tree, probability = _tree(model.model, weights)
    before = model.model.marginals_within_limits(model.pairs)
    after = tree.marginals_within_limits(model.pairs)
    pairs: dict[Clique, Array] = {}
    for (pair, marginal), old, new in zip(model.pairs.items(), before, after, strict=True):
        weighted = _weighted_pair(model, pair, marginal, weights)
        if set(weights) <= set(pair) and weighted.sum() > 0:
            pairs[pair] = (weighted * (model.model.total / weighted.sum())).ravel()
        elif old is not None and new is not None:
            added = np.divide(marginal, old, out=np.zeros_like(marginal), where=old > 0)
            pairs[pair] = _rake_to_margins(
                new.reshape(model.domain.shape(pair)), (new * added).reshape(weighted.shape)
            )
    grouped = tuple(_grouped_given(model, tree))
    return Conditioned(SupplementedModel(tree, pairs, model.larger, grouped), probability)


def _grouped_given(before: SupplementedModel, after: MarkovRandomField) -> Iterator[GroupedMarginal]:
    """Grouped marginals given the condition: the tree's, times what each adds to the tree's without it."""
    wanted = [(one.clique, one.groups) for one in before.grouped]
    found = grouped_marginals(after, wanted)
    for one, old, new in zip(before.grouped, before.grouped_in_tree, found, strict=True):
        if old is not None and new is not None:
            counts = new * np.divide(one.counts, old, out=np.zeros_like(old), where=old > 0)
            if counts.sum() > 0:
                yield replace(one, counts=counts * (after.total / counts.sum()))


def _tree(model: MarkovRandomField, weights: Weights) -> tuple[MarkovRandomField, float]:
    """Collects the weighted beliefs towards the root, and distributes the sums from there.

    Source: Lauritzen and Spiegelhalter, Local computations with probabilities (1988), sections 6 and 7.
    """
    tree, sizes = model.tree, dict(zip(model.domain.names, model.domain.sizes, strict=True))
    left, factors = dict(weights), []
    for clique, belief in zip(tree.cliques, model.beliefs, strict=True):
        factor = belief / model.total
        for name in set(clique).intersection(left):
            factor = factor * left.pop(name).reshape([sizes[n] if n == name else 1 for n in clique])
        factors.append(factor)
    for place in range(len(factors) - 1, 0, -1):
        parent, axes = tree.parents[place], _others(tree.cliques[place], tree.separators[place])
        given = _share(factors[place].sum(axis=axes), model.beliefs[place].sum(axis=axes) / model.total)
        shape = _broadcast_shape(tree.cliques[parent], tree.separators[place], sizes)
        factors[parent] = factors[parent] * given.reshape(shape)
    probability = float(factors[0].sum())
    if not probability > 0.0:
        raise ModelError("the model has no record that meets the condition; widen it")
    factors[0] = factors[0] * (model.total / probability)
    for place in range(1, len(factors)):
        parent, separator = tree.parents[place], tree.separators[place]
        axes = _others(tree.cliques[place], separator)
        wanted = factors[parent].sum(axis=_others(tree.cliques[parent], separator))
        ratio = _share(wanted, factors[place].sum(axis=axes))
        factors[place] = factors[place] * ratio.reshape(
            _broadcast_shape(tree.cliques[place], separator, sizes)
        )
    found = MarkovRandomField(model.domain, tree, tuple(factors), model.total, {}, 0.0, 0)
    return found, min(probability, 1.0)


def _others(clique: Clique, separator: Clique) -> tuple[int, ...]:
    """The axes of a clique that are not in its separator."""
    return tuple(axis for axis, name in enumerate(clique) if name not in separator)


def _broadcast_shape(clique: Clique, separator: Clique, sizes: Mapping[str, int]) -> list[int]:
    """The shape of a table over the separator, to be multiplied into one over the clique."""
    return [sizes[name] if name in separator else 1 for name in clique]


def _share(part: Array, whole: Array) -> Array:
    """A quotient; 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _weighted_pair(model: SupplementedModel, pair: Clique, marginal: Array, weights: Weights) -> Array:
    table = marginal.reshape(model.domain.shape(pair))
    first, second = (weights.get(name, np.ones(model.domain[name].size)) for name in pair)
    weighted: Array = table * first[:, None] * second
    return weighted


def _rake_to_margins(margins: Array, table: Array) -> Array:
    """A table scaled to the row and column sums of another; the other where that has no effect.

    Source: Deming and Stephan, On a least squares adjustment of a sampled frequency table (1940).
    """
    rows, columns = margins.sum(axis=1), margins.sum(axis=0)
    # A little of the tree's own pair, so that rows and columns without any of the other keep their sums.
    found = table + 1e-9 * margins
    for _ in range(_RAKINGS):
        found = found * _share(rows, found.sum(axis=1))[:, None]
        found = found * _share(columns, found.sum(axis=0))
    raked: Array = found * (rows.sum() / found.sum())
    return raked.ravel()

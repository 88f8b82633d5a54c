"""Groups of codes by which marginals of three and more attributes are counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.attribute import Attribute
from ....common.data.boolean import BooleanAttribute
from ....common.data.categorical import CategoricalAttribute
from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Grouping, Groups

Array = NDArray[np.float64]

_FEW = 10
"""Attributes of more codes, which are rarely classes, are grouped before others,"""
_LEAST = 4
"""down to this number of groups."""


def groups_within(
    domain: Domain, clique: Clique, shares: Mapping[str, Array], most_cells: float
) -> Groups | None:
    """Groups of nearly equal shares, so few that their marginal has at most so many cells.

    Attributes whose codes have an order lose groups first, down to three, because neighbours are alike.

    Args:
        domain: domain of the table.
        clique: attributes to be grouped.
        shares: shares of the codes of each attribute, shape (n,), from noisy counts.
        most_cells: largest number of cells.

    Returns:
        The groups, empty if none are needed; None if two groups of each attribute are too many cells.
    """
    sizes = {name: domain[name].size for name in clique}
    many = [name for name in clique if sizes[name] > _FEW]
    for names, least in ((many, _LEAST), (clique, 2)):
        while math.prod(sizes.values()) > most_cells:
            largest = max(names, key=sizes.__getitem__, default=None)
            if largest is None or sizes[largest] <= least:
                break
            sizes[largest] -= 1
    if math.prod(sizes.values()) > most_cells:
        return None
    found = tuple(_grouping(domain[name], shares[name], size) for name, size in sizes.items())
    return found if any(found) else ()


def has_order(attribute: Attribute) -> bool:
    """Whether neighbouring codes are alike: of numbers, dates and ordered categories."""
    if isinstance(attribute, CategoricalAttribute):
        return attribute.ordered
    return not isinstance(attribute, BooleanAttribute)


def _grouping(attribute: Attribute, shares: Array, groups: int) -> Grouping:
    """So many groups of an attribute's codes, or fewer if single codes hold much."""
    if groups >= attribute.size:
        return ()
    if has_order(attribute):
        return neighbours(shares, groups)
    return largest_alone(shares, groups)


def neighbours(shares: Sequence[float] | Array, groups: int) -> Grouping:
    """At most so many groups, and at least two, of neighbouring codes with nearly equal shares.

    A code with more than its group's share leaves the rest to be divided among the others.
    """
    left, open_groups = float(np.sum(shares)), groups
    labels, group, held = [], 0, 0.0
    last = len(shares) - 1
    for code, share in enumerate(shares):
        wanted = left / open_groups
        # Start a new group if that brings the one before closer to its share.
        if held and open_groups > 1 and abs(held - wanted) <= abs(held + share - wanted):
            left, open_groups, group, held = left - held, open_groups - 1, group + 1, 0.0
        elif code == last and not group and held >= 0 and code:
            group += 1
        labels.append(group)
        held += float(share)
    return tuple(labels)


def largest_alone(shares: Sequence[float] | Array, groups: int) -> Grouping:
    """The largest codes each by itself, and all others together."""
    order = np.argsort(-np.asarray(shares), kind="stable")
    alone = sorted(order[: groups - 1].tolist())
    label = {code: place for place, code in enumerate(alone)}
    return tuple(label.get(code, groups - 1) for code in range(len(shares)))

"""Groups of codes by which marginals of three and more attributes are counted."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute
from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Grouping, Groups

Array = NDArray[np.float64]

_CLASS_CODES = 10
"""Attributes of more codes are grouped before those of at most so many, which are often classes,"""
_LEAST_GROUPS = 4
"""down to so many groups."""

_EVEN_WEIGHT = 1.0
"""Weight of even shares of groups beside profiles that are alike."""

_PROFILED_CODES = 128
"""Of more codes, groups have even shares, whatever the profiles."""


def groups_within(
    domain: Domain,
    clique: Clique,
    shares: Mapping[str, Array],
    most_cells: float,
    profiles: Mapping[str, Array] | None = None,
    found: dict[tuple[str, int], Grouping] | None = None,
) -> Groups | None:
    """Groups of codes, so few that their marginal has at most so many cells.

    Args:
        domain: domain of the table.
        clique: attributes to be grouped.
        shares: shares of the codes of each attribute, shape (n,), from noisy counts.
        most_cells: largest number of cells.
        profiles: of some attributes what each code goes with, shape (n, m): groups of these are alike in
            that, others have nearly equal shares.
        found: attribute and number of groups -> groups, from earlier calls with the same shares and profiles;
            gets new ones.

    Returns:
        The groups, empty if none are needed; None if two groups of each attribute are too many cells.
    """
    sizes = {name: domain[name].size for name in clique}
    many = [name for name in clique if sizes[name] > _CLASS_CODES]
    sizes = _capped(sizes, many, _LEAST_GROUPS, most_cells)
    sizes = _capped(sizes, clique, 2, most_cells)
    if math.prod(sizes.values()) > most_cells:
        return None
    known = {} if found is None else found
    for name, size in sizes.items():
        if (name, size) not in known:
            profile = None if profiles is None else profiles.get(name)
            known[name, size] = _grouping(domain[name], shares[name], size, profile)
    groups = tuple(known[key] for key in sizes.items())
    return groups if any(groups) else ()


def neighbours(shares: Sequence[float] | Array, groups: int) -> Grouping:
    """At most so many groups of neighbouring codes with nearly equal shares; at least two.

    A code with more than a group's share leaves the rest to be divided among the other groups.

    Args:
        shares: of at least two codes.
        groups: at least two.
    """
    left, open_groups = float(np.sum(shares)), groups
    labels: list[int] = []
    held = 0.0
    for code, share in enumerate(np.asarray(shares, dtype=float).tolist()):
        wanted = left / open_groups
        # A new group starts if that brings the one before closer to its share, and at the last chance.
        closer = held > 0 and open_groups > 1 and abs(held - wanted) <= abs(held + share - wanted)
        if labels and (closer or (code == len(shares) - 1 and labels[-1] == 0)):
            left, open_groups, held = left - held, open_groups - 1, 0.0
            labels.append(labels[-1] + 1)
        else:
            labels.append(labels[-1] if labels else 0)
        held += share
    return tuple(labels)


def alike(shares: Array, profiles: Array, groups: int) -> Grouping:
    """So many groups of neighbouring codes, alike in their profiles, by dynamic programming.

    The sum over groups is minimal of the variance of profiles within the group, weighted by shares, plus
    `_EVEN_WEIGHT` times the variance within all codes times the square of the group's share.

    Source: Jenks and Caspall, Error on choroplethic maps (1971), and Fisher (1958), the exact optimum.

    Args:
        shares: of at least as many codes as groups, shape (n,).
        profiles: of each code, shape (n, m).
        groups: at least two.
    """
    held = np.concatenate([[0.0], np.cumsum(shares)])
    sums = np.vstack([np.zeros(profiles.shape[1]), np.cumsum(shares[:, None] * profiles, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum(shares * (profiles**2).sum(axis=1))])
    size = len(shares)
    share = held[None, :] - held[:, None]
    # costs[i, j] is that of the codes i to j - 1.
    costs = squares[None, :] - squares[:, None]
    costs -= ((sums[None, :] - sums[:, None]) ** 2).sum(axis=2) / np.maximum(share, 1e-300)
    costs = np.where(share > 0, np.maximum(costs, 0.0) + _EVEN_WEIGHT * costs[0, -1] * share**2, np.inf)
    best, cuts = costs[0], []
    for _ in range(groups - 1):
        total = best[:, None] + costs
        cuts.append(total.argmin(axis=0))
        best = total.min(axis=0)
    starts, stop = [], size
    for cut in reversed(cuts):
        stop = int(cut[stop])
        starts.append(stop)
    labels = np.zeros(size, dtype=int)
    labels[starts] = 1
    return tuple(np.cumsum(labels).tolist())


def largest_alone(shares: Sequence[float] | Array, groups: int) -> Grouping:
    """The codes with the largest shares each by itself, and all others together in the last group."""
    order = np.argsort(-np.asarray(shares), kind="stable")
    alone = {code: place for place, code in enumerate(sorted(order[: groups - 1].tolist()))}
    return tuple(alone.get(code, groups - 1) for code in range(len(shares)))


def _capped(
    sizes: Mapping[str, int], names: Collection[str], least: int, most_cells: float
) -> dict[str, int]:
    """The sizes with the largest limit for these attributes that leaves few enough cells, or else `least`."""
    low, high = least, max((sizes[name] for name in names), default=least)

    def within(limit: int) -> dict[str, int]:
        return {name: min(size, limit) if name in names else size for name, size in sizes.items()}

    while low < high:
        middle = (low + high + 1) // 2
        if math.prod(within(middle).values()) <= most_cells:
            low = middle
        else:
            high = middle - 1
    return within(low)


def _grouping(attribute: Attribute, shares: Array, groups: int, profiles: Array | None) -> Grouping:
    """So many groups of an attribute's codes, or fewer if single codes hold much."""
    if groups >= attribute.size:
        return ()
    if not _has_order(attribute):
        return largest_alone(shares, groups)
    if profiles is not None and attribute.size <= _PROFILED_CODES:
        return alike(shares, profiles, groups)
    return neighbours(shares, groups)


def _has_order(attribute: Attribute) -> bool:
    """Whether neighbouring codes may be alike: of numbers, dates, plain codes and ordered categories."""
    if isinstance(attribute, CategoricalAttribute):
        return attribute.ordered
    return not isinstance(attribute, BooleanAttribute)

"""How far measurements tell two neighbouring tables apart, by what each says of a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Grouping, grouped
from ...common.data.interactions import freedom
from ...common.data.view import View

Alike = tuple[bool, ...]
"""For each grouping of an attribute, whether two codes have one group in it."""


def one_record(domain: Domain, sigmas: Mapping[View, float]) -> float:
    """mu^2 of removing a record, which is the same for all: the interaction of a cell has one norm.

    Args:
        domain: of the table.
        sigmas: measured interactions, with the standard deviations of their noise.
    """
    return sum(freedom(view.shape(domain)) / sigma**2 for view, sigma in sigmas.items())


def two_records(domain: Domain, sigmas: Mapping[View, float]) -> tuple[float, Clique]:
    """mu^2 of replacing a record by another, of the worst two that a search finds.

    It follows from the columns in which the two agree, and from the groups that they share in others.

    Args:
        domain: of the table.
        sigmas: measured interactions, with the standard deviations of their noise.

    Returns:
        mu^2, and the columns in which the two agree.
    """
    groupings: dict[str, dict[Grouping, int]] = {}
    for view in sigmas:
        for name, labels in view.groupings:
            groupings.setdefault(name, {}).setdefault(labels, len(groupings[name]))
    products = [
        (
            sigma**-2,
            [
                (name, groupings[name][labels], 1 / size)
                for (name, labels), size in zip(view.groupings, view.shape(domain), strict=True)
            ],
        )
        for view, sigma in sigmas.items()
    ]

    def common(two: Mapping[str, Alike]) -> float:
        """<v, v'> of the two."""
        return sum(
            weight * math.prod(two[name][place] - share for name, place, share in factors)
            for weight, factors in products
        )

    choices = [(name, alike) for name, each in groupings.items() for alike in _pairs(domain, name, [*each])]
    two = dict(choices)
    least = common(two)
    while True:
        found, place = min((common(two | dict([choice])), place) for place, choice in enumerate(choices))
        if found >= least:
            break
        least, two = found, two | dict([choices[place]])
    agree = domain.canonical(name for name, alike in two.items() if all(alike))
    return 2 * one_record(domain, sigmas) - 2 * least, agree


def _pairs(domain: Domain, name: str, groupings: Sequence[Grouping]) -> list[Alike]:
    """What two codes of an attribute may share, from the most to the least.

    Codes that no grouping tells apart are alike to all others, so that two of each kind stand for all.
    """
    codes = np.arange(domain[name].size)
    labels = np.stack([grouped(codes, len(codes), one)[0] for one in groupings], axis=1)
    kinds = np.column_stack([np.zeros_like(codes), labels[:, [bool(one) for one in groupings]]])
    _, first = np.unique(kinds, axis=0, return_index=True)
    others = np.setdiff1d(codes, first)
    _, second = np.unique(kinds[others], axis=0, return_index=True)
    some = labels[np.concatenate([first, others[second]])]
    alike = np.unique((some[:, None] == some).reshape(-1, len(groupings)), axis=0)
    return sorted((tuple(one) for one in alike.tolist()), key=sum, reverse=True)

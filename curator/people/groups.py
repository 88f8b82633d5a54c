"""Groups of codes: what rows know of columns above them and before them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import bins_of

MOST_CODE_GROUPS = 16
"""Most groups of codes of a column, beside that of missing values."""

OTHERS = "others"
"""The category of all categories that are not frequent."""


def even_groups(attribute: Attribute) -> tuple[int, ...] | None:
    """Groups of about equally many neighbouring bins; None if there are few."""
    bins = bins_of(attribute)
    assert bins is not None
    size = len(bins.cells)
    if size <= MOST_CODE_GROUPS:
        return None
    groups = (np.arange(size) * MOST_CODE_GROUPS // size).tolist()
    return (*groups, *range(MOST_CODE_GROUPS, MOST_CODE_GROUPS + bins.others))


def groups_by_mass(mass: NDArray[np.float64], ordered: bool, apart: int) -> tuple[int, ...] | None:
    """Groups of about equal mass of neighbouring codes, or frequent categories and all others.

    Args:
        mass: how frequent each code is, not negative, shape (codes,).
        ordered: whether the codes have an order.
        apart: so many codes at the end stand apart from it.

    Returns:
        The group of each code; None if there are few codes.
    """
    size = len(mass) - apart
    if size <= MOST_CODE_GROUPS:
        return None
    if not ordered:
        kept = np.sort(np.argsort(-mass, kind="stable")[: MOST_CODE_GROUPS - 1])
        groups = np.full(size, MOST_CODE_GROUPS - 1)
        groups[kept] = np.arange(MOST_CODE_GROUPS - 1)
        return tuple(groups.tolist())
    share = np.cumsum(mass[:size]) / max(mass[:size].sum(), 1e-300)
    cut = np.minimum((share * MOST_CODE_GROUPS * (1 - 1e-9)).astype(np.int64), MOST_CODE_GROUPS - 1)
    _, groups = np.unique(cut, return_inverse=True)
    return (*groups.tolist(), *(int(groups.max()) + 1 + np.arange(apart)).tolist())


def column_of_groups(
    attribute: Attribute, groups: tuple[int, ...], name: str, more: str | None = None
) -> CategoricalAttribute:
    """The groups as a column of categories, with one more at the end if it is named."""
    bins = bins_of(attribute)
    codes = np.array(groups)
    names: list[str] = []
    for group in range(max(groups) + 1):
        members = np.flatnonzero(codes == group)
        if bins is not None:
            beside = members[0] - len(bins.cells)
            label = (
                f"from {bins.reach[members[0], 0]:.10g}" if beside < 0 else [*bins.texts, "missing"][beside]
            )
        elif isinstance(attribute, CategoricalAttribute):
            last = group == max(groups) and len(members) > 1
            label = OTHERS if last else list(attribute.codes)[members[0]]
        else:
            label = str(members[0])
        names.append(_distinct(label, {*names, more}))
    return CategoricalAttribute(name, (*names, *(() if more is None else (more,))))


def _distinct(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "_"
    return name

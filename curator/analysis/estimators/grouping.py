"""Groups of alike rows, by the columns that a function reads; and values of groups as functions of a row."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.data.attributes.numeric import NumericAttribute
from ....common.errors import DataError
from ..published import Published

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

JACKKNIFE_GROUPS = 1000
"""Largest number of groups; the function runs once or more for each."""

_MOST_LEVELS = 256
"""Of one column, at the start."""

_CATEGORY_INDICATORS = 20
_QUADRATIC_FIT = 0.9
"""Share of the variance between groups that a quadratic function has to explain before it is used in them."""


def groups_of(published: Published, columns: Sequence[str]) -> Labels:
    """The group of each row of the synthetic table, from 0, shape (rows,).

    Rows of a group agree in the columns, up to ranges of numbers between quantiles, and rare categories that
    count as one.

    Raises:
        DataError: the columns have too many combinations.
    """
    limits = dict.fromkeys(columns, _MOST_LEVELS)
    levels = {name: _levels(published, name, _MOST_LEVELS) for name in columns}
    while True:
        labels = np.zeros(len(published.frame), dtype=np.int64)
        for found in levels.values():
            _, labels = np.unique(labels * (int(found.max()) + 1) + found, return_inverse=True)
        if labels.max() < JACKKNIFE_GROUPS:
            return labels
        widest = max(columns, key=lambda name: int(levels[name].max()))
        if levels[widest].max() < 2:
            raise DataError(
                f"columns: expected a function of fewer columns, got one of {len(columns)}, which have too "
                "many combinations; use mean, proportion, linear or logistic, or a simpler function"
            )
        limits[widest] = int(levels[widest].max() + 1) // 2 + 1
        levels[widest] = _levels(published, widest, limits[widest])


def spread_over_rows(published: Published, columns: Sequence[str], labels: Labels, values: Array) -> Array:
    """Values of groups as values of their rows.

    If a quadratic function of a row's numbers and categories explains the values of groups well, rows of a
    group differ as it says, around the group's value. Otherwise they are equal.

    Args:
        published: the release.
        columns: on which the values depend.
        labels: the group of each row.
        values: one column for each function, shape (groups, q).

    Returns:
        Shape (rows, q).
    """
    counts = np.bincount(labels).astype(np.float64)
    features = _features(published, columns, len(counts) // 4)
    means = np.column_stack([np.bincount(labels, column) / counts for column in features.T])
    roots = np.sqrt(counts)[:, None]
    fitted = np.linalg.lstsq(means * roots, values * roots, rcond=1e-8)[0]
    left = values - means @ fitted
    varies = counts @ (values - counts @ values / counts.sum()) ** 2
    fits = counts @ left**2 <= (1 - _QUADRATIC_FIT) * varies
    return np.where(fits, features @ fitted + left[labels], values[labels])


def _levels(published: Published, name: str, limit: int) -> Labels:
    """A column as at most so many levels, from 0."""
    codes = published.rows.column(name).astype(np.int64)
    if isinstance(published.domain[name], NumericAttribute):
        numbers = published.frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        missing = np.isnan(numbers)
        if missing.all():
            return np.zeros(len(codes), dtype=np.int64)
        edges = np.unique(np.quantile(numbers[~missing], np.linspace(0, 1, max(limit - 1, 2))[1:-1]))
        found = np.searchsorted(edges, np.nan_to_num(numbers), side="right")
        found[missing] = len(edges) + 1
    else:
        counts = np.bincount(codes)
        order = np.argsort(-counts, kind="stable")
        places = np.empty(len(counts), dtype=np.int64)
        places[order] = np.minimum(np.arange(len(counts)), limit - 1)
        found = places[codes]
    _, dense = np.unique(found, return_inverse=True)
    return dense


def _features(published: Published, columns: Sequence[str], most: int) -> Array:
    """One, numbers, indicators of categories, and products of any two, shape (rows, p).

    If these are more than `most`, the products are left out, or all but the one.
    """
    single: list[tuple[str, Array]] = []
    for name in columns:
        codes = published.rows.column(name).astype(np.int64)
        if isinstance(published.domain[name], NumericAttribute):
            numbers = pd.Series(published.frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
            spread = float(numbers.std()) or 1.0
            single.append((name, ((numbers - numbers.mean()) / spread).fillna(0.0).to_numpy()))
            if numbers.isna().any():
                single.append((name, numbers.isna().to_numpy(dtype=np.float64)))
        else:
            counts = np.bincount(codes)
            common = np.argsort(-counts, kind="stable")[1 : _CATEGORY_INDICATORS + 1]
            single += [(name, (codes == code).astype(np.float64)) for code in common if counts[code]]
    found = [np.ones(published.rows.record_count), *(values for _, values in single)]
    numeric = {name for name in columns if isinstance(published.domain[name], NumericAttribute)}
    products = [
        one * other
        for (first, one), (second, other) in itertools.combinations_with_replacement(single, 2)
        if first != second or (first in numeric and one is other)
    ]
    if len(found) + len(products) <= most:
        found += products
    return np.column_stack(found) if len(found) <= most else found[0][:, None]

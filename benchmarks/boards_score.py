"""The score of pairs of SDNist (github.com/usnistgov/SDNist), for the coded table of the board of NIST.

What is computed is what `sdnist/metrics/kmarginal.py` and `sdnist/report/dataset/binning.py` compute in its
version of July 2025; the text is ours. Bins of numbers come from the real table, as there: they are part of
the judge, and no mechanism sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpmosaic.common.data.table import Table

Codes = NDArray[np.int64]

BINS = 20
"""The most codes of a column of numbers, that of missing values among them."""

NUMBERS = {"agep": False, "pincp": True, "povpip": True, "pwgtp": False, "wgtp": False}
"""Columns that are put into bins -> whether code 0 is a missing value."""

ABOVE_ALL = ("povpip", 1)
"""A code that stands for numbers above those of all others: an income above five times the poverty line."""

DENSITIES = (16.3, 52864.7)
"""The bounds of the dictionary, in people for each square mile."""

# The first two digits of the areas in the order of their codes.
_STATES = (1, 6, 6, 8, 13, 17, 17, 19, 24, 26, 28, 29, 30, 32, 36, 36, 38, 40, 51, 51)


@dataclass(frozen=True)
class Score:
    """The score of a table, from 0 to 1000.

    Attributes:
        value: 1000 if all pairs are as in the real table, 0 if they have no cell in common.
        groups: code of the group -> its own score; empty without groups.
    """

    value: float
    groups: Mapping[int, float]


def judge(real: Table, other: Table) -> dict[str, float]:
    """The score, with that of the worst area and of the worst state if the table names areas.

    Args:
        real: the table that is judged by.
        other: of the same domain, with any number of records.
    """
    ours, theirs = bin_columns(real, other)
    if "puma" not in ours:
        return {"score": k_marginal(ours, theirs).value}
    by_area = k_marginal(ours, theirs, "puma")
    states = [{**table, "puma": np.asarray(_STATES)[table["puma"]]} for table in (ours, theirs)]
    by_state = k_marginal(*states, "puma")
    return {
        "score": by_area.value,
        "worst area": min(by_area.groups.values()),
        "score by state": by_state.value,
        "worst state": min(by_state.groups.values()),
    }


def bin_columns(real: Table, other: Table) -> tuple[dict[str, Codes], dict[str, Codes]]:
    """The columns of both tables, numbers in bins of equal frequency in the real one."""
    found: tuple[dict[str, Codes], dict[str, Codes]] = ({}, {})
    for name in real.domain.names:
        pair = [np.asarray(table.column(name), dtype=np.int64) for table in (real, other)]
        if name == ABOVE_ALL[0]:
            pair = [np.where(codes == ABOVE_ALL[1], real.domain[name].size, codes) for codes in pair]
        if name == "density":
            pair = [_bin_densities(codes, real.domain[name].size) for codes in pair]
        elif name in NUMBERS:
            pair = list(bin_numbers(*pair, nullable=NUMBERS[name]))
        for columns, codes in zip(found, pair, strict=True):
            columns[name] = codes
    return found


def bin_numbers(real: Codes, other: Codes, nullable: bool) -> tuple[Codes, Codes]:
    """Bins that are closed on the right, at quantiles of the real column; 0 stays for missing values.

    Numbers of the other column beyond those of the real one have a bin of their own, in place of another.
    """
    ours, theirs = [codes[codes > 0] if nullable else codes for codes in (real, other)]
    theirs = theirs if len(theirs) else ours
    low, high = min(ours.min(), theirs.min()), max(ours.max(), theirs.max())
    bins = BINS - nullable - (low < ours.min()) - (high > ours.max())
    quantiles = np.quantile(ours, np.arange(bins) / bins, method="higher")
    edges = np.unique([low, *quantiles, ours.max(), high])
    binned = [1 + np.searchsorted(edges[1:], codes) for codes in (real, other)]
    return tuple(np.where(nullable & (o == 0), 0, b) for o, b in zip((real, other), binned, strict=True))


def _bin_densities(codes: Codes, size: int) -> Codes:
    """SDNist's own bins of densities, for codes of equal width on the logarithmic scale of the dictionary."""
    low, high = np.log10(DENSITIES)
    middles = 10 ** (low + (codes + 0.5) * (high - low) / size)
    edges = [0, 150, *np.logspace(1, np.log10(DENSITIES[1] + 500), 21)[8:]]
    return np.searchsorted(edges[1:], middles)


def k_marginal(real: Mapping[str, Codes], other: Mapping[str, Codes], group: str | None = None) -> Score:
    """The mean over all pairs of 1000 less 500 times the L1 distance of their shares.

    With a group, the marginals are of the group and a pair; the score of a group is 1000 times one less the
    mean of its L1 distance over its share, which counts as one at most.

    Args:
        real: column -> codes from 0 on, shape (N,).
        other: the same columns, shape (M,).
        group: a column.
    """
    names = sorted(set(real) - {group})
    first = [group] if group else []
    distances, of_groups = [], []
    for pair in combinations(names, 2):
        columns = [*first, *pair]
        shape = [1 + max(real[name].max(), other[name].max()) for name in columns]
        shares = [_shares([table[name] for name in columns], shape) for table in (real, other)]
        apart = np.abs(shares[0] - shares[1])
        distances.append(apart.sum())
        if group:
            its = shares[0].sum(axis=(1, 2))
            present = np.flatnonzero(its)
            of_groups.append(np.minimum(apart.sum(axis=(1, 2)), its)[present] / its[present])
    scores = 1000 * (1 - np.mean(of_groups, axis=0)) if group else []
    codes = np.unique(real[group]) if group else []
    return Score(
        float(1000 - 500 * np.mean(distances)),
        {int(code): float(score) for code, score in zip(codes, scores, strict=True)},
    )


def _shares(columns: list[Codes], shape: list[int]) -> NDArray[np.float64]:
    cells = np.ravel_multi_index(tuple(columns), shape)
    counts = np.bincount(cells, minlength=int(np.prod(shape)))
    return counts.reshape(shape) / len(cells)

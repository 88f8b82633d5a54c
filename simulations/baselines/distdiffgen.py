"""DistDiffGen: two vertical parties specialise attributes to predict one label.

Source: Mohammed et al., "Secure two-party differentially private data release for vertically partitioned
data" (2014), after its published description: every attribute starts generalised to one value, an
exponential mechanism selects what to specialise next, and noise is added to the counts of the leaves.

Half of the budget is for selection, half for counts. The secure protocols of the two parties compute the same
as one trusted place.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.privacy.budget import Budget
from ..parties.partition import Grid
from .baseline import Baseline, FloatMeasurer, vertical_parties

SPECIALISATIONS = 8
_HALF = Fraction(1, 2)

Interval = tuple[int, int]


def release(
    table: Table, grid: Grid, budget: Budget, protocol: str, label: str | None, stream: RandomStream
) -> Table:
    """Rows drawn uniformly inside the leaves; parties measure as this module says, `protocol` is ignored.

    Raises:
        DataError: there are not two vertical parties, or no label.
    """
    if len(vertical_parties("distdiffgen", table, grid)) != 2:
        raise DataError("distdiffgen: expected two parties that hold the same records; give a grid of 1x2")
    if label is None:
        raise DataError("distdiffgen: expected a label to specialise attributes for, got none; name one")
    granted = budget.granted(gaussian_only=False)
    measurer = FloatMeasurer(table, granted, stream.child("noise").generator())
    cut = _cut(table, label, measurer, granted * _HALF)
    rng = stream.child("rows").generator()
    return _rows(table, label, cut, measurer, granted * _HALF, rng)


def _cut(table: Table, label: str, measurer: FloatMeasurer, rho: Fraction) -> dict[str, list[Interval]]:
    """The intervals of codes that each attribute is specialised to; a specialisation halves one of them.

    The score is the number of records that have the most common label of their half; one record changes it
    by at most 1.
    """
    cut: dict[str, list[Interval]] = {
        name: [(0, table.domain[name].size)] for name in table.domain if name != label
    }
    counts = {name: _by_label(table, name, label) for name in cut}
    for _ in range(SPECIALISATIONS):
        open_ = [
            (name, interval)
            for name, found in cut.items()
            for interval in found
            if interval[1] - interval[0] > 1
        ]
        if not open_:
            break
        scores = [
            sum(float(counts[name][low:high].sum(axis=0).max()) for low, high in _halves(interval))
            for name, interval in open_
        ]
        name, interval = open_[measurer.choose(scores, 1.0, rho / SPECIALISATIONS, "specialise")]
        place = cut[name].index(interval)
        cut[name][place : place + 1] = _halves(interval)
    return cut


def _halves(interval: Interval) -> list[Interval]:
    low, high = interval
    middle = (low + high) // 2
    return [(low, middle), (middle, high)]


def _by_label(table: Table, name: str, label: str) -> NDArray[np.int64]:
    """Counts of shape (codes, labels)."""
    clique = table.domain.canonical((name, label))
    joint = table.marginal(clique).reshape(table.domain.shape(clique))
    return joint if clique[0] == name else joint.T


def _rows(
    table: Table,
    label: str,
    cut: dict[str, list[Interval]],
    measurer: FloatMeasurer,
    rho: Fraction,
    rng: np.random.Generator,
) -> Table:
    """As many rows as the table has, drawn from the noisy counts of leaves and labels."""
    split = [name for name, found in cut.items() if len(found) > 1]
    shape = [len(cut[name]) for name in split] + [table.domain[label].size]
    places = [_places(table.column(name), cut[name]) for name in split]
    leaves = np.ravel_multi_index((*places, table.column(label).astype(np.int64)), shape)
    noisy = measurer.histogram(leaves, int(np.prod(shape)), rho, "leaves")
    counts = np.maximum(noisy, 0.0)
    shares = counts / counts.sum() if counts.sum() > 0 else np.full(counts.size, 1 / counts.size)
    drawn = np.unravel_index(rng.choice(counts.size, size=table.record_count, p=shares), shape)
    columns = {label: drawn[-1]}
    for name, found in cut.items():
        ends = np.array(found)
        chosen = drawn[split.index(name)] if name in split else np.zeros(table.record_count, dtype=np.int64)
        columns[name] = rng.integers(ends[chosen, 0], ends[chosen, 1])
    return Table.from_codes(table.domain, np.column_stack([columns[name] for name in table.domain.names]))


def _places(codes: NDArray[np.unsignedinteger], found: list[Interval]) -> NDArray[np.int64]:
    """The index of each code's interval."""
    return np.asarray(np.searchsorted([high for _, high in found], codes, side="right"), dtype=np.int64)


DISTDIFFGEN = Baseline(
    "DistDiffGen",
    "Two parties that hold the same records specialise attributes to predict a label, and count the leaves.",
    (
        "Halves of an attribute's codes replace the taxonomies that the authors are given.",
        "An interval is scored by the number of records that have the most common label of their half, over "
        "all records and not leaf by leaf.",
        "There are eight specialisations; half of the budget pays for them, half for the counts of the "
        "leaves, with Gaussian noise and zero-concentrated accounting.",
        "Rows are drawn uniformly inside the leaves; the authors publish the leaves.",
    ),
    release,
)

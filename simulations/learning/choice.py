"""What is chosen of what a table leaves open: bins, ends and texts, from noisy counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attribute import Attribute
from ...common.data.coding import Coding, merged_codes, numbers_of
from ...common.data.domain import Domain
from ...common.data.numeric import NumericAttribute
from ...common.data.table import Table, code_dtype
from ...common.data.texts import MOST_LABELS, has_open_categories
from ...common.data.values import Notation
from ...common.measurement import Measurement
from ...curator.certificates.unseen import Unseen
from ...curator.releasing.bins_order import open_numbers
from ...curator.releasing.choosing import chosen_coding, published_marginals
from ...curator.releasing.noisy_counts import NoisyCounts
from .asking import PRESENT, SURE
from .columns import in_list, trimmed
from .learning import Learned
from .private_counts import PrivateCounts
from .ranges import held, single_cells

LIKELY = 0.5
"""Missing values that cells voted for are there if their records exceed so many deviations of their noise."""


@dataclass(frozen=True)
class Rows:
    """The number of rows of a table, as it may be known.

    Attributes:
        records: the number.
        variance: of its noise; zero if it is public.
    """

    records: float
    variance: float = 0.0

    def beside(self, totals: Sequence[NoisyCounts]) -> Rows:
        """The number, from more noisy counts of all rows."""
        if not self.variance:
            return self
        weights, sums = [1 / self.variance], [self.records]
        for counts in totals:
            boxes = -(-(len(counts.sums) - 1) // counts.widths[-1])
            weights.append(1 / (boxes * counts.variances[-1]))
            sums.append(float(counts.sums[-1]))
        return Rows(float(np.average(sums, weights=weights)), 1 / sum(weights))

    @property
    def stated(self) -> int:
        """The number that is published, at least one."""
        return max(1, round(self.records))


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen of what a table's domain leaves open.

    Attributes:
        coding: bins and texts.
        rows: the number of rows.
        within: name -> first bin in which records were seen, and the one after the last.
        before: one-way marginals in the chosen bins.
        beyond: name -> upper limits of the records before and after those bins, unless it is listed.
        listed: name -> number of each bin of a column of which few numbers hold all records.
    """

    coding: Coding
    rows: Rows
    within: Mapping[str, tuple[int, int]]
    before: tuple[Measurement, ...]
    beyond: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    listed: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        counts: PrivateCounts,
        table: Table,
        rows: Rows,
        rho: float,
        left: float,
        delta: float,
        trim: bool = False,
        single: Collection[str] = (),
    ) -> Choice:
        """Chooses from noisy counts.

        Args:
            counts: what counts the table's rows.
            table: the rows.
            rows: their number.
            rho: what the choice may cost.
            left: what the release has, zCDP.
            delta: with which texts of single rows may be chosen.
            trim: whether bounds may be too wide.
            single: columns of which few numbers hold nearly all rows.
        """
        domain = table.domain
        if not domain.open:
            return cls(Coding(), rows, {}, ())
        numbers = open_numbers(domain)
        texts = [name for name in domain.open if name not in numbers]
        each = rho / len(domain.open)
        labels = {name: _labels(counts, table, name, each, delta / len(texts)) for name in texts}
        asked = {name: (domain[name].size, partial(_cells, table, name)) for name in numbers}
        ladders = counts.ladders("bins", asked, each, single)
        free = {name: NoisyCounts.of(ladder) for name, ladder in ladders.items()}
        rows = rows.beside(list(free.values()))
        grids = {name: numbers_of(domain[name]) for name in numbers}
        apart = {name: _without_atoms(free[name], grids[name]) for name in numbers if trim}
        ends = {name: _ends(one, grids[name]) for name, one in apart.items()}
        alone = {name: _single(free[name], domain[name], likely) for name, (_, likely) in ends.items()}
        beyond = {
            name: _beyond(apart[name], grids[name], rows, *likely)
            for name, (_, likely) in ends.items()
            if not len(alone[name])
        }
        measured = [one for name in numbers for one in ladders[name]]
        # What only likely holds records is apart from what does for sure.
        edges = {
            name: {*sure, *likely, *map(int, alone[name]), *map(int, alone[name] + 1)}
            - {len(grids[name].cells)}
            for name, (sure, likely) in ends.items()
        }
        coding = replace(chosen_coding(domain, measured, rows.records, left, edges), labels=labels)
        within, listed = {}, {}
        for name, (_, (first, stop)) in ends.items():
            runs, starts = merged_codes(domain[name], coding.runs[name]), grids[name].cells[:, 0]
            within[name] = int(runs[first]), int(runs[stop - 1]) + 1
            if len(alone[name]):
                listed[name] = {int(runs[cell]): float(starts[cell]) for cell in alone[name]}
        before = published_marginals(domain, measured, rows.records, coding)
        return cls(coding, rows, within, before, beyond, listed)

    def finished(
        self, learned: Learned, table: Table
    ) -> tuple[Table, tuple[Measurement, ...], tuple[Unseen, ...]]:
        """The released columns in chosen bins, the measurements of their codes, and what noise may hide."""
        measured = {one.clique[0]: one for one in self.before}
        attributes, columns, kept, unseen = [], [], [], []
        for name, column in learned.columns.items():
            attribute, codes = table.domain[name], np.arange(table.domain[name].size)
            missing, usual, moved = column.missing, 0, column.unlisted
            if name in measured:
                one, listed = measured[name], self.listed.get(name, {})
                if name in self.within and not listed:
                    atoms = numbers_of(column.reading).atoms
                    attribute, codes = trimmed(attribute, *self.within[name], atoms)
                    one = _merged(one, codes)
                missing = bool(one.values[-1] > (LIKELY if column.missing else PRESENT) * _sigmas(one)[-1])
                if not missing:
                    moved = max(0.0, float(one.values[-1])) + SURE * float(_sigmas(one)[-1])
                    one = replace(one, values=one.values[:-1], sigmas=_sigmas(one)[:-1])
                usual = int(np.argmax(one.values[: attribute.size - 1]))
                if listed:
                    released, last = in_list(name, listed, attribute.size, missing, usual)
                    moved += _others(one, np.setdiff1d(np.arange(attribute.size - 1), list(listed)))
                    one, usual = _merged(one, last[: len(one.values)]), int(last[usual])
                else:
                    released, last = column.finished(attribute, missing, usual)
                kept.append(one)
            else:
                released, last = column.finished(attribute, missing, usual)
                usual = int(last[column.usual])
            attributes.append(released)
            columns.append(last[codes][table.column(name)].astype(code_dtype(released.size)))
            unseen.append(Unseen(name, usual, moved, *self.beyond.get(name, ())))
        found = Table(Domain(tuple(attributes), learned.unmodelled), tuple(columns))
        return found, tuple(kept), tuple(unseen)


def _beyond(
    counts: NoisyCounts, attribute: NumericAttribute, rows: Rows, first: int, stop: int
) -> tuple[float, float]:
    """Upper limits of the records before the first cell and from `stop` on; missing values follow cells.

    They follow from the counts of these cells or, where that has less noise, from all rows without those of
    the cells between.

    Args:
        counts: of the cells, with nothing in atoms.
        attribute: the numbers.
        rows: the number of rows.
        first: the first cell that is kept.
        stop: the one after the last.
    """
    cells, (before, after) = len(attribute.cells), counts.deviations()
    found = [
        (float(before[first]), counts.between(0, first)),
        (float(after[stop]), counts.between(stop, cells)),
    ]
    if not attribute.atoms:
        deviation = math.hypot(math.sqrt(rows.variance), counts.sigma(first, stop))
        rest = deviation, rows.records - counts.between(first, stop)
        found = [min(one, rest, key=lambda each: each[0]) for one in found]
    below, above = (max(0.0, records) + SURE * deviation for deviation, records in found)
    return below, above


def _ends(counts: NoisyCounts, attribute: NumericAttribute) -> tuple[tuple[int, int], tuple[int, int]]:
    """Codes between which records are for sure, and where they likely are; see `held`.

    Beyond the outermost atoms they likely are only if some are for sure.

    Args:
        counts: of the bins, with nothing in the atoms.
        attribute: numbers with open bins.
    """
    sure, likely = held(counts, len(attribute.cells))
    atoms = np.flatnonzero(attribute.alone)
    if not len(atoms):
        return sure, likely
    if sure == (0, len(attribute.cells)):
        # Nothing is seen beside the atoms, or up to both ends of the grid.
        sure = likely = int(atoms[0]), int(atoms[-1]) + 1
    first = max(likely[0], min(sure[0], int(atoms[0])))
    return sure, (first, min(likely[1], max(sure[1], int(atoms[-1]) + 1)))


def _single(counts: NoisyCounts, attribute: Attribute, likely: tuple[int, int]) -> NDArray[np.intp]:
    """The cells of a column of which few numbers hold all records; none of other columns.

    Args:
        counts: of the cells.
        attribute: with open bins.
        likely: the first cell that likely holds records, and the one after the last.
    """
    nothing = np.zeros(0, dtype=np.intp)
    if (
        not isinstance(attribute, NumericAttribute)
        or attribute.unit is None
        or attribute.format != Notation()
    ):
        return nothing
    starts = attribute.cells[:, 0]
    if attribute.atoms or np.any(np.diff(starts) > 1.5 * attribute.unit):
        return nothing
    cells = single_cells(counts, len(starts))
    return cells if len(cells) and likely == (cells[0], cells[-1] + 1) else nothing


def _others(one: Measurement, bins: NDArray[np.int64]) -> float:
    """An upper limit of the records in some bins together."""
    deviation = math.sqrt(float((_sigmas(one)[bins] ** 2).sum()))
    return max(0.0, float(one.values[bins].sum())) + SURE * deviation


def _without_atoms(counts: NoisyCounts, attribute: NumericAttribute) -> NoisyCounts:
    """Counts of the bins of an attribute, with nothing in its atoms."""
    if not attribute.atoms:
        return counts
    each = np.diff(counts.sums)
    each[np.flatnonzero(attribute.alone)] = 0.0
    return replace(counts, sums=np.concatenate([[0.0], np.cumsum(each)]))


def _merged(one: Measurement, codes: NDArray[np.int64]) -> Measurement:
    """A one-way marginal in new codes."""
    values = np.bincount(codes, one.values).astype(np.float64)
    sigmas = np.sqrt(np.bincount(codes, _sigmas(one) ** 2))
    return replace(one, values=values, sigmas=sigmas, sigma=float(np.sqrt(np.mean(sigmas**2))))


def _sigmas(one: Measurement) -> NDArray[np.float64]:
    """Standard deviations of the cells of a measurement of several resolutions."""
    assert one.sigmas is not None
    return one.sigmas


def _cells(table: Table, name: str) -> NDArray[np.int64]:
    return np.bincount(table.column(name), minlength=table.domain[name].size).astype(np.int64)


def _labels(counts: PrivateCounts, table: Table, name: str, rho: float, delta: float) -> tuple[str, ...]:
    attribute = table.domain[name]
    assert has_open_categories(attribute)
    texts, rows = table.texts[name].unlisted(attribute)
    places, noisy = counts.frequent("texts", name, lambda: rows, rho, delta)
    kept = np.sort(np.argsort(-noisy.values, kind="stable")[:MOST_LABELS])
    return tuple(texts[int(places[place])] for place in kept)

"""What is chosen of what a table leaves open: bins, ends and texts, from noisy counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from ...common.measurement import Measurement
from ...curator.certificates.unseen import Unseen
from ...curator.releasing.bins_order import open_numbers
from ...curator.releasing.choosing import chosen_coding, published_marginals
from ...curator.releasing.noisy_counts import NoisyCounts
from .asking import SURE, Rows, tells_missing
from .columns import Column, trimmed
from .learning import Learned
from .private_counts import PrivateCounts
from .ranges import held


@dataclass(frozen=True)
class Spending:
    """What a choice may cost, and what follows it.

    Attributes:
        rho: of the choice, zCDP.
        left: of the release that uses it, zCDP.
        delta: with which texts of single rows may be chosen.
    """

    rho: float
    left: float
    delta: float = 0.0


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen of what a table's domain leaves open.

    Attributes:
        coding: bins and texts.
        rows: the number of rows.
        within: name -> first bin in which records were seen, and the one after the last.
        before: one-way marginals in the chosen bins.
        beyond: name -> upper limits of the records before and after those bins.
    """

    coding: Coding
    rows: Rows
    within: Mapping[str, tuple[int, int]]
    before: tuple[Measurement, ...]
    beyond: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, counts: PrivateCounts, table: Table, rows: Rows, spending: Spending, trim: bool = False
    ) -> Choice:
        """Chooses from noisy counts.

        Args:
            counts: what counts the table's rows.
            table: the rows.
            rows: their number.
            spending: what the choice may cost.
            trim: whether bounds may be too wide.
        """
        domain = table.domain
        if not domain.open:
            return cls(Coding(), rows, {}, ())
        numbers = open_numbers(domain)
        texts = [name for name in domain.open if name not in numbers]
        each = spending.rho / len(domain.open)
        labels = {name: _labels(counts, table, name, each, spending.delta / len(texts)) for name in texts}
        asked = {name: (domain[name].size, partial(_cells, table, name)) for name in numbers}
        ladders = counts.ladders("bins", asked, each)
        free = {name: NoisyCounts.of(ladder) for name, ladder in ladders.items()}
        rows = rows.beside(list(free.values()))
        ends = {name: Ends.of(free[name], numbers_of(domain[name])) for name in numbers if trim}
        measured = [one for name in numbers for one in ladders[name]]
        borders = {name: one.borders for name, one in ends.items()}
        chosen = chosen_coding(domain, measured, rows.records, spending.left, borders)
        coding = replace(chosen, labels=labels)
        within = {name: one.bins(merged_codes(domain[name], coding.runs[name])) for name, one in ends.items()}
        beyond = {name: one.beyond(rows) for name, one in ends.items()}
        before = published_marginals(domain, measured, rows.records, coding)
        return cls(coding, rows, within, before, beyond)

    def finished(
        self, learned: Learned, table: Table
    ) -> tuple[Table, tuple[Measurement, ...], tuple[Unseen, ...]]:
        """The released columns in chosen bins, the measurements of their codes, and what noise may hide."""
        measured = {one.clique[0]: one for one in self.before}
        done = {
            name: _listed(column, table.domain[name])
            if name not in measured
            else self._trimmed(column, table.domain[name], measured[name])
            for name, column in learned.columns.items()
        }
        attributes = tuple(one.attribute for one in done.values())
        columns = tuple(
            one.codes[table.column(name)].astype(code_dtype(one.attribute.size)) for name, one in done.items()
        )
        unseen = tuple(
            Unseen(name, one.usual, one.moved, *self.beyond.get(name, ())) for name, one in done.items()
        )
        kept = tuple(one.before for one in done.values() if one.before is not None)
        return Table(Domain(attributes, learned.unmodelled), columns), kept, unseen

    def _trimmed(self, column: Column, read: Attribute, before: Measurement) -> _Finished:
        """A column of numbers or dates, without bins in which no records were seen."""
        attribute, codes = read, np.arange(read.size)
        if read.name in self.within:
            attribute, codes = trimmed(read, *self.within[read.name], numbers_of(column.reading).atoms)
            before = _merged(before, codes)
        nothing, deviation = float(before.values[-1]), float(_sigmas(before)[-1])
        missing, moved = tells_missing(column.missing, nothing, deviation), 0.0
        if not missing:
            moved = max(0.0, nothing) + SURE * deviation
            before = replace(before, values=before.values[:-1], sigmas=_sigmas(before)[:-1])
        usual = int(np.argmax(before.values[: attribute.size - 1]))
        released, last = column.finished(attribute, missing, usual)
        return _Finished(released, last[codes], usual, moved, before)


@dataclass(frozen=True, eq=False)
class _Finished:
    """A column as it is released.

    Attributes:
        attribute: the column.
        codes: the code in it of each code that was read.
        usual: code as which records count that have no value, or one that is not listed.
        moved: so many at most.
        before: noisy counts of its codes.
    """

    attribute: Attribute
    codes: NDArray[np.int64]
    usual: int
    moved: float
    before: Measurement | None = None


def _listed(column: Column, read: Attribute) -> _Finished:
    """A column whose values are listed."""
    attribute, codes = column.finished(read, column.missing, 0)
    return _Finished(attribute, codes, int(codes[column.usual]), column.unlisted)


@dataclass(frozen=True, eq=False)
class Ends:
    """Where the records of a column with open bins lie.

    Attributes:
        attribute: the numbers.
        counts: of its cells, with nothing in atoms; missing values follow them.
        sure: the first cell that holds records for sure, and the one after the last.
        likely: where they likely are.
    """

    attribute: NumericAttribute
    counts: NoisyCounts
    sure: tuple[int, int]
    likely: tuple[int, int]

    @classmethod
    def of(cls, counts: NoisyCounts, attribute: NumericAttribute) -> Ends:
        """From noisy counts; beyond the outermost atoms records likely are only if some are for sure."""
        cells, atoms = len(attribute.cells), np.flatnonzero(attribute.alone)
        if not len(atoms):
            return cls(attribute, counts, *held(counts, cells))
        each = np.diff(counts.sums)
        each[atoms] = 0.0
        beside = replace(counts, sums=np.concatenate([[0.0], np.cumsum(each)]))
        sure, likely = held(beside, cells)
        if sure == (0, cells):
            # Nothing is seen beside the atoms, or up to both ends of the grid.
            sure = likely = int(atoms[0]), int(atoms[-1]) + 1
        first = max(likely[0], min(sure[0], int(atoms[0])))
        return cls(attribute, beside, sure, (first, min(likely[1], max(sure[1], int(atoms[-1]) + 1))))

    @property
    def borders(self) -> set[int]:
        """Cells at which bins have to begin: what only likely holds records is apart from what does for sure."""
        return {*self.sure, *self.likely} - {len(self.attribute.cells)}

    def bins(self, runs: NDArray[np.int64]) -> tuple[int, int]:
        """The first bin that likely holds records, and the one after the last.

        Args:
            runs: the bin of each cell.
        """
        first, stop = self.likely
        return int(runs[first]), int(runs[stop - 1]) + 1

    def beyond(self, rows: Rows) -> tuple[float, float]:
        """Upper limits of the records before and after the cells that likely hold some.

        They follow from the counts of these cells or, where that has less noise, from all rows without those
        of the cells between.

        Args:
            rows: the number of rows.
        """
        first, stop = self.likely
        before, after = self.counts.deviations()
        found = [
            (float(before[first]), self.counts.between(0, first)),
            (float(after[stop]), self.counts.between(stop, len(self.attribute.cells))),
        ]
        if not self.attribute.atoms:
            deviation = math.hypot(rows.deviation, self.counts.sigma(first, stop))
            rest = deviation, rows.records - self.counts.between(first, stop)
            found = [min(one, rest, key=lambda each: each[0]) for one in found]
        below, above = (max(0.0, records) + SURE * deviation for deviation, records in found)
        return below, above


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

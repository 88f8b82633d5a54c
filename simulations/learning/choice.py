"""What is chosen of what a table leaves open: bins, ends and texts, from noisy counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from .private_counts import Noisy, PrivateCounts
from .ranges import held

_AGAIN = 0.4
"""Share of a learned column by which its chosen bins are counted again, alone and so with less noise."""

_KEPT = 3.0
"""Bins that possibly hold records are kept if both counts together exceed so many deviations."""


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
        found: name -> bins in which records were found, if bounds may be too wide.
        before: one-way marginals in the chosen bins.
    """

    coding: Coding
    rows: Rows
    found: Mapping[str, Found]
    before: tuple[Measurement, ...]

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
        again = _AGAIN if trim else 0.0
        ladders = counts.ladders("bins", asked, (1 - again) * each)
        free = {name: NoisyCounts.of(ladder) for name, ladder in ladders.items()}
        rows = rows.beside(list(free.values()))
        ends = {name: Ends.of(free[name], numbers_of(domain[name])) for name in numbers if trim}
        measured = [one for name in numbers for one in ladders[name]]
        borders = {name: one.borders for name, one in ends.items()}
        chosen = chosen_coding(domain, measured, rows.records, spending.left, borders)
        coding = replace(chosen, labels=labels)
        before = {one.clique[0]: one for one in published_marginals(domain, measured, rows.records, coding)}
        runs = {name: merged_codes(domain[name], coding.runs[name]) for name in ends}
        codes = {name: partial(_merged_cells, table, name, one) for name, one in runs.items()}
        found = {}
        for name, noisy in counts.histograms("chosen bins", codes, again * each).items():
            before[name] = _averaged(before[name], noisy)
            found[name] = ends[name].found(runs[name], before[name], rows)
        return cls(coding, rows, found, tuple(before.values()))

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
        unseen = tuple(Unseen(name, one.usual, one.moved, *self._beyond(name)) for name, one in done.items())
        kept = tuple(one.before for one in done.values() if one.before is not None)
        return Table(Domain(attributes, learned.unmodelled), columns), kept, unseen

    def _beyond(self, name: str) -> tuple[float, ...]:
        return (self.found[name].below, self.found[name].above) if name in self.found else ()

    def _trimmed(self, column: Column, read: Attribute, before: Measurement) -> _Finished:
        """A column of numbers or dates, without bins in which no records were seen."""
        attribute, codes = read, np.arange(read.size)
        if read.name in self.found:
            found = self.found[read.name]
            attribute, codes = trimmed(read, found.first, found.stop, numbers_of(column.reading).atoms)
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


@dataclass(frozen=True)
class Found:
    """The bins of a column in which records were found.

    Attributes:
        first: the first one.
        stop: the one after the last.
        below: at most so many records are before them.
        above: the same after them.
    """

    first: int
    stop: int
    below: float
    above: float


@dataclass(frozen=True, eq=False)
class Ends:
    """Where the records of a column with open bins lie, before these are counted.

    Attributes:
        attribute: the numbers.
        likely: cells that likely hold records, the first one and the one after the last.
        possible: where some possibly are.
    """

    attribute: NumericAttribute
    likely: tuple[int, int]
    possible: tuple[int, int]

    @classmethod
    def of(cls, counts: NoisyCounts, attribute: NumericAttribute) -> Ends:
        """From noisy counts of the cells and of missing values after them; all atoms are within the ends."""
        cells, atoms = len(attribute.cells), np.flatnonzero(attribute.alone)
        if not len(atoms):
            return cls(attribute, *held(counts, cells))
        each = np.diff(counts.sums)
        each[atoms] = 0.0
        likely, possible = held(replace(counts, sums=np.concatenate([[0.0], np.cumsum(each)])), cells)
        if likely == (0, cells):
            # Nothing is seen beside the atoms, or up to both ends of the grid.
            likely = possible = int(atoms[0]), int(atoms[-1]) + 1
        return cls(attribute, likely, possible)

    @property
    def borders(self) -> set[int]:
        """Cells at which bins have to begin: what possibly holds records is apart from what does for sure."""
        return {*self.likely, *self.possible} - {len(self.attribute.cells)}

    def found(self, runs: NDArray[np.int64], before: Measurement, rows: Rows) -> Found:
        """The bins in which records are found.

        Args:
            runs: the bin of each cell.
            before: noisy counts of the bins, averages of both.
            rows: the number of rows.
        """
        alone = runs[np.flatnonzero(self.attribute.alone)]
        bins = int(runs[len(self.attribute.cells) - 1]) + 1
        beside = np.ones(bins)
        beside[alone] = 0.0
        values, variances = before.values[:bins] * beside, _sigmas(before)[:bins] ** 2 * beside
        first, stop = int(runs[self.likely[0]]), int(runs[self.likely[1] - 1]) + 1
        least, most = int(runs[self.possible[0]]), int(runs[self.possible[1] - 1]) + 1
        first -= _more(values[least:first][::-1], variances[least:first][::-1])
        stop += _more(values[stop:most], variances[stop:most])
        # From all rows without those between, where that has less noise.
        rest = math.hypot(rows.deviation, math.sqrt(variances[first:stop].sum()))
        others = rows.records - values[first:stop].sum()
        below, above = (
            (math.sqrt(variances[part].sum()), values[part].sum())
            for part in (slice(0, first), slice(stop, bins))
        )
        if not len(alone):
            below, above = (min(one, (rest, others)) for one in (below, above))
        ends = (max(0.0, float(records)) + SURE * deviation for deviation, records in (below, above))
        return Found(int(min([first, *alone])), int(max([stop, *(alone + 1)])), *ends)


def _more(counts: NDArray[np.float64], variances: NDArray[np.float64]) -> int:
    """How many bins hold records, from an end outward: so many as exceed their deviation by most, or none."""
    held = 0
    while held < len(counts):
        gains = np.cumsum(counts[held:]) / np.sqrt(np.cumsum(variances[held:]).clip(1e-12))
        best = int(np.argmax(gains))
        if gains[best] <= _KEPT:
            break
        held += best + 1
    return held


def _averaged(one: Measurement, other: Noisy) -> Measurement:
    """The average of two noisy counts of the same codes, by their precision."""
    weights, more = _sigmas(one) ** -2, other.sigma**-2
    sigmas = (weights + more) ** -0.5
    values = (weights * one.values + more * other.values) * sigmas**2
    return replace(one, values=values, sigmas=sigmas, sigma=float(np.sqrt(np.mean(sigmas**2))))


def _merged_cells(table: Table, name: str, runs: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(runs, _cells(table, name)).astype(np.int64)


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

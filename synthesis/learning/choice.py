"""What is chosen of what a table leaves open: bins, ends and texts, from noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.attributes.texts import MOST_LABELS, has_open_categories
from ...common.data.coding import Coding, merged_codes, numbers_of
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from ...common.measurement import Measurement
from ...curator.certificates.unseen import Unseen
from ...curator.releasing.bins.choosing import chosen_coding, published_marginals
from ...curator.releasing.bins.noisy_counts import NoisyCounts
from ...curator.releasing.bins.order import open_numbers
from .asking import PRESENT, SURE_UNSEEN, Rows, tells_missing
from .columns import Column, trim_bins
from .learning import Learned
from .private_counts import PrivateCounts
from .ranges import occupied_cells


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


_FALSE = 0.02
"""Probability with which noise tells a number of a column that no record has, about."""

_NOT_AMONG = 0.05
"""Numbers of a bin are drawn among some if others are at most this share of its records, or of all."""

_FEW_OF_BIN = 0.5
"""They are not if these are more than such a share of all its multiples."""

_MOST_AMONG = 1024
"""At most so many are listed."""

_OTHER_SIGN = 5.0
"""From so many deviations on, a few numbers have the other sign than most."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen of what a table's domain leaves open.

    Attributes:
        coding: bins and texts.
        rows: the number of rows.
        ends: name -> where records lie, if bounds may be too wide.
        before: one-way marginals in the chosen bins.
        told: name -> the numbers of which each is told from none by itself, with noisy counts.
    """

    coding: Coding
    rows: Rows
    ends: Mapping[str, Ends]
    before: tuple[Measurement, ...]
    told: Mapping[str, Mapping[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        counts: PrivateCounts,
        table: Table,
        rows: Rows,
        spending: Spending,
        learned: Learned | None = None,
    ) -> Choice:
        """Chooses from noisy counts.

        Args:
            counts: what counts the table's rows.
            table: the rows.
            rows: their number.
            spending: what the choice may cost.
            learned: what the columns hold, if their bounds may be too wide; None for a given domain.
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
        ends = {
            name: Ends.of(
                # The first number of rows: that of all columns would count this one twice.
                NoisyCounts.of(ladders[name], rows.records, rows.variance),
                numbers_of(domain[name]),
                signed=learned.columns[name].signed,
            )
            for name in numbers
            if learned is not None
        }
        rows = rows.beside(list(free.values()))
        measured = [one for name in numbers for one in ladders[name]]
        # What only likely holds records is apart from what does for sure.
        borders = {
            name: {*one.sure, *one.likely} - {len(numbers_of(domain[name]).cells)}
            for name, one in ends.items()
        }
        coding = replace(chosen_coding(domain, measured, rows.records, spending.left, borders), labels=labels)
        before = published_marginals(domain, measured, rows.records, coding)
        told = {
            name: _told_alone(free[name], attribute)
            for name in ends
            if isinstance(attribute := domain[name], NumericAttribute)
        }
        return cls(coding, rows, ends, before, told)

    def finish(
        self, learned: Learned, table: Table
    ) -> tuple[Table, tuple[Measurement, ...], tuple[Unseen, ...]]:
        """The released columns in chosen bins, the measurements of their codes, and what noise may hide."""
        measured = {one.clique[0]: one for one in self.before}
        done = {
            name: _finish_listed(column, table.domain[name])
            if name not in measured
            else self._trim_column(column, table.domain[name], measured[name])
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
        return (self.ends[name].below, self.ends[name].above) if name in self.ends else ()

    def _trim_column(self, column: Column, read: Attribute, before: Measurement) -> _Finished:
        """A column of numbers or dates, without bins in which no records were seen."""
        attribute, codes = read, np.arange(read.size)
        if read.name in self.ends:
            first, stop = self.ends[read.name].likely
            runs = merged_codes(column.reading, self.coding.runs[read.name])
            within = int(runs[first]), int(runs[stop - 1]) + 1
            attribute, codes = trim_bins(read, *within, numbers_of(column.reading).atoms)
            before = _merge_codes(before, codes)
            if isinstance(attribute, NumericAttribute):
                told = column.masses or self.told[read.name]
                attribute = replace(attribute, among=_numbers_of_bins(attribute, told, before))
        nothing, deviation = float(before.values[-1]), float(_sigmas(before)[-1])
        missing, moved = tells_missing(column.missing, nothing, deviation), 0.0
        if not missing:
            moved = max(0.0, nothing) + SURE_UNSEEN * deviation
            before = replace(before, values=before.values[:-1], sigmas=_sigmas(before)[:-1])
        usual = int(np.argmax(before.values[: attribute.size - 1]))
        released, last = column.finish(attribute, missing, usual)
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


def _finish_listed(column: Column, read: Attribute) -> _Finished:
    """A column whose values are listed."""
    attribute, codes = column.finish(read, column.missing, 0)
    return _Finished(attribute, codes, int(codes[column.usual]), column.unlisted, column.counted)


@dataclass(frozen=True)
class Ends:
    """Where the records of a column with open bins lie.

    Attributes:
        sure: cells between which they do for sure, the first one and the one after the last.
        likely: between which they likely do.
        below: at most so many records are before these.
        above: the same after them.
    """

    sure: tuple[int, int]
    likely: tuple[int, int]
    below: float
    above: float

    @classmethod
    def of(cls, counts: NoisyCounts, attribute: NumericAttribute, *, signed: bool = False) -> Ends:
        """From noisy counts.

        Args:
            counts: of the cells, and of missing values after them.
            attribute: the numbers.
            signed: whether numbers of both signs are known to be there.
        """
        cells, atoms = len(attribute.cells), np.flatnonzero(attribute.alone)
        beside = _without(counts, atoms)
        sure, likely = occupied_cells(beside, cells)
        if len(atoms):
            if sure == (0, cells):
                # Nothing is seen beside the atoms, or up to both ends of the grid.
                sure = likely = int(atoms[0]), int(atoms[-1]) + 1
            # Beyond the outermost atoms they likely are only if some are for sure.
            first = max(likely[0], min(sure[0], int(atoms[0])))
            likely = first, min(likely[1], max(sure[1], int(atoms[-1]) + 1))
        zero = int(np.searchsorted(attribute.cells[:, 0], 0.0))
        if not signed:
            sure, likely = (_of_one_sign(beside, end, zero) for end in (sure, likely))
        first, stop = likely
        below, above = (
            max(0.0, beside.between(*end)) + SURE_UNSEEN * beside.sigma(*end)
            for end in ((0, first), (stop, cells))
        )
        return cls(sure, likely, below, above)


def _of_one_sign(counts: NoisyCounts, ends: tuple[int, int], zero: int) -> tuple[int, int]:
    """Ends without the smaller side of zero, if noise may be all that its counts show.

    Few columns have a few numbers of the other sign: counts, amounts, ages and distances have none.

    Args:
        counts: of the cells, with nothing in those of atoms.
        ends: the first cell that holds records, and the one after the last.
        zero: first cell of numbers from zero on.
    """
    first, stop = ends
    if not first < zero < stop:
        return ends
    smaller, larger = sorted([(first, zero), (zero, stop)], key=lambda side: counts.between(*side))
    return larger if counts.between(*smaller) < _OTHER_SIGN * counts.sigma(*smaller) else ends


def _told_alone(counts: NoisyCounts, attribute: NumericAttribute) -> dict[float, float]:
    """The numbers of which each has a cell and is told from none, with noisy counts."""
    cells, (least, most) = len(attribute.cells), attribute.reach.T
    each, certain = np.diff(counts.sums)[:cells], NormalDist().inv_cdf(1 - _FALSE / cells)
    told = np.flatnonzero((least == most) & (each > certain * counts.sigma(0, 1)))
    return dict(zip(least[told].tolist(), each[told].tolist(), strict=True))


def _numbers_of_bins(
    attribute: NumericAttribute, told: Mapping[float, float], measured: Measurement
) -> tuple[float, ...]:
    """The numbers of bins of which a few hold nearly all records, as far as noise lets tell.

    Args:
        attribute: with chosen bins.
        told: numbers with noisy counts.
        measured: noisy number of records of each code.

    Returns:
        Increasing.
    """
    numbers = np.array(sorted(told))
    before = np.append(0.0, np.cumsum([told[number] for number in numbers.tolist()]))
    least, most = attribute.reach.T
    first, stop = numbers.searchsorted(least), numbers.searchsorted(most, "right")
    records, noise = measured.values[: len(least)], PRESENT * _sigmas(measured)[: len(least)]
    others = records - (before[stop] - before[first])
    wide = least < most
    held = others <= np.maximum(_NOT_AMONG * records, np.minimum(noise, records / 2))
    held |= others[wide].sum() <= _NOT_AMONG * records.sum()
    unit = attribute.unit or 0.0
    few = (stop - first) * unit <= _FEW_OF_BIN * (most - least + unit)
    used = np.flatnonzero(wide & (first < stop) & held & few)
    found = [number for cell in used for number in numbers[first[cell] : stop[cell]].tolist()]
    return tuple(found) if len(found) <= _MOST_AMONG else ()


def _without(counts: NoisyCounts, cells: NDArray[np.intp]) -> NoisyCounts:
    """The counts, with nothing in some cells."""
    if not len(cells):
        return counts
    each = np.diff(counts.sums)
    each[cells] = 0.0
    return replace(counts, sums=np.concatenate([[0.0], np.cumsum(each)]))


def _merge_codes(one: Measurement, codes: NDArray[np.int64]) -> Measurement:
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
    texts, rows = table.texts[name].unlisted_texts(attribute)
    places, noisy = counts.frequent("texts", name, lambda: rows, rho, delta)
    kept = np.sort(np.argsort(-noisy.values, kind="stable")[:MOST_LABELS])
    return tuple(texts[int(places[place])] for place in kept)

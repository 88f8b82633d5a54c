"""The first step of a release from one table: rows counted, columns learned, bins and texts chosen."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.coding import Coding, merged_codes, numbers_of
from ...common.data.domain import Domain
from ...common.data.numeric import NumericAttribute
from ...common.data.table import Table, code_dtype
from ...common.data.texts import MOST_LABELS, has_open_categories
from ...common.data.workload import Workload
from ...common.labels import DELTA_SHARE
from ...common.measurement import Measurement
from ...common.privacy.budget import Budget
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...common.privacy.partition_selection import LARGEST_DELTA
from ...common.protocols.chosen import Chosen
from ...curator.certificates.certificate import Certificate
from ...curator.certificates.issuing import issue
from ...curator.certificates.unseen import Unseen
from ...curator.mechanisms.bins import Bins
from ...curator.mechanisms.parts.fitted import FittedModel
from ...curator.parties.journal import Answers
from ...curator.pgm.estimation import estimate
from ...curator.releasing.bins_order import open_numbers
from ...curator.releasing.bins_share import DEFAULT_SHARE
from ...curator.releasing.choosing import chosen_coding, published_marginals
from ...curator.releasing.noisy_counts import NoisyCounts
from ...curator.releasing.release import Layout, ReleaseOrder, stated_plan
from .asking import PRESENT, SURE
from .cells import Cells
from .columns import trimmed
from .learning import Learned, learn
from .limits import check_learnable, learning_share, weight
from .private_counts import PrivateCounts
from .ranges import held

COUNTING, COUNTING_FEW = 0.02, 0.1
"""Share of a budget for the number of rows; of a table of few columns, more: this over their number."""

LIKELY = 0.5
"""Missing values that cells voted for are there if their records exceed so many deviations of their noise."""


@dataclass(frozen=True, eq=False)
class Begun:
    """A table after the first step.

    Attributes:
        table: its rows, in a domain that leaves nothing open.
        records: its number of rows; with noise, unless it is public.
        order: order of the release, which has the rest of the budget.
        certificate: of the first step; None if nothing was asked.
        lost: columns of which too few records were seen anywhere.
    """

    table: Table
    records: int
    order: ReleaseOrder
    certificate: Certificate | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rows:
    """The number of rows of a table, as it may be known.

    Attributes:
        records: the number.
        variance: of its noise; zero if it is public.
    """

    records: float
    variance: float = 0.0

    def beside(self, totals: Sequence[NoisyCounts]) -> _Rows:
        """The number, from more noisy counts of all rows."""
        if not self.variance:
            return self
        weights, sums = [1 / self.variance], [self.records]
        for counts in totals:
            boxes = -(-(len(counts.sums) - 1) // counts.widths[-1])
            weights.append(1 / (boxes * counts.variances[-1]))
            sums.append(float(counts.sums[-1]))
        return _Rows(float(np.average(sums, weights=weights)), 1 / sum(weights))

    @property
    def stated(self) -> int:
        """The number that is published, at least one."""
        return max(1, round(self.records))


def begun_with(
    table: Table, order: ReleaseOrder, stream: RandomStream, answers: Answers | None = None
) -> Begun:
    """The first step for a table whose domain is given: the number of rows, and what the domain leaves open.

    Args:
        table: the rows.
        order: the release, with the whole budget.
        stream: randomness of the noise.
        answers: see `PrivateCounts`.
    """
    private = order.adjacency is Adjacency.ADD_REMOVE
    if not private and not table.domain.open:
        return Begun(table, table.record_count, order, None)
    delta = order.labels_delta
    granted = order.mechanism.granted(order.budget.without_delta(delta))
    counting = _counting(order.adjacency, len(table.domain))
    choosing = DEFAULT_SHARE if table.domain.open else 0.0
    counts = PrivateCounts(granted, PrivacyUnit(order.adjacency), stream, answers)
    rows = _counted(counts, float(granted) * counting, table.record_count, order.adjacency)
    left = float(granted) * (1 - counting - choosing)
    found = _Choice.of(counts, table, rows, float(granted) * choosing, left, delta)
    return _begun(found.coding.table(table), found.rows, order, counts, delta, found.before)


# A warning of numpy about one huge number would tell of it.
@np.errstate(all="ignore")
def begun_without(
    cells: Cells,
    read: Callable[[Domain], Table],
    ordered: Callable[[Domain], ReleaseOrder],
    granted: Callable[[Budget], Fraction],
    adjacency: Adjacency,
    budget: Budget,
    anyway: bool,
    stream: RandomStream,
    answers: Answers | None = None,
) -> Begun:
    """The first step for a raw table: its columns are learned.

    Args:
        cells: the raw table.
        read: reads it in a domain.
        ordered: the release in a domain, with the whole budget.
        granted: the zCDP of a budget.
        adjacency: which tables are neighbours.
        budget: the whole budget.
        anyway: whether to go on with too few rows.
        stream: randomness of the noise.
        answers: see `PrivateCounts`.

    Raises:
        DataError: there are too few rows for so many columns.
    """
    delta = min(DELTA_SHARE * (budget.delta or 0.0), LARGEST_DELTA)
    limit = granted(budget.without_delta(delta))
    whole, columns = float(limit), len(cells.names)
    counts = PrivateCounts(limit, PrivacyUnit(adjacency), stream, answers)
    counting = _counting(adjacency, columns)
    rows = _counted(counts, whole * counting, cells.records(), adjacency)
    if not anyway:
        spent = (
            f"{counting:.0%} of the budget went into the number of rows."
            if counting
            else "Nothing was spent."
        )
        check_learnable(rows.records, whole, columns, spent)
    share = learning_share(weight(rows.records, whole, columns))
    learned = learn(cells, counts, rows.records, whole * share, delta)
    table = read(learned.reading)
    left = whole * (counting + share) - float(counts.accountant.spent)
    found = _Choice.of(counts, table, rows, left, whole * (1 - counting - share), 0.0, trim=True)
    released, before, unseen = found.finished(learned, found.coding.table(table))
    texts = any(charge.labels for charge in counts.accountant.charges)
    order = replace(ordered(released.domain), unseen=unseen)
    return _begun(released, found.rows, order, counts, delta if texts else 0.0, before, learned.lost)


def _counting(adjacency: Adjacency, columns: int) -> float:
    """The share of a budget for the number of rows."""
    return max(COUNTING, COUNTING_FEW / columns) if adjacency is Adjacency.ADD_REMOVE else 0.0


def _counted(counts: PrivateCounts, rho: float, rows: int, adjacency: Adjacency) -> _Rows:
    if adjacency is not Adjacency.ADD_REMOVE:
        return _Rows(float(rows))
    return _Rows(*counts.total("number of rows", rows, rho))


@dataclass(frozen=True, eq=False)
class _Choice:
    """What was chosen of what a table's domain leaves open.

    Attributes:
        coding: bins and texts.
        rows: the number of rows.
        within: name -> first bin in which records were seen, and the one after the last.
        before: one-way marginals in the chosen bins.
        beyond: name -> upper limits of the records before and after those bins.
    """

    coding: Coding
    rows: _Rows
    within: Mapping[str, tuple[int, int]]
    before: tuple[Measurement, ...]
    beyond: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        counts: PrivateCounts,
        table: Table,
        rows: _Rows,
        rho: float,
        left: float,
        delta: float,
        trim: bool = False,
    ) -> _Choice:
        """Chooses from noisy counts.

        Args:
            counts: what counts the table's rows.
            table: the rows.
            rows: their number.
            rho: what the choice may cost.
            left: what the release has, zCDP.
            delta: with which texts of single rows may be chosen.
            trim: whether bounds may be too wide.
        """
        domain = table.domain
        if not domain.open:
            return cls(Coding(), rows, {}, ())
        numbers = open_numbers(domain)
        texts = [name for name in domain.open if name not in numbers]
        each = rho / len(domain.open)
        labels = {name: _labels(counts, table, name, each, delta / len(texts)) for name in texts}
        asked = {name: (domain[name].size, partial(_cells, table, name)) for name in numbers}
        ladders = counts.ladders("bins", asked, each)
        free = {name: NoisyCounts.of(ladder) for name, ladder in ladders.items()}
        rows = rows.beside(list(free.values()))
        apart = {name: _without_atoms(free[name], numbers_of(domain[name])) for name in numbers if trim}
        ends = {name: _ends(one, numbers_of(domain[name])) for name, one in apart.items()}
        beyond = {
            name: _beyond(apart[name], len(numbers_of(domain[name]).cells), *likely)
            for name, (_, likely) in ends.items()
        }
        measured = [one for name in numbers for one in ladders[name]]
        # What only likely holds records is apart from what does for sure.
        edges = {
            name: {*sure, *likely} - {len(numbers_of(domain[name]).cells)}
            for name, (sure, likely) in ends.items()
        }
        coding = replace(chosen_coding(domain, measured, rows.records, left, edges), labels=labels)
        within = {}
        for name, (_, (first, stop)) in ends.items():
            runs = merged_codes(domain[name], coding.runs[name])
            within[name] = int(runs[first]), int(runs[stop - 1]) + 1
        before = published_marginals(domain, measured, rows.records, coding)
        return cls(coding, rows, within, before, beyond)

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
                one = measured[name]
                if name in self.within:
                    atoms = numbers_of(column.reading).atoms
                    attribute, codes = trimmed(attribute, *self.within[name], atoms)
                    one = _merged(one, codes)
                missing = one.values[-1] > (LIKELY if column.missing else PRESENT) * _sigmas(one)[-1]
                if not missing:
                    moved = max(0.0, float(one.values[-1])) + SURE * float(_sigmas(one)[-1])
                    one = replace(one, values=one.values[:-1], sigmas=_sigmas(one)[:-1])
                usual = int(np.argmax(one.values[: attribute.size - 1]))
                kept.append(one)
            released, last = column.finished(attribute, bool(missing), usual)
            attributes.append(released)
            columns.append(last[codes][table.column(name)].astype(code_dtype(released.size)))
            if name not in measured:
                usual = int(last[column.usual])
            unseen.append(Unseen(name, usual, moved, *self.beyond.get(name, ())))
        found = Table(Domain(tuple(attributes), learned.unmodelled), tuple(columns))
        return found, tuple(kept), tuple(unseen)


def _beyond(counts: NoisyCounts, cells: int, first: int, stop: int) -> tuple[float, float]:
    """Upper limits of the records before the first cell and from `stop` on; missing values follow cells."""
    before, after = counts.deviations()
    below, above = max(0.0, counts.between(0, first)), max(0.0, counts.between(stop, cells))
    return below + SURE * float(before[first]), above + SURE * float(after[stop])


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


def _begun(
    table: Table,
    rows: _Rows,
    order: ReleaseOrder,
    counts: PrivateCounts,
    delta: float,
    before: tuple[Measurement, ...],
    lost: tuple[str, ...] = (),
) -> Begun:
    """The release that has the rest of the budget, and the certificate of what was spent."""
    spent = counts.accountant.spent
    rho = float(spent) if Fraction(float(spent)) >= spent else math.nextafter(float(spent), math.inf)
    singles = tuple((name,) for name in table.domain.names)
    asked = replace(
        order,
        domain=table.domain,
        mechanism=Bins(),
        workload=Workload(singles, (1.0,) * len(singles)),
        budget=Budget(delta=order.budget.delta, zcdp_rho=rho),
        rows=1,
    )
    plan = stated_plan(asked, Layout((rows.stated,), ((table.domain.names,),)))
    # Columns that are not released were asked about too.
    left_out: dict[str, Any] = {name: 1 for charge in counts.accountant.charges for name in charge.clique}
    model = estimate(table.domain, list(before), total=rows.stated)
    certificate = issue(
        replace(plan, attributes=left_out | dict(plan.attributes)),
        replace(counts.accountant, granted=Fraction(rho)),
        FittedModel(model, before, (), ()),
    )
    chosen = Chosen(secrets.token_hex(16), certificate.digest().hex(), rho, Coding(), delta)
    private = order.adjacency is Adjacency.ADD_REMOVE
    order = replace(
        order,
        domain=table.domain,
        chosen=chosen,
        before=before,
        records=rows.stated if private else None,
        records_sigma=math.sqrt(rows.variance),
    )
    return Begun(table, rows.stated, order, certificate, lost)

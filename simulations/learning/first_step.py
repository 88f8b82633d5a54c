"""The first step of a release from one table: rows counted, columns learned, bins and texts chosen."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.attribute import Attribute
from ...common.data.coding import Coding
from ...common.data.domain import Domain
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
from ...curator.mechanisms.bins import Bins
from ...curator.mechanisms.mechanism import Mechanism
from ...curator.mechanisms.parts.fitted import FittedModel
from ...curator.pgm.estimation import estimate
from ...curator.releasing.bins_order import open_numbers
from ...curator.releasing.bins_share import DEFAULT_SHARE
from ...curator.releasing.choosing import chosen_coding, published_marginals
from ...curator.releasing.release import Layout, ReleaseOrder, stated_plan
from .asking import PRESENT
from .cells import Cells
from .learning import Learned, learn
from .limits import check_learnable, learning_share, weight
from .private_counts import PrivateCounts

COUNTING = 0.02
"""Share of a budget for the number of rows."""

BINS = 0.35
"""Share of what learning may cost for the choice of bins."""

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
        notes: what was lost, in sentences; public.
    """

    table: Table
    records: int
    order: ReleaseOrder
    certificate: Certificate | None
    notes: tuple[str, ...] = ()


def begun_with(table: Table, order: ReleaseOrder, stream: RandomStream) -> Begun:
    """The first step for a table whose domain is given: what it leaves open, and the number of rows.

    Args:
        table: the rows.
        order: the release, with the whole budget.
        stream: randomness of the noise.
    """
    private = order.adjacency is Adjacency.ADD_REMOVE
    if not private and not table.domain.open:
        return Begun(table, table.record_count, order, None)
    delta = order.labels_delta
    whole = float(order.mechanism.granted(order.budget.without_delta(delta)))
    share = (COUNTING if private else 0.0) + (DEFAULT_SHARE if table.domain.open else 0.0)
    counts = PrivateCounts(Fraction(whole * share), PrivacyUnit(order.adjacency), stream)
    records = _counted(counts, whole, table.record_count) if private else table.record_count
    left = float(counts.accountant.remaining)
    coding, before = _choice(counts, table, records, left, whole * (1 - share), delta)
    return _begun(coding.table(table), records, order, counts, delta, before, ())


def begun_without(
    cells: Cells,
    read: Callable[[Domain], Table],
    order: Callable[[Domain], ReleaseOrder],
    adjacency: Adjacency,
    budget: Budget,
    mechanism: Mechanism,
    anyway: bool,
    stream: RandomStream,
) -> Begun:
    """The first step for a raw table: its columns are learned.

    Args:
        cells: the raw table.
        read: reads it in a domain.
        order: the release in a domain, with the whole budget.
        adjacency: which tables are neighbours.
        budget: the whole budget.
        mechanism: of the release.
        anyway: whether to go on with too few rows.
        stream: randomness of the noise.

    Raises:
        DataError: there are too few rows for so many columns, or no column can be released.
    """
    delta = min(DELTA_SHARE * (budget.delta or 0.0), LARGEST_DELTA)
    granted = mechanism.granted(budget.without_delta(delta))
    whole, columns = float(granted), len(cells.names)
    counts = PrivateCounts(granted, PrivacyUnit(adjacency), stream)
    private = adjacency is Adjacency.ADD_REMOVE
    records = _counted(counts, whole, cells.records()) if private else cells.records()
    if not anyway:
        spent = f"{COUNTING:.0%} of the budget was spent on the number of rows." if private else "Nothing was spent."
        check_learnable(records, whole, columns, spent)
    share = learning_share(weight(records, whole, columns))
    left = whole * share
    learned = learn(cells, counts, records, left * (1 - BINS), delta)
    table = read(learned.reading)
    left = whole * (share + (COUNTING if private else 0)) - float(counts.accountant.spent)
    coding, before = _choice(counts, table, records, left, whole * (1 - share), 0.0)
    released, kept = _finished(learned, coding.table(table), before)
    texts = any(charge.labels for charge in counts.accountant.charges)
    return _begun(released, records, order(released.domain), counts, delta if texts else 0.0, kept, ())


def _counted(counts: PrivateCounts, whole: float, rows: int) -> int:
    """The number of rows, with noise; at least one."""
    noisy = counts.total("number of rows", rows, COUNTING * whole)
    return max(1, round(noisy))


def _choice(
    counts: PrivateCounts, table: Table, records: int, rho: float, left: float, delta: float
) -> tuple[Coding, tuple[Measurement, ...]]:
    """The bins and texts of what a table's domain leaves open, and what was measured to choose the bins.

    Args:
        counts: what counts its rows.
        table: the rows.
        records: number of rows, with noise unless it is public.
        rho: what the choice may cost.
        left: what the release has, zCDP.
        delta: with which texts of single rows may be chosen.
    """
    domain = table.domain
    if not domain.open:
        return Coding(), ()
    numbers = open_numbers(domain)
    texts = [name for name in domain.open if name not in numbers]
    each = rho / len(domain.open)
    labels = {name: _labels(counts, table, name, each, delta / len(texts)) for name in texts}
    ladders = counts.ladders("bins", {name: partial(_cells, table, name) for name in numbers}, each)
    measured = [one for name in numbers for one in ladders[name]]
    coding = replace(chosen_coding(domain, measured, records, left), labels=labels)
    return coding, published_marginals(domain, measured, records, coding)


def _cells(table: Table, name: str) -> NDArray[np.int64]:
    return np.bincount(table.column(name), minlength=table.domain[name].size).astype(np.int64)


def _labels(counts: PrivateCounts, table: Table, name: str, rho: float, delta: float) -> tuple[str, ...]:
    attribute = table.domain[name]
    assert has_open_categories(attribute)
    texts, rows = table.texts[name].unlisted(attribute)
    places, noisy = counts.frequent("texts", name, lambda: rows, rho, delta)
    kept = np.sort(np.argsort(-noisy.values, kind="stable")[:MOST_LABELS])
    return tuple(texts[int(places[place])] for place in kept)


def _finished(
    learned: Learned, table: Table, before: Sequence[Measurement]
) -> tuple[Table, tuple[Measurement, ...]]:
    """The released columns of a table that was read, and the measurements of their codes."""
    measured = {one.clique[0]: one for one in before}
    attributes: list[Attribute] = []
    columns: list[NDArray[np.unsignedinteger]] = []
    kept = []
    for name, column in learned.columns.items():
        one = measured.get(name)
        missing, usual = column.missing, 0
        if one is not None:
            assert one.sigmas is not None
            held, noise = float(one.values[-1]), float(one.sigmas[-1])
            missing = held > (LIKELY if column.missing else PRESENT) * noise
            usual = int(np.argmax(one.values[:-1]))
            kept.append(one if missing else replace(one, values=one.values[:-1], sigmas=one.sigmas[:-1]))
        released, codes = column.finished(table.domain[name], missing, usual)
        attributes.append(released)
        columns.append(codes[table.column(name)].astype(code_dtype(released.size)))
    domain = Domain(tuple(attributes), learned.unmodelled)
    return Table(domain, tuple(columns)), tuple(kept)


def _begun(
    table: Table,
    records: int,
    order: ReleaseOrder,
    counts: PrivateCounts,
    delta: float,
    before: tuple[Measurement, ...],
    notes: tuple[str, ...],
) -> Begun:
    """The release that has the rest of the budget, and the certificate of what was spent."""
    spent = counts.accountant.spent
    rho = float(spent) if Fraction(float(spent)) >= spent else math.nextafter(float(spent), math.inf)
    singles = tuple((name,) for name in table.domain.names)
    asked = replace(
        order,
        mechanism=Bins(),
        workload=Workload(singles, (1.0,) * len(singles)),
        budget=Budget(delta=order.budget.delta, zcdp_rho=rho),
        rows=1,
    )
    layout = Layout((records,), ((table.domain.names,),))
    model = estimate(table.domain, list(before), total=records)
    plan = stated_plan(asked, layout)
    # Columns that are not released were asked about too.
    left_out = {name: 1 for charge in counts.accountant.charges for name in charge.clique}
    certificate = issue(
        replace(plan, attributes=left_out | dict(plan.attributes)),
        replace(counts.accountant, granted=Fraction(rho)),
        FittedModel(model, before, (), ()),
    )
    chosen = Chosen(secrets.token_hex(16), certificate.digest().hex(), rho, Coding(), delta)
    private = order.adjacency is Adjacency.ADD_REMOVE
    order = replace(order, chosen=chosen, before=before, records=records if private else None)
    return Begun(table, records, order, certificate, notes)

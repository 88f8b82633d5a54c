"""The first step of a release from one table: rows counted, columns learned, bins and texts chosen."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.coding import Coding
from ...common.data.domain import Domain
from ...common.data.table import Table, check_rows
from ...common.labels import DELTA_SHARE
from ...common.measurement import Measurement
from ...common.privacy.budget import Budget
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...common.privacy.partition_selection import LARGEST_DELTA
from ...common.privacy.rounding import float_above
from ...common.protocols.chosen import Chosen
from ...common.protocols.partition import Partition
from ...curator.certificates.certificate import Certificate
from ...curator.certificates.checking import opinions_beside
from ...curator.certificates.issuing import issue
from ...curator.mechanisms.parts.fitted import FittedModel
from ...curator.parties.journal import Answers
from ...curator.pgm.fitting.estimation import estimate
from ...curator.releasing.bins.order import counting_order
from ...curator.releasing.planning.bins_share import DEFAULT_SHARE
from ...curator.releasing.release import ReleaseOrder, stated_plan
from .asking import Rows
from .cells import Cells
from .choice import Choice, Spending
from .learning import learn
from .limits import check_learnable, learning_share, weight
from .private_counts import PrivateCounts

COUNTING, COUNTING_FEW = 0.02, 0.1
"""Share of a budget for the number of rows; of a table of few columns, more: this over their number."""


@dataclass(frozen=True, eq=False)
class Begun:
    """A table after the first step.

    Attributes:
        table: its rows, in a domain that leaves nothing open.
        rows: their number; with noise, unless it is public.
        order: order of the release, which has the rest of the budget.
        certificate: of the first step; None if nothing was asked.
        lost: columns of which too few records were seen anywhere.
        others: columns in many of whose cells stands something of another kind; see `Learned`.
        merged: columns of which most rows have a text that is not listed.
        coded: further rows of the same columns in that domain, from what reads them in the domain that it was
            chosen from.
    """

    table: Table
    rows: Rows
    order: ReleaseOrder
    certificate: Certificate | None
    lost: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    coded: Callable[[Callable[[Domain], Table]], Table] | None = None

    @property
    def records(self) -> int:
        """The number of rows that is published."""
        return self.rows.stated


def begun_with(
    table: Table,
    order: ReleaseOrder,
    stream: RandomStream,
    answers: Answers | None = None,
    known: Rows | None = None,
    checks: Executor | None = None,
) -> Begun:
    """The first step for a table whose domain is given: the number of rows, and what the domain leaves open.

    Args:
        table: the rows.
        order: the release, with the whole budget.
        stream: randomness of the noise.
        answers: see `PrivateCounts`.
        known: the number of rows, as it was counted with noise before; None if it was not.
        checks: where the second opinion on epsilon is computed; by default here.
    """
    private = order.spec.adjacency is Adjacency.ADD_REMOVE
    if known is not None and not table.domain.open:
        order = replace(order, records=known.stated, records_sigma=known.deviation)
        return Begun(table, known, order, None)
    if not private and not table.domain.open:
        check_rows(table.record_count)
        return Begun(table, Rows(float(table.record_count)), order, None)
    delta = order.labels_delta
    granted = order.mechanism.granted(order.spec.budget.without_delta(delta))
    counting = _counting(order.spec.adjacency, len(table.domain)) if known is None else 0.0
    choosing = DEFAULT_SHARE if table.domain.open else 0.0
    unit = order.spec.unit
    counts = PrivateCounts(granted, unit, stream, answers)
    rows = known or _count_rows(
        counts, float(granted) * counting, int(table.marginal(())[0]), order.spec.adjacency
    )
    left = float(granted) * (1 - counting - choosing)
    found = Choice.of(counts, table, rows, Spending(float(granted) * choosing, left, delta))
    begun = _begun(found.coding.table(table), found.rows, order, counts, delta, found.before, checks)
    return replace(begun, coded=lambda read: found.coding.table(read(table.domain)))


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
    learning: float | None = None,
    known: Rows | None = None,
    checks: Executor | None = None,
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
        learning: the share of the budget by which columns are learned; by default what suits a table alone.
        known: see `begun_with`.
        checks: see `begun_with`.

    Raises:
        DataError: there are too few rows for so many columns.
    """
    delta = texts_delta(budget)
    limit = granted(budget.without_delta(delta))
    whole, columns = float(limit), len(cells.names)
    # What a file says of its columns has not to be learned.
    unknown = max(1, columns - len(cells.listed))
    counts = PrivateCounts(limit, PrivacyUnit(adjacency), stream, answers)
    counting = _counting(adjacency, columns) if known is None else 0.0
    rows = known or _count_rows(counts, whole * counting, cells.records(), adjacency)
    if not anyway:
        spent = "Nothing was spent."
        if counting:
            spent = f"{counting:.0%} of the budget went into the number of rows."
        check_learnable(rows.records, whole, unknown, spent)
    share = learning_share(weight(rows.records, whole, unknown)) if learning is None else learning
    learned = learn(cells, counts, rows, whole * share, delta)
    table = read(learned.reading)
    left = whole * (counting + share) - float(counts.accountant.spent)
    found = Choice.of(counts, table, rows, Spending(left, whole * (1 - counting - share)), learned)
    released, before, unseen = found.finish(learned, found.coding.table(table))
    texts = any(charge.labels for charge in counts.accountant.charges)
    order = replace(ordered(released.domain), unseen=unseen)
    begun = _begun(released, found.rows, order, counts, delta if texts else 0.0, before, checks)

    def encode_more(read: Callable[[Domain], Table]) -> Table:
        return found.finish(learned, found.coding.table(read(learned.reading)))[0]

    return replace(begun, lost=learned.lost, others=learned.others, merged=learned.merged, coded=encode_more)


def texts_delta(budget: Budget) -> float:
    """What texts may take of delta where columns are learned."""
    return min(DELTA_SHARE * (budget.delta or 0.0), LARGEST_DELTA)


def _counting(adjacency: Adjacency, columns: int) -> float:
    """The share of a budget for the number of rows."""
    return max(COUNTING, COUNTING_FEW / columns) if adjacency is Adjacency.ADD_REMOVE else 0.0


def _count_rows(counts: PrivateCounts, rho: float, rows: int, adjacency: Adjacency) -> Rows:
    if adjacency is not Adjacency.ADD_REMOVE:
        check_rows(rows)
        return Rows(float(rows))
    return Rows(*counts.total("number of rows", rows, rho))


def _begun(
    table: Table,
    rows: Rows,
    order: ReleaseOrder,
    counts: PrivateCounts,
    delta: float,
    before: tuple[Measurement, ...],
    checks: Executor | None,
) -> Begun:
    """The release that has the rest of the budget, and the certificate of what was spent."""
    spent = counts.accountant.spent
    rho = float_above(spent)
    asked = counting_order(replace(order, domain=table.domain), table.domain.names, rho)
    held = Partition.of_slices(table.domain, [(rows.stated, [table.domain.names])])
    plan = stated_plan(asked, held, named=False)
    # Columns that are not released were asked about too.
    left_out: dict[str, Any] = {name: 1 for charge in counts.accountant.charges for name in charge.clique}
    plan = replace(plan, attributes=left_out | dict(plan.attributes))
    accountant = replace(counts.accountant, granted=Fraction(rho))
    opinions = None if checks is None else opinions_beside(checks, plan, accountant, ())
    model = estimate(table.domain, list(before), total=rows.stated)
    certificate = issue(
        plan,
        accountant,
        FittedModel(model, before, (), ()),
        opinions=None if opinions is None else opinions(),
    )
    chosen = Chosen(secrets.token_hex(16), certificate.digest().hex(), rho, Coding(), delta)
    private = order.spec.adjacency is Adjacency.ADD_REMOVE
    order = replace(
        order,
        domain=table.domain,
        chosen=chosen,
        before=before,
        records=rows.stated if private else None,
        records_sigma=rows.deviation,
    )
    return Begun(table, rows, order, certificate)

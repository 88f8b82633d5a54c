"""A release in one process: partitions a table, runs its parties and the curator, compares the tables."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from ..common.crypto.randomness import RandomStream
from ..common.data.table import Table
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.privacy.budget import Budget
from ..common.privacy.cost import Adjacency
from ..common.protocols.alignment.alignment import Population
from ..common.protocols.registry import (
    INDICATOR,
    INDICATOR_MLE,
    MASKED,
    THEOREM,
    TRUSTED,
    Protocol,
    protocol_named,
)
from ..curator.measurers.measurer import Measurer
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.parts.fitted import Report, ignore
from ..curator.releasing.agreement import agree
from ..curator.releasing.alignment_order import DEFAULT_RHO, AlignmentOrder
from ..curator.releasing.release import Layout, Released, ReleaseOrder, make_release
from .alignment import align
from .evaluation.metrics import PRIVATE, kway_errors
from .evaluation.range_queries import range_errors
from .measurers import CentralMeasurer
from .network import InProcessConnection, policy_for, start_dealers, start_parties
from .paper_protocols import IndicatorMleMeasurer, TheoremMeasurer
from .partition import Grid, partition
from .people import Linkage, Overlap, linked, row_numbers


@dataclass(frozen=True)
class Simulation(Released):
    """The result of a simulated release: the release and its errors.

    Attributes:
        metrics: errors as JSON values; computed from the real table, so not for publication.
    """

    metrics: dict[str, Any]


@dataclass(frozen=True)
class _Setting:
    """The participants of a simulated release.

    Attributes:
        measurer: measurer of the release.
        layout: which party holds what.
        real: table that errors are relative to.
        links: connections to the parties, slice by slice; empty if the protocol has no parties.
        cost_factor: what the parties are charged, as a multiple of the measurer's charges.
    """

    measurer: Measurer
    layout: Layout
    real: Table
    links: Sequence[Sequence[InProcessConnection]] = ()
    cost_factor: int = 1


def simulate(
    table: Table,
    *,
    budget: Budget,
    grid: Grid | str = "1x1",
    protocol: Protocol | str = MASKED,
    mechanism: Mechanism | str = "mosaic",
    workload: Workload | str = "2way",
    adjacency: Adjacency = Adjacency.ZERO_OUT,
    collusions: int | None = None,
    check: str = "",
    dealers: int = 0,
    record_wise: bool = False,
    rows: int | None = None,
    identifiers: Sequence[str] | None = None,
    overlap: float | None = None,
    shuffle: bool = False,
    typos: float | None = None,
    population: str = Population.EVERYWHERE.value,
    alignment_rho: float = DEFAULT_RHO,
    seed: int | None = None,
    report: Report = ignore,
) -> Simulation:
    """Releases a synthetic table from K x S parties in this process, and measures its errors.

    With identifiers, overlap, shuffle or typos, each party has its own people of its slice in its own order,
    and the parties align their rows first. Errors are then relative to the join of the parties' rows by the
    identifiers as the parties write them: what a central place would release.

    Args:
        table: the real table, for example from `dpmosaic.read_table`.
        budget: privacy budget of the release.
        grid: partition of the table: "KxS", a file, or a Grid.
        protocol: a name, "masked", "trusted", "indicator", "theorem" or "indicator-mle", or a Protocol.
        mechanism: a name, or a configured mechanism such as `RandDPGen(alpha=0.2)`.
        workload: "1way", "2way", "3way", a file, or a Workload.
        adjacency: which tables are neighbours.
        collusions: with "masked", number of parties that may collude without breaking the promise; by
            default 1, or 0 for a single party. Zero gives the noise of a trusted place.
        check: with "masked", "one-hot" to have parties prove that they open each record once.
        dealers: with "masked", number of dealers, 1 or at least 3; by default the curator deals.
        record_wise: with "indicator", follow the paper exactly: noise on every record, even if one party
            holds the whole clique.
        rows: number of synthetic rows; by default as many as the table has.
        identifiers: for each row, what identifies its person; by default its number. An empty one matches
            nobody.
        overlap: share of the people of a slice who are at all of its parties, by default 1. Each other person
            is at a random set of them.
        shuffle: whether each party has its rows in a random order.
        typos: share of its identifiers that each party writes wrongly, by default 0; they match nobody's.
        population: with aligned rows, whose records are released: of the people "everywhere", at all parties
            of their slice, or "anywhere".
        alignment_rho: budget of the alignment, zCDP; it is not part of `budget`.
        seed: makes the run reproducible and not for release; the result is labelled so.
        report: called after every step.

    Raises:
        DataError: an argument does not fit the table or the others; nothing has been measured.
        BudgetError: a privacy parameter is out of range; nothing has been measured.
    """
    started = time.perf_counter()
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    shared = Overlap.of(identifiers, overlap, shuffle, typos)
    aligning = AlignmentOrder.parse({"population": population, "rho": alignment_rho})
    anywhere = shared is not None and aligning.population is Population.ANYWHERE
    domain = table.domain.with_absent() if anywhere else table.domain
    order = ReleaseOrder(
        domain,
        protocol_named(protocol) if isinstance(protocol, str) else protocol,
        adjacency,
        mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism,
        Workload.parse(domain, workload) if isinstance(workload, str) else workload,
        budget,
        collusions,
        rows,
        check=check,
    )
    if record_wise and order.protocol is not INDICATOR:
        raise DataError(
            "record_wise: expected the protocol 'indicator', got another; leave it out or choose 'indicator'"
        )
    if dealers and order.protocol is not MASKED:
        raise DataError(
            "dealers: expected the protocol 'masked', got another; leave it out or choose 'masked'"
        )
    grid = Grid.parse(grid, table.domain, table.record_count) if isinstance(grid, str) else grid
    if shared is None:
        setting = _setting(table, order, grid, stream, record_wise, dealers)
    else:
        people = Linkage(row_numbers(table) if identifiers is None else identifiers, shared)
        setting = _aligned_setting(table, order, grid, stream, people, aligning, dealers)
    made = make_release(
        order, setting.layout, setting.measurer, stream, setting.cost_factor, seed is not None, report
    )
    metrics = _metrics(order.workload, made, setting, time.perf_counter() - started)
    return Simulation(made.synthetic, made.fitted, made.certificate, metrics)


def _setting(
    table: Table, order: ReleaseOrder, grid: Grid, stream: RandomStream, record_wise: bool, dealers: int
) -> _Setting:
    """Starts parties that hold the same records in the same order, and their measurer."""
    layout = Layout(tuple(cut.rows for cut in grid.slices), tuple(cut.groups for cut in grid.slices))
    pieces = [[table]] if order.protocol.one_party else partition(table, grid)
    horizontal, vertical = len(pieces), max(len(parties) for parties in pieces)
    if order.protocol is THEOREM:
        rng = stream.child("noise").generator()
        return _Setting(TheoremMeasurer(table, horizontal, vertical, order.granted, rng), layout, table)
    copies = horizontal * vertical if order.protocol is INDICATOR_MLE else 1
    proposal = order.proposal(secrets.token_hex(16))
    if order.protocol is INDICATOR_MLE:
        proposal = replace(proposal, protocol=INDICATOR, copies=copies)
    policy = policy_for(proposal.protocol.name, order.adjacency, proposal.charged_rho, dealers=dealers)
    keys = stream.child("parties")
    links = start_parties(pieces, policy, keys, dealers=dealers)
    dealing = start_dealers(dealers, keys, links)
    agreement = agree(order.domain, links, proposal, dealers=dealing)
    measurer: Measurer
    if copies > 1:
        measurer = IndicatorMleMeasurer(agreement.federation, agreement.terms, order.granted, copies)
    elif order.protocol is TRUSTED:
        measurer = CentralMeasurer(agreement.federation, agreement.terms, order.granted, table, order.budget)
    else:
        measurer = agreement.measurer(record_wise=record_wise)
    return _Setting(measurer, replace(layout, masked=agreement.terms.masked), table, links, copies)


def _aligned_setting(
    table: Table,
    order: ReleaseOrder,
    grid: Grid,
    stream: RandomStream,
    people: Linkage,
    aligning: AlignmentOrder,
    dealers: int,
) -> _Setting:
    """Starts parties that hold overlapping people, aligns their rows, and starts their measurer."""
    if order.protocol is not MASKED:
        raise DataError(
            f"protocol: expected 'masked' over aligned rows, got {order.protocol.name!r}; choose it, or let "
            "the parties of a slice hold the same people"
        )
    tables, identifiers = people.scatter(table, grid, stream.child("people").generator())
    joined = [
        linked(order.domain, row, texts, aligning.population)
        for row, texts in zip(tables, identifiers, strict=True)
    ]
    real = Table.concatenate(joined)
    if not real.record_count:
        raise DataError(
            "expected somebody whom all parties of a slice hold, got nobody; raise the overlap or lower typos"
        )
    proposal = order.proposal(secrets.token_hex(16))
    rho = Fraction(aligning.rho)
    policy = policy_for(MASKED.name, order.adjacency, proposal.charged_rho, rho, dealers)
    keys = stream.child("parties")
    links = start_parties(tables, policy, keys, identifiers, dealers)
    dealing = start_dealers(dealers, keys, links)
    aligned = align(links, table.domain, aligning, order.adjacency, stream.child("alignment"))
    agreement = agree(table.domain, links, proposal, dealers=dealing, aligned=aligned)
    layout = replace(Layout.of(agreement.terms.plan), names=())
    return _Setting(agreement.measurer(), layout, real, links)


def _metrics(workload: Workload, made: Released, setting: _Setting, seconds: float) -> dict[str, Any]:
    """The errors of a release, as JSON values.

    Args:
        workload: workload of the release.
        made: the release.
        setting: participants of the release.
        seconds: run time of the release.
    """
    return {
        "private": PRIVATE,
        "labels": list(made.certificate.labels),
        "kway": [asdict(error) for error in kway_errors(setting.real, made.synthetic)],
        "range_queries": [asdict(error) for error in range_errors(setting.real, made.synthetic)],
        "workload_error": workload.error(setting.real, made.synthetic),
        "seconds": round(seconds, 3),
        "traffic_bytes": [
            [{"in": party.bytes_in, "out": party.bytes_out} for party in row] for row in setting.links
        ],
    }

"""A release in one process: cut a table into a grid, run its parties, run the curator over them, compare."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, dataclass
from typing import Any

from ..common.crypto.randomness import RandomStream
from ..common.data.table import Table
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.privacy.budget import Budget
from ..common.privacy.cost import Adjacency
from ..curator.certificates.certificate import Plan, certificate
from ..curator.measurers.measurer import Measurer
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.parts.fitted import FittedModel, Report, ignore
from ..curator.parties.federation import connect
from ..curator.releasing.release import begin, charged_rho, propose
from .evaluation.metrics import kway_errors
from .evaluation.range_queries import range_errors
from .measurers import CentralMeasurer
from .network import InProcessConnection, policy_for, start_parties
from .paper_protocols import IndicatorMleMeasurer, TheoremMeasurer
from .partition import Grid, partition

PROTOCOLS = ("masked", "trusted", "indicator", "theorem", "indicator-mle")


@dataclass(frozen=True)
class Simulation:
    """What a simulated release gives.

    Attributes:
        synthetic: the synthetic table, coded.
        fitted: model, measurements, rounds, and bounds on the error of the synthetic rows.
        certificate: JSON values; public.
        metrics: JSON values; computed from the real table, so not for publication.
    """

    synthetic: Table
    fitted: FittedModel
    certificate: dict[str, Any]
    metrics: dict[str, Any]


def simulate(
    table: Table,
    *,
    budget: Budget,
    grid: Grid | str = "1x1",
    protocol: str = "masked",
    mechanism: Mechanism | str = "mosaic",
    workload: Workload | str = "2way",
    adjacency: Adjacency = Adjacency.ZERO_OUT,
    collusions: int | None = None,
    record_wise: bool = False,
    rows: int | None = None,
    seed: int | None = None,
    report: Report = ignore,
) -> Simulation:
    """Releases a synthetic table from K x S parties in this process, and measures how close it came.

    Args:
        table: the real table; `dpmosaic.read_table` reads one.
        budget: the promise.
        grid: which party holds what; "KxS", a file, or a Grid.
        protocol: "masked", "trusted", "indicator", "theorem" or "indicator-mle".
        mechanism: a name, or a configured mechanism such as `RandDPGen(alpha=0.2)`.
        workload: "1way", "2way", "3way", a file, or a Workload.
        adjacency: which tables are neighbours.
        collusions: with "masked", how many parties may pool what they know and still see no more than was
            promised; 1 where left out, or 0 for a single party. Zero gives the noise of a trusted place.
        record_wise: with "indicator", follow the paper to the letter: noise on every record, also where one
            party holds the whole clique.
        rows: synthetic rows; as many as the table has where left out.
        seed: makes the run reproducible, and unfit for a release; the result is labelled so.
        report: called after every step.

    Raises:
        DataError: something does not fit; nothing has been measured.
        BudgetError: a privacy parameter is out of range; nothing has been measured.
    """
    started = time.perf_counter()
    if protocol not in PROTOCOLS:
        raise DataError(f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if rows is not None and rows < 1:
        raise DataError(f"rows: expected at least 1, got {rows}")
    if record_wise and protocol != "indicator":
        raise DataError("record_wise goes with the protocol 'indicator' alone; leave it out or choose that")
    if collusions is not None and protocol != "masked":
        raise DataError("collusions go with the protocol 'masked' alone; leave them out or choose that")
    if isinstance(mechanism, str):
        mechanism = mechanism_named(mechanism)
    if isinstance(grid, str):
        grid = Grid.parse(grid, table.domain, table.record_count)
    if isinstance(workload, str):
        workload = Workload.parse(table.domain, workload)
    plan = Plan(
        table.domain,
        tuple(layout.rows for layout in grid.slices),
        tuple(layout.groups for layout in grid.slices),
        protocol,
        adjacency,
        mechanism,
        workload,
        budget,
    )
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    links, measurer, cost_factor = _measurer(table, plan, grid, stream, collusions, record_wise)
    fitted = mechanism.run(measurer, workload, stream.child("mechanism"), report)
    synthetic = fitted.model.generate(rows or table.record_count, stream.child("rows").generator())
    fitted = fitted.bounded_for(synthetic, table.record_count)
    issued = certificate(
        plan,
        measurer.accountant,
        fitted,
        not_private=measurer.not_private,
        cost_factor=cost_factor,
        observers=measurer.observers,
        seeded=seed is not None,
    )
    seconds = time.perf_counter() - started
    metrics = {
        "private": "computed from the real table: not for publication",
        "labels": issued["labels"],
        "kway": [asdict(error) for error in kway_errors(table, synthetic)],
        "range_queries": [asdict(error) for error in range_errors(table, synthetic)],
        "workload_error": workload.error(table, synthetic),
        "seconds": round(seconds, 3),
        "traffic_bytes": [[{"in": p.bytes_in, "out": p.bytes_out} for p in row] for row in links],
    }
    return Simulation(synthetic, fitted, issued, metrics)


def _measurer(
    table: Table,
    plan: Plan,
    grid: Grid,
    stream: RandomStream,
    collusions: int | None,
    record_wise: bool,
) -> tuple[list[list[InProcessConnection]], Measurer, int]:
    """The parties, their measurer, and what they are charged as a multiple of its accounts."""
    granted = plan.mechanism.granted(plan.budget)
    pieces = [[table]] if plan.protocol == "trusted" else partition(table, grid)
    horizontal, vertical = len(pieces), max(len(parties) for parties in pieces)
    if plan.protocol == "theorem":
        rng = stream.child("noise").generator()
        return [], TheoremMeasurer(table, horizontal, vertical, granted, rng), 1
    copies = horizontal * vertical if plan.protocol == "indicator-mle" else 1
    spoken = "indicator" if plan.protocol == "indicator-mle" else plan.protocol
    granted_rho = charged_rho(granted, copies)
    links = start_parties(pieces, policy_for(spoken, plan.adjacency, granted_rho), stream.child("parties"))
    federation = connect(plan.domain, links)
    release_id = secrets.token_hex(16)
    terms = propose(federation, release_id, spoken, plan.adjacency, granted, collusions, copies)
    acceptances = federation.accept(terms)
    if copies > 1:
        return links, IndicatorMleMeasurer(federation, terms, granted, copies), copies
    if spoken == "trusted":
        return links, CentralMeasurer(federation, terms, granted, table, plan.budget), 1
    dealer = stream.child("dealer")
    return links, begin(federation, terms, acceptances, granted, dealer, record_wise=record_wise), 1

"""A release in one process: partitions a table, runs its parties and the curator, compares the tables."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from ..common.crypto.randomness import RandomStream
from ..common.data.domain import Domain
from ..common.data.people import PeopleRows, number_people
from ..common.data.table import Table, check_rows
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.privacy.budget import DEFAULT_DELTA, Budget
from ..common.privacy.cost import ALL_ROWS, WEIGHT_PARTS
from ..common.protocols.aligned import DEFAULT_RHO, Population
from ..common.protocols.registry import INDICATOR, MASKED
from ..common.release_spec import ReleaseOptions, ReleaseSpec
from ..curator.analysis.published import Drawn, Published
from ..curator.analysis.release import Release
from ..curator.certificates.certificate import Certificate
from ..curator.mechanisms.catalogue import check_counting, mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.parts.fitted import FittedModel, Report, ignore
from ..curator.pgm.rows.counting import keep_pairs
from ..curator.releasing.planning.alignment_order import AlignmentOrder, check_population
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE
from ..curator.releasing.release import Released, ReleaseOrder
from ..curator.results.columns.formulas import check_followers
from ..curator.results.storage import Library, TableStorage
from .evaluation.metrics import PRIVATE, kway_errors
from .evaluation.range_queries import range_errors
from .parties.participants import Participants
from .parties.partition import Grid
from .parties.people import Linkage, Overlap, row_numbers
from .parties.releasing import release_among
from .tables.frames import DomainLike, Loaded, Source, load


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Release):
    """A simulated release, with its errors.

    Attributes:
        metrics: errors as JSON values; computed from the real table, so not for publication.
    """

    metrics: dict[str, Any]

    @property
    def drawn(self) -> Drawn:
        """Its rows, as they were made."""
        assert self.published.drawn is not None
        return self.published.drawn

    @property
    def fitted(self) -> FittedModel:
        """The model with the measurements and rounds behind it."""
        return self.drawn.released.fitted

    @property
    def bins(self) -> Certificate | None:
        """Certificate of the release that chose bins, of the same budget; None if the domain says all."""
        return self.drawn.bins


def simulate(
    data: Table | Source,
    epsilon: float | Budget = 1.0,
    *,
    delta: float = DEFAULT_DELTA,
    domain: DomainLike | None = None,
    grid: Grid | str = "1x1",
    mechanism: Mechanism | str = "mosaic",
    workload: Workload | str | None = None,
    target: str | None = None,
    dealers: int = 0,
    record_wise: bool = False,
    people: Sequence[Hashable] | None = None,
    identifiers: Sequence[str] | None = None,
    overlap: float | None = None,
    shuffle: bool = False,
    typos: float | None = None,
    population: str = Population.EVERYWHERE.value,
    alignment_rho: float = DEFAULT_RHO,
    bins_share: float = DEFAULT_SHARE,
    seed: int | None = None,
    report: Report = ignore,
    checks: Executor | None = None,
    **options: Unpack[ReleaseOptions],
) -> Simulation:
    """Releases a synthetic table from K x S parties in this process, and measures its errors.

    With identifiers, overlap, shuffle or typos, each party has its own people of its slice in its own order,
    and the parties align their rows first. Errors are then relative to the join of the parties' rows by the
    identifiers as the parties write them: what a central place would release.

    Args:
        data: the real table: a `Table`, for example from `dpmosaic.read_table`, a data frame, or the path of
            a CSV or Parquet file.
        epsilon: privacy budget, with delta; or a `Budget`, such as one in zCDP.
        delta: privacy budget, with epsilon.
        domain: of a data frame or file: a `Domain`, the content of a domain file or its path.
        grid: partition of the table: "KxS", a file, or a Grid.
        mechanism: a name, or a configured mechanism such as `RandDPGen(alpha=0.2)`.
        workload: "1way", "2way", "3way", a file, or a Workload; by default "2way".
        target: instead of a workload, the attribute that users of the table will predict; see
            `Workload.for_target`.
        dealers: with "masked", number of dealers, 1 or at least 3; by default the curator deals.
        record_wise: with "indicator", follow the paper exactly: noise on every record, even if one party
            holds the whole clique.
        people: for each row, its person. The promise is then for a person with all rows, of which each counts
            in part, slices are of people, and errors are relative to rows that count so. Parties of a slice
            know which rows are of one person, and not which row of one belongs to which of another.
        identifiers: for each row, what identifies its person; by default its number, or its person. An empty
            one matches nobody.
        overlap: share of the people of a slice who are at all of its parties, by default 1. Each other person
            is at a random set of them.
        shuffle: whether each party has its rows in a random order.
        typos: share of its identifiers that each party writes wrongly, by default 0; they match nobody's.
        population: with aligned rows, whose records are released: of the people "everywhere", at all parties
            of their slice, or "anywhere".
        alignment_rho: budget of the alignment, zCDP, beside that of the release.
        bins_share: share of the budget by which the bins of open attributes are chosen; without effect if the
            domain has none.
        seed: makes the run reproducible and not for release; the result is labelled so.
        report: called after every step.
        checks: where the second opinion on epsilon is computed; by default in a thread.
        options: `adjacency`; `protocol`, "masked", "trusted", "indicator", "theorem" or "indicator-mle"; for
            "masked", `collusions`, by default 1, or 0 for a single party, where 0 gives the noise of a
            trusted place, `check` and `sample`; `rows`. See `ReleaseSpec`.

    Raises:
        DataError: an argument does not fit the table or the others; nothing has been measured.
        BudgetError: a privacy parameter is out of range; nothing has been measured.

    Example:
        >>> result = dpmosaic.simulate(patients, epsilon=1.0, domain=domain, grid="2x1", seed=1)
        >>> list(result.table)
        ['sex', 'age']
        >>> 0 <= result.metrics["workload_error"] < 0.2
        True
    """
    started = time.perf_counter()
    if not isinstance(data, Table):
        if domain is None:
            raise DataError(
                "expected a domain: parties agree on one before a release; draft one with "
                "dpmosaic.draft(data), review it, and give it as domain=..."
            )
        loaded = load(data, domain)
        check_rows(loaded.table.record_count)
    elif domain is not None:
        raise DataError(
            "expected no domain beside a Table, which has one; leave it out, or give a data frame"
        )
    else:
        loaded = Loaded(data, data.domain.columns, TableStorage())
    table, budget = loaded.table, Budget.of(epsilon, delta)
    stream = RandomStream.of_seed(seed)
    shared = Overlap.of(identifiers, overlap, shuffle, typos)
    aligning = AlignmentOrder.parse({"population": population, "rho": alignment_rho})
    anywhere = shared is not None and aligning.population is Population.ANYWHERE
    whole: Table | PeopleRows = table if people is None else _of_people(table, people, identifiers)
    order = ordered(
        table.domain.with_absent() if anywhere else table.domain,
        ReleaseSpec.of(budget, options).covering(1 if people is None else ALL_ROWS),
        mechanism,
        workload,
        target,
        dealers,
    )
    if people is not None:
        check_counting(order.mechanism, budget)
        check_population(aligning.population)
    if record_wise and people is not None:
        raise DataError("record_wise: people with all rows have no indicator vectors; leave it out")
    if record_wise and order.protocol is not INDICATOR:
        raise DataError(
            "record_wise: expected the protocol 'indicator', got another; leave it out or choose 'indicator'"
        )
    if shared is None and people is None and not table.domain.open:
        # A party that holds all rows answers from these counts.
        keep_pairs(table, order.workload.cliques)
    grid = Grid.parse(grid, table.domain, whole.record_count) if isinstance(grid, str) else grid
    if shared is None:
        among = Participants.in_order(whole, order, grid, stream, dealers, record_wise)
    else:
        linkage = Linkage(row_numbers(whole.record_count) if identifiers is None else identifiers, shared)
        among = Participants.aligning(whole, order, grid, stream, linkage, aligning, dealers)
    made = release_among(among, order, bins_share, stream, seed is not None, report, target, checks)
    metrics = _metrics(made.order, made.released, among, time.perf_counter() - started)
    values, library = stream.child_key("values"), Library.of(data)
    drawn = Drawn(made.released, loaded.columns, values, made.bins, loaded.storage, library)
    return Simulation(Published.of(drawn), metrics)


def _of_people(table: Table, people: Sequence[Hashable], identifiers: object) -> PeopleRows:
    """The rows of a table by the person of each.

    Raises:
        DataError: there is not one for each row; or each row has an identifier as well.
    """
    if len(people) != table.record_count or any(one is None or one == "" for one in people):
        raise DataError("people: expected one for each row of the table, got more, fewer or none; fix them")
    if identifiers is not None:
        raise DataError(
            "identifiers: expected none beside people, by which rows are aligned then; leave them out"
        )
    person, first = number_people(people)
    return PeopleRows.evenly(table, person, len(first), WEIGHT_PARTS)


def ordered(
    domain: Domain,
    spec: ReleaseSpec,
    mechanism: Mechanism | str,
    workload: Workload | str | None,
    target: str | None,
    dealers: int,
) -> ReleaseOrder:
    """The order of a simulated release over a domain; for the arguments see `simulate` and `ReleaseOrder`.

    Raises:
        DataError: an argument does not fit the others.
    """
    check_followers(domain)
    order = ReleaseOrder(
        domain,
        spec,
        mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism,
        Workload.wanted(domain, workload, target),
    )
    if dealers and order.protocol is not MASKED:
        raise DataError(
            "dealers: expected the protocol 'masked', got another; leave it out or choose 'masked'"
        )
    return order


def _metrics(order: ReleaseOrder, made: Released, among: Participants, seconds: float) -> dict[str, Any]:
    """The errors of a release, as JSON values.

    Args:
        order: order of the release.
        made: the release.
        among: its participants.
        seconds: run time of the release.
    """
    real = among.real if order.chosen is None else among.real_with(order.chosen)
    for table in (real, made.synthetic):
        keep_pairs(table, order.workload.cliques)
    return {
        "private": PRIVATE,
        "labels": list(made.certificate.labels),
        "kway": [asdict(error) for error in kway_errors(real, made.synthetic)],
        "range_queries": [asdict(error) for error in range_errors(real, made.synthetic)],
        "workload_error": order.workload.error(real, made.synthetic),
        "seconds": round(seconds, 3),
        "traffic_bytes": [
            [{"in": party.bytes_in, "out": party.bytes_out} for party in row] for row in among.links
        ],
    }

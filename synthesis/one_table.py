"""The release of one table in one place: its first step, and one party that holds all its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.data.domain import Domain
from ..common.data.rules import Rule, read_rules
from ..common.data.workload import Workload
from ..common.version import __version__
from ..curator.analysis.published import Drawn
from ..curator.certificates.json_values import to_json_values
from ..curator.parties.asking import Asking
from ..curator.pgm.rows.counting import keep_pairs
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE
from ..curator.releasing.progress import progress_bar
from ..curator.releasing.release import ReleaseOrder
from ..simulations.parties.participants import Participants
from ..simulations.parties.partition import Grid
from ..simulations.parties.releasing import release_among
from ..simulations.tables.frames import Loaded, RawTable, written
from .bar import console_for
from .learning.cells import Cells
from .learning.first_step import Begun, begun_with, begun_without
from .prior import Prior
from .unfinished import Forgotten, Unfinished

RuleLike = Rule | Mapping[str, Any]
"""A rule, or its entry in a domain file."""


def with_rules(loaded: Loaded, rules: Sequence[RuleLike]) -> Loaded:
    """The same rows in a domain with more rules."""
    if not rules:
        return loaded
    more = tuple(rule if isinstance(rule, Rule) else read_rules([dict(rule)])[0] for rule in rules)
    domain = replace(loaded.table.domain, rules=(*loaded.table.domain.rules, *more))
    return replace(loaded, table=replace(loaded.table, domain=domain))


def settings_of(
    order: ReleaseOrder, time_limit: float | None, header: bool | None, seed: int | None
) -> dict[str, str]:
    """All that the answers of a release depend on beside the rows, by name; see `synthesize`."""
    return {
        "version of dpmosaic": __version__,
        "epsilon and delta": repr(order.spec.budget),
        "domain": order.domain.digest(),
        "adjacency": order.spec.adjacency.value,
        "mechanism": json.dumps(to_json_values(order.mechanism.describe()), sort_keys=True),
        "time limit": repr(time_limit),
        "workload": order.workload.digest(),
        "rows": repr(order.spec.rows),
        "header": repr(header),
        "seed": repr(seed),
    }


def draw_release(
    known: Loaded | RawTable,
    order: ReleaseOrder,
    target: str | None,
    anyway: bool,
    seed: int | None,
    progress: bool | None,
    checks: Executor | None,
    kept: Unfinished | Forgotten,
    prior: Prior | None,
) -> tuple[Drawn, Begun]:
    """The release of a table, and what its first step found.

    Args:
        known: the table.
        order: the release; without a domain, in one that has the names of the columns.
        target: see `synthesize`, as all others.
        anyway: see there.
        seed: see there.
        progress: see there.
        checks: see there.
        kept: what keeps the answers.
        prior: a public table that is known beforehand.
    """
    stream, noise = kept.stream(seed), kept.noise(seed)
    first = noise.child("first")
    if isinstance(known, Loaded):
        begun = begun_with(known.table, order, first, kept, checks=checks)
        columns = known.columns
    else:
        with closing(Cells.of(known.source, known.timezones, known.categories)) as cells:
            names, budget = cells.names, order.spec.budget
            ordered = partial(_order_for_known, order, target)
            begun = begun_without(
                cells,
                known.read,
                ordered,
                order.mechanism.granted,
                order.spec.adjacency,
                budget,
                anyway,
                first,
                kept,
                checks=checks,
            )
        columns = written(begun.table.domain, names)
    order = begun.order
    if prior is not None:
        coded = begun.coded or (lambda read: read(begun.table.domain))
        order = replace(order, prior=coded(prior.in_domain))
    # The party that holds all rows answers from these counts.
    keep_pairs(begun.table, order.workload.cliques)
    grid = Grid.even(begun.table.domain, begun.records, 1, 1)
    among = Participants.in_order(begun.table, order, grid, noise, 0, False, kept.fresh)
    among = replace(among, asking=Asking(kept))
    with progress_bar(console_for(progress)) as report:
        made = release_among(
            among, order, DEFAULT_SHARE, stream, seed is not None, report, target, checks, kept.release_id
        )
    values = stream.child("values").child_key("inside bins")
    return Drawn(made.released, columns, values, begun.certificate, known.storage), begun


def _order_for_known(asked: ReleaseOrder, target: str | None, known: Domain) -> ReleaseOrder:
    """The same order for the columns that are released; of its marginals, those of columns that vary.

    Args:
        asked: for all columns.
        target: column that others should predict well.
        known: the columns that are released.
    """
    if target is not None and target in known and len(known) > 1:
        return replace(asked, domain=known, workload=Workload.for_target(known, target))
    wanted = asked.workload
    held = [
        (known.canonical(clique), weight)
        for clique, weight in zip(wanted.cliques, wanted.weights, strict=True)
        if set(clique) <= set(known.varied)
    ]
    if not held:
        return replace(asked, domain=known, workload=Workload.all_kway(known, min(2, len(known))))
    cliques, weights = zip(*held, strict=True)
    return replace(asked, domain=known, workload=Workload(cliques, weights))

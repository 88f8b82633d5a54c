"""From a table to a private release of it in one call, by somebody who holds the whole table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import pandas as pd
from rich.console import Console

from ..common.crypto.randomness import RandomStream
from ..common.data.rules import Rule, read_rules
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.privacy.budget import Budget
from ..common.privacy.cost import Adjacency
from ..common.protocols.registry import TRUSTED
from ..curator.analysis.conditions import Where
from ..curator.analysis.published import Drawn
from ..curator.analysis.release import Release
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.pgm.counting import keep_pairs
from ..curator.releasing.bins_share import DEFAULT_SHARE
from ..curator.releasing.progress import progress_bar
from ..curator.releasing.release import ReleaseOrder
from .frames import DomainLike, Loaded, Source, load
from .participants import Participants
from .partition import Grid
from .releasing import release_among
from .schemas import DomainWarning
from .time_limit import TimeLimitWarning, lateness, limited

DEFAULT_DELTA = 1e-9
"""Delta of a release, unless it is given."""

RuleLike = Rule | Mapping[str, Any]
"""A rule, or its entry in a domain file."""


def synthesize(
    data: Source,
    epsilon: float = 1.0,
    *,
    delta: float = DEFAULT_DELTA,
    domain: DomainLike | None = None,
    mechanism: Mechanism | str = "mosaic",
    time_limit: float | None = None,
    rules: Sequence[RuleLike] = (),
    target: str | None = None,
    workload: Workload | str | None = None,
    rows: int | None = None,
    seed: int | None = None,
    progress: bool | None = None,
    header: bool | None = None,
    checks: Executor | None = None,
) -> Release:
    """Releases a synthetic table with (epsilon, delta)-differential privacy; the table is in one place.

    Without a domain, names and types of the columns say what they hold; these count as public, and no value
    is read for it. A part of the budget then finds bounds and bins of numbers and dates, and the texts that
    many rows have; other texts become "other". Dates and timestamps count as if they were from 1900 to 2099.
    A pandas Categorical lists its categories, which count as public too: convert a column whose categories
    were collected from private rows to text. The columns of a CSV file are of the narrowest types as which
    all their cells can be read. A domain of public bounds and categories gives less error.

    Args:
        data: the real table: a data frame of pandas, Polars or Arrow, or the path of a CSV or Parquet file.
            An index is not released.
        epsilon: privacy budget, with delta.
        delta: privacy budget, with epsilon.
        domain: a `Domain`, the content of a domain file or its path; None to go by names and types.
        mechanism: a name, or a configured mechanism such as `Mosaic()`.
        time_limit: seconds that the release may take on this machine, about; of the mechanism "mosaic". The
            machine's speed is measured once.
        rules: public statements that no synthetic row breaks, beside those of the domain.
        target: a column that others should predict well: the workload is what predicts it.
        workload: "1way", "2way", "3way", a file, or a Workload; by default all pairs.
        rows: number of synthetic rows; by default as many as the table has, at most 10^7.
        seed: makes the release reproducible and not for release; it is labelled so.
        progress: whether to show progress; by default in a terminal and in a notebook.
        header: whether the first line of a CSV names the columns, which are otherwise column1, column2, ...;
            by default it does, unless it reads as a record.
        checks: where the second opinion on epsilon is computed; by default in a thread.

    Returns:
        The release, in memory; nothing is written.

    Raises:
        DataError: the table, the domain or an argument does not fit; nothing has been spent.
        BudgetError: a privacy parameter is out of range; nothing has been spent.

    Warns:
        DomainWarning: no domain was given.
        TimeLimitWarning: the release took more than 1.5 times the time limit.
        UserWarning: the index has a name, or a first column of row numbers has none; both are left out.
    """
    started = time.perf_counter()
    budget = Budget(epsilon, delta)
    chosen = limited(mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism, time_limit)
    loaded = _ruled(load(data, domain, header=header), rules)
    table = loaded.table
    if loaded.by_types:
        warnings.warn(_advice(loaded), DomainWarning, stacklevel=2)
    order = ReleaseOrder(
        table.domain,
        TRUSTED,
        Adjacency.ZERO_OUT,
        chosen,
        Workload.wanted(table.domain, workload, target),
        budget,
        rows=rows,
    )
    if not table.domain.open:
        # The party that holds all rows answers from these counts.
        keep_pairs(table, order.workload.cliques)
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    grid = Grid.even(table.domain, table.record_count, 1, 1)
    among = Participants.in_order(table, order, grid, stream, dealers=0, record_wise=False)
    with progress_bar(console_for(progress)) as report:
        made = release_among(among, order, DEFAULT_SHARE, stream, seed is not None, report, target, checks)
    drawn = Drawn(made.released, loaded.columns, stream.child("values"), made.bins, loaded.storage)
    release = Release.of(drawn)
    late = lateness(time_limit, time.perf_counter() - started)
    if late is not None:
        warnings.warn(late, TimeLimitWarning, stacklevel=2)
    return release


def console_for(progress: bool | None) -> Console:
    """The console of a progress bar, which shows it in a terminal or a notebook.

    Args:
        progress: whether to show it; None where there is one of these.
    """
    console = Console(stderr=True, quiet=progress is False)
    if progress and not console.is_jupyter:
        return Console(stderr=True, force_terminal=True)
    return console


def _ruled(loaded: Loaded, rules: Sequence[RuleLike]) -> Loaded:
    """The same rows in a domain with more rules."""
    if not rules:
        return loaded
    more = tuple(rule if isinstance(rule, Rule) else read_rules([dict(rule)])[0] for rule in rules)
    domain = replace(loaded.table.domain, rules=(*loaded.table.domain.rules, *more))
    return replace(loaded, table=replace(loaded.table, domain=domain))


def _advice(loaded: Loaded) -> str:
    listed = f" The categories of {', '.join(loaded.listed)} count as public." if loaded.listed else ""
    return (
        "no domain: the release knows the columns by their names and types, and spends a part of its budget "
        "on bounds, bins and texts. A domain of public bounds and categories gives less error; "
        f"`dpmosaic domain infer` drafts one.{listed}"
    )


@dataclass(eq=False)
class Synthesizer:
    """Releases in the style of scikit-learn; the parameters are those of `synthesize`.

    Each `fit` is a release with a budget of its own: fitting one table twice costs twice.

    Attributes:
        epsilon: privacy budget of each `fit`, with delta.
        delta: privacy budget of each `fit`, with epsilon.
        domain: see `synthesize`, as all others.
        mechanism: a name, or a configured mechanism.
        time_limit: seconds that a `fit` may take on this machine, about.
        rules: public statements that no synthetic row breaks.
        target: a column that others should predict well.
        workload: marginals to preserve.
        rows: number of rows of the released table.
        seed: makes the release reproducible and not for release.
        progress: whether to show progress.
        header: see `synthesize`.
    """

    epsilon: float = 1.0
    delta: float = DEFAULT_DELTA
    domain: DomainLike | None = None
    mechanism: Mechanism | str = "mosaic"
    time_limit: float | None = None
    rules: Sequence[RuleLike] = ()
    target: str | None = None
    workload: Workload | str | None = None
    rows: int | None = None
    seed: int | None = None
    progress: bool | None = None
    header: bool | None = None

    def fit(self, X: Source, y: object = None) -> Self:
        """Releases a table; `release_` is the release.

        Args:
            X: the real table: a data frame, or the path of a CSV or Parquet file.
            y: ignored; for pipelines.

        Raises:
            DataError: see `synthesize`.
            BudgetError: see `synthesize`.
        """
        self.release_ = synthesize(X, **self.get_params())
        return self

    def sample(
        self, n: int | None = None, where: Where | None = None, seed: int | None = None
    ) -> pd.DataFrame:
        """Rows of the release: see `Release.sample`; without arguments the released table.

        Raises:
            DataError: nothing was fitted, or see `Release.sample`.
        """
        if not hasattr(self, "release_"):
            raise DataError("expected a fitted synthesizer, got one that is not; call fit first")
        if n is None and where is None and seed is None:
            return self.release_.table
        return self.release_.sample(len(self.release_.table) if n is None else n, where, seed)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Args:
            deep: without effect; for scikit-learn.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters.

        Raises:
            DataError: there is no such parameter.
        """
        for name, value in params.items():
            if name not in self.get_params():
                known = ", ".join(self.get_params())
                raise DataError(f"expected one of the parameters {known}, got {name!r}; fix the name")
            setattr(self, name, value)
        return self

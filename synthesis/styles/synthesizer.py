"""Releases in the style of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import pandas as pd

from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.privacy.budget import DEFAULT_DELTA
from ...common.privacy.cost import Adjacency
from ...curator.analysis.conditions import Where
from ...curator.mechanisms.mechanism import Mechanism
from ...simulations.tables.frames import DomainLike, Source
from ..ledgers.places import LedgerLike
from ..one_table import RuleLike
from ..prior import PriorLike
from ..synthesize import synthesize


@dataclass(eq=False)
class Synthesizer:
    """Releases in the style of scikit-learn; the parameters are those of `synthesize` for one row a person.

    Each `fit` is a release with a budget of its own: fitting one table twice costs twice.

    Attributes:
        epsilon: privacy budget of each `fit`, with delta.
        delta: privacy budget of each `fit`, with epsilon.
        domain: see `synthesize`, as all others.
        adjacency: which tables are neighbours, and so whether the number of rows is public.
        anyway: whether to learn the columns of a table of too few rows.
        mechanism: a name, or a configured mechanism.
        prior: what is known beforehand.
        prior_is_public: whether you say so of a prior that is no release.
        time_limit: seconds that a `fit` may take on this machine, about.
        rules: public statements that no synthetic row breaks.
        target: a column that others should predict well.
        workload: marginals to preserve.
        rows: number of rows of the released table.
        seed: makes the release reproducible and not for release.
        progress: whether to show progress.
        header: see `synthesize`.
        ledger: see there; a second `fit` of one table says what both promise together.
    """

    epsilon: float = 1.0
    delta: float = DEFAULT_DELTA
    domain: DomainLike | None = None
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    anyway: bool = False
    mechanism: Mechanism | str = "mosaic"
    prior: PriorLike | None = None
    prior_is_public: bool = False
    time_limit: float | None = None
    rules: Sequence[RuleLike] = ()
    target: str | None = None
    workload: Workload | str | None = None
    rows: int | None = None
    seed: int | None = None
    progress: bool | None = None
    header: bool | None = None
    ledger: LedgerLike = True

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

    def generate(
        self, n: int | None = None, where: Where | None = None, seed: int | None = None
    ) -> pd.DataFrame:
        """Rows of the release: see `Release.generate`; without arguments the released table.

        Raises:
            DataError: nothing was fitted, or see `Release.generate`.
        """
        if not hasattr(self, "release_"):
            raise DataError("expected a fitted synthesizer, got one that is not; call fit first")
        if n is None and where is None and seed is None:
            return self.release_.table
        return self.release_.generate(len(self.release_.table) if n is None else n, where, seed)

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

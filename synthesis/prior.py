"""A table that is known before a release: an earlier release, or a public table of the same columns."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ..common.data.domain import Domain
from ..common.data.table import Table
from ..common.errors import DataError
from ..curator.analysis.release import Release
from ..curator.analysis.release import load as read_release
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.mosaic.mosaic import Mosaic
from ..simulations.tables.frames import RawTable, Source, digest_of, load, raw_table

PriorLike: TypeAlias = Release | Source
"""A release, its folder, or a public table: a data frame or the path of a file."""


@dataclass(frozen=True, eq=False)
class Prior:
    """A public table.

    Attributes:
        rows: its rows.
        raw: the same, as nobody has described them.
    """

    rows: Source
    raw: RawTable

    @classmethod
    def of(
        cls, prior: PriorLike | None, is_public: bool, data: Source, mechanism: Mechanism
    ) -> Prior | None:
        """A prior of a release of a table; None without one.

        Raises:
            DataError: nobody says that it is public, it is the table itself, or the mechanism has no use of it.
        """
        if prior is None:
            if is_public:
                raise DataError("prior_is_public: expected a prior beside it, got none; leave it out")
            return None
        if not isinstance(mechanism, Mosaic):
            raise DataError(
                f"prior: expected the mechanism 'mosaic', got {mechanism.name!r}, which knows nothing "
                "beforehand; leave the prior out, or choose 'mosaic'"
            )
        rows = _private_release(prior)
        if rows is None:
            if not is_public:
                raise DataError(
                    "prior: expected a private release or its folder, got another table; if it is public or made "
                    "from a release, say so with prior_is_public, and never give private rows"
                )
            assert not isinstance(prior, Release) or prior.table is not None
            rows = prior.table if isinstance(prior, Release) else prior
        if rows is data or (_is_path(rows) and _is_path(data) and Path(str(rows)).samefile(str(data))):
            raise DataError("prior: expected another table than the real one, got that; leave the prior out")
        return cls(rows, raw_table(rows))

    def check_columns(self, names: Collection[str]) -> None:
        """Refuses a prior that lacks columns.

        Raises:
            DataError: names one.
        """
        held = set(self.raw.source.columns())
        if lacking := [name for name in names if name not in held]:
            raise DataError(
                f"prior: expected the columns of the table, got none called {lacking[0]!r}; add it, or leave the "
                "prior out"
            )

    def in_domain(self, domain: Domain) -> Table:
        """Its codes.

        Raises:
            DataError: a column is missing, or a value has no code.
        """
        self.check_columns(list(domain))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                return load(self.rows, domain).table
            except DataError as fault:
                raise DataError(f"prior: {fault}") from fault

    def digest(self) -> str:
        """A digest of its cells or its file."""
        return digest_of(self.rows, b"prior").hex()


def _private_release(prior: PriorLike) -> Source | None:
    """The table of a release that keeps its promise; None of anything else."""
    if _is_path(prior) and Path(str(prior)).is_dir():
        prior = read_release(str(prior))
    if isinstance(prior, Release) and prior.certificate.differentially_private:
        return prior.table
    return None


def _is_path(data: object) -> bool:
    return isinstance(data, str | Path)

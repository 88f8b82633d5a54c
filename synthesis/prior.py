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
from ..simulations.tables.arrow_tables import rereadable
from ..simulations.tables.frames import RawTable, Source, digest_of, load, raw_table

PriorLike: TypeAlias = Release | Source
"""A release, its folder, or a public table: a data frame or the path of a file."""

_PRIOR = b"prior"
"""Key of digests of priors, which are public."""


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
    def of(cls, prior: PriorLike | None, is_public: bool, mechanism: Mechanism) -> Prior | None:
        """A prior of a release of a table; None without one.

        Raises:
            DataError: nobody says that it is public, or the mechanism cannot use it.
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
        if isinstance(prior, str | Path) and Path(prior).is_dir():
            prior = read_release(prior)
        released = isinstance(prior, Release) and prior.certificate.differentially_private
        if not (released or is_public):
            raise DataError(
                "prior: expected a private release or its folder, got another table; if it is public or made "
                "from a release, say so with prior_is_public, and never give private rows"
            )
        rows = rereadable(prior.table if isinstance(prior, Release) else prior)
        return cls(rows, raw_table(rows))

    def check_other(self, data: Source) -> None:
        """Refuses a prior that is the real table, also a copy of it.

        Raises:
            DataError: it is.
        """
        if self.digest() == digest_of(data, _PRIOR).hex():
            raise DataError("prior: expected another table than the real one, got that; leave the prior out")

    def check_columns(self, names: Collection[str]) -> None:
        """Refuses a prior that lacks columns.

        Raises:
            DataError: names one.
        """
        held = set(self.raw.source.columns())
        if lacking := [name for name in names if name not in held]:
            raise DataError(
                f"prior: expected the columns of the table, got none called {lacking[0]!r}; add it, or leave "
                "the prior out"
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
        return digest_of(self.rows, _PRIOR).hex()

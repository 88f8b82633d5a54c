"""File formats of synthetic tables. Needs none of the curator's packages, so that commands can use it."""

from __future__ import annotations

import enum


class TableFormat(enum.StrEnum):
    """A format of the synthetic table; the value is the file name's extension."""

    CSV = "csv"
    PARQUET = "parquet"

    @property
    def file(self) -> str:
        """File name of the synthetic table."""
        return f"synthetic.{self.value}"

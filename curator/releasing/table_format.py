"""How a synthetic table is written. Needs none of the curator's packages, so that commands can name it."""

from __future__ import annotations

import enum


class TableFormat(enum.StrEnum):
    """A format of the synthetic table; the value is the end of its file's name."""

    CSV = "csv"
    PARQUET = "parquet"

    @property
    def file(self) -> str:
        """Name of the synthetic table's file."""
        return f"synthetic.{self.value}"

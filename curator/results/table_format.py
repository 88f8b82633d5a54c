"""How a synthetic table is written. Needs none of the curator's packages, so that commands can use it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from ...common.errors import DataError
from ...common.release_spec import OUTPUT


class TableFormat(enum.StrEnum):
    """A format of the synthetic table; the value is the file name's extension."""

    CSV = "csv"
    PARQUET = "parquet"

    @property
    def file(self) -> str:
        """File name of the synthetic table."""
        return f"synthetic.{self.value}"


Format = Annotated[
    TableFormat,
    typer.Option("--format", help="Format of the synthetic table.", rich_help_panel=OUTPUT),
]
"""The option of a command."""


@dataclass(frozen=True)
class TableFile:
    """The file of a synthetic table.

    Attributes:
        table_format: its format.
        spreadsheet_safe: write an apostrophe before text that a spreadsheet would run as a formula; CSV only.

    Raises:
        DataError: the format has no need of apostrophes.
    """

    table_format: TableFormat = TableFormat.CSV
    spreadsheet_safe: bool = False

    def __post_init__(self) -> None:
        if self.spreadsheet_safe and self.table_format is not TableFormat.CSV:
            raise DataError(
                f"--spreadsheet-safe: expected the format csv, got {self.table_format.value}, whose text is "
                "never run as a formula; leave the option out, or resume with --no-spreadsheet-safe"
            )

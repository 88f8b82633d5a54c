"""How a synthetic table is written. Needs none of the curator's packages, so that commands can use it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

import typer

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.release_spec import OUTPUT


class TableFormat(enum.StrEnum):
    """A format of the synthetic table; the value is the file name's extension."""

    CSV = "csv"
    PARQUET = "parquet"
    FEATHER = "feather"
    XLSX = "xlsx"
    SAV = "sav"
    DTA = "dta"
    XPT = "xpt"

    @property
    def extra(self) -> str:
        """The extra without which it is not written; empty for none but the curator's."""
        return (
            "files" if self in (TableFormat.XLSX, TableFormat.SAV, TableFormat.DTA, TableFormat.XPT) else ""
        )

    @property
    def file(self) -> str:
        """File name of the synthetic table."""
        return f"synthetic.{self.value}"


Format = Annotated[
    TableFormat,
    typer.Option(
        "--format",
        help="Format of the synthetic table: also Excel (xlsx), SPSS (sav), Stata (dta), SAS (xpt).",
        rich_help_panel=OUTPUT,
    ),
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
        MissingExtraError: the packages that write the format are not installed.
    """

    table_format: TableFormat = TableFormat.CSV
    spreadsheet_safe: bool = False

    def __post_init__(self) -> None:
        if self.table_format.extra:
            require_extra(self.table_format.extra)
        if self.spreadsheet_safe and self.table_format is not TableFormat.CSV:
            raise DataError(
                f"--spreadsheet-safe: expected the format csv, got {self.table_format.value}, whose text is "
                "never run as a formula; leave the option out, or resume with --no-spreadsheet-safe"
            )

    @classmethod
    def of(cls, name: str) -> TableFile:
        """The file of a format that is named.

        Raises:
            DataError: there is no such format, or see the class.
            MissingExtraError: the packages that write it are not installed.
        """
        if name not in list(TableFormat):
            raise DataError(f"format: expected one of {', '.join(TableFormat)}, got {name!r}; name one")
        return cls(TableFormat(name))

"""The tables of experiments, from a folder of the user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ...common.data.binarise import Binarisation
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from ...party.sources.source import read_table

_ENDINGS = (".csv.gz", ".csv", ".parquet")


@dataclass(frozen=True)
class DataFolder:
    """A folder of tables.

    It holds NAME/domain.json and NAME/NAME.csv.gz (or .csv, .parquet) for each table, or what
    `dpmosaic datasets get` writes: NAME.domain.json and NAME.csv.

    Attributes:
        path: path of the folder.
    """

    path: Path

    def files(self, name: str) -> tuple[Path, Path] | None:
        """Paths of a table and of its domain file; None if one of them is missing."""
        for domain, stem in (
            (self.path / name / "domain.json", self.path / name / name),
            (self.path / f"{name}.domain.json", self.path / name),
        ):
            tables = (stem.with_name(stem.name + ending) for ending in _ENDINGS)
            table = next((path for path in tables if path.is_file()), None)
            if table is not None and domain.is_file():
                return table, domain
        return None

    def load(self, name: str, binary: bool = False) -> Table:
        """A table, coded.

        Args:
            name: name of the table.
            binary: whether to code attributes as binary digits.

        Raises:
            DataError: a file is missing or cannot be read.
        """
        return _load(self, name, binary)


@lru_cache(maxsize=4)
def _load(data: DataFolder, name: str, binary: bool) -> Table:
    found = data.files(name)
    if found is None:
        raise DataError(
            f"expected {data.path / name / name}.csv.gz (or .csv, .parquet) and domain.json beside it for "
            "the "
            f"table {name!r}, found none; put them there, or choose another data folder"
        )
    domain = Domain.load(found[1])
    table = read_table(found[0], domain)
    return Binarisation(domain).encode(table) if binary else table

"""Results of cells, one JSON file each, so that a run that is stopped can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.bounded import json_of, read_bytes
from ...common.errors import DataError
from ...common.files.writing import whole_file
from .cell import Cell

_FOLDER = "cells"


@dataclass(frozen=True)
class Failure:
    """Why a cell has no result.

    Attributes:
        kind: class name of the error.
        sentence: message of the error.
    """

    kind: str
    sentence: str


@dataclass(frozen=True)
class Result:
    """The result of a cell.

    Attributes:
        cell: the cell.
        values: measured values by name; empty if the cell failed.
        failure: reason of the failure; None if the cell succeeded.
    """

    cell: Cell
    values: Mapping[str, float]
    failure: Failure | None = None


@dataclass(frozen=True)
class Store:
    """A folder of results; files are written atomically.

    Attributes:
        folder: path of the folder; created if it is missing.
        software: version of the software; results of other versions are ignored.
    """

    folder: Path
    software: str

    def read(self, cell: Cell, table_digest: str) -> Result | None:
        """The result of a cell; None if there is none of this software and this table."""
        path = self._path(cell, table_digest)
        try:
            form = json_of(read_bytes(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as cause:
            raise DataError(
                f"the result {path} cannot be read; remove it and run the experiment again"
            ) from cause
        failed = form.get("failure")
        failure = None if failed is None else Failure(failed["kind"], failed["sentence"])
        return Result(cell, form["values"], failure)

    def write(self, result: Result, table_digest: str) -> None:
        """Stores a result."""
        path = self._path(result.cell, table_digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        form: dict[str, Any] = {
            "software": self.software,
            "table_digest": table_digest,
            "cell": result.cell.to_json(),
            "values": dict(result.values),
            "failure": None if result.failure is None else vars(result.failure),
        }
        with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
            json.dump(form, file, indent=1)
            file.flush()
            os.fsync(file.fileno())

    def _path(self, cell: Cell, table_digest: str) -> Path:
        return self.folder / _FOLDER / f"{cell.identity(table_digest, self.software)}.json"

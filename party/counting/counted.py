"""Numbers of rows of cells: by any engine, and by DuckDB of codes that a party copied."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ...common.errors import DataError
from ..sources.memory import connect
from ..sources.sql import one_file
from .engines.engine import Check, run

_MEMORY = "256MB"
"""What DuckDB may hold in memory while it counts."""


def count_in_cells(
    fetch: Callable[[exp.Select], list[NDArray[Any]]], table: exp.Expr, cell: exp.Expr, cells: int
) -> NDArray[np.int64]:
    """The number of rows of each cell, shape (cells,).

    Args:
        fetch: gives the columns of a query's answer.
        table: the rows.
        cell: number of the cell of each row.
        cells: how many there are.
    """
    # Some servers group by columns alone.
    numbered = exp.select(cell.as_("cell")).from_(table).subquery("numbered")
    query = exp.select("cell", exp.Count(this=exp.Star()).as_("records")).from_(numbered)
    found, records = fetch(query.group_by("cell"))
    counts = np.zeros(cells, dtype=np.int64)
    counts[found.astype(np.int64)] = records.astype(np.int64)
    return counts


class Copy:
    """Codes of all rows in Parquet files, counted by DuckDB; thread-safe, one statement at a time.

    Args:
        files: where the codes are.
    """

    name = "DuckDB"

    def __init__(self, files: Sequence[Path]) -> None:
        names = exp.array(*(exp.Literal.string(one_file(file)) for file in files), dialect="duckdb")
        self._table = exp.func("READ_PARQUET", names, dialect="duckdb")
        self._connection = connect(memory_limit=_MEMORY)
        self._lock = threading.Lock()

    def counts(self, cell: exp.Expr, cells: int, check: Check, timeout_s: float) -> NDArray[np.int64]:
        """The number of rows of each cell; see `count_in_cells`.

        Args:
            cell: number of the cell of each row.
            cells: how many there are.
            check: see `run`.
            timeout_s: see `run`.

        Raises:
            DataError: the files cannot be read.
            PolicyError: it took too long.
        """
        with self._lock:
            found: NDArray[np.int64] = run(
                self, lambda: count_in_cells(self._fetch, self._table, cell, cells), check, timeout_s
            )
            return found

    def interrupt(self) -> None:
        """Ends the statement that another thread runs; thread-safe."""
        self._connection.interrupt()

    def _fetch(self, query: exp.Select) -> list[NDArray[Any]]:
        try:
            return list(self._connection.execute(query.sql("duckdb")).fetchnumpy().values())
        except duckdb.Error:
            raise DataError(
                "expected codes of rows on disk that can be counted, got an error; leave the party's files "
                "alone, and start the party again"
            ) from None

"""Every source keeps the contract of sources."""

import duckdb
import pytest

from dpmosaic.party.sources.query import QuerySource
from dpmosaic.party.sources.source import FileSource
from dpmosaic.testing import SourceContract

pytestmark = pytest.mark.slow


def written(path, names, rows, form):
    """Rows as DuckDB writes them; "" as null."""
    with duckdb.connect() as database:
        kinds = ["VARCHAR" if name == "kind" else "INTEGER" for name in names]
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
        database.execute(f"CREATE TABLE rows ({columns})")
        for row in rows:
            database.execute("INSERT INTO rows VALUES (?, ?)", [None if cell == "" else cell for cell in row])
        database.execute(f"COPY rows TO '{path}' ({form})")
    return path


class TestCsv(SourceContract):
    def source(self, folder, names, rows):
        return FileSource(written(folder / "rows.csv", names, rows, "HEADER"))


class TestParquet(SourceContract):
    def source(self, folder, names, rows):
        return FileSource(written(folder / "rows.parquet", names, rows, "FORMAT parquet"))


class TestQuery(SourceContract):
    def source(self, folder, names, rows):
        numbered = [(*row, place) for place, row in enumerate(rows)]
        lines = [",".join((*names, "id")), *(",".join(map(str, row)) for row in numbered)]
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
        return QuerySource(f"SELECT {', '.join(names)} FROM 'rows.csv' ORDER BY id", folder)

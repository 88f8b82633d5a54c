"""Databases of the common data model: DuckDB files, read and written, and PostgreSQL, read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.files.writing import whole_file
from ...party.sources.memory import connect
from .model import ANCESTOR, CLINICAL, CONCEPT, VERSION, VOCABULARY, CdmTable

Connection = duckdb.DuckDBPyConnection

SOURCE = "cdm_source"
"""The table that says where a CDM comes from."""

_REMOTE = ("postgresql://", "postgres://")


@contextlib.contextmanager
def open_cdm(database: str | Path, schema: str = "", *, alone: bool = False) -> Iterator[Connection]:
    """A database for reading.

    The tables of a PostgreSQL server are copied into the memory of this process.

    Args:
        database: a file of DuckDB, or the URI of a PostgreSQL database.
        schema: schema of the tables; empty for the usual one.
        alone: whether the file may be a stranger's, whose views read no other files.

    Raises:
        DataError: there is none, or a table of the data model is missing.
        MissingExtraError: PostgreSQL needs an extra that is not installed.
    """
    if str(database).startswith(_REMOTE):
        with connect() as connection:
            _copy(str(database), schema or "public", connection)
            yield connection
        return
    path = Path(database)
    if not path.is_file():
        raise DataError(f"expected a CDM at {path}, a file of DuckDB, found none; fix the path")
    try:
        connection = connect(path, read_only=True)
    except duckdb.Error:
        raise DataError(f"cannot read {path}; expected a file of DuckDB that nobody has open") from None
    with connection:
        if alone:
            connection.execute("SET enable_external_access = false")
        if schema:
            try:
                connection.execute("SET schema = ?", [schema])
            except duckdb.Error:
                raise DataError(f"{path}: expected a schema {schema!r}, found none; fix the name") from None
        try:
            _check(connection)
            yield connection
        except duckdb.PermissionException:
            raise DataError(
                f"{path}: expected tables, found a view of other files, which a check does not read; copy "
                "what it shows into a table"
            ) from None
        except duckdb.Error as error:
            # Its message may hold a value.
            kind = type(error).__name__
        else:
            return
    raise DataError(
        f"{path}: expected the columns of CDM {VERSION} in its types, found others ({kind}); fix the types"
    )


def held_tables(connection: Connection) -> set[str]:
    """The names of the tables and views, in small letters."""
    return {name.lower() for (name,) in connection.execute("SHOW TABLES").fetchall()}


def _check(connection: Connection) -> None:
    """Raises DataError if a table or a column is missing."""
    held = held_tables(connection)
    for table in (*CLINICAL, *VOCABULARY):
        if table.name not in held:
            raise DataError(
                f"expected the table {table.name} of the CDM, found none; add it, or name its schema"
            )
        rows = connection.execute(f"DESCRIBE {table.name}").fetchall()
        columns = {row[0].lower(): row[1] for row in rows}
        if missing := [name for name in table.columns if name not in columns]:
            raise DataError(
                f"{table.name}: expected the column {missing[0]} of CDM {VERSION}, found none; add it"
            )
        dates = (table.start, table.end)
        if others := [name for name in dates if name and columns[name] != "DATE"]:
            raise DataError(f"{table.name}: expected dates in {others[0]}, found another type; cast it")


def write(database: Path, tables: Mapping[str, pd.DataFrame], source: Mapping[str, Any]) -> None:
    """Writes a CDM into a new file.

    Args:
        database: the file.
        tables: rows of the tables of the data model, by name; columns that they lack are empty.
        source: the row of the table `cdm_source`.

    Raises:
        DataError: the file exists, or cannot be written.
    """
    if database.exists():
        raise DataError(f"{database} exists already; choose another file, or remove it")
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(database) as draft, connect(draft) as connection:
            for table in (*CLINICAL, *VOCABULARY):
                _write(connection, table, tables[table.name])
            connection.register("given", pd.DataFrame([dict(source)]))
            connection.execute(f"CREATE TABLE {SOURCE} AS SELECT * FROM given")
    except (OSError, duckdb.IOException):
        raise DataError(f"cannot write {database}; choose another file") from None


def _write(connection: Connection, table: CdmTable, rows: pd.DataFrame) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
    connection.execute(f"CREATE TABLE {table.name} ({columns})")
    if len(rows):
        connection.register("given", rows)
        connection.execute(f"INSERT INTO {table.name} BY NAME SELECT * FROM given")
        connection.unregister("given")


_KINDS = {
    "BIGINT": pa.int64(),
    "DATE": pa.date32(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR": pa.string(),
}
"""Types of Arrow for those of the data model."""

_VOCABULARY = {
    CONCEPT.name: "standard_concept IS NOT NULL OR concept_id = 0",
    ANCESTOR.name: "descendant_concept_id IN (SELECT concept_id FROM {concept} WHERE domain_id IN "
    "('Condition', 'Drug', 'Measurement', 'Visit'))",
}
"""What is copied of vocabularies: concepts that records may be about."""


def _copy(uri: str, schema: str, connection: Connection) -> None:
    """Copies the tables of a PostgreSQL database."""
    require_extra("postgres")
    import psycopg
    from psycopg import sql

    try:
        with psycopg.connect(uri, connect_timeout=10) as server, server.cursor() as cursor:
            server.read_only = True
            cursor.execute("SET DateStyle = 'ISO'")
            for table in (*CLINICAL, *VOCABULARY):
                chosen = sql.SQL(_VOCABULARY.get(table.name, "TRUE")).format(
                    concept=sql.Identifier(schema, CONCEPT.name)
                )
                query = sql.SQL(
                    "COPY (SELECT {} FROM {} WHERE {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
                ).format(
                    sql.SQL(", ").join(map(sql.Identifier, table.columns)),
                    sql.Identifier(schema, table.name),
                    chosen,
                )
                with cursor.copy(query) as blocks:
                    connection.register("given", _rows(table, b"".join(blocks)))
                connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM given")
                connection.unregister("given")
            cursor.execute("SELECT to_regclass(%s)", [sql.Identifier(schema, SOURCE).as_string(server)])
            if cursor.fetchall() != [(None,)]:
                cursor.execute(
                    sql.SQL("SELECT source_release_date FROM {}").format(sql.Identifier(schema, SOURCE))
                )
                connection.execute(f"CREATE TABLE {SOURCE} (source_release_date DATE)")
                for row in cursor.fetchall():
                    connection.execute(f"INSERT INTO {SOURCE} VALUES (?)", row)
    except psycopg.OperationalError:
        raise DataError("PostgreSQL: the server cannot be reached, or refuses you; check the URI") from None
    except psycopg.Error:
        raise DataError(
            f"PostgreSQL: expected the tables of CDM {VERSION} in the schema {schema!r}, and the right to "
            "read them; name the schema, or ask for the right"
        ) from None


def _rows(table: CdmTable, text: bytes) -> pa.Table:
    """The rows of a table from a CSV without a header, in which what is not quoted is missing."""
    kinds = {name: _KINDS[kind] for name, kind in table.columns.items()}
    if not text:
        return pa.schema(kinds.items()).empty_table()
    return csv.read_csv(
        io.BytesIO(text),
        csv.ReadOptions(column_names=list(kinds)),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )

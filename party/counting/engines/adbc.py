"""Engines with an ADBC driver (the extra `adbc`, and the driver's own package)."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import adbc_driver_manager
import adbc_driver_manager.dbapi
import pyarrow as pa
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp

from ....common.errors import DataError
from .dialects import server_of
from .engine import Lost
from .kinds import Kind
from .remote import BATCH_ROWS, Place, RemoteEngine, columns_of

_Error = adbc_driver_manager.Error


class AdbcEngine(RemoteEngine):
    """Counts rows in an engine behind an ADBC driver.

    Args:
        place: which rows are the party's.
        driver: one of `SERVERS`: a package adbc-driver-NAME, or what the driver manager knows by this name.
        uri: what the driver connects to; a secret.

    Raises:
        DataError: the driver is unknown or not installed.
        Lost: the engine cannot be reached.
    """

    dialect: ClassVar[str]
    composes: ClassVar[bool]

    def __init__(self, place: Place, driver: str, uri: str) -> None:
        self._server = server_of(driver)
        self.dialect = self._server.dialect  # type: ignore[misc]
        self.composes = self._server.composes  # type: ignore[misc]
        self.name = driver
        super().__init__(place)
        self._connection = _connect(driver, uri)
        for statement in self._server.session:
            self.run(statement)

    def kinds(self) -> Mapping[str, Kind]:
        """See `Engine`."""
        query = exp.select("*").from_(self.source()).limit(0)
        with self._cursor() as cursor:
            cursor.execute(self.sql(query))
            schema = cursor.fetch_arrow_table().schema
        return self._compose_names({field.name: _kind(field) for field in schema})

    def text(self, value: exp.Expr) -> exp.Expr:
        """See `Engine`."""
        return self._write(self._server.text, value)

    def sql(self, statement: exp.Expr) -> str:
        """See `RemoteEngine`."""
        return self._server.sql(statement)

    def keep(self, name: str, rows: exp.Select) -> exp.Expr | None:
        """See `Engine`; an engine that refuses keeps none."""
        table = self._server.temporary.format(name)
        try:
            self.run(self._server.keep.format(table=table, rows=self.sql(rows)))
        except Lost:
            raise
        except DataError:
            return None
        return exp.to_table(table, dialect=self.dialect)

    def run(self, sql: str) -> list[Sequence[Any]]:
        """See `RemoteEngine`."""
        with self._cursor() as cursor:
            cursor.execute(sql)
            return [] if cursor.description is None else self._read(cursor.fetchall())

    def batches(self, rows: exp.Select) -> Iterator[list[NDArray[Any]]]:
        """See `Engine`."""
        with self._cursor() as cursor:
            cursor.execute(self.sql(rows.order_by(self.place())))
            while batch := cursor.fetchmany(BATCH_ROWS):
                yield columns_of(self._read(batch), len(rows.selects))

    def _read(self, rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """Rows of an answer, in which only texts may be empty."""
        if not self._server.empty_is_null:
            return list(rows)
        return [tuple("" if cell is None else cell for cell in row) for row in rows]

    def hash_of_text(self, text: exp.Expr) -> exp.Expr:
        """See `RemoteEngine`."""
        return self._write(self._server.row_hash, text)

    def _write(self, template: str, value: exp.Expr) -> exp.Expr:
        """A template in the server's SQL, with a value in place of `{}`."""
        found = sqlglot.parse_one(template.format("dpmosaic_value"), dialect=self.dialect)
        return found.transform(
            lambda part: (
                value.copy() if isinstance(part, exp.Column) and part.name == "dpmosaic_value" else part
            )
        )

    def interrupt(self) -> None:
        """See `Engine`."""
        with contextlib.suppress(_Error):
            self._connection.adbc_cancel()

    def close(self) -> None:
        """See `Engine`."""
        self._connection.close()

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Any]:
        """A cursor whose errors are translated."""
        try:
            with self._connection.cursor() as cursor:
                yield cursor
        except _Error as error:
            status = getattr(error, "status_code", None)
        else:
            return
        if status == adbc_driver_manager.AdbcStatusCode.IO:
            raise Lost(f"{self.name}: the connection is gone; check the engine") from None
        raise DataError(
            f"{self.name}: it refused a statement ({'no status' if status is None else status.name}); check "
            "that the party may read the source, and try its query in the engine's own client"
        )


def _connect(driver: str, uri: str) -> Any:
    """A connection by a driver's own package; without one, by what the driver manager finds."""
    try:
        module = importlib.import_module(f"adbc_driver_{driver}.dbapi")
    except ImportError:
        module = None
    try:
        if module is not None:
            return module.connect(uri, autocommit=True)
        manager = adbc_driver_manager.dbapi
        return manager.connect(driver=driver, db_kwargs={"uri": uri}, autocommit=True)
    except _Error as error:
        missing = getattr(error, "status_code", None) == adbc_driver_manager.AdbcStatusCode.NOT_FOUND
    if module is None and missing:
        raise DataError(
            f"the engine adbc:{driver} needs its driver; install it: pip install adbc-driver-{driver}, or "
            f"where there is no such package, dbc install {driver}"
        )
    raise Lost(
        f"{driver}: the engine cannot be reached, or refuses the party; check the connection that "
        "[source] names"
    )


def _kind(field: Any) -> Kind:
    """The kind of an Arrow field."""
    kind, named = field.type, (field.metadata or {}).get(b"POSTGRESQL:type")
    # Text that is filled up with blanks, which a cast takes off; and numbers that Arrow has no type for.
    if named in (b"bpchar", b"numeric"):
        return Kind.OTHER if named == b"bpchar" else Kind.DECIMAL
    tests = (
        (pa.types.is_boolean, Kind.BOOLEAN),
        (pa.types.is_integer, Kind.WHOLE),
        (pa.types.is_float32, Kind.SINGLE),
        (pa.types.is_float64, Kind.DOUBLE),
        (pa.types.is_decimal, Kind.DECIMAL),
        (lambda one: pa.types.is_string(one) or pa.types.is_large_string(one), Kind.TEXT),
        (pa.types.is_date, Kind.DATE),
        (lambda one: pa.types.is_timestamp(one) and one.tz is None, Kind.TIMESTAMP),
    )
    return next((found for test, found in tests if test(kind)), Kind.OTHER)

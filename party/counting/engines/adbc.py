"""Engines with an ADBC driver (the extra `adbc`, and the driver's own package)."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import adbc_driver_manager
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from ....common.errors import DataError
from .engine import Lost
from .kinds import Kind
from .remote import BATCH_ROWS, Place, RemoteEngine, columns_of

_Error = adbc_driver_manager.Error


@dataclass(frozen=True)
class _Driver:
    """What an engine behind a driver does in its own way.

    Attributes:
        dialect: name of its SQL in sqlglot.
        row_hash: its function of a text to a whole number of 32 or 64 bits.
        binary: collation by which texts are compared byte by byte; empty where they are by default.
    """

    dialect: str
    row_hash: str
    binary: str = ""


DRIVERS: Mapping[str, _Driver] = {
    "bigquery": _Driver("bigquery", "FARM_FINGERPRINT"),
    "flightsql": _Driver("duckdb", "HASH"),
    "postgresql": _Driver("postgres", "HASHTEXT", "C"),
    "snowflake": _Driver("snowflake", "HASH", "utf8"),
}
"""Only PostgreSQL's was run against a server; of the others, the generated SQL is tested."""


class AdbcEngine(RemoteEngine):
    """Counts rows in an engine behind an ADBC driver.

    Args:
        place: which rows are the party's.
        driver: one of `DRIVERS`.
        uri: what the driver connects to; a secret.

    Raises:
        DataError: the driver is unknown or not installed.
        Lost: the engine cannot be reached.
    """

    dialect: ClassVar[str]
    composes = False

    def __init__(self, place: Place, driver: str, uri: str) -> None:
        self._driver = driver_of(driver)
        self.dialect = self._driver.dialect  # type: ignore[misc]
        self.name = driver
        super().__init__(place)
        try:
            module = importlib.import_module(f"adbc_driver_{driver}.dbapi")
        except ImportError:
            raise DataError(
                f"the engine adbc:{driver} needs its driver; install it: pip install adbc-driver-{driver}"
            ) from None
        self._running: Any = None
        try:
            self._connection = module.connect(uri, autocommit=True)
        except _Error:
            raise Lost(
                f"{driver}: the engine cannot be reached, or refuses the party; check the connection that "
                "[source] names"
            ) from None

    def kinds(self) -> Mapping[str, Kind]:
        """See `Engine`."""
        query = exp.select("*").from_(self.source()).limit(0)
        with self._cursor() as cursor:
            cursor.execute(query.sql(self.dialect))
            schema = cursor.fetch_arrow_table().schema
        return self._compose_names({field.name: _kind(field) for field in schema})

    def text(self, value: exp.Expr) -> exp.Expr:
        """See `Engine`."""
        return text_of(self._driver, value)

    def keep(self, name: str, rows: exp.Select) -> exp.Expr | None:
        """See `Engine`; an engine that refuses keeps none."""
        try:
            self.run(f"CREATE TEMPORARY TABLE {name} AS {rows.sql(self.dialect)}")
        except Lost:
            raise
        except DataError:
            return None
        return exp.to_table(name)

    def run(self, sql: str) -> list[Sequence[Any]]:
        """See `RemoteEngine`."""
        with self._cursor() as cursor:
            cursor.execute(sql)
            return [] if cursor.description is None else list(cursor.fetchall())

    def batches(self, rows: exp.Select) -> Iterator[list[NDArray[Any]]]:
        """See `Engine`."""
        with self._cursor() as cursor:
            cursor.execute(rows.order_by(self.place()).sql(self.dialect))
            while batch := cursor.fetchmany(BATCH_ROWS):
                yield columns_of(batch, len(rows.selects))

    def hash_of_text(self, text: exp.Expr) -> exp.Expr:
        """See `RemoteEngine`."""
        return exp.func(self._driver.row_hash, text, dialect=self.dialect)

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


def driver_of(name: str) -> _Driver:
    """What is known of a driver.

    Raises:
        DataError: nothing.
    """
    if name not in DRIVERS:
        raise DataError(
            f"policy.toml: engine in [source]: expected adbc: and one of {', '.join(DRIVERS)}, got {name!r}; "
            "fix it"
        )
    return DRIVERS[name]


def text_of(driver: _Driver, value: exp.Expr) -> exp.Expr:
    """A value as text that the engine compares byte by byte."""
    text = exp.cast(value, "text")
    if not driver.binary:
        return text
    if driver.dialect == "snowflake":
        return exp.func("COLLATE", text, exp.Literal.string(driver.binary), dialect=driver.dialect)
    return exp.Collate(this=text, expression=exp.to_identifier(driver.binary, quoted=True))


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

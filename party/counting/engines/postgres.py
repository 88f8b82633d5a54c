"""PostgreSQL, by psycopg (the extra `postgres`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from sqlglot import exp

from ....common.errors import DataError
from .engine import Lost
from .kinds import Kind
from .remote import BATCH_ROWS, Place, RemoteEngine

_KINDS = {
    16: Kind.BOOLEAN,
    20: Kind.WHOLE,
    21: Kind.WHOLE,
    23: Kind.WHOLE,
    25: Kind.TEXT,
    700: Kind.SINGLE,
    701: Kind.DOUBLE,
    1043: Kind.TEXT,
    1082: Kind.DATE,
    1114: Kind.TIMESTAMP,
    1700: Kind.DECIMAL,
}
"""Kinds by the object identifier of PostgreSQL's type; these of built-in types never change."""

_PACKED = {21: ("int2send", ">i2"), 23: ("int4send", ">i4")}
"""Functions that give whole numbers as bytes, and how to read them, by the object identifier of the type."""

_SESSION = """\
SET standard_conforming_strings = on; SET work_mem = '64MB'; SET TimeZone = 'UTC'; SET DateStyle = 'ISO'"""

_CONNECT_S = 10


class PostgresEngine(RemoteEngine):
    """Counts rows in a PostgreSQL server; their codes are in a temporary table there.

    Args:
        place: which rows are the party's.
        connection: connection string or URI, as for psql; a secret.

    Raises:
        Lost: the server cannot be reached.
        DataError: its texts are not UTF-8.
    """

    dialect: ClassVar[str] = "postgres"
    name = "PostgreSQL"
    counts_copies = True

    def __init__(self, place: Place, connection: str) -> None:
        super().__init__(place)
        try:
            self._connection = psycopg.connect(connection, autocommit=True, connect_timeout=_CONNECT_S)
        except psycopg.Error:
            raise Lost(
                f"{self.name}: the server cannot be reached, or refuses the party; check the server, and the "
                "connection that [source] names"
            ) from None
        try:
            self.run(_SESSION)
            ((encoding,),) = self.run("SHOW server_encoding")
            if encoding != "UTF8":
                raise DataError(
                    f"{self.name}: expected a database in UTF8, found another encoding; export the table"
                )
        except BaseException:
            self.close()
            raise

    def kinds(self) -> Mapping[str, Kind]:
        """See `Engine`."""
        query = exp.select("*").from_(self.source()).limit(0)
        with self._translate_errors(), self._connection.cursor() as cursor:
            cursor.execute(query.sql(self.dialect).encode())
            described = cursor.description or []
        return self._compose_names({one.name: _KINDS.get(one.type_code, Kind.OTHER) for one in described})

    def text(self, value: exp.Expr) -> exp.Expr:
        """See `Engine`; composing takes its time, also of ASCII."""
        text = exp.cast(value, "text")
        plain = exp.func("OCTET_LENGTH", text).eq(exp.func("LENGTH", text.copy()))
        normal = exp.Normalize(this=text.copy(), form=exp.Var(this="NFC"))
        found = exp.Case().when(plain, text.copy()).else_(normal)
        return exp.Collate(this=exp.paren(found), expression=exp.to_identifier("C", quoted=True))

    def keep(self, name: str, rows: exp.Select) -> exp.Expr | None:
        """See `Engine`; a server that only reads, or a party without the right, keeps none."""
        try:
            self._execute(f"CREATE TEMP TABLE {name} AS {rows.sql(self.dialect)}")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
            return None
        except psycopg.Error as error:
            raise self._error(error) from None
        self.run(f"ANALYZE {name}")
        return exp.to_table(f"pg_temp.{name}")

    def run(self, sql: str) -> list[Sequence[Any]]:
        """See `RemoteEngine`."""
        with self._translate_errors():
            return self._execute(sql)

    def batches(self, rows: exp.Select) -> Iterator[list[NDArray[Any]]]:
        """See `Engine`; the codes of a row come as one string of bytes, since each value takes its time."""
        names = [column.name for column in rows.selects]
        with self._translate_errors(), self._connection.cursor() as cursor:
            cursor.execute(rows.limit(0).sql(self.dialect).encode())
            described = {one.name: one.type_code for one in cursor.description or []}
        codes = {name: _PACKED[described[name]] for name in names if described[name] in _PACKED}
        others = [name for name in names if name not in codes]
        packed = " || ".join(f"{send}({name})" for name, (send, _) in codes.items()) or "''::bytea"
        asked = rows.select(packed, *others, append=False, dialect=self.dialect).order_by(self.place())
        kind = np.dtype([(name, read) for name, (_, read) in codes.items()])
        with (
            self._translate_errors(),
            self._connection.transaction(),
            self._connection.cursor("dpmosaic", binary=True) as cursor,
        ):
            cursor.execute(asked.sql(self.dialect).encode())
            while batch := cursor.fetchmany(BATCH_ROWS):
                first, *texts = zip(*batch, strict=True)
                read: Any = np.frombuffer(b"".join(first), dtype=kind) if codes else {}
                found = dict(zip(others, (np.array(column, dtype=object) for column in texts), strict=True))
                yield [read[name] if name in codes else found[name] for name in names]

    def hash_of_text(self, text: exp.Expr) -> exp.Expr:
        """See `RemoteEngine`."""
        return exp.func("hashtextextended", text, exp.Literal.number(0), dialect=self.dialect)

    def interrupt(self) -> None:
        """See `Engine`."""
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=_CONNECT_S)

    def close(self) -> None:
        """See `Engine`."""
        self._connection.close()

    def _execute(self, sql: str) -> list[Sequence[Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql.encode())
            return [] if cursor.description is None else list(cursor.fetchall())

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._error(error) from None

    def _error(self, error: psycopg.Error) -> DataError:
        if self._connection.closed:
            return Lost(f"{self.name}: the connection is gone; check the server")
        return DataError(
            f"{self.name}: it refused a statement (SQLSTATE {error.sqlstate or 'unknown'}); check that the "
            "party may read the source, and try its query in psql"
        )

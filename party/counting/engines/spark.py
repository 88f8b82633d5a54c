"""Apache Spark, by pyspark (the extra `spark`): on this machine, or in a cluster."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from ....common.errors import DataError
from .engine import Lost
from .kinds import Kind
from .remote import BATCH_ROWS, Place, RemoteEngine, columns_of

_KINDS = {
    "tinyint": Kind.WHOLE,
    "smallint": Kind.WHOLE,
    "int": Kind.WHOLE,
    "bigint": Kind.WHOLE,
    "float": Kind.SINGLE,
    "double": Kind.DOUBLE,
    "boolean": Kind.BOOLEAN,
    "string": Kind.TEXT,
    "date": Kind.DATE,
    "timestamp_ntz": Kind.TIMESTAMP,
}
"""Kinds by Spark's name of a type; text with a collation has another name."""

_SESSION = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}


class SparkEngine(RemoteEngine):
    """Counts rows in Spark; their codes are on the disks of its executors.

    Args:
        place: which rows are the party's.
        connection: a URL of Spark Connect (sc://...), or a master such as local[2]; empty for what the
            environment says.

    Raises:
        Lost: there is no session.
    """

    dialect: ClassVar[str] = "spark"
    composes = False
    name = "Spark"

    def __init__(self, place: Place, connection: str) -> None:
        super().__init__(place)
        self._kept: dict[str, DataFrame] = {}
        builder = SparkSession.builder.appName("dpmosaic")
        if connection:
            builder = (
                builder.remote(connection) if connection.startswith("sc://") else builder.master(connection)
            )
        try:
            self._session = builder.getOrCreate()
        except (PySparkException, Py4JError, OSError, RuntimeError):
            raise Lost(
                f"{self.name}: no session can be had; check the cluster, the connection that [source] names, "
                "and that Java is installed"
            ) from None
        with self._translate_errors():
            for key, value in _SESSION.items():
                self._session.conf.set(key, value)

    def kinds(self) -> Mapping[str, Kind]:
        """See `Engine`."""
        query = exp.select("*").from_(self.source()).limit(0)
        with self._translate_errors():
            described = self._session.sql(query.sql(self.dialect)).dtypes
        return self._compose_names({name: _kind(kind) for name, kind in described})

    def keep(self, name: str, rows: exp.Select) -> exp.Expr:
        """See `Engine`."""
        view = f"{name}_{uuid.uuid4().hex}"
        with self._translate_errors():
            kept = self._session.sql(rows.sql(self.dialect)).persist(StorageLevel.DISK_ONLY)
            kept.createOrReplaceTempView(view)
        self._kept[view] = kept
        return exp.to_table(view)

    def drop(self, table: exp.Expr) -> None:
        """See `Engine`."""
        with self._translate_errors():
            self._kept.pop(table.name).unpersist()

    def run(self, sql: str) -> list[Sequence[Any]]:
        """See `RemoteEngine`."""
        with self._translate_errors():
            return list(self._session.sql(sql).collect())

    def batches(self, rows: exp.Select) -> Iterator[list[NDArray[Any]]]:
        """See `Engine`."""
        with self._translate_errors():
            found = self._session.sql(rows.order_by(self.place()).sql(self.dialect)).toLocalIterator()
            while batch := list(itertools.islice(found, BATCH_ROWS)):
                yield columns_of(batch, len(rows.selects))

    def hash_of_text(self, text: exp.Expr) -> exp.Expr:
        """See `RemoteEngine`."""
        return exp.func("xxhash64", text, dialect=self.dialect)

    def interrupt(self) -> None:
        """See `Engine`; ends all that the session runs."""
        with contextlib.suppress(PySparkException, Py4JError):
            self._session.interruptAll()

    def close(self) -> None:
        """See `Engine`; the session goes on, since it may be another's as well."""
        for kept in self._kept.values():
            with contextlib.suppress(PySparkException, Py4JError):
                kept.unpersist()

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (Py4JNetworkError, ConnectionError):
            raise Lost(f"{self.name}: the session is gone; check the cluster") from None
        except (PySparkException, Py4JError) as error:
            kind = error.getCondition() if isinstance(error, PySparkException) else None
        else:
            return
        raise DataError(
            f"{self.name}: it refused a statement or lost it ({kind or 'no condition'}); check that the "
            "party may read the source, and try its query in spark-sql"
        )


def _kind(name: str) -> Kind:
    return Kind.DECIMAL if name.startswith("decimal") else _KINDS.get(name, Kind.OTHER)

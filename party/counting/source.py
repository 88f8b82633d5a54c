"""Rows in an engine outside the party's process, as the policy file names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.extras import require_extra
from ..named_secrets import secret_of
from .codes import keep_codes
from .engines.dialects import server_of
from .engines.engine import Engine
from .engines.remote import Place

ADBC = "adbc:"
ENGINES = ("postgres", "spark", f"{ADBC}DRIVER")


@dataclass(frozen=True)
class EngineSource:
    """A table or a query in PostgreSQL, Spark or an engine with an ADBC driver.

    Attributes:
        engine_name: postgres, spark, or adbc: and the name of a driver.
        place: which rows.
        connection: where the connection's secret is: env: and a variable, or file: and a path; or empty.
        folder: where relative paths start.
    """

    engine_name: str
    place: Place
    connection: str
    folder: Path

    def engine(self) -> Engine:
        """A new connection; see `CountSource`."""
        # Each needs packages of an extra.
        match self.engine_name:
            case "postgres":
                require_extra("postgres")
                from .engines.postgres import PostgresEngine

                return PostgresEngine(self.place, self._secret())
            case "spark":
                require_extra("spark")
                from .engines.spark import SparkEngine

                return SparkEngine(self.place, self._secret() if self.connection else "")
            case name if name.startswith(ADBC):
                require_extra("adbc")
                from .engines.adbc import AdbcEngine

                return AdbcEngine(self.place, name.removeprefix(ADBC), self._secret())
        raise DataError(
            f"policy.toml: engine in [source]: expected one of {', '.join(ENGINES)}, got "
            f"{self.engine_name!r}; fix it"
        )

    @property
    def caution(self) -> str:
        """What the operator has to know of a server that this software was never run on; empty for others.

        Raises:
            DataError: the driver is unknown.
        """
        driver = self.engine_name.removeprefix(ADBC)
        if driver == self.engine_name or server_of(driver).tried:
            return ""
        return (
            f"this software was never run on a server of {self.engine_name}, only its SQL was checked: try "
            "it with a table that you also have as a file, and compare results before you approve anything"
        )

    def columns(self) -> tuple[str, ...]:
        """The names of the columns; see `Source`."""
        engine = self.engine()
        try:
            return tuple(engine.kinds())
        finally:
            engine.close()

    def read(self, domain: Domain) -> Table:
        """The columns of the domain, encoded by the engine; see `Source`."""
        return self.read_with_texts(domain, ())[0]

    def read_with_texts(
        self, domain: Domain, columns: Sequence[str]
    ) -> tuple[Table, Mapping[str, Sequence[str]]]:
        """The columns of the domain, encoded by the engine, and the texts of others; see `Source`."""
        engine = self.engine()
        try:
            codes = keep_codes(engine, domain, columns)
            return codes.loaded_with_texts()
        finally:
            engine.close()

    def _secret(self) -> str:
        return secret_of(self.connection, "connection in [source]", self.folder)

import psycopg
import pytest

from dpmosaic.party.counting.kinds import Kind
from dpmosaic.party.counting.postgres import PostgresEngine
from dpmosaic.party.counting.remote import Place
from support.counting import CountingContract
from support.postgres import server

TYPES = {
    Kind.WHOLE: "bigint",
    Kind.SINGLE: "real",
    Kind.DOUBLE: "double precision",
    Kind.DECIMAL: "numeric(20, 3)",
    Kind.BOOLEAN: "boolean",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


@pytest.fixture(scope="module")
def connection():
    with server() as found:
        yield found


class TestPostgreSQL(CountingContract):
    loads = False

    @pytest.fixture(autouse=True)
    def _server(self, connection):
        self.connection = connection

    def engine(self, name):
        return PostgresEngine(Place(table=f"public.{name}", order_by="place"), self.connection)

    def write(self, name, written):
        with psycopg.connect(self.connection, autocommit=True) as made:
            columns = ", ".join(f'"{column}" {TYPES[kind]}' for column, (kind, _) in written.items())
            made.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (place bigint, {columns})")
            rows = zip(*(values for _, values in written.values()), strict=True)
            marks = ", ".join("%s" for _ in range(len(written) + 1))
            with made.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {name} VALUES ({marks})", [(n, *row) for n, row in enumerate(rows)]
                )

    def ask_slowly(self, engine):
        return engine.run("SELECT pg_sleep(100)")

import psycopg
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.counting.adbc import AdbcEngine
from dpmosaic.party.counting.kinds import Kind
from dpmosaic.party.counting.postgres import PostgresEngine
from dpmosaic.party.counting.remote import Place
from dpmosaic.party.counting.rows import CountedRows
from support.counting import PEOPLE, TIMEOUT_S, CountingContract, encoded, people
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

    def test_a_connection_that_the_server_ended_is_made_again(self):
        rows = self.rows(people())
        before = rows.marginal(("code",)).tolist()
        with psycopg.connect(self.connection, autocommit=True) as made:
            others = (
                "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND client_port IS NOT NULL"
            )
            made.execute(f"SELECT pg_terminate_backend(pid) FROM ({others}) AS others")
        assert rows.marginal(("code",)).tolist() == before

    def test_rows_that_changed_are_refused_where_no_codes_are_kept(self):
        self.write("people", people())
        with psycopg.connect(self.connection, autocommit=True) as made:
            made.execute(
                "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON people TO reader"
            )
            made.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        reader = self.connection.replace("user=postgres", "user=reader")
        rows = CountedRows.connected(lambda: PostgresEngine(Place(table="people"), reader), PEOPLE, TIMEOUT_S)
        self.opened.append(rows)
        assert rows.marginal(("code",)).tolist() == encoded(PEOPLE, people()).marginal(("code",)).tolist()
        with pytest.raises(DataError, match="order_by"):
            rows.loaded()
        with psycopg.connect(self.connection, autocommit=True) as made:
            made.execute("UPDATE people SET code = 3 - code WHERE place = 7")
        with pytest.raises(DataError, match="rows changed"):
            rows.check_ready()


class TestOverADBC(CountingContract):
    """The SQL is that of PostgreSQL, whose every code is compared above."""

    loads = False
    every = 6
    write = TestPostgreSQL.write

    @pytest.fixture(autouse=True)
    def _server(self, connection):
        self.connection = connection

    def engine(self, name):
        host = self.connection.split()[0].removeprefix("host=")
        uri = f"postgresql:///postgres?host={host}&user=postgres"
        return AdbcEngine(Place(table=f"public.{name}", order_by="place"), "postgresql", uri)

    def ask_slowly(self, engine):
        return engine.run("SELECT pg_sleep(100)")

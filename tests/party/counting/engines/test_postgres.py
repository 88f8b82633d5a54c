import gc

import psycopg
import pytest
import sqlglot

from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.party.counting.engines.adbc import AdbcEngine
from dpmosaic.party.counting.engines.kinds import Kind
from dpmosaic.party.counting.engines.postgres import PostgresEngine
from dpmosaic.party.counting.engines.remote import Place
from dpmosaic.party.counting.rows import CountedRows
from support.counting import PEOPLE, TIMEOUT_S, CountingContract, encoded, people
from support.postgres import server

pytestmark = pytest.mark.slow

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
        rows = CountedRows.from_engine(
            lambda: PostgresEngine(Place(table="people"), reader), PEOPLE, TIMEOUT_S
        )
        self.opened.append(rows)
        assert rows.marginal(("code",)).tolist() == encoded(PEOPLE, people()).marginal(("code",)).tolist()
        with pytest.raises(DataError, match="order_by"):
            rows.cell_codes(("code",), 0, 1)
        with psycopg.connect(self.connection, autocommit=True) as made:
            made.execute("UPDATE people SET code = 3 - code WHERE place = 7")
        with pytest.raises(DataError, match="rows changed"):
            rows.check_ready()

    @pytest.mark.parametrize("change", ["place = 7 WHERE place = 8", "place = NULL WHERE place = 8"])
    def test_rows_that_share_a_place_in_the_order_are_refused(self, change):
        self.write("people", people())
        self.execute(f"UPDATE people SET {change}")
        with pytest.raises(DataError, match="another value of order_by") as refused:
            CountedRows.from_engine(lambda: self.engine("people"), PEOPLE, TIMEOUT_S)
        assert not any(character.isdigit() for character in str(refused.value))
        place = Place(table="people")
        made = CountedRows.from_engine(lambda: PostgresEngine(place, self.connection), PEOPLE, TIMEOUT_S)
        self.opened.append(made)

    def test_texts_in_a_notation_are_refused_with_the_key_of_the_policy_that_helps(self):
        domain = Domain.from_json(
            {"cost": {"type": "numeric", "min": 0, "max": 9, "bins": 3, "format": "{,}"}}
        )
        self.write("costs", {"cost": (Kind.TEXT, ["1,5", "8,25"])})
        with pytest.raises(DataError, match='"format" in the domain says how numbers are written') as refused:
            CountedRows.from_engine(lambda: self.engine("costs"), domain, TIMEOUT_S)
        assert "write query in place of table in [source] of policy.toml, and cast" in str(refused.value)
        query = "SELECT CAST(REPLACE(cost, ',', '.') AS double precision) AS cost FROM costs"
        place = Place(query=query)
        made = CountedRows.from_engine(lambda: PostgresEngine(place, self.connection), domain, TIMEOUT_S)
        self.opened.append(made)
        assert made.marginal(["cost"]).tolist() == [1, 0, 1]

    def execute(self, statement):
        with psycopg.connect(self.connection, autocommit=True) as made:
            made.execute(statement)


class TestOverADBC(CountingContract):
    """The SQL is that of PostgreSQL, whose every code is compared above."""

    loads = False
    composes = False
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


class TestCopies:
    """Codes that a party counts at itself, since a release asks for many marginals."""

    @pytest.fixture
    def counted(self, connection, tmp_path):
        """Rows with the order of a column or none, in a folder, of an engine that counts its statements."""
        statements = []

        class Engine(PostgresEngine):
            def fetch(self, query):
                statements.append(query)
                return super().fetch(query)

        contract = TestPostgreSQL()
        contract.connection = connection
        contract.write("people", people())

        def rows(order_by):
            place = Place(table="people", order_by=order_by)
            return CountedRows.from_engine(lambda: Engine(place, connection), PEOPLE, TIMEOUT_S, tmp_path)

        return rows, statements

    CLIQUES = (("age",), ("job",), ("code",), ("age", "job"), ("job", "code"), ("age", "job", "code"))

    def test_as_many_marginals_as_columns_are_counted_in_a_copy(self, counted, tmp_path):
        open_rows, statements = counted
        rows = open_rows("place")
        release = rows.with_check(lambda: None)
        release.project(["age"]).marginal(["age"])
        release.marginals([("job",)])
        assert list(tmp_path.iterdir()) == []
        asked = len(statements)
        found = release.project(PEOPLE.names).marginals(self.CLIQUES[1:])
        assert [path.stat().st_mode & 0o077 for path in tmp_path.rglob("*")] == [0, 0, 0]
        theirs = encoded(PEOPLE, people()).marginals(self.CLIQUES[1:])
        assert [ours.tolist() for ours in found] == [counts.tolist() for counts in theirs]
        release.marginal(("age", "code"))
        assert len(statements) == asked
        del release
        gc.collect()
        assert list(tmp_path.iterdir()) == []
        rows.marginal(("age", "code"))
        assert len(statements) == asked + 1
        rows.close()

    def test_codes_and_groups_that_a_release_chose_are_counted_in_the_copy(self, counted):
        open_rows, _ = counted
        coding = Coding({"age": (0, 10, 47, PEOPLE["age"].size - 1)}, {"job": ("baker", "Baker")})
        rows, table = open_rows("place").with_coding(coding), coding.table(encoded(PEOPLE, people()))
        cliques = [("age", "job"), ("age", "code"), ("job",)]
        groups = [((0, 0, 1, 1), (0, 1, 0, 1)), ((), (0, 1, 1, 0)), ()]
        for ours, theirs in zip(
            rows.marginals(cliques, groups), table.marginals(cliques, groups), strict=True
        ):
            assert ours.tolist() == theirs.tolist()
        rows.close()

    def test_rows_without_an_order_stay_in_the_engine(self, counted, tmp_path):
        open_rows, statements = counted
        rows = open_rows(None)
        asked = len(statements)
        rows.marginals(self.CLIQUES)
        assert len(statements) - asked >= len(self.CLIQUES) - 1
        assert list(tmp_path.iterdir()) == []
        rows.close()

    def test_counting_in_a_copy_ends_when_nobody_waits_for_it(self, counted):
        open_rows, _ = counted
        rows = open_rows("place")
        rows.marginals(self.CLIQUES)
        cell = sqlglot.parse_one(
            "(SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) % 7 = 1)", dialect="duckdb"
        )

        def check():
            raise ProtocolError("the release is abandoned")

        with pytest.raises(ProtocolError, match="abandoned"):
            rows.connection.shared_spool(check).counting.counts(cell, 1, check, TIMEOUT_S)
        assert rows.marginals([("age", "code")])[0].sum() == rows.record_count
        rows.close()

"""Stands in for a server that cannot be had: reads its SQL by sqlglot, and asks DuckDB the same.

It has what is known to be different: blanks at the end that count for nothing in SQL Server, and empty texts
that are NULL in Oracle. A statement that sqlglot reads otherwise than it was written is refused.
"""

import re

import adbc_driver_manager
import duckdb
import sqlglot
from sqlglot import exp

MACROS = """
CREATE MACRO datalength(x) AS strlen(x);
CREATE MACRO hash_of(x) AS (hash(x) % 1000000007)::BIGINT;
CREATE MACRO compose(x) AS nfc_normalize(x);
CREATE MACRO decompose(x) AS x;
CREATE MACRO regexp_instr(x, p) AS regexp_matches(x, p)::INT;
"""
HASHES = re.compile(r"\b(ORA_HASH|XXHASH64|FNV_HASH|FARM_FINGERPRINT|HASH)\b")
KEPT = {
    "tsql": re.compile(r"SELECT \* INTO #(?P<name>\w+) FROM \((?P<rows>.*)\) AS kept", re.DOTALL),
    "oracle": re.compile(
        r"CREATE PRIVATE TEMPORARY TABLE ORA\$PTT_(?P<name>\w+) ON COMMIT PRESERVE DEFINITION AS "
        r"(?P<rows>.*)",
        re.DOTALL,
    ),
}
OTHERS = re.compile(r"CREATE TEMPORARY TABLE (?P<name>\w+) AS (?P<rows>.*)", re.DOTALL)
MOST_CASES = 10


class Server:
    """Answers statements in one dialect.

    Args:
        dialect: name of the SQL in sqlglot.
        database: DuckDB's connection with the tables.
    """

    def __init__(self, dialect, database):
        self.dialect, self.database = dialect, database
        self.statements = []
        self.connection = database.cursor()

    def cursor(self):
        return Cursor(self)

    def close(self):
        self.connection.close()

    def adbc_cancel(self):
        self.connection.interrupt()

    def in_duckdb(self, sql):
        """The same statement in DuckDB's SQL; None of one that sets the session."""
        self.statements.append(sql)
        if sql.startswith("ALTER SESSION"):
            return None
        kept = KEPT.get(self.dialect, OTHERS).fullmatch(sql)
        if kept is not None:
            return f"CREATE TEMP TABLE {kept['name']} AS {self.query_in_duckdb(kept['rows'])}"
        if sql.startswith("DROP TABLE "):
            return f"DROP TABLE {_bare(sql.removeprefix('DROP TABLE '))}"
        return self.query_in_duckdb(sql)

    def query_in_duckdb(self, sql):
        read = sqlglot.parse_one(sql, dialect=self.dialect, error_level=sqlglot.ErrorLevel.RAISE)
        again = read.sql(self.dialect, unsupported_level=sqlglot.ErrorLevel.RAISE)
        assert again == sql
        if self.dialect == "tsql":
            assert max(map(_depth, read.find_all(exp.Case)), default=0) <= MOST_CASES
            assert not any(one.args.get("order") for one in read.find_all(exp.Select) if one.parent)
        changed = read.transform(self._as_the_server_reads_it)
        return HASHES.sub("HASH_OF", changed.sql("duckdb"))

    def _as_the_server_reads_it(self, part):
        if (
            self.dialect == "tsql"
            and isinstance(part, exp.EQ | exp.NEQ | exp.LT)
            and _is_text(part.expression)
        ):
            sides = (
                exp.func("RTRIM", side.transform(self._as_the_server_reads_it))
                for side in (part.this, part.expression)
            )
            return type(part)(**dict(zip(("this", "expression"), sides, strict=True)))
        if self.dialect == "oracle" and isinstance(part, exp.Literal) and part.is_string and not part.name:
            return exp.null()
        if isinstance(part, exp.Cast) and isinstance(part.this, exp.Substring):
            # Texts that SQL Server joins by a plus.
            joined = exp.func("CONCAT", *part.this.find(exp.SHA2).this.flatten())
            hashed = joined.transform(self._as_the_server_reads_it)
            return exp.Anonymous(this="HASH_OF", expressions=[hashed])
        if isinstance(part, exp.DataType) and part.sql(self.dialect) in ("FLOAT", "BINARY_DOUBLE"):
            return exp.DataType.build("double")
        if isinstance(part, exp.DataType) and part.is_type(*exp.DataType.TEXT_TYPES):
            return exp.DataType.build("text")
        if isinstance(part, exp.Collate) or (isinstance(part, exp.Func) and part.name == "COLLATE"):
            return part.this.transform(self._as_the_server_reads_it)
        if isinstance(part, exp.Table):
            return None if part.name == "DUAL" else exp.to_table(_bare(part.name), alias=part.alias or None)
        return part


def _bare(name):
    return name.removeprefix("#").removeprefix("ORA$PTT_")


def _is_text(value):
    return value.is_string or (isinstance(value, exp.Cast) and value.find(exp.National) is not None)


def _depth(case):
    """Number of CASE in which a CASE is, with it."""
    found, depth = case, 0
    while found is not None:
        depth, found = depth + 1, found.find_ancestor(exp.Case, exp.Select)
        found = found if isinstance(found, exp.Case) else None
    return depth


class Cursor:
    """A cursor as the DB-API of ADBC has it, with the errors of ADBC."""

    def __init__(self, server):
        self.server, self.answer, self.statement = server, None, ""

    def __enter__(self):
        return self

    def __exit__(self, *stopped):
        return None

    @property
    def description(self):
        return None if self.answer is None else self.answer.description

    def execute(self, sql):
        statement = self.server.in_duckdb(sql)
        if statement is None:
            return
        self.statement = statement
        try:
            self.answer = self.server.connection.execute(statement)
        except duckdb.Error as error:
            raise adbc_driver_manager.ProgrammingError(
                str(error), status_code=adbc_driver_manager.AdbcStatusCode.INVALID_ARGUMENT
            ) from None

    def fetchall(self):
        return self.answer.fetchall()

    def fetchmany(self, size):
        return self.answer.fetchmany(size)

    def fetch_arrow_table(self):
        return self.server.connection.sql(self.statement).to_arrow_table()

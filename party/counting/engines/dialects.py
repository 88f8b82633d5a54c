"""What servers behind an ADBC driver do in their own way, beyond what sqlglot writes for their SQL.

Guarantee: each rewriting keeps the answer of a statement. `tests/party/counting/engines/test_dialects.py` has
    every kind of statement read again in the server's SQL, and compares its answer in DuckDB with Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ....common.errors import DataError

Rewriting = Callable[[exp.Expr], exp.Expr]
"""Changes a statement, or one part of it; returns what is right already as it is."""

_SOURCE = "dpmosaic_rows_of_party"
"""Stands for a query in its owner's words, which sqlglot cannot look into."""


def _as_it_is(statement: exp.Expr) -> exp.Expr:
    return statement


@dataclass(frozen=True)
class Server:
    """One kind of server.

    Attributes:
        dialect: name of its SQL in sqlglot.
        row_hash: a whole number of 32 or 64 bits of a text, in its SQL; `{}` stands for the text.
        text: a value as text that is compared byte by byte, in its SQL; `{}` stands for the value.
        rewrite: changes what sqlglot writes otherwise than the server reads it.
        temporary: name of a temporary table; `{}` stands for a name.
        keep: how rows are kept in one; `{table}` and `{rows}` stand for it and a query.
        session: statements at the beginning of a connection.
        composes: whether `text` composes.
        empty_is_null: whether an empty text comes back as none.
        tried: whether this software was run on such a server.
    """

    dialect: str
    row_hash: str
    text: str = "CAST({} AS TEXT)"
    rewrite: Rewriting = _as_it_is
    temporary: str = "{}"
    keep: str = "CREATE TEMPORARY TABLE {table} AS {rows}"
    session: tuple[str, ...] = ()
    composes: bool = False
    empty_is_null: bool = False
    tried: bool = False

    def sql(self, statement: exp.Expr) -> str:
        """A statement in the server's SQL; a query of [source] as its owner wrote it."""
        statement, words = statement.copy(), ""
        for found in list(statement.find_all(exp.Subquery)):
            if isinstance(found.this, exp.Var):
                words = f"({found.this.name}) {found.alias}"
                found.replace(exp.to_table(_SOURCE))
        return self.rewrite(statement).sql(self.dialect).replace(_SOURCE, words)


def server_of(driver: str) -> Server:
    """The server of a driver.

    Raises:
        DataError: nothing is known of it.
    """
    if driver not in SERVERS:
        raise DataError(
            f"policy.toml: engine in [source]: expected adbc: and one of {', '.join(SERVERS)}, got "
            f"{driver!r}; fix it"
        )
    return SERVERS[driver]


def _each(change: Rewriting) -> Rewriting:
    """Changes every part of a statement, the inner ones before those around them."""

    def rewrite(statement: exp.Expr) -> exp.Expr:
        for part in reversed(list(statement.bfs())):
            changed = change(part)
            if changed is not part:
                statement = changed if part is statement else statement
                part.replace(changed)
        return statement

    return rewrite


def _of_snowflake(part: exp.Expr) -> exp.Expr:
    """Its REGEXP_LIKE takes whole texts."""
    if isinstance(part, exp.RegexpLike):
        found = exp.Anonymous(this="REGEXP_INSTR", expressions=[part.this, part.expression])
        return exp.GT(this=found, expression=exp.Literal.number(0))
    return part


def _of_oracle(part: exp.Expr) -> exp.Expr:
    """An empty text is NULL, texts have at most 4000 bytes, and DOUBLE PRECISION is a decimal number."""
    match part:
        case exp.EQ(expression=exp.Literal(this="", is_string=True)):
            return exp.Is(this=part.this, expression=exp.null())
        case exp.NEQ(expression=exp.Literal(this="", is_string=True)):
            return exp.not_(exp.Is(this=part.this, expression=exp.null()))
        case exp.Coalesce(expressions=[exp.Literal(this="", is_string=True)]):
            value: exp.Expr = part.this.copy()
            return value
        case exp.TryCast():
            # Of texts that are plain numbers.
            return exp.Cast(this=part.this, to=_BINARY_DOUBLE.copy())
        case exp.DataType(this=exp.DataType.Type.TEXT):
            return exp.DataType.build("varchar(4000)")
        case exp.DataType(this=exp.DataType.Type.DOUBLE):
            return _BINARY_DOUBLE.copy()
        case exp.Concat():
            joined: exp.Expr = part.expressions[0]
            for other in part.expressions[1:]:
                joined = exp.DPipe(this=joined, expression=other)
            return joined
        case exp.Select() if part.args.get("from_") is None:
            return part.copy().from_("DUAL")
    return part


_BINARY_DOUBLE = exp.DataType.build("BINARY_DOUBLE", dialect="oracle", udt=True)


def _of_sql_server(part: exp.Expr) -> exp.Expr:
    """Blanks at the end count for nothing, and floats are finite; see also `_flat`."""
    match part:
        case exp.EQ(expression=exp.Literal(is_string=True)):
            return exp.and_(part.copy(), _bytes_of(part.this).eq(_length(part.expression)))
        case exp.NEQ(expression=exp.Literal(is_string=True)):
            return exp.or_(
                part.copy(), exp.NEQ(this=_bytes_of(part.this), expression=_length(part.expression))
            )
        case exp.LT(expression=exp.Literal(is_string=True)):
            shorter = exp.LT(this=_bytes_of(part.this), expression=_length(part.expression))
            same = exp.EQ(this=part.this.copy(), expression=part.expression.copy())
            return exp.or_(part.copy(), exp.and_(same, shorter))
        case exp.EQ(expression=exp.Cast(this=exp.Literal(this="inf" | "-inf"))):
            return exp.false()
        case exp.Count() if not part.args.get("big_int"):
            return exp.Count(this=part.this.copy(), big_int=True)
        case exp.Select() if part.parent is not None and part.args.get("order"):
            unordered = part.copy()
            unordered.set("order", None)
            return unordered
    return part


def _bytes_of(text: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="DATALENGTH", expressions=[text.copy()])


def _length(literal: exp.Expr) -> exp.Expr:
    return exp.Literal.number(len(literal.this.encode()))


def _flat(tree: exp.Expr) -> exp.Expr:
    """A tree of comparisons as one CASE, since SQL Server takes ten CASE in each other.

    A leaf is reached by its upper bound, after all below it were passed by.
    """
    branches, otherwise = _leaves(tree)
    return exp.Case(ifs=branches, default=otherwise) if branches else tree


def _leaves(tree: exp.Expr) -> tuple[list[exp.If], exp.Expr]:
    branch = tree.args["ifs"][0] if isinstance(tree, exp.Case) and len(tree.args["ifs"]) == 1 else None
    if branch is None or not isinstance(branch.this, exp.LT):
        return [], tree.copy()
    below, last = _leaves(branch.args["true"])
    above, otherwise = _leaves(tree.args["default"])
    return [*below, exp.If(this=branch.this.copy(), true=last), *above], otherwise


def _in_utf8(part: exp.Expr) -> exp.Expr:
    """A literal would be read in the code page of the database."""
    if not isinstance(part, exp.Literal) or part.this.isascii():
        return part
    collated = exp.Collate(this=exp.National(this=part.this), expression=exp.Var(this=_UTF8))
    return exp.cast(exp.paren(collated), "text")


def _rewrite_for_sql_server(statement: exp.Expr) -> exp.Expr:
    return _each(_in_utf8)(_each(_of_sql_server)(statement.transform(_flat)))


_UTF8 = "Latin1_General_100_BIN2_UTF8"

_HASHED = "CAST(SUBSTRING(HASHBYTES('SHA2_256', {}), 1, 8) AS BIGINT)"

_TEXT_OF_SQL_SERVER = f"CAST((CAST({{}} AS NVARCHAR(MAX)) COLLATE {_UTF8}) AS VARCHAR(MAX))"
"""By way of NVARCHAR: a text in the code page of a column lacks characters of others."""

SERVERS: Mapping[str, Server] = {
    "bigquery": Server("bigquery", "FARM_FINGERPRINT({})"),
    "databricks": Server("databricks", "XXHASH64({})"),
    "flightsql": Server("duckdb", "HASH({})"),
    "mssql": Server(
        "tsql",
        _HASHED,
        _TEXT_OF_SQL_SERVER,
        _rewrite_for_sql_server,
        "#{}",
        "SELECT * INTO {table} FROM ({rows}) AS kept",
    ),
    "oracle": Server(
        "oracle",
        "ORA_HASH({})",
        "COMPOSE(DECOMPOSE(CAST({} AS TEXT)))",
        _each(_of_oracle),
        "ORA$PTT_{}",
        "CREATE PRIVATE TEMPORARY TABLE {table} ON COMMIT PRESERVE DEFINITION AS {rows}",
        (
            "ALTER SESSION SET NLS_COMP = 'BINARY' NLS_SORT = 'BINARY' NLS_NUMERIC_CHARACTERS = '.,' "
            "NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF' NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'",
        ),
        composes=True,
        empty_is_null=True,
    ),
    "postgresql": Server("postgres", "HASHTEXT({})", '(CAST({} AS TEXT) COLLATE "C")', tried=True),
    "redshift": Server("redshift", "FNV_HASH({})"),
    "snowflake": Server("snowflake", "HASH({})", "COLLATE(CAST({} AS TEXT), 'utf8')", _each(_of_snowflake)),
}
"""By the name of the driver."""

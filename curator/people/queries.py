"""Queries in SQL over related tables: with intervals where people are counted, without where rows are.

A query is one about people if each of them has a part in it once: it reads the table of people alone, or it
counts different people who have rows of other tables. Then it is one of the release of their records
(`analysis.queries`), whose intervals are for records, and a record is a person. Of all other queries the
synthetic tables have an answer, and no interval is stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import duckdb
import numpy as np
import pandas as pd
from sqlglot import errors, exp, parse

from ...common.errors import DataError
from ..analysis.queries.answer import Answer, Row
from ..analysis.queries.estimates import Estimate
from ..analysis.queries.parsing import LONGEST_QUERY
from ..analysis.release import Release
from .about_people import NotAboutPeople, about_people
from .shape import Family

_ONE_TABLE = "release"
"""Names the table of a release of one, as in queries of releases without a key."""


def answer_query(
    family: Family,
    releases: Mapping[str, Release],
    frames: Mapping[str, pd.DataFrame],
    text: str,
    level: float,
    of: Literal["table", "population"],
) -> Answer:
    """The answer to a query; see the module.

    Args:
        family: the tables.
        releases: of the records of each table.
        frames: the synthetic tables.
        text: one SELECT statement over the tables by name.
        level: probability that an interval covers the truth.
        of: whether intervals are for the real tables, or the population of which people are a sample.

    Raises:
        DataError: it cannot be read.
    """
    select = _select(text)
    root = releases.get(family.root.name)
    if len(frames) == 1:
        _read_release_as(next(iter(frames)), select)
    why = "no interval: the release holds no columns of people"
    if root is not None:
        try:
            about = about_people(family, frames, select)
        except NotAboutPeople as cause:
            why = str(cause)
        else:
            try:
                found = root.query(about, level, of)
                return replace(found, query=text)
            except DataError as cause:
                why = f"no interval: {cause}"
    return _of_tables(frames, text, select, level, of, why)


def _read_release_as(name: str, select: exp.Select) -> None:
    """Changes a query, of which the release is this table, and columns may be said to be the release's."""
    for table in select.find_all(exp.Table):
        if table.name.lower() == _ONE_TABLE:
            alias = table.alias or table.name
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))


def _select(text: str) -> exp.Select:
    try:
        statements = parse(text, read="duckdb") if len(text) <= LONGEST_QUERY else []
    except (errors.SqlglotError, RecursionError):
        raise DataError("query: expected SQL, got another text; fix it") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise DataError(
            f"query: expected one SELECT statement of at most {LONGEST_QUERY} characters, got another; "
            "ask one question"
        )
    return statements[0]


def _of_tables(
    frames: Mapping[str, pd.DataFrame],
    text: str,
    select: exp.Select,
    level: float,
    of: Literal["table", "population"],
    why: str,
) -> Answer:
    """What the synthetic tables say; numbers over several rows have no interval."""
    with duckdb.connect(config={"enable_external_access": False}) as connection:
        connection.execute("SET enable_progress_bar = false")
        for name, rows in frames.items():
            connection.register(name, rows)
            if len(frames) == 1:
                connection.register(_ONE_TABLE, rows)
        try:
            statements = connection.extract_statements(text)
            found = connection.execute(statements[0]).df()
        except duckdb.Error as error:
            first = str(error).splitlines()[0]
            raise DataError(f"query: expected SQL over {', '.join(frames)}, got: {first}") from None
    names = list(map(str, found.columns))
    groups = names
    if select.find(exp.AggFunc) is not None:
        plain = [item.alias_or_name for item in select.expressions if isinstance(item.unalias(), exp.Column)]
        groups = [name for name in names if name in plain]
    rows = tuple(
        Row(
            tuple(_value(cells[names.index(name)]) for name in groups),
            [Estimate(_number(cells[k]), note=why) for k, name in enumerate(names) if name not in groups],
        )
        for cells in found.itertuples(index=False, name=None)
    )
    return Answer(text, level, of, "rows", tuple(groups), tuple(names), rows)


def _value(cell: Any) -> Any:
    return None if pd.isna(cell) else cell


def _number(cell: Any) -> Any:
    if pd.isna(cell):
        return float("nan")
    return float(cell) if isinstance(cell, (int, float, np.number)) else str(cell)

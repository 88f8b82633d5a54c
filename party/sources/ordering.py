"""Whether the ORDER BY of a query decides the order of its rows, read from DuckDB's own parser."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ...common.errors import DataError
from .sql import quote

Query = Callable[[str], Mapping[str, NDArray[Any]]]
"""The columns of the answer to a query."""


def check_decided(sql: str, names: Sequence[str], used: Collection[str], query: Query) -> None:
    """Refuses an ORDER BY that leaves rows of different cells in no order.

    The order of such rows is that of the files or of the database, which may change although no value does.
    Rows that are equal in every column that is used may be exchanged.

    Args:
        sql: one SELECT with an ORDER BY.
        names: its columns.
        used: those of them that are read.
        query: asks DuckDB, where `sql` can be run.

    Raises:
        DataError: it does not decide; or see `query`.
    """
    ordered, keys = _with_keys(sql, names, query)
    if not keys:
        return
    key = ", ".join(keys)
    every = ", ".join([key, *(f"c{place}" for place, name in enumerate(names) if name in used)])
    counts = f"count(*) AS held, count(DISTINCT row({key})) AS places"
    found = query(f"SELECT {counts} FROM {ordered}")
    if found["held"][0] == found["places"][0]:
        return
    cells = query(f"SELECT count(DISTINCT row({every})) AS different FROM {ordered}")
    if cells["different"][0] != found["places"][0]:
        raise tied("source query: expected an ORDER BY that gives each row a place of its own")


def tied(expected: str) -> DataError:
    """Rows have no place of their own in the order.

    Args:
        expected: where, and what was expected.
    """
    return DataError(
        f"{expected}, found rows with the same place, whose order may change although no value does; order "
        "by the record's id, or by further columns after it"
    )


def _with_keys(sql: str, names: Sequence[str], query: Query) -> tuple[str, list[str]]:
    """The query with columns c0, c1, ... and what it orders by as further columns; and the names of these.

    There are none for ORDER BY ALL.
    """
    form = json.loads(query(f"SELECT json_serialize_sql({quote(sql)}::VARCHAR) AS form")["form"][0])
    node, columns = form["statements"][0]["node"], [f"c{place}" for place in range(len(names))]
    places = {name.lower(): place for place, name in reversed(list(enumerate(names)))}
    keys = []
    for number, order in enumerate(_orders(node)):
        expression = order["expression"]
        column = ".".join(expression.get("column_names", ())).lower()
        if expression["class"] == "STAR":
            return "", []
        if expression["class"] == "CONSTANT":
            keys.append(f"c{int(expression['literal']['text']) - 1}")
        elif column in places:
            keys.append(f"c{places[column]}")
        else:
            node["select_list"].append(expression)
            columns.append(f"k{number}")
            keys.append(f"k{number}")
    text = query(f"SELECT json_deserialize_sql({quote(json.dumps(form))}::JSON) AS text")["text"][0]
    return f"({text}) AS rows_of_party({', '.join(columns)})", keys


def _orders(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [order for part in node["modifiers"] for order in part.get("orders", ())]

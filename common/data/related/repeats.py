"""Columns that repeat what the row above is: its key, or one of its columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import DataError
from ...forms.nearest import hint


@dataclass(frozen=True)
class Above:
    """A table to which rows of others belong.

    Attributes:
        name: of the table.
        key: its column that names its rows.
        foreign: its column that holds the key of its own parent; empty for that of people.
        columns: its columns that rows below may repeat, keys among them.
        repeats: those that repeat what a row above is = the table above, and its column.
    """

    name: str
    key: str
    foreign: str
    columns: Collection[str]
    repeats: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def repeated_columns(
    where: str, stated: Mapping[str, str], above: Sequence[Above]
) -> dict[str, tuple[str, str]]:
    """The columns of a table that repeat what the row above is, each with the table and the column of it.

    Args:
        where: what states them, for errors.
        stated: each with the table, or "table.column" where the column has another name there.
        above: the tables to which its rows belong, the nearest first.

    Raises:
        DataError: there is no such table among those, or no such column.
    """
    names, found = [one.name for one in above], {}
    for column, said in stated.items():
        place, of = table_and_column(said, names)
        of = of or column
        if not place:
            raise DataError(
                f"{where}: expected a table to which its rows belong beside {column!r}, got "
                f"{said!r}{hint(said, names)}; name it"
            )
        at = names.index(place)
        held = above[at]
        if of not in held.columns:
            raise DataError(
                f"{where}: expected a column of {place!r} beside {column!r}, got "
                f"{of!r}{hint(of, held.columns)}; fix it"
            )
        key = (above[at + 1].name, above[at + 1].key) if of == held.foreign else (place, of)
        found[column] = held.repeats.get(of, key)
    return found


def table_and_column(stated: str, names: Collection[str]) -> tuple[str, str]:
    """The table that "table" or "table.column" names, and the column; empty for none.

    Args:
        stated: the text.
        names: of all tables, which may have dots.
    """
    table = max((one for one in names if f"{stated}.".startswith(f"{one}.")), key=len, default="")
    return table, stated[len(table) + 1 :] if table else ""

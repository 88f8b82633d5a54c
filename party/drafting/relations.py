"""Drafts of relations: which tables of a folder belong to which, from names and keys. Not private."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from ...common.errors import DataError
from ...common.files.writing import write_text
from ..sources.source import SUFFIXES, FileSource
from .draft import Draft
from .inference import draft_rows

_HEAD = (
    "# Drafted from private rows: which column is whose key, and by which one rows are in order. Review it.\n"
    "# A table belongs to the one nearest to it; one table, that of people, belongs to none.\n"
)


@dataclass(frozen=True, eq=False)
class Drafted:
    """A table of a folder.

    Attributes:
        name: of the table.
        source: its file.
        draft: of its columns.
        parent: table to which it belongs; empty for none.
        foreign: its column that holds the parent's key.
        key: that column at the parent.
    """

    name: str
    source: FileSource
    draft: Draft
    parent: str = ""
    foreign: str = ""
    key: str = ""

    @property
    def order(self) -> str:
        """Its first column of dates or timestamps; empty if there is none."""
        kinds = {
            name: entry.get("type") for name, entry in self.draft.entries.items() if isinstance(entry, dict)
        }
        return next((name for name, kind in kinds.items() if kind in ("date", "datetime", "timestamp")), "")

    def lines(self) -> Iterator[str]:
        """Its entry in a file of relations."""
        key = self.parent if self.key == self.foreign else f"{self.parent}.{self.key}"
        stated = {"file": self.source.path.name, "domain": f"{self.name}.json"}
        links = {self.foreign: key} if self.parent else {}
        return lines_of(self.name, stated, links, self.order if self.parent else "")


def lines_of(
    name: str, stated: Mapping[str, str], belongs_to: Mapping[str, str], order: str
) -> Iterator[str]:
    """The entry of a table in a file of relations.

    Args:
        name: of the table.
        stated: its texts by key, such as its file.
        belongs_to: column that holds the key of another table -> that table, or "table.key".
        order: column by which its rows are in order; empty for none.
    """
    yield f"[{json.dumps(name)}]"
    yield from (f"{key} = {json.dumps(text)}" for key, text in stated.items())
    if belongs_to:
        links = ", ".join(f"{json.dumps(one)} = {json.dumps(other)}" for one, other in belongs_to.items())
        yield f"belongs_to = {{{links}}}"
    if order:
        yield f"order = {json.dumps(order)}"


def draft_folder(folder: Path, blanks: Collection[str] = ()) -> tuple[Drafted, ...]:
    """Drafts relations and domains of the tables of a folder.

    A table belongs to another if one of its columns has the name of a key there, or the table's name and
    that, and holds nothing but such keys. Of several, it is the one of most rows.

    Args:
        folder: with a CSV or Parquet file for each table.
        blanks: see `draft_file`.

    Raises:
        DataError: there are no files, or one cannot be read.
    """
    paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES) and path.is_file())
    if not paths:
        raise DataError(f"expected tables in {folder}, files that end in {', '.join(SUFFIXES)}, found none")
    sources = {_name(path): FileSource(path) for path in paths}
    rows = {name: _rows(source) for name, source in sources.items()}
    links: dict[str, tuple[str, str, str]] = {}
    pairs = product(
        sorted(sources, key=lambda name: rows[name]), sorted(sources, key=lambda name: -rows[name])
    )
    for child, parent in pairs:
        if child == parent or child in links or _goes_to(links, parent, child):
            continue
        for foreign, key in _named_alike(parent, sources[child].columns(), sources[parent].columns()):
            if _is_key(sources[parent], key) and _holds(sources[child], foreign, sources[parent], key):
                links[child] = parent, foreign, key
                break
    found = []
    for name, source in sources.items():
        keys = {key for parent, _, key in links.values() if parent == name}
        keys |= {links[name][1]} if name in links else set()
        draft = draft_rows(source, blanks)
        entries = {column: entry for column, entry in draft.entries.items() if column not in keys}
        draft = replace(draft, entries=entries, suggested_rules=())
        found.append(Drafted(name, source, draft, *links.get(name, ())))
    return tuple(sorted(found, key=lambda one: len(_above(links, one.name))))


def save_folder(tables: Sequence[Drafted], out: Path) -> Path:
    """Writes a draft of relations and a domain file for each table; the path of the relations.

    Raises:
        DataError: the folder cannot be written.
    """
    path, lines = out / "relations.toml", (f"\n{line}" if line[0] == "[" else line for line in _lines(tables))
    write_text(path, _HEAD + "".join(lines))
    for table in tables:
        table.draft.save(out / f"{table.name}.json")
    return path


def _lines(tables: Sequence[Drafted]) -> Iterator[str]:
    return (f"{line}\n" for table in tables for line in table.lines())


def _name(path: Path) -> str:
    suffix = next(suffix for suffix in SUFFIXES if path.name.endswith(suffix))
    return path.name.removesuffix(suffix)


def _named_alike(parent: str, columns: Sequence[str], keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Columns that may hold keys of a table, and these."""
    names = {parent, parent.removesuffix("s")}
    for key in keys:
        wanted = {key, *(f"{name}{between}{key}" for name in names for between in ("_", "", "."))}
        yield from ((column, key) for column in columns if column in wanted)


def _goes_to(links: dict[str, tuple[str, str, str]], name: str, other: str) -> bool:
    return other in _above(links, name)


def _above(links: dict[str, tuple[str, str, str]], name: str) -> list[str]:
    found = []
    while name in links:
        name = links[name][0]
        found.append(name)
    return found


def _ask(source: FileSource, sql: str) -> list[Any]:
    with closing(source.connect()) as connection:
        return [column[0] for column in source.query(connection, sql).values()]


def _rows(source: FileSource) -> int:
    return int(_ask(source, "SELECT count(*) FROM file")[0])


def _is_key(source: FileSource, column: str) -> bool:
    """Whether every row has another value of a column."""
    cell = f"c{source.columns().index(column)}"
    rows, known, different = _ask(source, f"SELECT count(*), count({cell}), count(DISTINCT {cell}) FROM file")
    return bool(rows == known == different and rows)


def _holds(child: FileSource, foreign: str, parent: FileSource, key: str) -> bool:
    """Whether a column holds nothing but keys of another table."""
    cell, other = f"c{child.columns().index(foreign)}", f"c{parent.columns().index(key)}"
    with closing(child.connect()) as connection, closing(parent.connect()) as keys:
        known = parent.query(keys, f"SELECT DISTINCT {other}::VARCHAR AS k FROM file")["k"]
        connection.register("known", {"k": known})
        sql = f"SELECT count(*) AS n FROM file WHERE {cell}::VARCHAR NOT IN (SELECT k FROM known)"
        return not int(child.query(connection, sql)["n"][0])

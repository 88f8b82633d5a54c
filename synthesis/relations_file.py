"""The file of relations: which table belongs to which, in which order its rows are, and where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ..common.data.domain import Domain, read_form
from ..common.data.domain_files.others import tables_of_sdv
from ..common.data.related.repeats import table_and_column
from ..common.data.related.stated import IMPLIED_KEYS
from ..common.errors import DataError
from ..common.forms.several import Either, ListOf
from ..common.forms.tables import Key, MapOf, Table
from ..common.forms.toml_file import read_by_form
from ..common.forms.values import Scalar, Text, Truth
from ..party.sources.source import SUFFIXES
from ..simulations.tables.frames import read_domain
from .metadata import stated_by_metadata
from .related.tables import NOTHING_IMPLIED, Implied

_TABLE = Table(
    {
        "file": Key(Text(), "The file, if it is not named as the table."),
        "domain": Key(Text(), "Domain file of the columns but keys; without one, they are learned."),
        "belongs_to": Key(
            MapOf(Text()),
            'Column that holds the key of another table = that table: {id = "patients"}; several columns of '
            'one table hold it together: {id = "visits", visit = "visits"}.',
        ),
        "summaries": Key(
            MapOf(MapOf(Either((Scalar(), ListOf(Scalar()))))),
            'What rows of the other table say of these: {had_stroke = {code = ["I63", "I64"]}, first_code = '
            '{what = "first", column = "code"}}; also last, and count and time with values.',
        ),
        "within": Key(
            ListOf(Text()), 'Columns of the other table between which the order lies: ["born", ""].'
        ),
        "near": Key(
            Text(),
            "Column of the other table near to which rows begin, before or after it, such as a first day.",
        ),
        "series": Key(
            Text(),
            "Column of categories, such as a test: what follows what is kept within rows of one value of it.",
        ),
        **IMPLIED_KEYS,
        "workload": Key(
            ListOf(ListOf(Text())),
            'Pairs of columns that matter: [["ward", "days"], ["ward", "previous ward"], ["ward", '
            '"patients.sex"]]; without it, all.',
        ),
        "order": Key(
            Either((Text(), Truth())),
            "Column by which rows of a parent are in order; true: that of the file.",
        ),
        "public": Key(
            Truth(), "Whether everybody may see its rows as they are; other tables may refer to its key."
        ),
        "drop_incomplete": Key(
            Truth(), "Whether rows without a key, a parent, an order or a key of a public table are left out."
        ),
        "reviewed": Key(
            Truth(),
            "false: read from private rows, and nobody has reviewed it, nor its columns until then.",
        ),
    }
)
FORM = MapOf(_TABLE)
"""A table for each table, by name."""


@dataclass(frozen=True)
class Stated:
    """What a file of relations says.

    Attributes:
        files: of each table.
        relations: see `synthesize`, as for all others.
        order: see there.
        domains: see there.
        summaries: see there.
        within: see there.
        near: see there.
        workload: see there.
        series: see there.
        implied: what columns have to do with other rows.
        drop_incomplete: see there.
        public: see there.
    """

    files: Mapping[str, Path]
    relations: Mapping[str, Mapping[str, str]]
    order: Mapping[str, str | Literal[True]]
    domains: Mapping[str, Path | Domain | Mapping[str, Any]] = field(default_factory=dict)
    summaries: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    within: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    near: Mapping[str, str] = field(default_factory=dict)
    workload: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    series: Mapping[str, str] = field(default_factory=dict)
    implied: Implied = NOTHING_IMPLIED
    drop_incomplete: frozenset[str] = frozenset()
    public: frozenset[str] = frozenset()


def read_relations(path: Path, folder: Path) -> Stated:
    """Reads a file of relations, or metadata of SDV in a file that ends in .json.

    Args:
        path: the file; domain files lie beside it.
        folder: of the tables.

    Raises:
        DataError: it cannot be read, or a table has no file.
    """
    if path.suffix == ".json":
        form = read_form(path)
        stated = stated_by_metadata(form)
        files = {name: file_of(folder, name) for name in tables_of_sdv(form).tables}
        return Stated(files, stated.relations, stated.order, stated.domains)
    content = read_by_form(path, FORM)
    for name, entry in content.items():
        if len(entry.get("within", ("", ""))) != 2:
            raise DataError(f'{path.name}: {name}.within: expected two columns, got others; use "" for none')

    def entries_of(what: str) -> dict[str, Any]:
        return {name: entry[what] for name, entry in content.items() if what in entry}

    domains: dict[str, Path | Domain] = {
        name: path.parent / file for name, file in entries_of("domain").items()
    }
    for name in (one for one, reviewed in entries_of("reviewed").items() if not reviewed):
        _mark_unreviewed(path, name, entries_of("belongs_to"), domains)
    return Stated(
        {name: file_of(folder, name, entry.get("file")) for name, entry in content.items()},
        entries_of("belongs_to"),
        {name: order for name, order in entries_of("order").items() if order},
        domains,
        within={name: tuple(columns) for name, columns in entries_of("within").items()},
        implied=Implied(*(entries_of(one.name) for one in fields(Implied))),
        drop_incomplete=frozenset(name for name, kept in entries_of("drop_incomplete").items() if kept),
        public=frozenset(name for name, kept in entries_of("public").items() if kept),
        **{what: entries_of(what) for what in ("summaries", "near", "workload", "series")},
    )


def _mark_unreviewed(
    path: Path, name: str, belongs_to: Mapping[str, Mapping[str, str]], domains: dict[str, Path | Domain]
) -> None:
    """Takes the columns of a table for unreviewed, as what is said of its rows is.

    Without a domain, they are those of the nearest table above that has one.

    Args:
        path: the file of relations, for the error.
        name: the table.
        belongs_to: of each table that belongs to others.
        domains: of tables; one is changed.

    Raises:
        DataError: there is no such table, so that no certificate could tell of it.
    """
    line, names = [name], {*belongs_to, *domains}
    for table in line:
        above = (table_and_column(other, names)[0] for other in belongs_to.get(table, {}).values())
        line += [one for one in above if one and one not in line]
    described = next((one for one in line if one in domains), None)
    if described is None:
        raise DataError(
            f"{path.name}: {name}: expected relations that somebody has reviewed of tables without domains, "
            "got a draft from private rows; review it, and take `reviewed = false` out"
        )
    known = read_domain(domains[described])
    domains[described] = known.with_unreviewed([one.name for one in known.attributes])


def file_of(folder: Path, name: str, stated: str | None = None) -> Path:
    """The file of a table.

    Raises:
        DataError: no or several files have its name.
    """
    if stated is not None:
        return folder / stated
    found = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").is_file()]
    if len(found) != 1:
        raise DataError(
            f"table {name!r}: expected one file {name}.csv or {name}.parquet in {folder}, found "
            f"{len(found) or 'none'}; name it with file"
        )
    return found[0]

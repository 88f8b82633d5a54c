"""A table of codes that an engine keeps, and what is counted in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ...common.data.attributes.attribute import CENSUS, REFUSED, Attribute
from ...common.data.attributes.texts import TextColumn, has_open_categories
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from ...common.data.values import compose
from ...common.errors import DataError
from .counted import count_in_cells
from .encoding import Encoding, encoding_of, label_text
from .engines.engine import Engine
from .engines.kinds import Kind, NotExact
from .engines.names import PLACE, code_of, other_of, text_of
from .spool import Spool
from .trees import whole

_TABLE = "dpmosaic_codes"


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes of all rows, in a table that belongs to one connection.

    Attributes:
        engine: the connection.
        domain: meaning of the codes.
        table: the table, to select from.
        kept: whether it stays as it is; otherwise it is computed from the source for every query.
        record_count: number of rows.
        digest: SHA-256 (hex) of the domain's digest, the number of rows and the sum of a hash of each row,
            with its place if the rows have an order. The hash is the engine's. See also `stable_digest`.
        columns: other columns, of which the texts are kept.
    """

    engine: Engine
    domain: Domain
    table: exp.Expr
    kept: bool
    record_count: int
    digest: str
    columns: tuple[str, ...] = ()

    def counts(self, cell: exp.Expr, cells: int) -> NDArray[np.int64]:
        """The number of rows of each cell, shape (cells,).

        Args:
            cell: number of the cell of each row.
            cells: how many there are.
        """
        return count_in_cells(self.engine.fetch, self.table, cell, cells)

    def texts(self, name: str) -> tuple[list[str], NDArray[np.int64]]:
        """The different texts of open categories, sorted, and the number of rows of each."""
        text = exp.column(text_of(code_of(self.domain.position(name))))
        query = exp.select(text, exp.Count(this=exp.Star())).from_(self.table)
        found, records = self.engine.fetch(query.group_by(text.copy()))
        counts: Counter[str] = Counter()
        for label, count in zip(map(compose, found.tolist()), records.tolist(), strict=True):
            counts[label] += int(count)
        return _sorted(counts)

    def texts_of(self, name: str, used: NDArray[np.bool_]) -> tuple[list[str], NDArray[np.int64]]:
        """As `texts`, of some rows.

        Args:
            name: of the attribute.
            used: the rows that count, shape (rows,).
        """
        column, start = text_of(code_of(self.domain.position(name))), 0
        counts: Counter[str] = Counter()
        for batch in self.batches([column]):
            texts = batch[column]
            counts.update(map(compose, texts[used[start : start + len(texts)]].tolist()))
            start += len(texts)
        return _sorted(counts)

    def check_unchanged(self) -> None:
        """Returns if the rows are those of which the codes were computed.

        Raises:
            DataError: they changed.
        """
        if self.kept:
            return
        if _digest(self.engine, self.domain, self.table, self.record_count, self.columns) != self.digest:
            raise rows_changed_error(self.engine)

    def loaded_with_texts(self) -> tuple[Table, dict[str, list[str]]]:
        """All rows and the texts of other columns, in memory.

        Raises:
            DataError: the rows have no order.
        """
        others = {name: other_of(place) for place, name in enumerate(self.columns)}
        batches = list(self.batches(self.names))
        columns = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
        codes, texts = [], {}
        for place, attribute in enumerate(self.domain.attributes):
            codes.append(columns[code_of(place)])
            if has_open_categories(attribute):
                texts[attribute.name] = TextColumn.read(attribute.name, columns[text_of(code_of(place))])
        table = Table(self.domain, tuple(codes), texts)
        return table, {name: columns[column].tolist() for name, column in others.items()}

    def spool(self, folder: Path | None) -> Spool:
        """The codes and texts of all rows in order, on disk.

        Args:
            folder: see `Spool`.

        Raises:
            DataError: the rows have no order, or cannot be written.
        """
        return Spool(folder, self.domain, self.batches(self.coded_names))

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """By name, columns of the table, of some rows after the other in order; codes as small as in a table.

        Raises:
            DataError: the rows have no order.
        """
        self.row_number()
        types = {code_of(i): code_dtype(one.size) for i, one in enumerate(self.domain.attributes)}
        for batch in self.engine.batches(exp.select(*map(exp.column, names)).from_(self.table)):
            columns = dict(zip(names, batch, strict=True))
            yield {name: cells.astype(types.get(name, cells.dtype)) for name, cells in columns.items()}

    @property
    def coded_names(self) -> list[str]:
        """Columns of codes, and of texts of open categories."""
        return _columns(self.domain)

    @property
    def names(self) -> list[str]:
        """Columns of codes and of texts, and the others."""
        return [*self.coded_names, *(other_of(place) for place in range(len(self.columns)))]

    def restrict(self, name: str, rows: exp.Select) -> Codes:
        """Only some of the rows, in place of all.

        Args:
            name: of another table.
            rows: selects them from this one.
        """
        kept = self.engine.keep(name, rows) if self.kept else None
        table = rows.subquery("rows_used") if kept is None else kept
        (count,) = self.engine.fetch(exp.select(exp.Count(this=exp.Star())).from_(table))
        if kept is not None:
            self.engine.drop(self.table)
        used = replace(self, table=table, record_count=int(count[0]))
        return replace(used, digest=_digest(used.engine, used.domain, table, used.record_count, self.columns))

    def row_number(self) -> exp.Expr:
        """What numbers the rows in their order.

        Raises:
            DataError: they have no order.
        """
        place = self.engine.place()
        if place is None:
            raise DataError(
                f"{self.engine.name}: the release needs the rows in one order, and they have none; name the "
                "column that orders them in order_by of [source], or plan the party without others that hold "
                "other columns"
            )
        return place


def key_text(engine: Engine, column: str) -> exp.Expr:
    """The text of a column that names people; without the blanks around it, with which columns are padded."""
    text = exp.Trim(this=engine.text(engine.column(column)), expression=exp.Literal.string(" "))
    return exp.func("COALESCE", text, exp.Literal.string(""))


def rows_changed_error(engine: Engine) -> DataError:
    """The rows of an engine are no longer those that the party was started with."""
    return DataError(
        f"{engine.name}: the rows changed since the party was started; start the party again, and begin a "
        "new release"
    )


def keep_codes(engine: Engine, domain: Domain, columns: Sequence[str] = ()) -> Codes:
    """Has an engine compute the codes of all rows.

    Args:
        engine: the connection.
        domain: the columns, and meaning of the codes.
        columns: others, whose texts are kept as well.

    Raises:
        DataError: a column is missing, a cell has no code, there is no row, or the engine cannot give codes.
    """
    kinds = engine.kinds()
    for name in (*domain.names, *columns):
        if name not in kinds:
            raise DataError(
                f"{engine.name}: expected a column {name!r}, found none; fix the source or the domain"
            )
    engine.check_order({*domain.names, *columns})
    names = {code_of(place): attribute for place, attribute in enumerate(domain.attributes)}
    encodings, reasons = _encodings(engine, names, kinds)
    for place, name in enumerate(columns):
        text = exp.column(f"{other_of(place)}_read")
        read = key_text(engine, name)
        encodings[other_of(place)] = Encoding({text.name: read}, text)
    selection = _selection(engine, names, encodings)
    kept = engine.keep(_TABLE, selection)
    table = selection.subquery("codes") if kept is None else kept
    coded = [name for name in names if name not in reasons]
    least = [exp.func("MIN", exp.column(name)) for name in coded]
    count, *found = engine.fetch(exp.select(exp.Count(this=exp.Star()), *least).from_(table))
    records = int(count[0])
    if not records:
        raise DataError(f"{engine.name}: it has no rows; an empty table has nothing to release")
    for name, code in zip(coded, found, strict=True):
        if int(code[0]) < 0:
            reasons[name] = _REASONS[-1 - int(code[0])]
    if reasons:
        table = engine.encode(table, domain, {name: names[name] for name in reasons}, reasons)
    engine.let_go()
    digest = _digest(engine, domain, table, records, columns)
    return Codes(engine, domain, table, kept is not None, records, digest, tuple(columns))


def _sorted(counts: Counter[str]) -> tuple[list[str], NDArray[np.int64]]:
    found = sorted(counts)
    return found, np.array([counts[text] for text in found], dtype=np.int64)


_REASONS = [*(CENSUS[key] for key in REFUSED), "cells that SQL and Python may read differently"]
"""Why a cell has no code; see `outcomes` and `UNCLEAR`."""


def _encodings(
    engine: Engine, names: Mapping[str, Attribute], kinds: Mapping[str, Kind]
) -> tuple[dict[str, Encoding], dict[str, str]]:
    """The encoding of every column of codes, and of texts; and why others have none."""
    encodings, reasons = {}, {}
    for name, attribute in names.items():
        column, kind = engine.column(attribute.name), kinds[attribute.name]
        try:
            encodings[name] = encoding_of(attribute, kind, column, name, engine)
            if has_open_categories(attribute):
                text = exp.column(f"{name}_label")
                reading = {text.name: label_text(attribute, kind, column, engine)}
                encodings[text_of(name)] = Encoding(reading, text)
        except NotExact as reason:
            encodings.pop(name, None)
            reasons[name] = str(reason)
    return encodings, reasons


def _selection(
    engine: Engine, names: Mapping[str, Attribute], encodings: Mapping[str, Encoding]
) -> exp.Select:
    """What is kept: codes and texts of every row, and its place."""
    readings = [what.as_(name) for one in encodings.values() for name, what in one.readings.items()]
    columns = []
    for name, one in encodings.items():
        code = exp.cast(one.code, _type(names[name])) if name in names else one.code
        columns.append(code.as_(name))
    order, place = engine.order(), exp.column(PLACE)
    if order is not None:
        readings.append(order.as_(PLACE))
        numbered = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[place]))
        columns.append(numbered.as_(PLACE))
    # Without any, the rows are counted all the same.
    columns = columns or [whole(0).as_("nothing")]
    readings = readings or [whole(0).as_("nothing")]
    return exp.select(*columns).from_(exp.select(*readings).from_(engine.source()).subquery("readings"))


def _type(attribute: Attribute) -> str:
    return "smallint" if attribute.size <= np.iinfo(np.int16).max else "int"


def _columns(domain: Domain) -> list[str]:
    """Names of columns of codes and texts."""
    names = []
    for place, attribute in enumerate(domain.attributes):
        names.append(code_of(place))
        names += [text_of(code_of(place))] if has_open_categories(attribute) else []
    return names


def _digest(engine: Engine, domain: Domain, table: exp.Expr, records: int, others: Sequence[str]) -> str:
    place = engine.place()
    names = [*_columns(domain), *(other_of(number) for number in range(len(others)))]
    columns = [*map(exp.column, names), *([] if place is None else [place])]
    # With another number of rows the sum is hardly the same.
    total = exp.func("SUM", exp.cast(engine.hash_of(columns), "decimal(38, 0)"))
    (found,) = engine.fetch(exp.select(exp.cast(total, "text")).from_(table))
    return hashlib.sha256(f"{domain.digest()} {records} {found[0]}".encode("ascii")).hexdigest()

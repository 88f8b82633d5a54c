"""The people whose rows an engine holds: which rows are used, in which order, and what names them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from sqlglot import exp

from ...common.data.attributes.texts import digest_of_texts, has_open_categories
from ...common.privacy.cost import ALL_ROWS
from .codes import Codes, key_text
from .engines.engine import Engine
from .engines.names import PLACE, code_of, other_of, text_of
from .identifiers import missing_key, order_digest
from .trees import whole

_USED = "dpmosaic_used"
_NTH = "nth"


@dataclass(frozen=True)
class People:
    """Columns that name the person of each row.

    Attributes:
        key: column that names the person of each row; None if there is none.
        most: largest number of rows of one key; further ones are left out. `ALL_ROWS` for all.
        identifiers: agreed name -> column of each identifier by which rows are aligned. With any, a row may
            lack its key, and no order is compared.
    """

    key: str | None = None
    most: int = 1
    identifiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The different columns, the key first."""
        key = [] if self.key is None else [self.key]
        return tuple(dict.fromkeys((*key, *self.identifiers.values())))

    @property
    def compare_order(self) -> bool:
        """Whether other parties of the slice compare the order of the rows by their keys."""
        return self.key is not None and not self.identifiers


NOBODY = People()
"""Rows whose people no column names."""


def used_rows(codes: Codes, people: People) -> Codes:
    """The codes of rows that are used: of one key the first ones, in their order.

    Args:
        codes: of all rows, with the texts of the columns of `people`.
        people: which columns name them.

    Raises:
        DataError: a row lacks a key that it needs; or the rows have no order.
    """
    if not people.columns:
        return codes
    place = codes.row_number()
    if people.compare_order:
        lacking = exp.select(exp.Count(this=exp.Star())).from_(codes.table).where(_missing())
        (count,) = codes.engine.fetch(lacking)
        if int(count[0]):
            assert people.key is not None
            raise missing_key(people.key)
    key = exp.column(other_of(0))
    if people.key is not None and _rows_beyond(codes.engine, codes.table, key, people.most):
        codes = _first_rows(codes, people.most, place)
    return replace(codes, digest=stable_digest(codes)) if people.identifiers else codes


def rows_left_out(engine: Engine, people: People) -> tuple[int, int]:
    """The number of rows that are beyond the limit of a person, and of all rows; for the rows' owner alone.

    Args:
        engine: a connection to the rows.
        people: which columns name them, and how many rows of one person are used.

    Raises:
        DataError: see `Engine`.
    """
    (count,) = engine.fetch(exp.select(exp.Count(this=exp.Star())).from_(engine.source()))
    if people.key is None or people.most == ALL_ROWS:
        return 0, int(count[0])
    key = key_text(engine, people.key)
    return _rows_beyond(engine, engine.source(), key, people.most), int(count[0])


def order_of(codes: Codes) -> bytes:
    """The digest of the keys in row order; see `order_digest`."""
    return order_digest(itertools.chain.from_iterable(texts_of(codes, codes.columns[0])))


def texts_of(codes: Codes, column: str) -> Iterator[list[str]]:
    """The texts of a column that is no attribute, of some rows after the other in order."""
    name = other_of(codes.columns.index(column))
    return (batch[name].tolist() for batch in codes.batches([name]))


def stable_digest(codes: Codes) -> str:
    """What `Table.digest` gives for these rows, whatever the engine's version: alignments are kept for years.

    Every column is read in order by itself.
    """
    digest = hashlib.sha256(f"{codes.domain.digest()} {codes.record_count} ".encode("ascii"))
    for place in range(len(codes.domain)):
        name = code_of(place)
        for batch in codes.batches([name]):
            digest.update(batch[name].astype(batch[name].dtype.newbyteorder("<")).data)
    for attribute in sorted(filter(has_open_categories, codes.domain.attributes), key=lambda one: one.name):
        digest.update(_digest_of_texts(codes, attribute.name))
    return digest.hexdigest()


def _digest_of_texts(codes: Codes, name: str) -> bytes:
    """What `TextColumn.digest` gives."""
    known, _ = codes.texts(name)
    sorted_texts, column = np.array(known, dtype=object), text_of(code_of(codes.domain.position(name)))
    places = (np.searchsorted(sorted_texts, batch[column]) for batch in codes.batches([column]))
    return digest_of_texts(known, places)


def _rows_beyond(engine: Engine, table: exp.Expr, key: exp.Expr, most: int) -> int:
    """The number of rows beyond the first ones of each key; rows without a key are not counted."""
    rows, empty = exp.Count(this=exp.Star()), exp.Literal.string("")
    persons = exp.select(rows.as_("held")).from_(table).where(exp.NEQ(this=key, expression=empty))
    beyond = persons.group_by(key.copy()).having(exp.GT(this=rows.copy(), expression=whole(most)))
    held = exp.cast(exp.func("COALESCE", exp.func("SUM", exp.column("held")), whole(0)), "bigint")
    keys, all_rows = engine.fetch(exp.select(rows.copy(), held).from_(beyond.subquery("beyond")))
    return int(all_rows[0]) - most * int(keys[0])


def _first_rows(codes: Codes, most: int, place: exp.Expr) -> Codes:
    """Without the rows beyond the first ones of each key."""
    window = exp.Window(
        this=exp.RowNumber(), partition_by=[exp.column(other_of(0))], order=exp.Order(expressions=[place])
    )
    kept = [exp.column(name) for name in codes.names]
    numbered = exp.select(*kept, place.copy().as_(PLACE), window.as_(_NTH)).from_(codes.table)
    first = exp.or_(exp.LTE(this=exp.column(_NTH), expression=whole(most)), _missing())
    selected = [*(column.copy() for column in kept), exp.column(PLACE)]
    rows = exp.select(*selected).from_(numbered.subquery("numbered")).where(first)
    return codes.restrict(_USED, rows.order_by(PLACE))


def _missing() -> exp.Expr:
    return exp.column(other_of(0)).eq(exp.Literal.string(""))

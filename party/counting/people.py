"""The people whose rows an engine holds: which rows are used, in which order, and what names them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from sqlglot import exp

from ...common.data.attributes.texts import has_open_categories
from .codes import Codes
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
    if people.key is not None and _any_left_out(codes, people.most):
        codes = _first_rows(codes, people.most, place)
    return replace(codes, digest=stable_digest(codes)) if people.identifiers else codes


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
    digest = hashlib.sha256()
    for text in known:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    sorted_texts, column = np.array(known, dtype=object), text_of(code_of(codes.domain.position(name)))
    for batch in codes.batches([column]):
        digest.update(np.searchsorted(sorted_texts, batch[column]).astype("<u4").tobytes())
    return digest.digest()


def _any_left_out(codes: Codes, most: int) -> bool:
    key, rows = exp.column(other_of(0)), exp.Count(this=exp.Star())
    persons = exp.select(key).from_(codes.table).where(exp.not_(_missing())).group_by(key.copy())
    beyond = persons.having(exp.GT(this=rows, expression=whole(most)))
    (count,) = codes.engine.fetch(exp.select(rows.copy()).from_(beyond.subquery("beyond")))
    return bool(int(count[0]))


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

"""Real and released rows alike: their codes, and whether two rows are equal to the last digit.

Real rows are coded as the release coded them: what a first step did not list counts as it counted there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import DateAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from ...common.data.values import text_of
from ...curator.analysis.drawing import Drawing
from ...curator.analysis.published import Published
from ...curator.certificates.unseen import Unseen
from ...curator.results.raw_frames import raw
from ...simulations.tables.frames import RawTable
from ..learning.columns import BLANKS, OTHER, not_listed


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows, in codes and as keys that are equal if the rows are.

    Attributes:
        table: in the domain of the release.
        keys: shape (N,): codes, and the numbers themselves.
    """

    table: Table
    keys: NDArray[np.void]

    @classmethod
    def of(cls, table: Table, numbers: Mapping[str, NDArray[np.float64]]) -> Rows:
        """Rows of these codes.

        Args:
            table: the codes.
            numbers: of columns of numbers, by name, the number of each row; NaN where one is missing.
        """
        told = [
            np.nan_to_num(numbers[one.name], nan=-math.inf) if one.name in numbers else column
            for one, column in zip(table.domain.attributes, table.columns, strict=True)
        ]
        held = np.ascontiguousarray(np.stack([np.asarray(one, np.float64) for one in told], axis=1))
        # One zero has a sign.
        held += 0.0
        return cls(table, held.view(np.dtype((np.void, 8 * len(told)))).ravel())

    @classmethod
    def of_release(cls, published: Published) -> Rows:
        """The rows of a release."""
        domain, frame = published.domain, published.frame
        return cls.of(
            published.rows, {one.name: one.numbers(raw(one, frame[one.name])) for one in numeric(domain)}
        )

    @classmethod
    def from_model(cls, published: Published, seed: int) -> Rows:
        """As many rows as the release has, drawn from its published model as its rows were."""
        drawing = Drawing.of(published, published.rows.record_count, None, seed)
        return cls.concatenate(
            [
                cls.of(
                    block.table,
                    {
                        one.name: one.numbers(
                            block.values[one.name]
                            if one.name in block.values
                            else one.decode(block.table.column(one.name), np.random.default_rng(0))
                        )
                        for one in numeric(published.domain)
                    },
                )
                for block in drawing.blocks()
            ]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts."""
        return cls(
            Table.concatenate([one.table for one in parts]), np.concatenate([one.keys for one in parts])
        )

    def take(self, places: NDArray[np.integer[Any]]) -> Rows:
        """Some of the rows."""
        return Rows(self.table.take(places), self.keys[places])

    def equal_in(self, others: Rows) -> NDArray[np.intp]:
        """How many of other rows equal each row, shape (N,)."""
        if not len(others.keys):
            return np.zeros(len(self.keys), dtype=np.intp)
        keys, counts = np.unique(others.keys, return_counts=True)
        places = np.minimum(np.searchsorted(keys, self.keys), len(keys) - 1)
        return np.where(keys[places] == self.keys, counts[places], 0)

    def unique(self) -> Rows:
        """The rows that no other row equals."""
        _, first, counts = np.unique(self.keys, return_index=True, return_counts=True)
        return self.take(np.sort(first[counts == 1]))


@dataclass(frozen=True, eq=False)
class RealRows:
    """Real rows.

    Attributes:
        rows: the rows.
        read: in the codes in which the first step read them, before what is not listed counted as something
            else.
        numbers: of columns of numbers, by name, the number of each row.
    """

    rows: Rows
    read: Table
    numbers: Mapping[str, NDArray[np.float64]]


def numeric(domain: Domain) -> list[NumericAttribute]:
    """The columns of numbers."""
    return [one for one in domain.attributes if isinstance(one, NumericAttribute)]


def real_rows(domain: Domain, unseen: Mapping[str, Unseen], raw_rows: RawTable) -> RealRows:
    """Real rows in the codes of a release.

    Args:
        domain: of the release.
        unseen: what the first step that learned columns states of each of them.
        raw_rows: the rows.

    Raises:
        DataError: the rows do not fit the domain.
    """
    taken = [_taken(one, unseen.get(one.name)) for one in domain.attributes]
    reading = replace(domain, attributes=tuple(one for one, _ in taken))
    rows = raw_rows.read(reading)
    columns = tuple(
        codes[column].astype(code_dtype(attribute.size))
        for attribute, (_, codes), column in zip(domain.attributes, taken, rows.columns, strict=True)
    )
    cells = zip(reading.attributes, raw_rows.source.cells(reading), strict=True)
    numbers = {one.name: one.numbers(column) for one, column in cells if isinstance(one, NumericAttribute)}
    return RealRows(Rows.of(Table(domain, columns), numbers), rows, numbers)


def _taken(released: Attribute, unseen: Unseen | None) -> tuple[Attribute, NDArray[np.int64]]:
    """An attribute that reads every cell, and the code in the released one of each of its codes."""
    if unseen is None:
        return released, np.arange(released.size)
    match released:
        case NumericAttribute() if not released.nullable:
            more = replace(released, nullable=True, unreadable="missing")
            return more, np.append(np.arange(released.size), unseen.usual)
        case DateAttribute() if not released.units.nullable:
            units = replace(released.units, nullable=True, unreadable="missing")
            return replace(released, units=units), np.append(np.arange(released.size), unseen.usual)
        case CategoricalAttribute():
            listed = [one for one in released.categories if text_of(one) not in ("", OTHER)]
            known = {text_of(one): code for code, one in enumerate(released.categories)}
        case BooleanAttribute():
            listed = [*released.false, *released.true]
            known = {text_of(one): 0 for one in released.false} | {text_of(one): 1 for one in released.true}
            known |= {"": 2} if released.nullable else {}
        case _:
            return released, np.arange(released.size)
    categories = ("", *listed, OTHER)
    blanks = not_listed(BLANKS, known)
    reading = CategoricalAttribute(released.name, categories, other=OTHER, missing=blanks)
    if isinstance(released, CategoricalAttribute):
        reading = replace(reading, prefixes=released.prefixes, nearest=released.nearest)
    return reading, np.array([known.get(text_of(one), unseen.usual) for one in categories], dtype=np.int64)

"""The values of a synthetic table's rows, decoded block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.table import Table, code_counts, decode_table
from ...common.processes.blocks import made_in_order
from .columns.formulas import with_followers

DECODED_ROWS = 2**15
"""Most rows that are decoded at once: arrays of so many numbers stay in a processor's cache."""

_DECODED_CELLS = 2**22
"""Most cells that are decoded at once; it bounds temporary memory."""

Values = dict[str, NDArray[Any]]
"""Decoded columns by name, shape (N,) each."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a table, decoded.

    Attributes:
        table: codes.
        values: decoded columns, at least those whose codes have several values.
        first: number of the first row, from 1, for identifiers.
    """

    table: Table
    values: Mapping[str, NDArray[Any]]
    first: int

    def head(self, rows: int) -> Block:
        """Its first rows."""
        return Block(
            self.table.rows(0, rows), {name: one[:rows] for name, one in self.values.items()}, self.first
        )


def decode_rows(table: Table, rng: np.random.Generator) -> Values:
    """The values of each column, with new identifiers and what is computed; shape (N,) each; see `decodings`.

    Args:
        table: the table, coded.
        rng: draws values inside bins.
    """
    blocks = list(made_in_order(lambda decode: {**decode().values}, decodings(table, rng)))
    new = {column.name: column.draw(table.record_count) for column in table.domain.identifiers}
    # Each block's part of a column is let go when the column is whole.
    return new | {name: np.concatenate([block.pop(name) for block in blocks]) for name in [*blocks[0]]}


def decodings(table: Table, rng: np.random.Generator) -> Iterator[Callable[[], Block]]:
    """Blocks of rows in order, each decoded by a call, in any thread; each has randomness of its own.

    Args:
        table: the table, coded.
        rng: draws values inside bins.
    """
    length = max(1, min(DECODED_ROWS, _DECODED_CELLS // max(1, len(table.domain))))
    firsts = range(0, max(1, table.record_count), length)
    counts = code_counts(table)
    for first, own in zip(firsts, rng.spawn(len(firsts)), strict=True):
        yield partial(_decode_block, table, slice(first, first + length), counts, own)


def _decode_block(
    table: Table, some: slice, counts: Mapping[str, NDArray[np.int64]], rng: np.random.Generator
) -> Block:
    block = table.rows(some.start, min(some.stop, table.record_count))
    values = decode_table(block, rng, counts)
    if table.domain.followers:
        values = with_followers(table.domain, values, block.record_count)
    return Block(block, values, some.start + 1)


def spelled_column(domain: Domain, name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Decoded values of a column as a file of text holds them.

    Args:
        domain: of the table.
        name: of the column.
        values: as `Attribute.decode` gives them, or new identifiers; shape (N,).
    """
    attribute = domain.description_of(name)
    return values if attribute is None else attribute.spelled(values)

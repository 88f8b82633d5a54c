"""The values of a synthetic table's rows, decoded block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.unmodelled import Identifier
from ...common.data.domain import Domain
from ...common.data.table import Table, code_counts, decode_table
from ...common.processes.blocks import made_in_order

DECODED_ROWS = 2**15
"""Most rows that are decoded at once: arrays of so many numbers stay in a processor's cache."""

_DECODED_CELLS = 2**22
"""Most cells that are decoded at once; it bounds temporary memory."""

Values = dict[str, NDArray[Any]]
"""Decoded columns by name, shape (N,) each."""


def decode_rows(table: Table, rng: np.random.Generator) -> Values:
    """The values of each column, and new identifiers, shape (N,) each; those of `decodings`.

    Args:
        table: the table, coded.
        rng: draws values inside bins.
    """
    blocks = list(made_in_order(lambda decode: decode(), decodings(table, rng)))
    # Each block's part of a column is let go when the column is whole.
    return {name: np.concatenate([block.pop(name) for block in blocks]) for name in [*blocks[0]]}


def decodings(table: Table, rng: np.random.Generator) -> Iterator[Callable[[], Values]]:
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
) -> Values:
    block = table.rows(some.start, min(some.stop, table.record_count))
    identifiers = [column for column in table.domain.unmodelled if isinstance(column, Identifier)]
    drawn = {column.name: column.draw(block.record_count, some.start + 1) for column in identifiers}
    return drawn | decode_table(block, rng, counts)


def spelled_values(domain: Domain, values: Mapping[str, NDArray[Any]], columns: Sequence[str]) -> Values:
    """Decoded values as a file of text holds them: dates and booleans as their domain writes them.

    Args:
        domain: domain of the table.
        values: of each column, shape (N,).
        columns: names of the columns, in order.
    """
    return {name: spelled_column(domain, name, values[name]) for name in columns}


def spelled_column(domain: Domain, name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Decoded values of a column as a file of text holds them.

    Args:
        domain: of the table.
        name: of the column.
        values: as `Attribute.decode` gives them, or new identifiers; shape (N,).
    """
    return domain[name].spelled(values) if name in domain.names else values

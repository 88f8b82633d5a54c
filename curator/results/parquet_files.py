"""Synthetic tables as Parquet, with the types of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.processes.blocks import made_in_order
from .frames import schema_of, typed_values
from .row_values import Values

_GROUP_CELLS = 2**24
"""Cells of a row group; it bounds temporary memory."""


def write_parquet(
    path: Path, domain: Domain, columns: Sequence[str], blocks: Iterable[Callable[[], Values]]
) -> None:
    """Writes decoded rows, on two cores.

    Args:
        path: the file; overwritten.
        domain: domain of the table.
        columns: names of the columns, in order.
        blocks: the rows, each block made by a call, in any thread.

    Raises:
        DataError: the file cannot be written.
    """
    schema = schema_of(domain, columns)

    def typed_block(block: Callable[[], Values]) -> pa.Table:
        rows = typed_values(domain, block(), columns)
        return pa.Table.from_pandas(rows, schema, nthreads=1, preserve_index=False)

    repeated = [name for name in columns if not _any_numbers(domain, name)]
    try:
        with pq.ParquetWriter(path, schema, use_dictionary=repeated) as writer:
            group: list[pa.Table] = []
            for rows in made_in_order(typed_block, blocks):
                group.append(rows)
                if sum(map(len, group)) * len(columns) >= _GROUP_CELLS:
                    writer.write_table(pa.concat_tables(group))
                    group = []
            if group:
                writer.write_table(pa.concat_tables(group))
    except OSError as cause:
        raise DataError(
            f"{path} cannot be written; free space on its disk, or choose another folder"
        ) from cause


def _any_numbers(domain: Domain, name: str) -> bool:
    """Whether numbers of a column hardly ever come twice, so that a dictionary takes time for nothing."""
    attribute = domain[name] if name in domain.names else None
    return isinstance(attribute, NumericAttribute) and attribute.lattice is None

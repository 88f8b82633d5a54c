"""A synthetic table as a data frame with the types of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from ...common.data.domain import Domain
from ...common.data.table import Table
from .columns.typed import typed_values, values_of_codes
from .row_values import Values, decode_rows


def typed_frame(table: Table, columns: Sequence[str], rng: np.random.Generator) -> pd.DataFrame:
    """A synthetic table with the types of its columns.

    Numbers, booleans, dates and timestamps have types that can be missing where a value can be, and ordered
    categories of text are a Categorical. Categories of several types are text.

    Args:
        table: the table, coded.
        columns: names of the columns, in order.
        rng: draws values inside bins.
    """
    return typed_values(table.domain, decode_rows(table, rng), columns)


def schema_of(domain: Domain, columns: Sequence[str]) -> pa.Schema:
    """The Arrow types of decoded columns, for readers such as pandas; those of any rows.

    Args:
        domain: domain of the table.
        columns: names of the columns, in order.
    """
    # Each value once: from rows without a value, or without any text, types could not be told.
    rows = max(domain.sizes, default=1)
    values: Values = {column.name: column.draw(1).repeat(rows) for column in domain.identifiers}
    values |= values_of_codes(domain, rows)
    return pa.Schema.from_pandas(typed_values(domain, values, columns), preserve_index=False)

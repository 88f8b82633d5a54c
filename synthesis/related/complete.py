"""Rows that have all that binds them: a key, a parent, a value of the order, keys of public tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...curator.results.keys import keys_as_texts
from .order import Ordered, has_order


def with_keys_read(
    rows: pd.DataFrame,
    key: str,
    foreign: str,
    parents: pd.Index,
    references: Sequence[CategoricalAttribute],
) -> pd.DataFrame:
    """The rows of a table with what their keys stand for; it is missing where there is no such thing.

    Args:
        rows: the table.
        key: column of its own keys, which become texts; empty if it has none.
        foreign: column of keys of the parent, which become numbers of its rows; empty for the root.
        parents: keys of the parent.
        references: columns of keys of public tables, which are then as they are written there.
    """
    read: dict[str, Any] = {key: keys_as_texts(rows[key])} if key else {}
    if foreign:
        places = _places(rows[foreign], parents)
        read[foreign] = np.where(places < 0, np.nan, places)
    for one in references:
        listed = pd.Index(keys_as_texts(pd.Series(one.categories, dtype=object)))
        codes = _places(rows[one.name], listed)
        read[one.name] = pd.Categorical.from_codes(codes, categories=pd.Index(one.categories))
    return rows.assign(**read) if read else rows


def without_incomplete(
    name: str,
    rows: pd.DataFrame,
    keys: Sequence[str],
    order: Ordered | None,
    known: Domain | None = None,
) -> pd.DataFrame:
    """The rows of a table that have all that binds them.

    Whether a row stays depends on the rows of its person alone, so that it is the same in every table that
    has this person.

    Args:
        name: of the table.
        rows: the table, with its keys read.
        keys: columns of keys.
        order: of its rows; None if it has none.
        known: what its columns hold, if it is known.

    Raises:
        DataError: none has.
    """
    kept = has_order(rows, order, known) if isinstance(order, str) else np.ones(len(rows), dtype=bool)
    for key in keys:
        kept = kept & rows[key].notna().to_numpy()
    if len(rows) and not kept.any():
        raise DataError(
            f"{name}: expected rows with a key, a parent and a value of the order, found none; fix the "
            "relations, the keys or the order"
        )
    return rows[kept]


def _places(column: pd.Series, listed: pd.Index) -> NDArray[np.int64]:
    """The place among some keys of the key that each row holds, -1 of another or none, shape (N,)."""
    found: NDArray[np.int64] = listed.get_indexer(pd.Index(keys_as_texts(column))).astype(np.int64)
    return found

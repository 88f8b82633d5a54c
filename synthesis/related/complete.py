"""Rows that have all that binds them: a key, a parent, a value of the order, keys of public tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.errors import DataError
from ...curator.results.keys import keys_as_texts
from .order import has_order


def without_incomplete(
    name: str,
    rows: pd.DataFrame,
    keys: Sequence[str],
    order: str | None,
    parents: pd.Index | None = None,
    references: Sequence[CategoricalAttribute] = (),
) -> pd.DataFrame:
    """The rows of a table that have all that binds them.

    Whether a row stays depends on the rows of its person alone, so that it is the same in every table that
    has this person.

    Args:
        name: of the table.
        rows: the table.
        keys: columns of keys; with parents, the last one holds theirs.
        order: column of the order; None if it has none.
        parents: keys of the parent.
        references: columns of keys of public tables.

    Raises:
        DataError: none has.
    """
    texts = [keys_as_texts(rows[key]) for key in keys]
    kept = has_order(rows[order]) if order else np.ones(len(rows), dtype=bool)
    for one in texts:
        kept = kept & one.notna().to_numpy()
    if parents is not None:
        kept = kept & texts[-1].isin(parents).to_numpy()
    for reference in references:
        kept = kept & (_codes_of_keys(rows, reference) >= 0)
    if len(rows) and not kept.any():
        raise DataError(
            f"{name}: expected rows with a key, a parent and a value of the order, found none; fix the "
            "relations, the keys or the order"
        )
    return rows[kept]


def with_references(
    name: str, rows: pd.DataFrame, references: Sequence[CategoricalAttribute]
) -> pd.DataFrame:
    """The rows with each key of a public table as it is written there.

    Raises:
        DataError: a row holds none, or another.
    """
    found = {}
    for one in references:
        if (codes := _codes_of_keys(rows, one)).min(initial=0) < 0:
            raise DataError(
                f"{name}: expected in {one.name!r} a key of the public table in every row, found a row "
                "without; add it there, or leave such rows out by drop_incomplete"
            )
        found[one.name] = pd.Categorical.from_codes(codes, categories=pd.Index(one.categories))
    return rows.assign(**found) if found else rows


def _codes_of_keys(rows: pd.DataFrame, reference: CategoricalAttribute) -> NDArray[np.int64]:
    """The code of the key that each row holds, -1 of another or none, shape (N,)."""
    listed = pd.Index(keys_as_texts(pd.Series(reference.categories, dtype=object)))
    found: NDArray[np.int64] = listed.get_indexer(pd.Index(keys_as_texts(rows[reference.name])))
    return found

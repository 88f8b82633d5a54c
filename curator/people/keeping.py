"""Drawn rows that agree with what their parents say of them; post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rows import Rows
from .shape import Family

Codes = NDArray[np.int64]


def summaries_kept(family: Family, name: str, rows: Rows, parents: Rows, rng: np.random.Generator) -> Rows:
    """Rows of a table that agree with all summaries of it.

    Args:
        family: the tables.
        name: the table.
        rows: its rows.
        parents: those of its parent.
        rng: chooses values and rows.
    """
    own = {attribute.name: attribute for attribute in family.own(name)}
    for summary in family[name].summaries:
        if summary.column in own:
            attribute = own[summary.column]
            said = parents.codes[summary.name]
            rows = kept(rows, said, summary.column, summary.codes(attribute), attribute.size, rng)
    return rows


def kept(rows: Rows, said: Codes, own: str, values: Codes, size: int, rng: np.random.Generator) -> Rows:
    """Rows that are changed where they and what their parent says of them differ.

    Rows with one of the values, of parents that have none, get another one, as frequent as it is; of parents
    that have one, a row gets one.

    Args:
        rows: the rows.
        said: 1 for parents that have such a row, shape (parents,).
        own: the column.
        values: the codes that are spoken of.
        size: number of codes of the column.
        rng: chooses values and rows.
    """
    codes = rows.codes[own].copy()
    if not len(values) or len(values) == size or not len(rows):
        return rows
    counts = np.bincount(codes, minlength=size).astype(np.float64) + 1e-9
    spoken = np.zeros(size, dtype=np.bool_)
    spoken[values] = True
    wrong = np.flatnonzero(spoken[codes] & (said[rows.parent] == 0))
    codes[wrong] = _drawn(np.where(spoken, 0.0, counts), len(wrong), rng)
    has = np.bincount(rows.parent, spoken[codes], minlength=rows.parents) > 0
    lacking = np.flatnonzero((said == 1) & ~has & (rows.numbers > 0))
    starts = np.cumsum(rows.numbers) - rows.numbers
    some = starts[lacking] + (rng.random(len(lacking)) * rows.numbers[lacking]).astype(np.int64)
    codes[some] = _drawn(np.where(spoken, counts, 0.0), len(some), rng)
    return Rows({**rows.codes, own: codes}, rows.parent, rows.parents)


def _drawn(weights: NDArray[np.float64], number: int, rng: np.random.Generator) -> Codes:
    """Codes in proportion to their weights."""
    return rng.choice(len(weights), number, p=weights / weights.sum()).astype(np.int64)

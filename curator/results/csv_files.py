"""Synthetic tables as CSV: what pandas writes, several times faster."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_QUOTED = ',"\r\n'
"""A cell with one of these is quoted."""

_MANY_NUMBERS, _LAST_PLACES, _TABLE_STEPS, _TRIED_FIRST = 2**10, 5, 2**17, 64
"""So many numbers and more, with at most so many decimal places and fewer steps of the last place from zero,
are looked up in a table of texts: that takes a fourth of the time of writing each. The first of them say
whether the places suffice."""

_ALIKE = (1e-4, 1e10)
"""Numbers of these sizes that are not whole are written alike by Arrow and by Python."""


def write_csv(path: Path, first: str, lines: Iterable[memoryview]) -> None:
    """Writes a CSV file, over one that is there.

    Args:
        path: the file.
        first: its first line, as of `header`.
        lines: all others, as of `join_cells`.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("wb") as file:
        file.write(first.encode("utf-8"))
        file.writelines(lines)


def csv_text(rows: pd.DataFrame) -> str:
    """A small table as CSV."""
    columns = [cells(column.to_numpy()) for _, column in rows.items()]
    lines = join_cells(columns, alone=len(columns) == 1)
    return header([*map(str, rows.columns)]) + bytes(lines).decode("utf-8")


def header(names: Sequence[str]) -> str:
    """The first line of a CSV file."""
    # Not by Python's writer, which leaves a name with a line end of another kind without quotes.
    line = [_quote(pa.array([name], pa.string())) for name in names]
    return bytes(join_cells(line, alone=len(names) == 1)).decode("utf-8")


def cells(values: NDArray[Any]) -> pa.Array:
    """Cells of a column as texts, quoted where they need it; null for a missing value.

    Args:
        values: numbers, booleans, texts or objects, shape (N,); None, NaN and "" are empty cells.
    """
    if values.dtype.kind in "iu":
        return pa.array(values).cast(pa.string())
    if values.dtype.kind == "f":
        return _decimals(values)
    if values.dtype.kind == "b":
        return pc.if_else(pa.array(values), "True", "False")
    return _quote(_texts(values))


def join_cells(parts: Sequence[pa.Array], *, alone: bool) -> memoryview:
    """Lines of a CSV file.

    Args:
        parts: cells of the columns from left to right, or of some columns joined by commas, shape (N,).
        alone: whether they are a single column, whose missing cell is no empty line, which readers skip.
    """
    if alone:
        parts = [pc.if_else(pc.equal(parts[0], ""), None, parts[0])]
    filled = {"null_handling": "replace", "null_replacement": '""' if alone else ""}
    last = pc.binary_join_element_wise(parts[-1], "", "\n", **filled)
    lines = pc.binary_join_element_wise(*parts[:-1], last, ",", **filled) if parts[:-1] else last
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, dtype=np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[ends[0] : ends[-1]]


def _decimals(numbers: NDArray[np.float64]) -> pa.Array:
    """Numbers as Python writes them: 5.0, not 5, and powers of ten where it writes them."""
    if len(numbers) >= _MANY_NUMBERS and (short := _of_few_places(numbers)) is not None:
        return short
    texts = pa.array(numbers, from_pandas=True).cast(pa.string())
    sizes = np.abs(numbers)
    other = (sizes < _ALIKE[0]) | (sizes >= _ALIKE[1]) | (sizes == np.floor(sizes))
    if not other.any():
        return texts
    # By their bits, which tell 0.0 from -0.0.
    bits, places = np.unique(numbers[other].view(np.int64), return_inverse=True)
    known = pa.array(list(map(repr, bits.view(np.float64).tolist())), pa.string())
    return pc.replace_with_mask(texts, pa.array(other), known.take(pa.array(places)))


def _of_few_places(numbers: NDArray[np.float64]) -> pa.Array | None:
    """Numbers with the same few decimal places, by a table of their texts; None for other numbers."""
    missing = np.isnan(numbers)
    known = np.where(missing, 0.0, numbers)
    if np.abs(known).max() >= _TABLE_STEPS or np.signbit(known[known == 0]).any():
        return None
    for places in range(1, _LAST_PLACES + 1):
        power = 10.0**places
        # The first numbers say at once that others are needed.
        for some in (known[:_TRIED_FIRST], known):
            steps = np.rint(some * power)
            if not np.array_equal(steps / power, some):
                break
        else:
            lowest, highest = steps.min(), steps.max()
            if lowest <= -_TABLE_STEPS or highest >= _TABLE_STEPS:
                return None
            first = -_TABLE_STEPS if lowest < 0 else 0
            at = pa.array((steps - first).astype(np.int32), mask=missing)
            return _table(places, first).take(at)
    return None


@functools.cache
def _table(places: int, first: int) -> pa.Array:
    """The numbers of so many decimal places from `first` steps on, as Python writes them."""
    return pa.array([repr(step / 10.0**places) for step in range(first, _TABLE_STEPS)], pa.string())


def _texts(values: NDArray[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.string(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Whole numbers with missing ones, or categories of several types.
        return pa.array(list(map(_text, values.tolist())), pa.string())


def _text(cell: Any) -> str | None:
    return None if cell is None or cell == "" or cell != cell else str(cell)


def _quote(texts: pa.Array) -> pa.Array:
    _, _, data = texts.buffers()
    held = data.to_pybytes() if data else b""
    if not any(mark.encode() in held for mark in _QUOTED):
        return texts
    special = pc.match_substring_regex(texts, f"[{_QUOTED}]")
    doubled = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(special, doubled, texts)

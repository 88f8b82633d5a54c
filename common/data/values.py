"""Raw cells from files, DuckDB, pandas and lists: missing values, numbers and texts."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..bounded import DEEPEST
from ..errors import DataError
from ..forms.notation import LARGEST_WHOLE, PLAIN, Notation
from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RawColumn: TypeAlias = "NDArray[Any] | Sequence[Any]"
"""One column before encoding: text or numbers; None, NaN, a masked cell or "" is a missing value."""

NOT_AVAILABLE = ("NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan", "None", "none", "-", ".", "?", "")
"""Texts that among numbers, dates or booleans stand for a missing value, as does every blank text."""

_LONGEST_WHOLE = 2000
"""Bits up to which a whole number is written in decimals: Python may refuse to write longer ones so."""


@dataclass(frozen=True, eq=False)
class ListedTexts(Sequence[str]):
    """A raw column of texts, of which each is held once.

    Attributes:
        texts: the different texts, in any order; perhaps some that do not occur.
        places: shape (N,), for each row the place of its text.
    """

    texts: Sequence[str]
    places: NDArray[np.unsignedinteger[Any]]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: Any) -> Any:
        return np.asarray(self.texts, dtype=object)[self.places[rows]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        """The text of each row, shape (N,)."""
        cells: NDArray[np.object_] = self[:]
        return cells


def refuse_rows(name: str, refused: NDArray[np.bool_], reason: str) -> None:
    """Raises if any row is refused; names the column and the first such row, but not its value.

    Args:
        name: of the column.
        refused: shape (N,), True for rows that cannot be encoded.
        reason: what was expected, what was found and what to do.

    Raises:
        DataError: a row is refused.
    """
    if refused.any():
        raise DataError(f"column {name!r}, row {int(refused.argmax()) + 1}: {reason}")


def compose(text: str) -> str:
    """A text in Unicode's normal form C: names and labels are compared in it, whoever wrote them."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def compose_texts(form: Any, deepest: int = DEEPEST) -> Any:
    """The same content of texts, sequences and mappings, every text composed (`compose`).

    Args:
        form: the content.
        deepest: so many sequences and mappings may be inside each other, as in a file.

    Raises:
        DataError: two keys of a mapping are one when composed, or more are inside each other.
    """
    if isinstance(form, str):
        return compose(form)
    if not isinstance(form, list | tuple | Mapping):
        return form
    if not deepest:
        raise DataError(
            f"expected at most {DEEPEST} lists or mappings inside each other, got more; take fewer"
        )
    if not isinstance(form, Mapping):
        return type(form)(compose_texts(one, deepest - 1) for one in form)
    found: dict[Any, Any] = {}
    for name, one in form.items():
        if (key := compose_texts(name, deepest - 1)) in found:
            raise DataError(
                f"{key!r} is named in two spellings that are one in Unicode's normal form C; keep one"
            )
        found[key] = compose_texts(one, deepest - 1)
    return found


def column_named(columns: Mapping[str, RawColumn], name: str) -> RawColumn:
    """One of some raw columns.

    Raises:
        DataError: it is not there.
    """
    if name not in columns:
        raise DataError(
            f"expected a column {name!r}, found none; add it to the table or remove it from the domain"
        )
    return columns[name]


def blank_texts(values: RawColumn, missing: Collection[str]) -> RawColumn:
    """A column in which some texts are missing values.

    Args:
        values: shape (N,).
        missing: texts that stand for a missing value.
    """
    return without_texts(values, missing, ())[0]


def without_texts(
    values: RawColumn, missing: Collection[str], texts: Collection[str]
) -> tuple[RawColumn, NDArray[np.int64]]:
    """A column in which some texts are missing values, and where others stood, which are too.

    Args:
        values: shape (N,).
        missing: texts that stand for a missing value.
        texts: the others.

    Returns:
        The column, and the place of each cell among the others, negative if it is none; shape (N,) each.
    """
    places = _places_of_texts(values, (*missing, *texts))
    blank = places >= 0
    if blank.any():
        cells, masked = _split_mask("", values)
        values = np.ma.masked_array(cells.astype(object), masked | blank)
    return values, places - len(missing)


def _places_of_texts(values: RawColumn, texts: Sequence[str]) -> NDArray[np.int64]:
    """The place of each cell among some texts, each once, shape (N,); -1 of another cell."""
    if not texts or (isinstance(values, np.ndarray) and values.dtype.kind not in "OUT"):
        return np.full(len(values), -1, dtype=np.int64)
    place = {compose(text): number for number, text in enumerate(texts)}
    cells, _ = _split_mask("", values)
    found = (place.get(compose(cell), -1) if isinstance(cell, str) else -1 for cell in cells.tolist())
    return np.fromiter(found, dtype=np.int64, count=len(cells))


def read_numbers(
    name: str, values: RawColumn, notation: Notation = PLAIN
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Reads a column of numbers, or of numbers as text.

    Args:
        name: the column, for messages.
        values: shape (N,).
        notation: how numbers are written as text; numbers alone are read as well.

    Returns:
        The numbers, shape (N,), NaN where a value is missing or cannot be read; and the rows that cannot be
        read, shape (N,). Numbers may be infinite.

    Raises:
        DataError: the column is of another kind than text or numbers.
    """
    cells, missing = _split_mask(name, values)
    if cells.dtype.kind in "biuf":
        numbers = _as_float64(cells)
        unreadable = np.zeros(len(cells), dtype=np.bool_)
    else:
        numbers, unreadable = _parse_numbers(cells.tolist(), notation)
    numbers[missing] = np.nan
    return numbers, unreadable & ~missing


def read_texts(name: str, values: RawColumn) -> tuple[list[str], NDArray[np.int64]]:
    """Reads a column as text, each distinct text once; a missing value is the empty text.

    Args:
        name: the column, for messages.
        values: shape (N,).

    Returns:
        The distinct texts, which may repeat, and for each row, shape (N,), the position of its text.

    Raises:
        DataError: the column holds neither text nor numbers.
    """
    if isinstance(values, ListedTexts):
        return [*map(text_of, values.texts)], values.places.astype(np.int64)
    cells, missing = _split_mask(name, values)
    known, position = _distinct(cells)
    position[missing] = len(known)
    return [text_of(value) for value in known] + [""], position


def text_of(value: object) -> str:
    """The JSON text of a cell or category: 1.0 gives "1", True "true", text composed, missing ""."""
    if isinstance(value, str):
        return compose(value)
    if _is_missing(value):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.floating):
        value = float(str(value))
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_WHOLE:
        value = int(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_WHOLE:
        return hex(value)
    return _own_text(value)


def _own_text(value: object) -> str:
    """An object as it writes itself; by its type if it fails to, since an error would tell of its row."""
    try:
        return str(value)
    except Exception:
        return type(value).__name__


def number_or_nan(text: str) -> float:
    """The number that a text is in Python; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _split_mask(name: str, values: RawColumn) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise DataError(f"column {name!r}: expected one value per row, found an array of shape {array.shape}")
    if array.dtype.kind not in "biufOUT":
        raise DataError(
            f"column {name!r}: expected text or numbers, found {array.dtype}; turn the column into text first"
        )
    mask = np.ma.getmaskarray(array).copy()
    cells = np.ma.getdata(array)
    if mask.any() and cells.dtype.kind in "OUT":
        cells = cells.astype(object)
        cells[mask] = None
    return cells, mask


def _distinct(cells: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct cells and the position of each row's; equal cells of different types stay apart."""
    if cells.dtype.kind in "biuf":
        found, inverse = np.unique(cells, return_inverse=True)
        return list(found), inverse.astype(np.int64)
    rows = cells.tolist()
    try:
        known = list(dict.fromkeys(rows))
    except Exception:  # Values without a hash, or that do not compare.
        known = []
    # Only a text equals a text, but 1, 1.0 and True are equal.
    if set(map(type, known)) != {str} and set(map(type, rows)) not in ({int}, {float}, {bool}):
        rows = [text_of(value) for value in rows]
        known = list(dict.fromkeys(rows))
    position = {value: place for place, value in enumerate(known)}
    return known, np.fromiter(map(position.__getitem__, rows), dtype=np.int64, count=len(rows))


def _as_float64(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as float64; those of a shorter float as they are written: 0.1 is not 0.10000000149."""
    if cells.dtype.kind != "f" or cells.dtype.itemsize >= 8:
        return cells.astype(np.float64)
    known, position = np.unique(cells, return_inverse=True)
    widened: NDArray[np.float64] = known.astype(str).astype(np.float64)[position]
    return widened


def _parse_numbers(rows: list[Any], notation: Notation) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if set(map(type, rows)) == {str} and not notation.decimal_comma and "_" not in "".join(rows):
        texts = [text or "nan" for text in rows] if "" in rows else rows
        try:
            numbers = np.fromiter(map(float, texts), dtype=np.float64, count=len(rows))
            return numbers, np.zeros(len(rows), dtype=np.bool_)
        except ValueError:
            pass
    if notation != PLAIN:
        rows = [notation.number_in(value) if isinstance(value, str) else value for value in rows]
    parsed = list(map(_number, rows))
    unreadable = np.array([number is None for number in parsed], dtype=np.bool_)
    return np.array(parsed, dtype=np.float64), unreadable


def _number(value: Any) -> float | None:
    """The number in a cell, NaN for a missing value, None if it is no number."""
    try:
        if value is None or value == "":
            return math.nan
        number = float(value)
    except OverflowError:
        return math.inf
    except Exception:  # Whatever an object raises that is no number.
        return math.nan if _is_missing(value) else None
    return None if isinstance(value, str) and "_" in value else number


def _is_missing(value: object) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")

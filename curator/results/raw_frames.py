"""Raw columns of data frames, for encoding, and the values in a synthetic table's file."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CodedAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import GapAttribute, TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.gaps import readable
from ...common.data.table import Table, code_dtype, encode_table
from ...common.data.values import ListedTexts, RawColumn, blank_texts, text_of
from ...common.errors import DataError


def encode_frame(domain: Domain, rows: pd.DataFrame) -> Table:
    """Encodes a data frame; columns that the domain does not name are ignored.

    Args:
        domain: meaning of the codes.
        rows: with a column of each attribute, as text or with types of its own.

    Raises:
        DataError: a column is missing or named twice, or a value has no code.
    """
    number = Counter(rows.columns)
    if twice := [name for name in domain if number[name] > 1]:
        raise DataError(f"expected each column once, got {twice[0]!r} twice; name each column once")
    columns = {name: raw(domain[name], rows[name]) for name in domain if name in rows.columns}
    return encode_table(domain, columns)


def cells_of(domain: Domain, rows: pd.DataFrame, name: str) -> RawColumn:
    """The cells of a column as its attribute reads them; gaps, if it comes after another.

    Args:
        domain: of the column, and of the other one.
        rows: with both columns.
        name: of the column.
    """
    attribute = domain[name]
    names = (name, attribute.other) if isinstance(attribute, GapAttribute) else (name,)
    return readable(domain, {one: raw(domain[one], rows[one]) for one in names}, name)


def raw(attribute: Attribute, column: pd.Series) -> RawColumn:
    """The cells of a column as its attribute reads them: numbers, local times, or objects; shape (N,)."""
    kind = column.dtype
    cells: NDArray[Any]
    if isinstance(kind, pd.CategoricalDtype) and kind.categories.inferred_type == "string":
        size = len(kind.categories)
        places = column.cat.codes.to_numpy()
        places = np.where(places < 0, size, places).astype(code_dtype(size + 1))
        return ListedTexts([*kind.categories, ""], places)
    if isinstance(kind, pd.CategoricalDtype):
        listed = np.asarray(raw(attribute, pd.Series(kind.categories)), dtype=object)
        # A missing value has the code -1.
        cells = np.append(listed, np.array([None], dtype=object))[column.cat.codes.to_numpy()]
    elif isinstance(kind, np.dtype) and kind.kind in "biuf":
        cells = column.to_numpy()
    elif pd.api.types.is_datetime64_any_dtype(kind) or _is_time(kind):
        cells = _times(attribute, column)
    elif pd.api.types.is_integer_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        flags = pd.api.types.is_bool_dtype(kind)
        known = column.fillna(False if flags else 0)
        cells = np.ma.masked_array(
            known.to_numpy(dtype=bool if flags else kind.numpy_dtype), column.isna().to_numpy()
        )
    elif pd.api.types.is_float_dtype(kind):
        cells = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif pd.api.types.is_object_dtype(kind):
        # Asking pandas what is missing fails for some cells; whoever reads them asks for each.
        cells = column.to_numpy(dtype=object)
    else:
        cells = column.to_numpy(dtype=object, na_value=None)
    return cells


def values_in(domain: Domain, rows: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """The values of a synthetic table, as decoding gives them.

    Args:
        domain: domain of the table.
        rows: its columns, as text or with types.

    Returns:
        The values of the columns that the domain names, each of shape (N,).
    """
    values = {
        name: _value_of(domain[name], np.asanyarray(raw(domain[name], rows[name])))
        for name in rows.columns
        if name in domain.names
    }
    for follower in domain.followers:
        if follower.name in rows.columns:
            cells = np.asanyarray(raw(follower.attribute, rows[follower.name]))
            values[follower.name] = value_of_follower(follower.attribute, cells)
    for column in domain.identifiers:
        if column.name in rows.columns:
            kind: Any = np.int64 if column.pattern == "{:d}" else object
            values[column.name] = rows[column.name].to_numpy(dtype=object).astype(kind)
    return values


def value_of_follower(attribute: Attribute, cells: NDArray[Any]) -> NDArray[Any]:
    """The values of a column that is computed, as decoding gives others; further values stay as they are.

    Args:
        attribute: how its values are written.
        cells: shape (N,).
    """
    if isinstance(attribute, NumericAttribute) and not attribute.texts:
        missing = bool(np.isnan(attribute.numbers(cells)).any())
        return _value_of(replace(attribute, nullable=attribute.nullable or missing), cells)
    if isinstance(attribute, TimeAttribute) and not attribute.texts:
        return _value_of(attribute, cells)
    # A whole number is written without a point, as categories are, and so is yes or no among codes.
    kinds = (float, bool) if isinstance(attribute, CodedAttribute) else (float,)
    listed = np.array(np.ma.getdata(cells), dtype=object)
    listed[np.ma.getmaskarray(cells)] = None
    listed[:] = [_whole(cell) if isinstance(cell, kinds) else cell for cell in listed.tolist()]
    reading = attribute.read(listed)
    found = attribute.decode(reading.codes, np.random.default_rng(0))
    further = np.zeros(len(found), dtype=np.bool_)
    for refused, _ in reading.refused.values():
        further |= refused
    if not further.any():
        return found
    found = found.astype(object)
    found[further] = listed[further]
    return found


def _whole(cell: float) -> Any:
    """A number without a point if it needs none; None for none."""
    return None if np.isnan(cell) else int(cell) if float(cell).is_integer() else cell


def _is_time(kind: Any) -> bool:
    return isinstance(kind, pd.ArrowDtype) and (
        pa.types.is_date(kind.pyarrow_dtype) or pa.types.is_timestamp(kind.pyarrow_dtype)
    )


def _times(attribute: Attribute, column: pd.Series) -> NDArray[Any]:
    """Local times; texts for an attribute of another kind, and instants without a time zone to read them."""
    if _is_time(column.dtype):
        kind = column.dtype.pyarrow_dtype
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        column = column.astype("datetime64[us]" if zone is None else f"datetime64[us, {zone}]")
    times: NDArray[Any]
    if not isinstance(attribute, TimeAttribute) or isinstance(attribute.moments, Clock):
        # pandas writes a column alike, as its most precise time needs.
        places, different = pd.factorize(writable(column))
        times = np.array([*map(_time_text, different), None], dtype=object)[places]
    elif column.dt.tz is None:
        times = column.to_numpy(dtype="datetime64[us]")
    elif not attribute.moments.timezone:
        times = writable(column).to_numpy(dtype=object)
    else:
        # pandas knows no local time of years that Python has not.
        instants = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
        times = attribute.moments.local(instants)
    return times


def _time_text(time: pd.Timestamp) -> str:
    """How a local time is written: midnight as its day."""
    return str(time).removesuffix(" 00:00:00")


def writable(column: pd.Series) -> pd.Series:
    """Times, without those of years that Python cannot write; the first and last year only in UTC."""
    if column.dt.tz is None:
        return column.where(column.dt.year.between(1, 9999))
    return column.where(column.dt.tz_convert("UTC").dt.year.between(2, 9998))


def _value_of(attribute: Attribute, cells: NDArray[Any]) -> NDArray[Any]:
    if attribute.texts:
        texts = [text_of(cell) or None for cell in blank_texts(cells, attribute.missing)]
        return np.array(texts, dtype=object)
    match attribute:
        case NumericAttribute():
            numbers = attribute.numbers(cells)
            if not attribute.integer:
                return numbers
            missing = np.isnan(numbers)
            whole = np.where(missing, 0, numbers).astype(np.int64)
            if not attribute.nullable:
                return whole
            values = whole.astype(object)
            values[missing] = None
            return values
        case TimeAttribute():
            times, _ = attribute.moments.read(attribute.name, blank_texts(cells, attribute.missing))
            return times if attribute.moments.timed else times.astype("datetime64[D]")
    # Of other kinds, a code has one value.
    return attribute.decode(attribute.encode(cells), np.random.default_rng(0))

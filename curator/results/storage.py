"""Synthetic rows as their users get them: spelled as the domain says, and stored as the real columns are.

Nothing but the domain and how a column is stored decides about its type. How it is stored was declared by
whoever made the data frame, and is public. Whether a column is of whole numbers, numbers or objects, the
width of numbers, and the categories of a Categorical and their order may depend on a single value, so they
come from the domain.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from ...common.bounded import json_of, read_bytes
from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.values import text_of
from ...common.errors import DataError
from ...common.files.labels import Labels
from .raw_frames import values_in

_TEXT = pd.Series(["text"]).dtype
"""What pandas makes of texts."""

_TIMES = "datetime64[us]"

_UNDECLARED = ("object", *(f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")))
"""Types that say nothing of how a data frame stores its columns: conversions leave them as they are."""


class Storage(enum.StrEnum):
    """How a data frame stores a column, if not as NumPy does."""

    CATEGORY = "category"
    NULLABLE = "nullable"
    ARROW = "arrow"
    DURATION = "duration"


@dataclass(frozen=True)
class TableStorage:
    """How a table is stored beside its values; public.

    Attributes:
        columns: of the columns that are not stored as NumPy does.
        index: names of the columns that are the index of a data frame of pandas.
        numbered: name of an index of pandas that is numbered anew; empty if it has none.
        labels: what the file of the table says of the codes of its columns.
    """

    columns: Mapping[str, Storage] = field(default_factory=dict)
    index: tuple[str, ...] = ()
    numbered: str = ""
    labels: Mapping[str, Labels] = field(default_factory=dict)

    def set_index(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with the columns of the index as such; further levels that no column holds are left out."""
        if names := [name for name in self.index if name in rows.columns]:
            return rows.set_index(names)
        return rows.rename_axis(self.numbered) if self.numbered else rows

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "columns": {name: one.value for name, one in self.columns.items()},
            "index": list(self.index),
            "numbered": self.numbered,
            "labels": {name: one.to_json() for name, one in self.labels.items()},
        }


class Library(enum.StrEnum):
    """Whose data frames rows come in, and leave in."""

    PANDAS = "pandas"
    POLARS = "polars"
    PYARROW = "pyarrow"
    DUCKDB = "duckdb"

    @classmethod
    def of(cls, rows: object) -> Library:
        """The library of a table; pandas if it is of none of these."""
        module = type(rows).__module__.partition(".")[0].lstrip("_")
        return cls(module) if module in tuple(cls) else cls.PANDAS

    def frame(self, rows: pd.DataFrame) -> Any:
        """The rows as a data frame of this library; of PyArrow as a Table, of DuckDB as a relation."""
        if self is Library.PANDAS:
            return rows
        table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
        if self is Library.PYARROW:
            return table
        if self is Library.DUCKDB:
            return duckdb.from_arrow(table)
        import polars

        kinds = {name: kind for name, kind in rows.dtypes.items() if isinstance(kind, pd.CategoricalDtype)}
        ordered = {name: polars.Enum(list(kind.categories)) for name, kind in kinds.items() if kind.ordered}
        return polars.DataFrame(table, schema_overrides=ordered)


def storage_of(rows: pd.DataFrame) -> dict[str, Storage]:
    """The columns of a data frame that are a Categorical, of pandas' nullable types or of Arrow's.

    Conversions such as `convert_dtypes` leave a column of objects where a single value does not fit, so such
    a column counts as stored in the way on which all others agree.
    """
    found = {str(name): _storage(kind) for name, kind in rows.dtypes.items()}
    agreed = {found[str(name)] for name, kind in rows.dtypes.items() if str(kind) not in _UNDECLARED}
    agreed -= {Storage.CATEGORY, Storage.DURATION}
    common = agreed.pop() if len(agreed) == 1 else None
    found |= {str(name): common for name, kind in rows.dtypes.items() if str(kind) == "object"}
    return {name: storage for name, storage in found.items() if storage is not None}


def shown_frame(domain: Domain | None, rows: pd.DataFrame, storage: Mapping[str, Storage]) -> pd.DataFrame:
    """The rows as their users get them.

    Texts are written as in a file, where the domain says how: numbers with a unit or a comma, dates in a
    format, words for true and false. Whole numbers are int64, or Int64 if they can be missing; other numbers
    float64; booleans bool or boolean; dates and timestamps datetime64 of microseconds.

    Args:
        domain: of the rows, but keys that bind tables together; None if they have no other columns.
        rows: with the types of `frames.typed_frame`.
        storage: of the columns that are not stored as NumPy does.
    """
    columns = {name: _shown_column(domain, str(name), column, storage) for name, column in rows.items()}
    return pd.DataFrame(columns, index=rows.index, copy=False)


def storage_json(storage: TableStorage) -> str:
    """The content of the file `outputs.STORAGE`."""
    return json.dumps(storage.to_json(), indent=2) + "\n"


def load_storage(path: Path) -> TableStorage:
    """Reads the file `outputs.STORAGE`; nothing if there is none.

    Raises:
        DataError: it is another file.
    """
    if not path.is_file():
        return TableStorage()
    try:
        form = json_of(read_bytes(path))
        return TableStorage(
            {name: Storage(one) for name, one in form["columns"].items()},
            tuple(map(str, form["index"])),
            str(form["numbered"]),
            {name: Labels.from_json(one) for name, one in form["labels"].items()},
        )
    except (ValueError, AttributeError, KeyError, TypeError) as cause:
        raise DataError(f"{path}: expected how columns are stored, found another file; restore it") from cause


def _storage(kind: Any) -> Storage | None:
    if isinstance(kind, pd.CategoricalDtype):
        return Storage.CATEGORY
    if isinstance(kind, pd.ArrowDtype):
        return Storage.ARROW
    if pd.api.types.is_timedelta64_dtype(kind):
        return Storage.DURATION
    return Storage.NULLABLE if getattr(kind, "na_value", None) is pd.NA else None


def _shown_column(
    domain: Domain | None, name: str, column: pd.Series, storage: Mapping[str, Storage]
) -> pd.Series:
    attribute = None if domain is None else domain.description_of(name)
    if attribute is not None and attribute.texts:
        column = column.astype(_TEXT)
    elif domain is not None and attribute is not None and _is_spelled(attribute):
        cells = attribute.spelled(values_in(domain, column.to_frame(name))[name])
        column = pd.Series(cells, index=column.index, dtype=_type_of_words(attribute))
        if isinstance(attribute, TimeAttribute) and attribute.moments.of_digits:
            column = column.astype("Int64" if attribute.nullable else "int64")
    elif isinstance(attribute, TimeAttribute) and not attribute.moments.timed:
        column = column.astype(_TIMES)
    elif column.dtype == object:
        column = column.astype(_TEXT)
    match storage.get(name):
        case Storage.CATEGORY if isinstance(attribute, CategoricalAttribute):
            return column.astype(_categories(attribute, column.dtype))
        case Storage.DURATION if isinstance(attribute, TimeAttribute) and not attribute.texts:
            return _durations(attribute.moments, column) if isinstance(attribute.moments, Clock) else column
        case Storage.NULLABLE:
            return column.astype(_NULLABLE.get(str(column.dtype), column.dtype))
        case Storage.ARROW:
            return column.astype(_arrow(attribute, column.dtype))
    return column


def _durations(clock: Clock, column: pd.Series) -> pd.Series:
    """Times since midnight, or durations, as such."""
    times, _ = clock.read(str(column.name), column.to_numpy(dtype=object))
    return pd.Series(times - np.datetime64(0, "us"), index=column.index)


def _is_spelled(attribute: Attribute) -> bool:
    """Whether texts in a file are another thing to their readers than the values."""
    match attribute:
        case NumericAttribute():
            return not attribute.format.plain
        case TimeAttribute():
            return bool(attribute.moments.format)
        case BooleanAttribute():
            words = {text_of(word).lower() for word in (*attribute.true[:1], *attribute.false[:1])}
            return not words <= {"true", "false"}
    return False


def _type_of_words(attribute: Attribute) -> Any:
    if isinstance(attribute, BooleanAttribute):
        words = (attribute.true[0], attribute.false[0])
        if all(isinstance(word, int) for word in words):
            return "Int64" if attribute.nullable else "int64"
        if all(isinstance(word, int | float) for word in words):
            return "float64"
        if not all(isinstance(word, str) for word in words):
            return object
    return _TEXT


def _categories(attribute: CategoricalAttribute, kind: Any) -> Any:
    """The type whose categories are those of the domain, in its order."""
    if isinstance(kind, pd.CategoricalDtype):
        return kind
    known: list[Any] = [category for category in attribute.categories if category != ""]
    if kind == _TEXT:
        known = [text_of(category) for category in known]
    return pd.CategoricalDtype(known, attribute.ordered)


_NULLABLE: Mapping[str, str] = {
    "int64": "Int64",
    "float64": "Float64",
    "bool": "boolean",
    str(_TEXT): "string",
}


def _arrow(attribute: Attribute | None, kind: Any) -> Any:
    """Arrow's type of the same values; a Categorical stays."""
    if isinstance(kind, pd.CategoricalDtype):
        return kind
    if isinstance(attribute, TimeAttribute) and pd.api.types.is_datetime64_any_dtype(kind):
        moments = attribute.moments
        return pd.ArrowDtype(pa.timestamp("us", moments.timezone or None) if moments.timed else pa.date32())
    plain = {"int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_(), "boolean": pa.bool_()}
    return pd.ArrowDtype(plain.get(str(kind).lower(), pa.string()))

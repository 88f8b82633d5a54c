"""Tables from data frames and files, and data frames from tables."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain, read_form
from ...common.data.table import Table, check_rows
from ...common.data.values import text_of
from ...common.errors import DataError
from ...common.files.labels import listed_categories
from ...curator.results.frames import typed_frame
from ...curator.results.raw_frames import encode_frame, writable
from ...curator.results.storage import Storage, TableStorage, storage_of
from ...party.drafting import inference
from ...party.drafting.date_formats import zone_of
from ...party.drafting.draft import Draft
from ...party.sources.headers import reads_as_record
from ...party.sources.source import FileSource, Queried
from .arrow_tables import ArrowTable
from .frame_rows import FrameRows
from .indexes import without_index

Source: TypeAlias = pd.DataFrame | ArrowTable | str | Path
"""A table with values: a data frame of pandas, Polars, Arrow or DuckDB, or the path of a file."""


class OfSDV(Protocol):
    """Metadata of SDV."""

    def to_dict(self) -> dict[str, Any]:
        """Its content."""


DomainLike = Domain | Draft | Mapping[str, Any] | OfSDV | str | Path
"""A domain, a draft of one, the content of a domain file or its path; or those of SDV or dpsynth."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table with values, encoded.

    Attributes:
        table: the rows.
        columns: columns of the synthetic table, in order.
        storage: how the table is stored.
    """

    table: Table
    columns: tuple[str, ...]
    storage: TableStorage


def read_domain(domain: DomainLike) -> Domain:
    """A domain as it is, from a draft, from the content of a domain file, or from its path.

    Raises:
        DataError: it is no domain.
    """
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, Draft):
        return domain.domain
    return Domain.from_json(form_of(domain))


def form_of(domain: Mapping[str, Any] | OfSDV | str | Path) -> object:
    """The content of a domain file, from its path, or from an object of SDV or dpsynth."""
    if isinstance(domain, str | Path):
        return read_form(domain)
    if isinstance(domain, Mapping):
        return {name: _plain(one) for name, one in domain.items()}
    return domain.to_dict()


def _plain(entry: object) -> object:
    """The entry of a column; an attribute of dpsynth with its class, as its files have it."""
    if is_dataclass(entry) and not isinstance(entry, type):
        return {**asdict(entry), "type": type(entry).__name__}
    return entry


def load(data: Source, domain: DomainLike, *, header: bool | None = None) -> Loaded:
    """A data frame or file, encoded.

    Args:
        data: the rows.
        domain: of the columns.
        header: whether the first line of a CSV names the columns, which are otherwise column1, column2, ...;
            by default it does, unless it reads as a record.

    Raises:
        DataError: the table does not fit the domain.
    """
    known = read_domain(domain)
    if not isinstance(data, ArrowTable):
        source = FileSource(_path(data), header)
        stored = _storage_of_file(source)
        return Loaded(source.encoded(known), written(known, source.columns()), stored)
    rows, index, numbered = without_index(data)
    held = rows[[name for name in known.columns if name in rows.columns]]
    stored = TableStorage(storage_of(held), tuple(name for name in index if name in known.columns), numbered)
    return Loaded(encode_frame(known, rows), written(known, tuple(rows.columns)), stored)


def _path(data: object) -> Path:
    """The path of a file.

    Raises:
        DataError: it is something else.
    """
    if not isinstance(data, str | Path):
        raise DataError(
            "expected a data frame of pandas, Polars, PyArrow or DuckDB, or the path of a file, got "
            f"{type(data).__name__}; make a data frame of it"
        )
    return Path(data)


def _storage_of_file(source: FileSource) -> TableStorage:
    """How a file is stored: columns that it describes are a Categorical."""
    described = dict.fromkeys(listed_categories(source.labels), Storage.CATEGORY)
    return TableStorage(described, labels=source.labels)


def written(domain: Domain, held: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the synthetic table in the order of the real one, after identifiers that it has not."""
    new = (name for name in domain.columns if name not in held)
    return (*new, *(name for name in held if name in domain.columns))


def checked_names(rows: pd.DataFrame, header: bool | None = None) -> tuple[str, ...]:
    """The names of a data frame's columns.

    Args:
        rows: the data frame.
        header: whether somebody has said that these are their names.

    Raises:
        DataError: a name is no text or stands twice, or they read as the first record of a file.
    """
    names = list(rows.columns)
    if not header and reads_as_record([name for name in names if isinstance(name, str)]):
        raise DataError(
            "the names of the columns read as a record; give header=True if they are names, or read the file "
            "with header=None"
        )
    if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
        raise DataError("expected columns with different texts as names, got others; rename the columns")
    return tuple(names)


def _zone(kind: Any) -> str:
    """The IANA name of the time zone of timestamps; for a fixed distance from UTC, of a zone that has it."""
    zone = getattr(kind.pyarrow_dtype if isinstance(kind, pd.ArrowDtype) else kind, "tz", None)
    if zone is None:
        return ""
    named = str(zone)
    if "/" in named:
        return named
    try:
        offset = datetime.strptime(named.removeprefix("UTC"), "%z").utcoffset()
    except ValueError:
        return "UTC"
    return zone_of(offset or timedelta())


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table that nobody has described.

    Attributes:
        source: its rows.
        timezones: time zones that columns of a data frame declare.
        storage: how the table is stored.
        read: reads it in a domain.
    """

    source: Queried
    timezones: Mapping[str, str]
    storage: TableStorage
    read: Callable[[Domain], Table]

    @property
    def categories(self) -> Mapping[str, Sequence[str]]:
        """The categories of columns that the table's file describes."""
        return listed_categories(self.storage.labels)


def raw_table(data: Source, *, header: bool | None = None) -> RawTable:
    """A data frame or file, as it is.

    Args:
        data: the rows.
        header: see `load`.

    Raises:
        DataError: a name is no text, stands twice or reads as a record, the only name may be several, or
            there is no such file.
    """
    if not isinstance(data, ArrowTable):
        source = FileSource(_path(data), header)
        source.check_divided()
        return RawTable(source, {}, _storage_of_file(source), source.encoded)
    rows, index, numbered = without_index(data)
    zones = {name: zone for name in checked_names(rows, header) if (zone := _zone(rows[name].dtype))}
    stored = TableStorage(storage_of(rows), index, numbered)
    return RawTable(FrameRows(rows), zones, stored, lambda domain: encode_frame(domain, rows))


def digest_of(data: Source, key: bytes) -> bytes:
    """A keyed digest of rows, 32 bytes; whoever has the key can test guesses of them.

    Args:
        data: the rows: the cells of a data frame, rows and columns in any order, or the bytes of a file.
        key: secret.
    """
    digest = hmac.new(key, digestmod="sha256")
    if isinstance(data, ArrowTable):
        held = without_index(data).rows
        rows = FrameRows(held[sorted(held.columns, key=str)] if held.columns.is_unique else held)
        with closing(rows.connect()) as connection:
            # The order of rows and columns has no effect on what a release tells of them.
            summed = rows.query(
                connection, "SELECT count(*) AS n, sum(hash(file)::HUGEINT)::VARCHAR AS h FROM file"
            )
        digest.update(f"{rows.columns()} {summed['n'][0]} {summed['h'][0]}".encode(errors="replace"))
        return digest.digest()
    with Path(data).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


def encode(rows: ArrowTable, domain: DomainLike) -> Table:
    """The codes of a data frame.

    Args:
        rows: with a column of each attribute; other columns are ignored.
        domain: meaning of the codes.

    Raises:
        DataError: a column is missing, a value has no code, or there is no row.

    Example:
        >>> table = dpmosaic.encode(patients, domain)
        >>> table.record_count
        1000
        >>> table.column("age")[:2].tolist()
        [3, 4]
    """
    table = encode_frame(read_domain(domain), without_index(rows).rows)
    check_rows(table.record_count)
    return table


def decode(table: Table, seed: int | None = None) -> pd.DataFrame:
    """A data frame whose encoding is this table, with new identifiers; numbers are drawn from their bins.

    Args:
        table: codes.
        seed: makes the values inside bins reproducible.

    Example:
        >>> dpmosaic.decode(dpmosaic.encode(patients, domain), seed=1)["sex"].head(2).tolist()
        ['F', 'M']
    """
    stream = RandomStream.of_seed(seed)
    return typed_frame(table, table.domain.columns, stream.generator())


def draft(data: Source, blanks: Collection[str] = (), *, header: bool | None = None) -> Draft:
    """Drafts a domain from the values of a table: not private, for the owner of the rows to review.

    Args:
        data: the rows; also the path of a file with a query.
        blanks: texts that stand for a missing value in every column, such as NA.
        header: whether the first line of a CSV names the columns, which are otherwise column1, column2, ...;
            by default it does, unless it reads as a record.

    Returns:
        A draft: it shows itself as a table, is edited in place, and stands for a domain wherever one is
        asked for. Entries that were read from the rows are marked until they are confirmed.

    Raises:
        DataError: the rows cannot be read, there are none, or none of their columns can be released.
    """
    if not isinstance(data, ArrowTable):
        return inference.draft_file(_path(data), blanks, header=header)
    rows = without_index(data).rows
    names = checked_names(rows, header)
    zones = {name: zone for name in names if (zone := _zone(rows[name].dtype))}
    rows = rows.assign(
        **{
            name: writable(rows[name]).dt.tz_convert(zone).dt.tz_localize(None)
            for name, zone in zones.items()
        }
    )
    ordered = {
        name: [one if isinstance(one, (str, int, float)) else text_of(one) for one in kind.categories]
        for name, kind in zip(names, rows.dtypes, strict=True)
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered
    }
    return inference.draft_rows(FrameRows(rows, nested=True), blanks, ordered, zones)

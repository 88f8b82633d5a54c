"""A release of related tables: its tables, more people, a release of the records of each, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.bounded import json_of, read_bytes
from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.privacy.cost import PARTS
from ...common.showing.printable import printable
from ..analysis.drawing import Drawing
from ..analysis.release import Release
from ..analysis.release import load as load_release
from ..certificates.verify import CERTIFICATE, WARNING, sha256_of
from ..results import outputs
from ..results.frames import typed, typed_column
from ..results.storage import Library, shown
from ..results.table_format import TableFormat
from .certificate import PeopleCertificate
from .drawing import draw
from .numbers import margins_of, moved, seen
from .rows import Rows, weights
from .shape import Family, Kin, number_name

_FORMAT = "dpmosaic people 1"
_TABLES, _RECORDS = "tables", "records"


@dataclass(frozen=True, eq=False, repr=False)
class PeopleRelease:
    """A finished release of related tables. Whatever is done with it costs no further budget.

    Attributes:
        family: the tables, as they are described in public.
        releases: for each table the release of its records, in which each person counts as one: a record of a
            child has what is above it, what was before it (`previous_...`), and its own columns.
        certificate: what was promised and spent.
        frames: the synthetic tables by name, as data frames of pandas.
        libraries: for each table of another library, that library.
    """

    family: Family
    releases: Mapping[str, Release]
    certificate: PeopleCertificate
    frames: Mapping[str, pd.DataFrame]
    libraries: Mapping[str, Library] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The synthetic tables by name, of the same kind as the real ones. Keys are new."""
        return self._as_given(self.frames)

    def _as_given(self, frames: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
        return {name: self.libraries.get(name, Library.PANDAS).frame(rows) for name, rows in frames.items()}

    @property
    def table(self) -> Any:
        """The synthetic table of a release of one table with a key.

        Raises:
            DataError: there are several.
        """
        if len(self.tables) != 1:
            raise DataError(
                f"expected a release of one table, got {', '.join(self.tables)}; take one of `tables`"
            )
        return next(iter(self.tables.values()))

    def sample(self, people: int, seed: int | None = None) -> dict[str, Any]:
        """Further people with all that belongs to them, by table.

        Args:
            people: number of people.
            seed: makes them reproducible.

        Raises:
            DataError: there are none.
        """
        if people < 1:
            raise DataError(f"people: expected at least 1, got {people}; ask for more")
        stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
        root = Drawing.of(self.releases[self.family.root.name].published, people, None, seed)
        drawn = Table.concatenate([block.table for block in root.blocks()])
        rows = drawn_rows(self.family, drawn, self.releases, stream)
        return self._as_given(frames(self.family, rows, stream))

    def save(self, folder: str | Path, table_format: TableFormat | str = TableFormat.CSV) -> None:
        """Writes the tables, and the release of the records of each.

        Args:
            folder: where; created if it is missing.
            table_format: "csv" or "parquet".

        Raises:
            DataError: the folder holds a release already, or cannot be written.
        """
        folder = Path(folder)
        if str(table_format) not in list(TableFormat):
            raise DataError(f"format: expected one of {', '.join(TableFormat)}, got {table_format!r}")
        outputs.check_folder(folder, [outputs.PEOPLE, _TABLES, _RECORDS])
        written = {}
        (folder / _TABLES).mkdir()
        for name, rows in self.frames.items():
            path = folder / _TABLES / f"{_file_name(name)}.{table_format}"
            if TableFormat(str(table_format)) is TableFormat.PARQUET:
                rows.to_parquet(path, index=False)
            else:
                rows.to_csv(path, index=False)
            written[f"{_TABLES}/{path.name}"] = sha256_of(path)
        for name, release in self.releases.items():
            release.save(folder / _RECORDS / _file_name(name))
            written[f"{_RECORDS}/{_file_name(name)}/{CERTIFICATE}"] = sha256_of(
                folder / _RECORDS / _file_name(name) / CERTIFICATE
            )
        form = {"format": _FORMAT, "tables": [table.to_json() for table in self.family.tables]}
        outputs.write_text(folder / outputs.PEOPLE, outputs.json_text(form))
        written[outputs.PEOPLE] = sha256_of(folder / outputs.PEOPLE)
        if self.certificate.labels:
            outputs.write_text(folder / WARNING, "\n".join(self.certificate.labels) + "\n")
        certificate = replace(self.certificate, outputs=written)
        outputs.write_text(folder / CERTIFICATE, outputs.json_text(certificate.to_json()))

    def __repr__(self) -> str:
        spent, budget = self.certificate, self.certificate.budget
        sizes = ", ".join(f"{name} {len(rows)} rows" for name, rows in self.frames.items())
        labelled = "; not for release" if spent.labels else ""
        promised = (
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g}"
            if budget.epsilon
            else f"rho={budget.zcdp_rho:g}"
        )
        return printable(f"PeopleRelease({sizes}; {promised}, a person with all rows{labelled})")


def load_people(folder: str | Path) -> PeopleRelease:
    """Reads a release of related tables from its folder.

    Raises:
        DataError: a file is missing, damaged, or has changed since the release.
    """
    folder = Path(folder)
    certificate = PeopleCertificate.load(folder / CERTIFICATE)
    for name, stated in certificate.outputs.items():
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise DataError(f"{folder / CERTIFICATE}: names a file outside of its folder; restore it")
        if not (folder / name).is_file() or sha256_of(folder / name) != stated:
            raise DataError(
                f"{folder / name}: expected the file that the certificate names, found another or "
                "none; restore it"
            )
    try:
        form = json_of(read_bytes(folder / outputs.PEOPLE))
        family = Family(tuple(map(Kin.from_json, form["tables"])))
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{folder / outputs.PEOPLE}: expected a description of tables, found another; restore it"
        ) from None
    releases = {
        table.name: load_release(folder / _RECORDS / _file_name(table.name)) for table in family.tables
    }
    tables = {}
    for table in family.tables:
        if table.columns:
            tables[table.name] = _read(folder / _TABLES, table)
    return PeopleRelease(family, releases, certificate, tables)


def _read(folder: Path, table: Kin) -> pd.DataFrame:
    path = folder / f"{_file_name(table.name)}.{TableFormat.PARQUET}"
    if path.is_file():
        return pd.read_parquet(path)
    texts = pd.read_csv(folder / f"{_file_name(table.name)}.csv", dtype=object, keep_default_na=False)
    return _typed(table, texts)


def _typed(table: Kin, texts: pd.DataFrame) -> pd.DataFrame:
    """A table of texts with the types of its columns."""
    from ..results.frames import typed_values
    from ..results.raw_frames import values_in

    domain = _of_columns(table)
    parts: dict[str, Any] = {}
    if domain is not None:
        parts |= dict(typed_values(domain, values_in(domain, texts), domain.columns).items())
    for key in filter(None, (table.key, table.foreign)):
        parts[key] = texts[key].astype("int64") if table.whole else texts[key]
    return shown_table(table, pd.DataFrame(parts))


def _of_columns(table: Kin) -> Domain | None:
    """The domain of the released columns but keys: without numbers of rows, with that of the order."""
    held = () if table.domain is None else table.domain.attributes
    when = () if table.steps is None else (table.steps.when,)
    kept = tuple(one for one in (*held, *when) if one.name in table.columns)
    return Domain(kept, () if table.domain is None else table.domain.unmodelled) if kept else None


def shown_table(table: Kin, rows: pd.DataFrame) -> pd.DataFrame:
    """A table with its columns in order, stored as those of the real one."""
    domain = _of_columns(table)
    rows = rows[[name for name in table.columns if name in rows.columns]]
    if domain is None:
        return rows
    held = [name for name in rows.columns if name in domain.columns]
    stored = shown(domain, rows[held], {name: one for name, one in table.storage.items() if name in held})
    return rows.assign(**{name: stored[name] for name in held})


def _file_name(name: str) -> str:
    """A table's name as that of a file."""
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
    return safe[:100]


def drawn_rows(
    family: Family, root: Table, releases: Mapping[str, Release], stream: RandomStream
) -> dict[str, Rows]:
    """Rows of all tables for people that were drawn.

    Args:
        family: the tables.
        root: the people.
        releases: for each table, that of its records.
        stream: draws rows.
    """
    size = root.record_count
    codes = {name: root.column(name).astype(np.int64) for name in root.domain}
    rows = {family.root.name: Rows(codes, np.arange(size), size)}
    for table in family.tables[1:]:
        rng = stream.child("rows", table.name).generator()
        release = releases[table.name]
        of_numbers = rows[table.parent].codes[number_name(table.name)]
        of_numbers = seen(of_numbers, number_name(table.name), releases[table.parent])
        numbers = numbers_of(family, table.name, of_numbers, rng)
        above = weights(family, table.parent, rows) / PARTS
        numbers = moved(numbers, above, table.evened, margins_of(family, table.name, rows, release), rng)
        rows[table.name] = draw(family, table.name, rows, release.model, numbers, rng)
    return rows


def numbers_of(
    family: Family, child: str, codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of rows of a table for each code of the parent's column of it, drawn from its bin."""
    domain = family[family[child].parent].domain
    assert domain is not None
    found = domain[number_name(child)].decode(codes, rng)
    numbers = pd.to_numeric(pd.Series(found), errors="coerce").fillna(0).to_numpy()
    whole: NDArray[np.int64] = np.maximum(np.round(numbers), 0).astype(np.int64)
    return whole


def frames(family: Family, rows: Mapping[str, Rows], stream: RandomStream) -> dict[str, pd.DataFrame]:
    """The tables that rows stand for, with new keys.

    Args:
        family: the tables.
        rows: of each.
        stream: draws values inside bins.
    """
    found = {}
    for table in family.tables:
        if not table.columns:
            continue
        held, rng = rows[table.name], stream.child("values", table.name).generator()
        parts: dict[str, Any] = {}
        own = _of_columns(table)
        if own is not None:
            modelled = [one for one in own.attributes if one.name in held.codes]
            if modelled or own.unmodelled:
                domain = Domain(tuple(modelled), own.unmodelled)
                parts |= dict(typed(Table.from_codes(domain, held.codes), domain.columns, rng).items())
        if table.steps is not None:
            when = table.steps.when
            first, span = (rows[table.parent].codes[one.name][held.parent] for one in table.places)
            codes = held.codes[table.steps.attribute.name]
            values = table.steps.values(codes, held.first, (first, span), rng)
            none = np.zeros(len(values), dtype=np.bool_)
            decoded = when.of_numbers(values, none)  # type: ignore[attr-defined]
            parts[when.name] = typed_column(Domain((when,)), when.name, decoded)
        if table.key:
            parts[table.key] = _keys(np.arange(len(held)), len(held), table.whole)
        if table.foreign:
            parts[table.foreign] = _keys(held.parent, held.parents, family[table.parent].whole)
        found[table.name] = shown_table(table, pd.DataFrame(parts))
    return found


def _keys(rows: NDArray[np.int64], size: int, whole: bool) -> NDArray[Any]:
    """New keys of rows of a table of this size."""
    if whole:
        return rows + 1
    width = len(str(size))
    return np.array([f"{row + 1:0{width}d}" for row in rows.tolist()], dtype=object)

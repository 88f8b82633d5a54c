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
from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.unmodelled import Unmodelled
from ...common.data.domain import Domain
from ...common.data.table import Table, encode_table
from ...common.errors import DataError
from ...common.privacy.cost import PARTS
from ...common.showing.printable import printable
from ..analysis.conditions import Condition, Where
from ..analysis.drawing import Drawing
from ..analysis.release import Release
from ..analysis.release import load as load_release
from ..certificates.certificate import Certificate
from ..certificates.verify import CERTIFICATE, WARNING, sha256_of
from ..results import outputs
from ..results.frames import typed, typed_column, typed_values
from ..results.raw_frames import values_in
from ..results.storage import Library, shown
from ..results.table_format import TableFormat
from .certificate import PeopleCertificate
from .drawing import draw
from .files import CHOICES, RECORDS, check_files, file_name
from .keeping import summaries_kept
from .numbers import margins_of, moved, seen
from .quantiles import mapped
from .rows import Rows, weights
from .shape import Family, Kin, bounds_of, number_name

_FORMAT = "dpmosaic people 1"
_TABLES = "tables"


@dataclass(frozen=True, eq=False, repr=False)
class PeopleRelease:
    """A finished release of related tables. Whatever is done with it costs no further budget.

    Attributes:
        family: the tables, as they are described in public.
        releases: for each table the release of its records, in which each person counts as one: a record of a
            child has what is above it, what was before it (`previous_...`), and its own columns.
        certificate: what was promised and spent.
        frames: the synthetic tables by name, as data frames of pandas.
        choices: for each table whose columns were learned, the certificate of this step.
        libraries: for each table of another library, that library.
    """

    family: Family
    releases: Mapping[str, Release]
    certificate: PeopleCertificate
    frames: Mapping[str, pd.DataFrame]
    choices: Mapping[str, Certificate] = field(default_factory=dict)
    libraries: Mapping[str, Library] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The synthetic tables by name, of the same kind as the real ones. Keys are new."""
        return self._as_given(self.frames)

    def _as_given(self, frames: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
        return {name: self.libraries.get(name, Library.PANDAS).frame(rows) for name, rows in frames.items()}

    def query(self, text: str) -> pd.DataFrame:
        """What a query in SQL finds in the synthetic tables, with joins; without intervals.

        Intervals for what each person counts once in are in `releases`: see `Release.query`.

        Args:
            text: one SELECT statement over the tables by name.

        Raises:
            DataError: it cannot be read.
        """
        import duckdb

        with duckdb.connect(config={"enable_external_access": False}) as connection:
            for name, rows in self.frames.items():
                connection.register(name, rows)
            try:
                statements = connection.extract_statements(text)
                if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                    raise DataError("query: expected one SELECT statement, got another; ask one question")
                return connection.execute(statements[0]).df()
            except duckdb.Error as error:
                first = str(error).splitlines()[0]
                raise DataError(f"query: expected SQL over {', '.join(self.frames)}, got: {first}") from None

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

    def sample(self, people: int, where: Where | None = None, seed: int | None = None) -> dict[str, Any]:
        """Further people with all that belongs to them, by table.

        Args:
            people: number of people.
            where: condition that all of them meet, of columns of people, of summaries and of numbers of rows,
                such as {"had_stroke": True}; see `Release.sample`.
            seed: makes them reproducible.

        Raises:
            DataError: there are none, or see `Release.sample`.
        """
        if people < 1:
            raise DataError(f"people: expected at least 1, got {people}; ask for more")
        stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
        root_release = self.releases[self.family.root.name].published
        root = Drawing.of(root_release, people, Condition.of(root_release.domain, where), seed)
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
        outputs.check_folder(folder, [outputs.PEOPLE, _TABLES, RECORDS, CHOICES])
        self.write(folder, TableFormat(str(table_format)))

    def write(self, folder: Path, table_format: TableFormat = TableFormat.CSV) -> None:
        """Writes the files of `save` into a checked folder, in place of those of an earlier attempt."""
        written = {}
        (folder / _TABLES).mkdir(exist_ok=True)
        for name, rows in self.frames.items():
            path = folder / _TABLES / f"{file_name(name)}.{table_format}"
            if table_format is TableFormat.PARQUET:
                rows.to_parquet(path, index=False)
            else:
                rows.to_csv(path, index=False)
            written[f"{_TABLES}/{path.name}"] = sha256_of(path)
        for name, release in self.releases.items():
            beside = folder / RECORDS / file_name(name)
            beside.mkdir(parents=True, exist_ok=True)
            release.write(beside)
            written[f"{RECORDS}/{beside.name}/{CERTIFICATE}"] = sha256_of(beside / CERTIFICATE)
        for name, chosen in self.choices.items():
            path = folder / CHOICES / f"{file_name(name)}.json"
            path.parent.mkdir(exist_ok=True)
            outputs.write_text(path, outputs.json_text(chosen.to_json()))
            written[f"{CHOICES}/{path.name}"] = sha256_of(path)
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
    if failed := [check for check in check_files(certificate, folder) if not check.passed]:
        raise DataError(f"{folder}: {failed[0].what}: {failed[0].finding}; restore it")
    try:
        form = json_of(read_bytes(folder / outputs.PEOPLE))
        family = Family(tuple(map(Kin.from_json, form["tables"])))
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{folder / outputs.PEOPLE}: expected a description of tables, found another; restore it"
        ) from None
    releases = {
        table.name: load_release(folder / RECORDS / file_name(table.name))
        for table in family.tables
        if family.own(table.name)
    }
    choices = {
        table.name: Certificate.load(path)
        for table in family.tables
        if (path := folder / CHOICES / f"{file_name(table.name)}.json").is_file()
    }
    tables = {}
    for table in family.tables:
        if table.columns:
            tables[table.name] = _read(folder / _TABLES, family, table)
    return PeopleRelease(family, releases, certificate, tables, choices)


def _read(folder: Path, family: Family, table: Kin) -> pd.DataFrame:
    """A table as its file holds it, with the types of its columns."""
    path = folder / f"{file_name(table.name)}.{TableFormat.PARQUET}"
    if path.is_file():
        return pd.read_parquet(path)
    texts = pd.read_csv(folder / f"{file_name(table.name)}.csv", dtype=object, keep_default_na=False)
    domain = _released(family, table)
    parts: dict[str, Any] = {}
    if domain is not None:
        parts |= dict(typed_values(domain, values_in(domain, texts), domain.columns).items())
    for key in filter(None, (table.key, table.foreign)):
        parts[key] = texts[key].astype("int64")
    return _shown(family, table, pd.DataFrame(parts))


def _released(family: Family, table: Kin) -> Domain | None:
    """The domain of the released columns of a table but keys, with that of the order.

    A parent that is not released itself is so with its rows.
    """
    held = [table, *_unreleased_parent(family, table)]
    attributes: list[Attribute] = []
    unmodelled: list[Unmodelled] = []
    for one in held:
        when = () if one.steps is None else (one.steps.when,)
        known = () if one.domain is None else one.domain.attributes
        attributes += [each for each in (*known, *when) if each.name in table.columns]
        unmodelled += [] if one.domain is None else one.domain.unmodelled
    return Domain(tuple(attributes), tuple(unmodelled)) if attributes else None


def _unreleased_parent(family: Family, table: Kin) -> list[Kin]:
    return [family[table.parent]] if table.parent and not family[table.parent].columns else []


def _shown(family: Family, table: Kin, rows: pd.DataFrame) -> pd.DataFrame:
    """A table with its columns in order, stored as those of the real one."""
    domain = _released(family, table)
    rows = rows[[name for name in table.columns if name in rows.columns]]
    if domain is None:
        return rows
    held = [name for name in rows.columns if name in domain.columns]
    stored = shown(domain, rows[held], {name: one for name, one in table.storage.items() if name in held})
    return rows.assign(**{name: stored[name] for name in held})


def drawn_rows(
    family: Family, root: Table, releases: Mapping[str, Release], stream: RandomStream
) -> dict[str, Rows]:
    """Rows of all tables for people that were drawn.

    Args:
        family: the tables.
        root: the people.
        releases: for each table with columns beside keys, that of its records.
        stream: draws rows.
    """
    size = root.record_count
    codes = {name: root.column(name).astype(np.int64) for name in root.domain}
    rows = {family.root.name: Rows(codes, np.arange(size), size)}
    for table in family.tables[1:]:
        rng = stream.child("rows", table.name).generator()
        parents, release = rows[table.parent], releases.get(table.name)
        column = number_name(table.name)
        counted = seen(parents.codes[column], column, releases[table.parent])
        numbers = numbers_of(family, table.name, counted, rng)
        if release is None:
            rows[table.name] = Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))
            continue
        above = weights(family, table.parent, rows) / PARTS
        numbers = moved(numbers, above, table.evened, margins_of(family, table.name, rows, release), rng)
        # A parent that says something of its rows has one.
        numbers = np.maximum.reduce([numbers, *(parents.codes[one.name] for one in table.summaries)])
        rows[table.parent] = parents = _with_numbers(family, table, parents, numbers)
        drawn = draw(family, table.name, rows, release.model, numbers, rng)
        rows[table.name] = summaries_kept(family, table.name, drawn, parents, rng)
    return rows


def numbers_of(
    family: Family, child: str, codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of rows of a table for each code of the parent's column of it, drawn from its bin."""
    domain = family[family[child].parent].domain
    assert domain is not None
    found: NDArray[np.int64] = domain[number_name(child)].decode(codes, rng)
    return found


def _with_numbers(family: Family, child: Kin, parents: Rows, numbers: NDArray[np.int64]) -> Rows:
    """Parents whose column of the number of rows of a table says how many they have."""
    domain, column = family[child.parent].domain, number_name(child.name)
    assert domain is not None
    coded = encode_table(Domain((domain[column],)), {column: numbers}).column(column)
    return replace(parents, codes={**parents.codes, column: coded.astype(np.int64)})


def frames(family: Family, rows: Mapping[str, Rows], stream: RandomStream) -> dict[str, pd.DataFrame]:
    """The tables that rows stand for, with new keys: whole numbers, of whatever kind the real ones are.

    A single key can decide of which type a column of keys is.

    Args:
        family: the tables.
        rows: of each.
        stream: draws values inside bins.
    """
    found: dict[str, pd.DataFrame] = {}
    for table in family.tables:
        if not table.columns:
            continue
        held = rows[table.name]
        parts = _values(family, table, rows, found.get(table.parent), stream)
        for parent in _unreleased_parent(family, table):
            above = _values(family, parent, rows, None, stream)
            parts |= {name: cells.take(held.parent).reset_index(drop=True) for name, cells in above.items()}
        if table.key:
            parts[table.key] = np.arange(len(held)) + 1
        if table.foreign:
            parts[table.foreign] = held.parent + 1
        found[table.name] = _shown(family, table, pd.DataFrame(parts))
    return found


def _values(
    family: Family,
    table: Kin,
    rows: Mapping[str, Rows],
    parents: pd.DataFrame | None,
    stream: RandomStream,
) -> dict[str, pd.Series]:
    """The values of a table's own columns but keys."""
    rng, numbers = stream.child("values", table.name).generator(), family.numbers(table.name)
    held = rows[table.name]
    parts: dict[str, pd.Series] = {}
    if table.domain is not None:
        kept = tuple(one for one in table.domain.attributes if one.name not in numbers)
        if kept:
            domain = Domain(kept, table.domain.unmodelled)
            parts |= {
                str(name): cells
                for name, cells in typed(Table.from_codes(domain, held.codes), domain.columns, rng).items()
            }
    if table.steps is not None:
        when = table.steps.when
        bounds = bounds_of(table, parents, held.parent)
        codes = held.codes[table.steps.attribute.name]
        first, span = (rows[table.parent].codes[one.name][held.parent] for one in table.places)
        values = table.steps.values(codes, held.first, (first, span), rng, *bounds)
        values = mapped(values, held, table, bounds)
        none = np.zeros(len(values), dtype=np.bool_)
        decoded = when.of_numbers(values, none)  # type: ignore[attr-defined]
        parts[when.name] = typed_column(Domain((when,)), when.name, decoded)
    return parts

"""A release of related tables: its tables, more people, a release of the records of each, and its files."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.bounded import json_of, read_bytes
from ...common.crypto.digests import sha256_of
from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.related.rows import Rows
from ...common.data.table import Table, encode_table
from ...common.errors import DataError
from ...common.files.writing import write_text
from ...common.privacy.cost import WEIGHT_PARTS
from ...common.showing.printable import printable
from ..analysis.conditions import Condition, Where
from ..analysis.drawing import Drawing
from ..analysis.release import Page, Release
from ..analysis.release import load as load_release
from ..certificates.certificate import Certificate
from ..certificates.verify import CERTIFICATE, WARNING
from ..mechanisms.parts.fitted import FittedModel
from ..results import outputs
from ..results.storage import Library
from ..results.table_format import TableFile, TableFormat
from .certificate import PeopleCertificate
from .drawing.children import Model, draw
from .drawing.keeping import least_numbers, rules_kept, summaries_kept
from .drawing.numbers import cap_by_noise, margins_of, move_numbers
from .files import CHOICES, RECORDS, check_files, earlier_certificates, file_name
from .lifetime import EARLIER, earlier_name
from .report import people_report
from .rows import lineage, of_people, weights
from .shape import Family, Kin, number_name
from .table_files import read_table, write_table
from .tables import frames, released_domain

if TYPE_CHECKING:
    from ..analysis.estimators.survival import SurvivalCurves
    from ..analysis.queries.answer import Answer

_DRAWN_AT_ONCE = 1 << 20
"""Rows of a table that are drawn at once."""

_FORMAT = "dpmosaic people 1"
TABLES = "tables"


@dataclass(frozen=True, eq=False)
class Continued:
    """What a release keeps of those that it continues.

    Attributes:
        table: the file of the last one's table, which stays as it is.
        certificates: of all of them, the first one first.
    """

    table: bytes
    certificates: tuple[PeopleCertificate, ...]

    @cached_property
    def rows(self) -> int:
        """The number of rows of the table."""
        return len(pd.read_csv(io.BytesIO(self.table), dtype=object, keep_default_na=False))


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
        continued: of one that continues another, what is kept of that.
    """

    family: Family
    releases: Mapping[str, Release]
    certificate: PeopleCertificate
    frames: Mapping[str, pd.DataFrame]
    choices: Mapping[str, Certificate] = field(default_factory=dict)
    libraries: Mapping[str, Library] = field(default_factory=dict)
    continued: Continued | None = None

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The synthetic tables by name, of the same kind as the real ones. Keys are new."""
        return self._as_given(self.frames)

    def _as_given(self, frames: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
        return {name: self.libraries.get(name, Library.PANDAS).frame(rows) for name, rows in frames.items()}

    def query(self, text: str, level: float = 0.95, of: Literal["table", "population"] = "table") -> Answer:
        """Answers a query over the tables, with joins; with an interval for each number of people.

        A number has an interval where each person has a part in it once: in queries of the table of people
        alone, and in COUNT(DISTINCT key of people) by their columns, of people who have rows of other tables,
        or rows with values of which a summary speaks. Others are numbers of the synthetic tables, and a note
        says why they have none.

        Args:
            text: one SELECT statement over the tables by name.
            level: probability that an interval covers the truth.
            of: whether intervals are for the real tables, or the population that people are a sample of.

        Raises:
            DataError: it cannot be read.
        """
        from .queries import answer_query

        # What one of several releases knows is of its own period.
        known = self.releases if self.certificate.lifetime is None else {}
        return answer_query(self.family, known, self.frames, text, level, of)

    def survival(self, time: str, **options: Any) -> SurvivalCurves:
        """Curves of Kaplan and Meier of people, with intervals and bands: each person counts once.

        Args:
            time: a column of people, or a summary of a time (see `estimators.survival.survival`).
            options: `event` or `until`, `by`, `where`, `of` and `level`, by columns of people and summaries.

        Raises:
            DataError: an argument does not fit the release, or it is one of several that share a promise.
        """
        root = self.releases.get(self.family.root.name)
        if root is None or self.certificate.lifetime is not None:
            raise DataError(
                "expected a release by itself that holds columns of people, got another, of whose people no "
                "curve has a band; take the synthetic tables"
            )
        return root.survival(time, **options)

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

    def report(self) -> Page:
        """The report for readers: promise, budget, and the distributions of all tables."""
        return Page(people_report(self.family, self.certificate, self.frames))

    def generate(self, people: int, where: Where | None = None, seed: int | None = None) -> dict[str, Any]:
        """Further people with all that belongs to them, by table.

        Args:
            people: number of people.
            where: condition that all of them meet, of columns of people, of summaries and of numbers of rows,
                such as {"had_stroke": True}; see `Release.generate`.
            seed: makes them reproducible.

        Raises:
            DataError: there are none, or see `Release.generate`.
        """
        if people < 1:
            raise DataError(f"people: expected at least 1, got {people}; ask for more")
        if self.certificate.lifetime is not None:
            raise DataError(
                "expected a release by itself, got one of several that share a promise, whose people are "
                "those of its table; take these"
            )
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
            table_format: "csv", "parquet", "feather", "xlsx", "sav", "dta" or "xpt".

        Raises:
            DataError: the folder holds a release already, or cannot be written.
        """
        folder = Path(folder)
        table_format = TableFile.of(str(table_format)).table_format
        if self.certificate.lifetime is not None and table_format is not TableFormat.CSV:
            raise DataError(
                "format: expected csv of one of several releases, whose rows are added to a file, got "
                "another; save it as csv"
            )
        outputs.check_folder(folder, [outputs.PEOPLE, TABLES, RECORDS, CHOICES, EARLIER])
        self.write(folder, table_format)

    def write(self, folder: Path, table_format: TableFormat = TableFormat.CSV) -> None:
        """Writes the files of `save` into a checked folder, in place of those of an earlier attempt."""
        written = {}
        (folder / TABLES).mkdir(exist_ok=True)
        for name, rows in self.frames.items():
            path = folder / TABLES / f"{file_name(name)}.{table_format}"
            if self.continued is None:
                write_table(path, rows, table_format, released_domain(self.family, self.family[name]))
            else:
                more = rows.iloc[self.continued.rows :].to_csv(index=False, header=False)
                path.write_bytes(self.continued.table + more.encode())
            written[f"{TABLES}/{path.name}"] = sha256_of(path)
        for name, release in self.releases.items():
            beside = folder / RECORDS / file_name(name)
            beside.mkdir(parents=True, exist_ok=True)
            release.write(beside)
            written[f"{RECORDS}/{beside.name}/{CERTIFICATE}"] = sha256_of(beside / CERTIFICATE)
        for name, chosen in self.choices.items():
            path = folder / CHOICES / f"{file_name(name)}.json"
            path.parent.mkdir(exist_ok=True)
            write_text(path, outputs.json_text(chosen.to_json()))
            written[f"{CHOICES}/{path.name}"] = sha256_of(path)
        for number, earlier in enumerate(() if self.continued is None else self.continued.certificates, 1):
            path = folder / earlier_name(number)
            path.parent.mkdir(exist_ok=True)
            write_text(path, outputs.json_text(earlier.to_json()))
            written[earlier_name(number)] = sha256_of(path)
        page = people_report(self.family, self.certificate, self.frames)
        write_text(folder / outputs.REPORT, page)
        written[outputs.REPORT] = sha256_of(folder / outputs.REPORT)
        form = {"format": _FORMAT, "tables": [table.to_json() for table in self.family.tables]}
        write_text(folder / outputs.PEOPLE, outputs.json_text(form))
        written[outputs.PEOPLE] = sha256_of(folder / outputs.PEOPLE)
        if self.certificate.labels:
            write_text(folder / WARNING, "\n".join(self.certificate.labels) + "\n")
        certificate = replace(self.certificate, outputs=written)
        write_text(folder / CERTIFICATE, outputs.json_text(certificate.to_json()))

    def __repr__(self) -> str:
        spent, budget = self.certificate, self.certificate.budget
        sizes = ", ".join(f"{name} {len(rows)} rows" for name, rows in self.frames.items())
        labelled = "; not for release" if spent.labels else ""
        part = spent.lifetime
        which = "" if part is None else f" in {part.releases} releases, of which this is number {part.number}"
        promised = (
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g}"
            if budget.epsilon
            else f"rho={budget.zcdp_rho:g}"
        )
        return printable(f"PeopleRelease({sizes}; {promised}, a person with all rows{which}{labelled})")


def _read_continued(certificate: PeopleCertificate, folder: Path) -> Continued | None:
    """What a release keeps of the one that it continues, from its folder."""
    lifetime = certificate.lifetime
    if lifetime is None or not lifetime.earlier:
        return None
    with (folder / lifetime.table).open("rb") as file:
        table = file.read(lifetime.table_bytes)
    return Continued(table, tuple(earlier_certificates(certificate, folder)))


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
            tables[table.name] = read_table(folder / TABLES, family, table)
    return PeopleRelease(
        family, releases, certificate, tables, choices, continued=_read_continued(certificate, folder)
    )


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
        counted = cap_by_noise(parents.codes[column], column, releases[table.parent])
        numbers = numbers_of(family, table.name, counted, rng)
        if release is None:
            rows[table.name] = Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))
            continue
        above = weights(family, table.parent, rows) / WEIGHT_PARTS
        numbers = move_numbers(
            numbers, above, table.evened, margins_of(family, table.name, rows, release), rng
        )
        numbers = np.maximum(numbers, least_numbers(family, table.name, parents))
        rows[table.parent] = parents = _with_numbers(family, table, parents, numbers)
        drawn = draw_table(family, table.name, rows, release.model, numbers, rng)
        drawn = summaries_kept(family, table.name, drawn, parents, rng)
        if table.domain is not None:
            drawn = rules_kept(table.domain, drawn, FittedModel(release.model, (), (), ()), rng)
        rows[table.name] = drawn
    return rows


def draw_table(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    model: Model,
    numbers: NDArray[np.int64],
    rng: np.random.Generator,
) -> Rows:
    """Rows of a table, some people at a time, so that memory holds the records of these alone; see `draw`."""
    blank = Rows({}, np.repeat(np.arange(len(numbers)), numbers), len(numbers))
    if len(blank) <= _DRAWN_AT_ONCE:
        return draw(family, name, rows, model, numbers, rng)
    above = family[name].parent
    person = lineage(family, above, family.root.name, rows)
    total = np.bincount(person, numbers, len(rows[family.root.name])).astype(np.int64)
    # The first person of each part.
    parts = np.cumsum(total) // _DRAWN_AT_ONCE
    edges = [*np.flatnonzero(np.diff(parts, prepend=-1)).tolist(), len(total)]
    drawn: dict[str, list[NDArray[np.int32]]] = {one.name: [] for one in family.own(name)}
    for first, last in itertools.pairwise(edges):
        some = of_people(family, above, rows, slice(first, last))
        theirs = numbers[slice(*np.searchsorted(person, (first, last)).tolist())]
        for one, codes in draw(family, name, some, model, theirs, rng).codes.items():
            drawn[one].append(codes.astype(np.int32))
    return replace(blank, codes={one: np.concatenate(codes) for one, codes in drawn.items()})


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

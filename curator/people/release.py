"""A release of related tables: its tables, more people, a release of the records of each, and its files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from ...common.crypto.digests import sha256_of
from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.files.writing import told_if_unwritable, write_text
from ...common.privacy.rounding import text_above
from ...common.showing.printable import printable
from ..analysis.asked_numbers import check_memory
from ..analysis.conditions import Condition, Where
from ..analysis.drawing import Drawing
from ..analysis.release import Page, Release
from ..analysis.release import load as load_release
from ..certificates.certificate import Certificate
from ..certificates.verify import CERTIFICATE, WARNING
from ..results import outputs
from ..results.storage import Library
from ..results.table_format import TableFile
from .certificate import EARLIER, PeopleCertificate, earlier_name
from .drawn import drawn_rows
from .files import (
    CHOICES,
    RECORDS,
    check_files,
    earlier_certificates,
    file_name,
    rows_before,
)
from .report import people_report
from .shape import Family
from .table_files import (
    Description,
    added_to,
    columns_of,
    domain_written,
    lines_of,
    not_described,
    read_public_of,
    read_table,
    write_table,
)
from .tables import frames

if TYPE_CHECKING:
    from ..analysis.estimators.survival import SurvivalCurves
    from ..analysis.queries.answer import Answer
    from ..report.comparison import PeopleComparison
    from ..report.distributions import Measured

_CSV = TableFile()
TABLES = "tables"


@dataclass(frozen=True, eq=False)
class Continued:
    """What a release keeps of those that it continues.

    Attributes:
        table: the file of the last one's table, which stays as it is.
        certificates: of all of them, the first one first.
        spreadsheet_safe: as of `TableFile`.
    """

    table: bytes
    certificates: tuple[PeopleCertificate, ...]
    spreadsheet_safe: bool = False

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
        public: the tables that everybody may see, as they are.
    """

    family: Family
    releases: Mapping[str, Release]
    certificate: PeopleCertificate
    frames: Mapping[str, pd.DataFrame]
    choices: Mapping[str, Certificate] = field(default_factory=dict)
    libraries: Mapping[str, Library] = field(default_factory=dict)
    continued: Continued | None = None
    public: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def all_frames(self) -> dict[str, pd.DataFrame]:
        """The synthetic tables and the public ones."""
        return {**self.frames, **self.public}

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The synthetic tables by name, of the same kind as the real ones, with new keys; and public ones."""
        return self._as_given(self.all_frames)

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
        answer = answer_query(self.family, known, self.all_frames, text, level, of)
        return replace(answer, labels=self.certificate.labels)

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
        return replace(root.survival(time, **options), labels=self.certificate.labels)

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

    @property
    def _safe_before(self) -> bool | None:
        """Whether the release that it continues is spreadsheet-safe; None if it continues none."""
        return None if self.continued is None else self.continued.spreadsheet_safe

    def report(self) -> Page:
        """The report for readers: promise, budget, and the distributions of all tables."""
        return Page(self.page())

    def page(self, comparison: PeopleComparison | None = None) -> str:
        """The report as HTML; with a comparison with the real tables it is not for publication."""
        return people_report(self.family, self.certificate, self.frames, comparison, self._shares_of_people)

    @property
    def _shares_of_people(self) -> dict[str, Measured]:
        """Shares of people by their columns, as they were measured; none of one of several releases."""
        root = self.releases.get(self.family.root.name)
        evidence = None if root is None else root.published.evidence
        if root is None or evidence is None or self.certificate.lifetime is not None:
            return {}
        described = self.family.root.domain
        known = {} if described is None else {one.name: one for one in described.attributes}
        return {name: one for name, one in evidence.margins.items() if known.get(name) == root.domain[name]}

    def generate(self, people: int, where: Where | None = None, seed: int | None = None) -> dict[str, Any]:
        """Further people with all that belongs to them, by table, beside the public tables as they are.

        Args:
            people: number of people.
            where: condition that all of them meet, of columns of people, of summaries and of numbers of rows,
                such as {"had_stroke": True}; see `Release.generate`.
            seed: makes them reproducible.

        Raises:
            DataError: there are none, memory does not hold so many, or see `Release.generate`.
        """
        check_memory("people", people, self._cells_of_person)
        if self.certificate.lifetime is not None:
            raise DataError(
                "expected a release by itself, got one of several that share a promise, whose people are "
                "those of its table; take these"
            )
        stream = RandomStream.of_seed(seed)
        root_release = self.releases[self.family.root.name].published
        root = Drawing.of(root_release, people, Condition.of(root_release.domain, where), seed)
        drawn = Table.concatenate([block.table for block in root.blocks()])
        family, rows = drawn_rows(self.family, drawn, self.releases, stream)
        return self._as_given({**frames(family, rows, stream), **self.public})

    @property
    def _cells_of_person(self) -> float:
        """Cells of a person in all tables, on average of the synthetic ones."""
        people = self.releases[self.family.root.name].rows.record_count
        cells = sum(int(rows.size) for rows in self.frames.values())
        return max(1.0, cells / max(1, people))

    def save(self, folder: str | Path, table_file: TableFile | str = "csv") -> None:
        """Writes the tables, and the release of the records of each.

        Args:
            folder: where; created if it is missing.
            table_file: "csv", "parquet", "feather", "xlsx", "sav", "dta" or "xpt", or a `TableFile`; of a
                release that continues another, as that one was written.

        Raises:
            DataError: the folder holds a release already, or cannot be written.
        """
        folder = Path(folder)
        if isinstance(table_file, str):
            table_file = TableFile.of(table_file)
        if self.certificate.lifetime is not None:
            added_to(table_file, self._safe_before)
        outputs.check_folder(folder, [outputs.PEOPLE, TABLES, RECORDS, CHOICES, EARLIER])
        self.write(folder, table_file)

    def write(self, folder: Path, table_file: TableFile = _CSV) -> None:
        """Writes the files of `save` into a checked folder, in place of those of an earlier attempt.

        Raises:
            DataError: they cannot be written.
        """
        with told_if_unwritable(folder, "free space on its disk, or choose another folder"):
            self._write(folder, table_file)

    def _write(self, folder: Path, table_file: TableFile) -> None:
        written = {}
        if self.certificate.lifetime is not None:
            table_file = added_to(table_file, self._safe_before)
        (folder / TABLES).mkdir(exist_ok=True)
        for name, rows in self.all_frames.items():
            path = folder / TABLES / f"{file_name(name)}.{table_file.table_format}"
            domain = domain_written(self.family, name)
            if self.continued is None:
                write_table(path, rows, table_file, domain)
            else:
                more = lines_of(rows.iloc[self.continued.rows :], domain, table_file.spreadsheet_safe)
                path.write_bytes(b"".join([self.continued.table, *more]))
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
        write_text(folder / outputs.REPORT, self.page())
        written[outputs.REPORT] = sha256_of(folder / outputs.REPORT)
        form = Description(self.family, table_file.spreadsheet_safe, columns_of(self.public)).to_json()
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
            f"epsilon={text_above(budget.epsilon, 6)}, delta={budget.delta:g}"
            if budget.epsilon
            else f"rho={budget.zcdp_rho:g}"
        )
        return printable(f"PeopleRelease({sizes}; {promised}, a person with all rows{which}{labelled})")


def _read_continued(certificate: PeopleCertificate, folder: Path) -> Continued | None:
    """What a release keeps of the one that it continues, from its folder."""
    lifetime = certificate.lifetime
    if lifetime is None or not lifetime.earlier:
        return None
    table = rows_before(lifetime, folder)
    return Continued(
        table, tuple(earlier_certificates(certificate, folder)), Description.read(folder).spreadsheet_safe
    )


def load_people(folder: str | Path) -> PeopleRelease:
    """Reads a release of related tables from its folder.

    Raises:
        DataError: a file is missing, damaged, or has changed since the release.
    """
    folder = Path(folder)
    certificate = PeopleCertificate.load(folder / CERTIFICATE)
    if failed := [check for check in check_files(certificate, folder) if not check.passed]:
        raise DataError(f"{folder}: {failed[0].what}: {failed[0].finding}; restore it")
    described = Description.read(folder)
    family = described.family
    releases = {
        table.name: load_release(folder / RECORDS / file_name(table.name))
        for table in family.tables
        if family.own(table.name)
    }
    # What one of several releases knows is of its own period.
    for name, release in releases.items() if certificate.lifetime is None else ():
        # Over parties, what follows from unreviewed columns is unreviewed too.
        if release.domain.with_unreviewed(()) != family.record(name).with_unreviewed(()):
            raise not_described(folder)
    choices = {
        table.name: Certificate.load(path)
        for table in family.tables
        if (path := folder / CHOICES / f"{file_name(table.name)}.json").is_file()
    }
    tables = {}
    for table in family.tables:
        if table.columns:
            tables[table.name] = read_table(folder / TABLES, family, table, described.spreadsheet_safe)
    public = {
        name: read_public_of(folder / TABLES, name, columns, described.spreadsheet_safe)
        for name, columns in described.public.items()
    }
    continued = _read_continued(certificate, folder)
    return PeopleRelease(family, releases, certificate, tables, choices, continued=continued, public=public)

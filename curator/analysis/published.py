"""A finished release for those who use it: in memory, or in its folder."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from ...common.crypto.digests import sha256_of
from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError, MosaicError
from ...common.files.kinds import OTHER_SUFFIXES
from ..certificates.certificate import Certificate
from ..certificates.issuing import some_of
from ..certificates.verify import BINS, CERTIFICATE, foreign, named_file
from ..mechanisms.parts.released import ReleasedModel
from ..releasing.release import Released
from ..results.columns.typed import typed_values
from ..results.evidence import EVIDENCE, Evidence
from ..results.frames import typed_frame
from ..results.models import load_model
from ..results.other_files import read_other_rows
from ..results.outputs import MODEL, PEOPLE, STORAGE
from ..results.parquet_files import read_parquet
from ..results.raw_frames import encode_frame, values_in
from ..results.spreadsheets import without_apostrophes
from ..results.storage import Library, TableStorage, load_storage, shown_frame
from ..results.table_format import TableFormat


@dataclass(frozen=True, eq=False)
class Drawn:
    """The rows of a release that was made in this process.

    Attributes:
        released: the release.
        columns: columns of the synthetic table, in order.
        values: key of the values inside bins, 32 bytes: they are the same whenever they are drawn.
        bins: certificate of the release that chose bins; None if there was none.
        storage: how the real table was stored.
        library: whose data frame the real table was.
        records: noisy number of records, if not as many as the certificate states have rows; else None.
    """

    released: Released
    columns: tuple[str, ...]
    values: bytes
    bins: Certificate | None = None
    storage: TableStorage = field(default_factory=TableStorage)
    library: Library = Library.PANDAS
    records: float | None = None

    @property
    def rng(self) -> np.random.Generator:
        """A generator that gives the same values each time."""
        return RandomStream(self.values).generator()


@dataclass(frozen=True, eq=False)
class Published:
    """The published parts of a release.

    Attributes:
        folder: where they are; None if they are in memory only.
        model: the model that rows come from.
        certificate: the certificate of the release.
        evidence: its noisy measurements; None if the folder has none.
        table: file of the synthetic table; None if there is none.
        drawn: the rows, if the release was made in this process.
        storage: how the real table was stored.
    """

    folder: Path | None
    model: ReleasedModel
    certificate: Certificate
    evidence: Evidence | None
    table: Path | None
    drawn: Drawn | None = field(default=None, kw_only=True)
    storage: TableStorage = field(default_factory=TableStorage, kw_only=True)

    @classmethod
    def load(cls, folder: str | Path) -> Published:
        """Reads the folder of a release: the files that its certificate names, each after it was compared.

        Warns:
            UserWarning: other files lie in the folder; they are not read.

        Raises:
            DataError: a file is missing, damaged, changed since the release, or of another release.
        """
        folder = Path(folder)
        if not (folder / CERTIFICATE).is_file():
            raise DataError(f"{folder}: expected the folder of a finished release, got none; fix the path")
        if (folder / PEOPLE).is_file():
            raise DataError(
                f"{folder}: expected a release of one row a person, got one of people or related tables; "
                "dpmosaic.load_people reads it in Python, and dpmosaic generate --people draws more"
            )
        certificate = Certificate.load(folder / CERTIFICATE)
        check_files(folder, certificate)
        if others := foreign(certificate, folder):
            warnings.warn(
                f"{folder}: not named by the certificate, and not read: {some_of(others)}",
                stacklevel=3,
            )
        named = {name: folder / name for name in certificate.outputs if (folder / name).is_file()}
        if MODEL not in named:
            raise DataError(
                f"{folder}: expected {MODEL} and a certificate that names it, found none; restore them from "
                "whoever published the release"
            )
        return cls(
            folder,
            load_model(named[MODEL]),
            certificate,
            Evidence.load(named[EVIDENCE]) if EVIDENCE in named else None,
            next((named[kind.file] for kind in TableFormat if kind.file in named), None),
            storage=load_storage(named[STORAGE]) if STORAGE in named else TableStorage(),
        )

    @classmethod
    def of(cls, drawn: Drawn) -> Published:
        """A release that was made in this process."""
        certificate, fitted = drawn.released.certificate, drawn.released.fitted
        evidence = Evidence.of_release(fitted, certificate, drawn.records)
        return cls(None, fitted.model, certificate, evidence, None, drawn=drawn, storage=drawn.storage)

    @cached_property
    def rows(self) -> Table:
        """The synthetic table, coded.

        Raises:
            DataError: the folder has no table, or one of other columns than the model's.
        """
        if self.drawn is not None:
            return self.drawn.released.synthetic
        with _of_a_stranger(self._path):
            return encode_frame(self.domain, self._file_rows)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The synthetic table with values that can be computed with; see `shown`.

        Raises:
            DataError: as for `rows`.
        """
        if self.drawn is not None:
            return typed_frame(self.drawn.released.synthetic, self.columns, self.drawn.rng)
        with _of_a_stranger(self._path):
            return typed_values(self.domain, values_in(self.domain, self._file_rows), self.columns)

    def shown(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with the types of `frame`, as their users get them; see `storage.shown_frame`.

        A release that was made in this process gives the kind of data frame that it was given.
        """
        library = Library.PANDAS if self.drawn is None else self.drawn.library
        stored = shown_frame(self.domain, rows, self.storage.columns)
        return self.storage.set_index(stored) if library is Library.PANDAS else library.frame(stored)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the synthetic table, in order; those of the domain if there is no table."""
        if self.drawn is not None:
            return self.drawn.columns
        return self.domain.columns if self.table is None else tuple(self._file_rows.columns)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The columns of rows, in the order of the table; in that of the domain if no table has them."""
        if self.drawn is not None:
            return self.drawn.columns
        if self.table is None:
            return self.domain.columns
        names = tuple(_table_in(self.table, self.domain, names_only=True).columns)
        return names if set(names) == set(self.domain.columns) else self.domain.columns

    @property
    def records(self) -> float:
        """Number of records of the real table, as the release knows it."""
        if self.drawn is not None and self.drawn.records is not None:
            return self.drawn.records
        return self.certificate.records

    @property
    def domain(self) -> Domain:
        """Domain of the synthetic table, with chosen bins and labels."""
        return self.model.domain

    @property
    def _path(self) -> Path:
        if self.table is None:
            files = ", ".join(kind.file for kind in TableFormat)
            raise DataError(
                f"{self.folder}: expected one of {files}, found none; restore it, or draw new rows"
            )
        return self.table

    @cached_property
    def _file_rows(self) -> pd.DataFrame:
        """The table as its file holds it: a CSV as text, without the apostrophes for spreadsheets."""
        path = self._path
        rows = _table_in(path, self.domain)
        if set(rows.columns) != set(self.domain.columns):
            raise DataError(
                f"{path}: expected the columns of the model, found others, such as of a release of binary "
                "digits; draw rows from the model instead"
            )
        return rows


def _table_in(path: Path, domain: Domain, *, names_only: bool = False) -> pd.DataFrame:
    """A synthetic table as its file holds it.

    Args:
        path: CSV or Parquet.
        domain: of its columns.
        names_only: whether to read no rows.

    Raises:
        DataError: it is another file, or its rows would take far more memory than the file has bytes.
    """
    with _of_a_stranger(path):
        if path.suffix == f".{TableFormat.PARQUET}":
            if names_only:
                return pd.DataFrame(columns=pq.read_schema(path).names, dtype=object)
            return read_parquet(path)
        if path.suffix in OTHER_SUFFIXES:
            return read_other_rows(path, domain.columns)
        some = {"nrows": 0} if names_only else {}
        texts = pd.read_csv(path, dtype=object, keep_default_na=False, encoding="utf-8", **some)
        return without_apostrophes(texts, (*domain.unmodelled, *domain.attributes))


@contextlib.contextmanager
def _of_a_stranger(path: Path) -> Iterator[None]:
    """Makes one sentence of whatever the content of a table makes pandas or pyarrow raise."""
    try:
        yield
    except MosaicError:
        raise
    except Exception as cause:
        raise DataError(f"{path}: expected a synthetic table, found another file; restore it") from cause


def evidence_of(published: Published) -> Evidence:
    """The noisy measurements of a release.

    Raises:
        DataError: it has none.
    """
    if published.evidence is None:
        raise DataError(
            "expected a release with its noisy measurements (evidence.npz), got one without; "
            "release the table again with this version, or use another mechanism"
        )
    return published.evidence


def named_choice(folder: Path, certificate: Certificate) -> list[str]:
    """Names of the files of the release that chose bins, if the folder has it.

    Args:
        folder: folder of the release that uses the bins.
        certificate: its certificate.
    """
    chose = _compared_choice(folder, certificate)
    return [] if chose is None else [f"{BINS}/{name}" for name in (*chose.outputs, CERTIFICATE)]


def _compared_choice(folder: Path, certificate: Certificate) -> Certificate | None:
    """The certificate of the release that chose bins, with its files compared; None if the folder has none.

    Raises:
        DataError: it is another one than that which the plan names, or a file has changed since.
    """
    path = folder / BINS / CERTIFICATE
    if not path.is_file():
        return None
    chose = Certificate.load(path)
    if not certificate.names(chose):
        raise DataError(f"{path}: expected the certificate that the plan names, found another; restore it")
    check_files(folder / BINS, chose)
    return chose


def check_files(folder: Path, certificate: Certificate) -> None:
    """Refuses a folder in which a published file is not the one of the certificate; missing files may be.

    So are those of the release that chose bins.

    Raises:
        DataError: a file has changed since the release.
    """
    for name, stated in certificate.outputs.items():
        path = named_file(folder, name)
        if path is None:
            raise DataError(f"{folder / CERTIFICATE}: names a file outside of its folder; restore it")
        if path.is_file() and sha256_of(path) != stated:
            raise DataError(
                f"{path}: expected the file that the certificate names, found a changed one; restore it"
            )
    _compared_choice(folder, certificate)

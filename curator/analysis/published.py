"""A finished release for those who use it: in memory, or in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from ..certificates.certificate import Certificate
from ..certificates.verify import CERTIFICATE, sha256_of
from ..mechanisms.parts.released import ReleasedModel
from ..releasing.evidence import EVIDENCE, Evidence
from ..releasing.frames import typed, typed_values
from ..releasing.models import load_model
from ..releasing.outputs import MODEL, STORAGE
from ..releasing.raw_frames import encoded, values_in
from ..releasing.release import Released
from ..releasing.spreadsheets import without_apostrophes
from ..releasing.storage import Library, Storage, load_storage, shown
from ..releasing.table_format import TableFormat


@dataclass(frozen=True, eq=False)
class Drawn:
    """The rows of a release that was made in this process.

    Attributes:
        released: the release.
        columns: columns of the synthetic table, in order.
        values: randomness of the values inside bins, the same whenever they are drawn.
        bins: certificate of the release that chose bins; None if there was none.
        storage: how the columns of the real table were stored; see `Storage`.
        library: whose data frame the real table was.
    """

    released: Released
    columns: tuple[str, ...]
    values: RandomStream
    bins: Certificate | None = None
    storage: Mapping[str, Storage] = field(default_factory=dict)
    library: Library = Library.PANDAS

    @property
    def rng(self) -> np.random.Generator:
        """A generator that gives the same values each time."""
        return self.values.child("inside bins").generator()


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
        storage: of the columns that are not stored as NumPy does.
    """

    folder: Path | None
    model: ReleasedModel
    certificate: Certificate
    evidence: Evidence | None
    table: Path | None
    drawn: Drawn | None = field(default=None, kw_only=True)
    storage: Mapping[str, Storage] = field(default_factory=dict, kw_only=True)

    @classmethod
    def load(cls, folder: str | Path) -> Published:
        """Reads the folder of a release.

        Raises:
            DataError: a file is missing, damaged, changed since the release, or of another release.
        """
        folder = Path(folder)
        if not (folder / CERTIFICATE).is_file():
            raise DataError(f"{folder}: expected the folder of a finished release, got none; fix the path")
        certificate = Certificate.load(folder / CERTIFICATE)
        check_files(folder, certificate)
        tables = [folder / kind.file for kind in TableFormat]
        evidence = folder / EVIDENCE
        return cls(
            folder,
            load_model(folder / MODEL),
            certificate,
            Evidence.load(evidence) if evidence.is_file() else None,
            next((path for path in tables if path.is_file()), None),
            storage=load_storage(folder / STORAGE),
        )

    @classmethod
    def of(cls, drawn: Drawn) -> Published:
        """A release that was made in this process."""
        certificate, fitted = drawn.released.certificate, drawn.released.fitted
        evidence = Evidence.released(fitted, certificate)
        return cls(None, fitted.model, certificate, evidence, None, drawn=drawn, storage=drawn.storage)

    @cached_property
    def rows(self) -> Table:
        """The synthetic table, coded.

        Raises:
            DataError: the folder has no table, or one of other columns than the model's.
        """
        if self.drawn is not None:
            return self.drawn.released.synthetic
        return encoded(self.domain, self._held)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The synthetic table with values that can be computed with; see `shown`.

        Raises:
            DataError: as for `rows`.
        """
        if self.drawn is not None:
            return typed(self.drawn.released.synthetic, self.columns, self.drawn.rng)
        return typed_values(self.domain, values_in(self.domain, self._held), self.columns)

    def shown(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with the types of `frame`, as their users get them; see `storage.shown`.

        A release that was made in this process gives the kind of data frame that it was given.
        """
        library = Library.PANDAS if self.drawn is None else self.drawn.library
        return library.frame(shown(self.domain, rows, self.storage))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the synthetic table, in order; those of the domain if there is no table."""
        if self.drawn is not None:
            return self.drawn.columns
        return self.domain.columns if self.table is None else tuple(self._held.columns)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The columns of rows, in the order of the table; in that of the domain if no table has them."""
        if self.drawn is not None:
            return self.drawn.columns
        if self.table is None:
            return self.domain.columns
        if self.table.suffix == f".{TableFormat.PARQUET}":
            names = tuple(pq.read_schema(self.table).names)
        else:
            first_line = pd.read_csv(self.table, dtype=object, nrows=0, encoding="utf-8")
            names = tuple(without_apostrophes(first_line, self.domain).columns)
        return names if set(names) == set(self.domain.columns) else self.domain.columns

    @property
    def records(self) -> float:
        """Number of records of the real table, as the release knows it."""
        return self.certificate.records

    @property
    def domain(self) -> Domain:
        """Domain of the synthetic table, with chosen bins and labels."""
        return self.model.domain

    @property
    def _path(self) -> Path:
        if self.table is None:
            files = " or ".join(kind.file for kind in TableFormat)
            raise DataError(f"{self.folder}: expected {files}, found neither; restore it, or draw new rows")
        return self.table

    @cached_property
    def _held(self) -> pd.DataFrame:
        """The table as its file holds it: a CSV as text, without the apostrophes for spreadsheets."""
        path = self._path
        try:
            if path.suffix == f".{TableFormat.PARQUET}":
                rows = pd.read_parquet(path, engine="pyarrow")
            else:
                texts = pd.read_csv(path, dtype=object, keep_default_na=False, encoding="utf-8")
                rows = without_apostrophes(texts, self.domain)
        except (OSError, ValueError) as cause:
            raise DataError(f"{path}: expected a synthetic table, found another file; restore it") from cause
        if set(rows.columns) != set(self.domain.columns):
            raise DataError(
                f"{path}: expected the columns of the model, found others, such as of a release of binary "
                "digits; draw rows from the model instead"
            )
        return rows


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


def check_files(folder: Path, certificate: Certificate) -> None:
    """Refuses a folder in which a published file is not the one of the certificate; missing files may be.

    Raises:
        DataError: a file has changed since the release.
    """
    for name, stated in certificate.outputs.items():
        path = folder / name
        if Path(name).name != name:
            raise DataError(f"{folder / CERTIFICATE}: names a file outside of its folder; restore it")
        if path.is_file() and sha256_of(path) != stated:
            raise DataError(
                f"{path}: expected the file that the certificate names, found a changed one; restore it"
            )

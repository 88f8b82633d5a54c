"""A finished release in its folder, for those who use it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from ..certificates.certificate import Certificate
from ..certificates.verify import CERTIFICATE
from ..mechanisms.parts.released import ReleasedModel
from ..releasing.evidence import EVIDENCE, Evidence
from ..releasing.models import load_model
from ..releasing.outputs import MODEL
from ..releasing.table_format import TableFormat


@dataclass(frozen=True, eq=False)
class Published:
    """The published parts of a release.

    Attributes:
        folder: where they are.
        model: the model that rows come from.
        certificate: the certificate of the release.
        evidence: its noisy measurements; None if the folder has none.
        table: file of the synthetic table; None if the folder has none.
    """

    folder: Path
    model: ReleasedModel
    certificate: Certificate
    evidence: Evidence | None
    table: Path | None

    @classmethod
    def load(cls, folder: str | Path) -> Published:
        """Reads the folder of a release.

        Raises:
            DataError: a file is missing, damaged, or of another release.
        """
        folder = Path(folder)
        if not (folder / CERTIFICATE).is_file():
            raise DataError(f"{folder}: expected the folder of a finished release, got none; fix the path")
        tables = [folder / kind.file for kind in TableFormat]
        evidence = folder / EVIDENCE
        return cls(
            folder,
            load_model(folder / MODEL),
            Certificate.load(folder / CERTIFICATE),
            Evidence.load(evidence) if evidence.is_file() else None,
            next((path for path in tables if path.is_file()), None),
        )

    @cached_property
    def rows(self) -> Table:
        """The synthetic table, coded."""
        raise NotImplementedError

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The synthetic table with the types of its columns."""
        raise NotImplementedError

    @property
    def records(self) -> float:
        """Number of records of the real table, as the release knows it."""
        return self.certificate.records

    @property
    def domain(self) -> Domain:
        """Domain of the synthetic table, with chosen bins and labels."""
        return self.model.domain

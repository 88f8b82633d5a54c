"""The release that another one continues, as it was published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...common.data.attributes.unmodelled import Identifier
from ...common.data.related.steps import Steps
from ...common.errors import DataError
from ...curator.certificates.verify import CERTIFICATE
from ...curator.people.certificate import Lifetime, PeopleCertificate
from ...curator.people.files import earlier_certificates, file_name
from ...curator.people.release import TABLES, Continued, load_people
from ...curator.people.shape import numbers_on
from ...curator.people.table_files import Description
from ..related.frames import ROWS

FILE = f"{TABLES}/{file_name(ROWS)}.csv"
"""The file of the rows of one of several releases, in its folder."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """The release before, as it was published.

    Attributes:
        rows: its table, those of a person in their order.
        names: those of people: the column of the keys, and how they look.
        certificate: of it.
        kept: what the next one keeps.
    """

    rows: pd.DataFrame
    names: Identifier
    certificate: PeopleCertificate
    kept: Continued

    @classmethod
    def read(cls, folder: Path) -> Earlier:
        """Reads the folder of a release.

        Raises:
            DataError: it is none that can be continued, or it was changed.
        """
        release = load_people(folder)
        certificate = PeopleCertificate.load(folder / CERTIFICATE)
        path = folder / FILE
        if certificate.lifetime is None or not path.is_file():
            raise DataError(
                "continues: expected a release of a table with a key that shares its promise with others, "
                f"got another in {folder}; make the first one with `releases` and `until`"
            )
        certificates = (*earlier_certificates(certificate, folder), certificate)
        table = path.read_bytes()
        kept = Continued(table, certificates, Description.read(folder).spreadsheet_safe)
        return cls(release.frames[ROWS], release.family.root.names, certificate, kept)

    @property
    def lifetime(self) -> Lifetime:
        """Which of the releases it is."""
        assert self.certificate.lifetime is not None
        return self.certificate.lifetime

    def people(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The first and the last row of each synthetic person, in the order of their keys."""
        keys = self.rows[self.names.name]
        first, last = self.rows[~keys.duplicated()], self.rows[~keys.duplicated(keep="last")]
        both = [
            one.iloc[np.argsort(self.names.numbers_in(one[self.names.name]))].reset_index(drop=True)
            for one in (first, last)
        ]
        return both[0], both[1]

    def start(self, steps: Steps) -> float | None:
        """After which value the rows of its own period are; None in a first one, which has all rows."""
        before = self.kept.certificates[-2:-1]
        lifetime = before[0].lifetime if before else None
        return None if lifetime is None else value_of(steps, lifetime.until)


def value_of(steps: Steps, until: object) -> float:
    """A value of an order on its scale; NaN if it is none."""
    try:
        return float(numbers_on(steps, pd.Series([until], name=steps.when.name), np.nan)[0])
    except (DataError, ValueError, TypeError):
        return np.nan

"""From a CDM to a CDM of synthetic people, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ...common.errors import DataError
from ...common.files.writing import write_text
from ...common.privacy.rounding import text_above
from ...curator.people.release import PeopleRelease
from ...curator.results.outputs import warning_beside
from ...simulations.stopping import UNFINISHED
from ..ledgers.ledger import Ledger
from ..ledgers.places import beside
from ..synthesize import synthesize
from .choices import ORDER, RELATIONS
from .read import CATEGORIES, read
from .vocabulary import Ranged
from .write import write

DELTA_OF_A_CDM = 1e-6
"""Delta of a release, unless it is given."""

CDM, RELEASE = "cdm.duckdb", "release"
"""The database, and the folder of the release that it was made from."""


@dataclass(frozen=True, eq=False)
class Released:
    """A CDM of synthetic people.

    Attributes:
        database: its file.
        release: the release that it was made from.
    """

    database: Path
    release: PeopleRelease


def synthesize_cdm(
    database: str | Path,
    out: str | Path,
    epsilon: float = 1.0,
    *,
    delta: float = DELTA_OF_A_CDM,
    schema: str = "",
    since: date | None = None,
    until: date | None = None,
    most: int = CATEGORIES,
    known: Mapping[int, Ranged] | None = None,
    seed: int | None = None,
    progress: bool | None = None,
    ledger: bool | str | Path = True,
) -> Released:
    """Releases a CDM with (epsilon, delta)-differential privacy; a person with all records is the unit.

    Args:
        database: a file of DuckDB, or the URI of a PostgreSQL database.
        out: folder for the synthetic CDM, `cdm.duckdb`, and for the release that it was made from, `release`.
            If the process ends before, the same call goes on, and nothing is charged twice.
        epsilon: privacy budget, with delta.
        delta: privacy budget, with epsilon.
        schema: schema of the tables.
        since: see `read.read`, as the next three.
        until: see there.
        most: see there.
        known: see there.
        seed: makes the release reproducible and not for release; it is labelled so.
        progress: whether to show progress; by default in a terminal.
        ledger: path of the ledger that counts the release (`synthesize`); by default the one beside the file.
            There is none for a PostgreSQL database unless it is named. False counts nothing.

    Returns:
        The synthetic CDM and its release.

    Raises:
        DataError: the CDM cannot be read, or the folder holds one already; nothing has been spent.
        BudgetError: a privacy parameter is out of range, or the limit of the ledger does not allow the
            release; nothing has been spent.
        MissingExtraError: PostgreSQL needs an extra that is not installed.
    """
    folder = Path(out)
    for taken in (folder / CDM, folder / RELEASE):
        if taken.exists() and not (taken / UNFINISHED).exists():
            raise DataError(f"{taken} exists already; choose another folder, or remove it")
    cdm = read(database, schema=schema, since=since, until=until, most=most, known=known)
    release = synthesize(
        dict(cdm.tables),
        epsilon,
        delta=delta,
        relations=RELATIONS,
        order=ORDER,
        domain=cdm.choices.domain(),
        seed=seed,
        progress=progress,
        out=folder / RELEASE,
        ledger=_ledger_of(database, ledger),
    )
    labels = release.certificate.labels
    if labels:
        write_text(warning_beside(folder / CDM), "\n".join(labels) + "\n")
    promised = f"epsilon {text_above(epsilon, 6)}, delta {delta:g}; a person with all records is the unit"
    made = write(
        folder / CDM, release.tables, cdm.choices, "; ".join(labels) or f"differentially private: {promised}"
    )
    return Released(made, release)


def _ledger_of(database: str | Path, ledger: bool | str | Path) -> Ledger | bool:
    """The ledger of a CDM. What is read of it depends on the days that are released, so it has no digest."""
    if ledger is True:
        return Ledger(beside(database)) if Path(database).is_file() else False
    return ledger is not False and Ledger(Path(ledger))

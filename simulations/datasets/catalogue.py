"""Public tables that can be downloaded by name, and others that have to be requested."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.files.writing import told_if_unwritable, whole_file, write_text
from ...common.forms.nearest import hint
from . import adult, randhie
from .download import download

if TYPE_CHECKING:
    import pandas as pd

    from ...common.data.domain import Domain


@dataclass(frozen=True)
class Dataset:
    """A table that `dpmosaic datasets get` writes.

    Attributes:
        what: description.
        records: number of rows.
        terms: licence.
        origin: source of the data.
        domain: content of its domain file.
        read: function that returns its CSV; may download it.
    """

    what: str
    records: int
    terms: str
    origin: str
    domain: Mapping[str, Any]
    read: Callable[[], str]


@dataclass(frozen=True)
class Elsewhere:
    """A table of the literature without a stable address and checksum.

    Attributes:
        what: description.
        ask: where to get it, and under which terms.
    """

    what: str
    ask: str


def get(name: str, folder: Path) -> tuple[Path, Path]:
    """Writes a table and its domain file into a folder, as NAME.csv and NAME.domain.json.

    Returns:
        Their paths.

    Raises:
        DataError: there is no such table, a file exists already, or the download failed.
        MissingExtraError: the package that bundles the table is not installed.
    """
    if name not in DATASETS:
        advice = (
            f"; {name} cannot be downloaded by this command: {ELSEWHERE[name].ask}"
            if name in ELSEWHERE
            else ""
        )
        raise DataError(
            f"data set: expected one of {', '.join(DATASETS)}, got {name!r}{hint(name, DATASETS)}{advice}"
        )
    table, domain = folder / f"{name}.csv", folder / f"{name}.domain.json"
    for path in (table, domain):
        if path.exists():
            raise DataError(f"{path} exists already; choose another folder or remove the file")
    content = DATASETS[name].read()
    write_text(domain, json.dumps(DATASETS[name].domain, indent=2) + "\n")
    with told_if_unwritable(table), whole_file(table) as draft:
        draft.write_text(content, encoding="utf-8")
    return table, domain


def load_dataset(name: str) -> tuple[pd.DataFrame, Domain]:
    """A table as a data frame, and its domain.

    Raises:
        DataError: there is no such table, or the download failed.
        MissingExtraError: the package that bundles the table is not installed.
    """
    import pandas as pd

    from ...common.data.domain import Domain

    with tempfile.TemporaryDirectory() as folder:
        table, domain = get(name, Path(folder))
        return pd.read_csv(table), Domain.load(domain)


def _adult() -> str:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / str(place) for place, _ in enumerate(adult.PARTS)]
        for remote, path in zip(adult.PARTS, paths, strict=True):
            download(remote, path)
        return adult.join_parts([path.read_text(encoding="ascii") for path in paths])


def _randhie() -> str:
    require_extra("demo")
    from statsmodels.datasets import randhie as bundled

    content: str = bundled.load_pandas().data.to_csv(index=False)
    return content


DATASETS: Mapping[str, Dataset] = {
    "randhie": Dataset(
        "RAND Health Insurance Experiment, 10 attributes: the demo's table",
        20_190,
        "public domain",
        "bundled with statsmodels (extra 'demo')",
        randhie.DOMAIN,
        _randhie,
    ),
    "adult": Dataset(
        "US census of 1994, 15 attributes; label 'income'",
        48_842,
        "CC BY 4.0, Becker and Kohavi 1996",
        "download from archive.ics.uci.edu, 6 MB",
        adult.DOMAIN,
        _adult,
    ),
}

ELSEWHERE: Mapping[str, Elsewhere] = {
    "big5": Elsewhere(
        "Big Five personality test, 57 attributes",
        "openpsychometrics.org publishes it as BIG5.zip, without a licence",
    ),
    "br2000": Elsewhere(
        "Brazilian census of 2000, 14 attributes",
        "IPUMS International gives it to registered users, who may not redistribute it",
    ),
    "nltcs": Elsewhere(
        "National Long Term Care Survey, 16 attributes",
        "its archive (NACDA) has its own terms; many papers publish the table with their code",
    ),
    "titanic": Elsewhere("Passengers of the Titanic, 9 attributes", "kaggle.com, for registered users"),
    "loans": Elsewhere(
        "LendingClub loans 2007 to 2011", "the publisher has withdrawn it; kaggle.com has copies"
    ),
}

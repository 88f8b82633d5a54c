"""Writes the results of a release into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.digests import sha256_of
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.files.labels import Labels
from ...common.files.writing import write_text
from ...common.processes.blocks import made_in_order
from ..certificates.certificate import Certificate
from ..certificates.verify import BINS, CERTIFICATE, WARNING
from ..mechanisms.parts.fitted import FittedModel
from ..report.page import release_report
from .csv_files import write_csv
from .evidence import EVIDENCE, Evidence
from .row_forms import RowForms
from .row_values import Block, decodings
from .spreadsheets import attributes_like_formulas
from .table_format import TableFile, TableFormat

DOMAIN = "domain.json"
"""The domain with chosen bins."""

Watch = Callable[[Mapping[str, NDArray[Any]]], None]
"""Looks at decoded values."""

PEOPLE = "people.json"
"""Description of the tables, in the folder of a release of related ones."""

MODEL, REPORT, STORAGE = "model.npz", "report.html", "storage.json"
_FILES = (*(kind.file for kind in TableFormat), CERTIFICATE, MODEL, EVIDENCE, REPORT, STORAGE, WARNING)


def ignore_values(values: Mapping[str, NDArray[Any]]) -> None:
    """A `Watch` that does nothing."""


def check_folder(folder: Path, more: Sequence[str] = ()) -> None:
    """Refuses a folder that holds earlier results, before any work is done.

    Args:
        folder: folder of the results; created if it is missing.
        more: names of further files that will be written.

    Raises:
        DataError: one of the files exists, or the path is a file.
    """
    warnings = [warning_beside(folder / name).name for name in more]
    taken = [name for name in (*_FILES, *more, *warnings) if (folder / name).exists()]
    if taken:
        raise DataError(f"{folder} already holds {', '.join(taken)}; choose another folder or remove them")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise DataError(f"cannot create the folder {folder}: {cause.strerror}; choose another") from cause


def write(
    folder: Path,
    synthetic: Table,
    rng: np.random.Generator,
    columns: Sequence[str],
    certificate: Certificate,
    fitted: FittedModel,
    table_file: TableFile,
    watch: Watch = ignore_values,
    records: float | None = None,
    labels: Mapping[str, Labels] | None = None,
) -> dict[str, str]:
    """Writes table, model, evidence and report, and a warning if the certificate has labels.

    Args:
        folder: checked by `check_folder`.
        synthetic: the synthetic table, coded.
        rng: draws values inside bins.
        columns: column names in the order to write.
        certificate: certificate of the release.
        fitted: model from which the rows were drawn, and its measurements.
        table_file: how the synthetic table is written.
        watch: called with the values of each block of rows, in several threads.
        records: number of records; None for that of the certificate.
        labels: what the file of the real table says of the codes of its columns.

    Returns:
        The SHA-256 of each file, by name, for the certificate.
    """
    if certificate.labels:
        write_text(folder / WARNING, warning_of(certificate))
    table, others = folder / table_file.table_format.file, (MODEL, EVIDENCE, REPORT)
    write_table(table, synthetic, rng, columns, table_file, watch, labels)
    with ThreadPoolExecutor(1) as beside:
        # A large table takes longer than all other files.
        digest = beside.submit(sha256_of, table)
        fitted.model.save(folder / MODEL)
        evidence = Evidence.of_release(fitted, certificate, records)
        evidence.save(folder / EVIDENCE)
        write_text(folder / REPORT, release_report(certificate, synthetic, evidence.margins))
        digests = {name: sha256_of(folder / name) for name in others}
        return {table.name: digest.result(), **digests}


def warning_of(certificate: Certificate) -> str:
    """Why the results of a labelled run must not be released."""
    return "\n".join(certificate.labels) + "\n"


def write_table(
    path: Path,
    synthetic: Table,
    rng: np.random.Generator,
    columns: Sequence[str],
    table_file: TableFile,
    watch: Watch = ignore_values,
    labels: Mapping[str, Labels] | None = None,
) -> None:
    """Writes a synthetic table; in memory a few blocks, or of most formats the whole. See `write`."""
    forms, safe = RowForms(synthetic.domain, tuple(columns)), table_file.spreadsheet_safe

    def decode_watched(decode: Callable[[], Block]) -> Block:
        block = decode()
        watch(block.values)
        return block

    def lines(decode: Callable[[], Block]) -> memoryview:
        return forms.lines(decode_watched(decode), safe)

    blocks = decodings(synthetic, rng)
    try:
        if table_file.table_format is TableFormat.CSV:
            write_csv(path, forms.header(safe), made_in_order(lines, blocks))
            return
        from .other_files import write_other_file
        from .parquet_files import in_groups, repeated, write_parquet

        tables = made_in_order(lambda decode: forms.typed_arrow(decode_watched(decode)), blocks)
        if table_file.table_format is not TableFormat.PARQUET:
            write_other_file(path, tables, table_file.table_format, synthetic.domain, labels or {})
            return
        write_parquet(path, in_groups(tables), use_dictionary=repeated(synthetic.domain, columns))
    except OSError as cause:
        raise DataError(
            f"{path} cannot be written; free space on its disk, or choose another folder"
        ) from cause


def write_certificate(folder: Path, certificate: Certificate) -> None:
    """Writes the certificate, last of all files."""
    write_text(folder / CERTIFICATE, json_text(certificate.to_json()))


def write_choice(folder: Path, certificate: Certificate, domain: Domain) -> dict[str, str]:
    """Writes the certificate of a release that chose bins, and the domain with them.

    Args:
        folder: folder of the release that uses them.
        certificate: certificate of the one that chose them.
        domain: domain with the chosen bins.

    Returns:
        The SHA-256 of the domain's file, by name, for the certificate of the release that uses it.
    """
    write_text(folder / BINS / DOMAIN, json_text(domain.to_json()))
    write_certificate(folder / BINS, certificate)
    return {f"{BINS}/{DOMAIN}": sha256_of(folder / BINS / DOMAIN)}


def formula_warning(domain: Domain, table_file: TableFile) -> str | None:
    """A warning that names attributes whose text a spreadsheet would run as a formula; None without any.

    Args:
        domain: domain of the synthetic table.
        table_file: how the synthetic table is written.
    """
    if table_file.table_format is not TableFormat.CSV or table_file.spreadsheet_safe:
        return None
    return formula_note(
        attributes_like_formulas(domain), "use --spreadsheet-safe to write an apostrophe before it"
    )


def formula_note(names: Sequence[str], remedy: str) -> str | None:
    """The warning about columns whose text a spreadsheet would run as a formula; None without any.

    Args:
        names: of the columns.
        remedy: what to do.
    """
    if not names:
        return None
    return (
        f"a name or label begins like a formula in: {', '.join(map(repr, names))}. A spreadsheet may run it; "
        f"{remedy}"
    )


def warning_beside(path: Path) -> Path:
    """The file that says why this file must not be released; it stands beside it."""
    return path.with_name(f"{path.name}.{WARNING}")


def write_not_for_release(path: Path, content: str, reason: str) -> None:
    """Writes a text file that no promise covers, and a warning beside it.

    Args:
        path: path of the file.
        content: its text.
        reason: why it must not be released.

    Raises:
        DataError: a file cannot be written.
    """
    write_text(warning_beside(path), f"{path.name}: {reason}\n")
    write_text(path, content)


def json_text(content: Mapping[str, Any]) -> str:
    """Indented JSON."""
    return json.dumps(content, indent=2) + "\n"

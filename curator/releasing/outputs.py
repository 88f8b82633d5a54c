"""Writes what a release gives into a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...common.data.table import Table, decode_table
from ...common.errors import DataError
from ..mechanisms.parts.released import ReleasedModel
from ..report.page import release_report

FILES = ("synthetic.csv", "certificate.json", "model.npz", "report.html")
WARNING = "NOT-FOR-RELEASE.txt"
"""Lies beside the results of a run that is labelled; a CSV has no place for a label."""


def check_folder(folder: Path, more: Sequence[str] = ()) -> None:
    """Refuses a folder that holds an earlier result, before any work is done.

    Args:
        folder: made where it is not there.
        more: names of files that will be written beside `FILES`.

    Raises:
        DataError: one of the files is there, or the path is a file.
    """
    taken = [name for name in (*FILES, WARNING, *more) if (folder / name).exists()]
    if taken:
        raise DataError(f"{folder} already holds {', '.join(taken)}; choose another folder or remove them")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise DataError(f"cannot make the folder {folder}: {cause.strerror}; choose another") from cause


def write(
    folder: Path,
    synthetic: Table,
    columns: Sequence[str],
    rng: np.random.Generator,
    certificate: Mapping[str, Any],
    model: ReleasedModel,
) -> None:
    """Writes the files of `FILES`, and a warning where the certificate has labels.

    Args:
        folder: checked by `check_folder`.
        synthetic: the synthetic table, coded.
        columns: order of its columns.
        rng: for values inside numeric bins.
        certificate: of the release.
        model: that the rows come from.
    """
    labels = certificate["labels"]
    if labels:
        (folder / WARNING).write_text("\n".join(labels) + "\n", encoding="utf-8")
    frame(synthetic, columns, rng).to_csv(folder / "synthetic.csv", index=False)
    write_json(folder / "certificate.json", certificate)
    model.save(folder / "model.npz")
    write_text(folder / "report.html", release_report(certificate, synthetic))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes JSON as people read it."""
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_text(path: Path, content: str) -> None:
    """Writes a text; makes the folder where it is not there.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as cause:
        raise DataError(f"cannot write {path}: {cause.strerror}; choose another place") from cause


def frame(table: Table, columns: Sequence[str], rng: np.random.Generator) -> pd.DataFrame:
    """A table in its original types and labels, its columns in the given order."""
    decoded = decode_table(table, rng)
    return pd.DataFrame({name: decoded[name] for name in columns})

"""Writes what a simulation gives into a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..common.errors import DataError
from ..common.table import Table, decode_table
from .simulate import Simulation

FILES = ("synthetic.csv", "metrics.json", "certificate.json", "model.npz")
WARNING = "NOT-FOR-RELEASE.txt"
"""Lies beside the results of a run that is labelled; a CSV has no place for a label."""


def check_folder(folder: Path) -> None:
    """Refuses a folder that holds an earlier result, before any work is done.

    Raises:
        DataError: one of the files is there, or the path is a file.
    """
    taken = [name for name in (*FILES, WARNING) if (folder / name).exists()]
    if taken:
        raise DataError(f"{folder} already holds {', '.join(taken)}; choose another folder or remove them")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise DataError(f"cannot make the folder {folder}: {cause.strerror}; choose another") from cause


def write(result: Simulation, folder: Path, columns: Sequence[str], rng: np.random.Generator) -> None:
    """Writes the files of `FILES`, and a warning where the certificate has labels.

    Args:
        result: of `simulate`.
        folder: checked by `check_folder`.
        columns: order of the synthetic table's columns.
        rng: for values inside numeric bins.
    """
    labels = result.certificate["labels"]
    if labels:
        (folder / WARNING).write_text("\n".join(labels) + "\n", encoding="utf-8")
    frame(result.synthetic, columns, rng).to_csv(folder / "synthetic.csv", index=False)
    for name, content in (("metrics.json", result.metrics), ("certificate.json", result.certificate)):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    result.fitted.model.save(folder / "model.npz")


def frame(table: Table, columns: Sequence[str], rng: np.random.Generator) -> pd.DataFrame:
    """A table in its original types and labels, its columns in the given order."""
    decoded = decode_table(table, rng)
    return pd.DataFrame({name: decoded[name] for name in columns})

"""Writes a public table as the tables of several parties, each in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...common.data.domain import Domain
from ...common.errors import DataError
from ...party.sources.source import FileSource
from ..local_network.party import write_table
from ..parties.network import party_names
from ..parties.partition import Grid
from ..parties.people import ROW_NUMBER, Held, read_people


def write_parts(table: Path, domain: Path, grid: str, folder: Path) -> list[Path]:
    """Writes what each party of a grid holds, as `rows.parquet` and `domain.json` in its folder.

    The rows have the column `row_number`, which stands for the key of a person and is no attribute.

    Args:
        table: the whole table.
        domain: its domain file.
        grid: see `Grid.parse`.
        folder: where the folders `party-1-1`, `party-1-2`, ... are made.

    Returns:
        The folders, slice by slice.

    Raises:
        DataError: a folder exists already, or the grid does not fit the table.
    """
    source, whole = FileSource(table), Domain.load(domain)
    read, identifiers = read_people(source, whole, None)
    slices = Grid.parse(grid, whole, read.record_count).slices
    start, written = 0, []
    for names, layout in zip(party_names([len(one.groups) for one in slices]), slices, strict=True):
        stop = start + layout.rows
        held = Held(np.arange(start, stop), tuple(identifiers[start:stop]))
        for name, group in zip(names, layout.groups, strict=True):
            party = folder / name
            try:
                party.mkdir(mode=0o700)
            except OSError as cause:
                raise DataError(f"cannot make {party}: {cause.strerror}; choose another folder") from cause
            write_table(party, source, whole.project(group), held, ROW_NUMBER)
            written.append(party)
        start = stop
    return written

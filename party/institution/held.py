"""The rows of an institution: in memory, or where they live."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.texts import has_open_categories
from ...common.data.coding import Coding
from ...common.data.domain import Domain
from ...common.data.people import PeopleRows
from ...common.data.rows import Rows
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.protocols.masked.plan import MaskedPlan
from ..accounts.rows import Placement
from ..counting.engines.engine import Check
from ..counting.placed import placed_bytes
from ..counting.rows import CountedRows
from ..counting.spool import spool_bytes
from .placed import PlacedRows, PlacedTable

HeldRows = Table | CountedRows | PeopleRows
"""Rows as codes. All give exact marginals; of an engine, codes of single rows are on disk."""


def place_rows(rows: HeldRows, alignment_id: str, placement: Placement, domain: Domain, absent: bool) -> Rows:
    """The rows at the positions of an alignment.

    Args:
        rows: the rows, without attributes that are not asked for.
        alignment_id: id of the alignment.
        placement: where it puts them.
        domain: see `PlacedTable`.
        absent: see `PlacedTable`.
    """
    if isinstance(rows, PeopleRows):
        return rows.place_people(placement.positions, placement.size)
    if isinstance(rows, Table):
        return PlacedTable(rows, placement.positions, placement.size, domain, absent)
    return PlacedRows(rows, alignment_id, placement, domain, absent)


def recode_rows(rows: HeldRows, coding: Coding) -> HeldRows:
    """The rows with the codes that a release chose.

    Raises:
        DataError: see `Coding.table`.
    """
    if isinstance(rows, PeopleRows):
        return replace(rows, table=coding.table(rows.table))
    return coding.table(rows) if isinstance(rows, Table) else rows.with_coding(coding)


def watch_rows(rows: HeldRows, check: Check) -> HeldRows:
    """The rows for a release; an engine stops counting when `check` raises."""
    return rows.with_check(check) if isinstance(rows, CountedRows) else rows


def bytes_on_disk(rows: HeldRows, plan: MaskedPlan, number: int) -> int:
    """What codes of single rows need on disk in a release: an upper bound that follows from public facts.

    Args:
        rows: all rows of the party.
        plan: plan of the release.
        number: of the party's slice.
    """
    if not isinstance(rows, CountedRows):
        return 0
    domain, records = rows.connection.domain, plan.records(number)
    if plan.alignment is not None:
        return placed_bytes(domain, records)
    read = len(plan.members(number)) > 1 or plan.sampling is not None
    return spool_bytes(domain, records) if read or rows.connection.counts_copies else 0


def check_ready(rows: HeldRows) -> None:
    """Refuses a query before it is charged, if its answer cannot be counted.

    Raises:
        DataError: the engine cannot be reached, or the rows changed since the party was started.
    """
    if isinstance(rows, CountedRows):
        rows.check_ready()


def check_texts(rows: HeldRows, name: str) -> None:
    """Refuses to look for labels of an open category without its texts.

    Raises:
        DataError: the table has only its codes.
    """
    held = rows.table if isinstance(rows, PeopleRows) else rows
    if isinstance(held, Table) and name not in held.texts:
        raise DataError(
            f"attribute {name!r}: expected the texts of its open categories beside its codes, found "
            "codes alone; read the table from its source"
        )


def unlisted_texts(
    rows: HeldRows, name: str, used: NDArray[np.bool_] | None
) -> tuple[list[str], NDArray[np.int64]]:
    """The texts of open categories that could become labels, and the number of rows of each.

    Args:
        rows: the rows.
        name: of the open categories.
        used: the rows that count, shape (rows,); None for all.
    """
    if isinstance(rows, PeopleRows):
        raise DataError("expected listed categories of people with all rows, got open ones; list them")
    if not isinstance(rows, Table):
        return rows.unlisted_texts(name, used)
    attribute, texts = rows.domain[name], rows.texts[name]
    assert has_open_categories(attribute), "the terms were checked"
    return (texts if used is None else texts.take(np.flatnonzero(used))).unlisted_texts(attribute)

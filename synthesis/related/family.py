"""Related tables before anything is known of what they hold: their family, and one row of each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.unmodelled import WHOLE_NUMBERS
from ...common.data.domain import Domain
from ...common.data.related.steps import place_names
from ...common.errors import DataError
from ...curator.people.drawing.following import check_following
from ...curator.people.kin import Kin
from ...curator.people.shape import Family
from ...curator.people.summaries import FirstOf
from ...simulations.tables.frames import raw_table
from ..learning.cells import Cells
from .frames import with_texts
from .tables import Raw


def family_of(tables: Sequence[Raw], domains: Mapping[str, Domain]) -> Family:
    """The tables as a release begins with them.

    Args:
        tables: the tables, each after its parent.
        domains: of those that are described.

    Raises:
        DataError: a table has a column that the release makes itself, or one that cannot be computed.
    """
    family = Family(tuple(_kin(table, tables, domains.get(table.name)) for table in tables))
    check_following(family, domains)
    for table in tables:
        _check_names(family, table, [one for one in tables if one.owner == table.name])
    return family


def one_row_of_each(tables: Mapping[str, Raw], name: str, rng: np.random.Generator) -> NDArray[np.intp]:
    """Places of one row of each person in a table, drawn at random, in random order.

    Args:
        tables: it and those above it.
        name: the table.
        rng: draws them.
    """
    person = np.arange(len(tables[name].parent))
    while tables[name].owner:
        person = tables[name].parent[person]
        name = tables[name].owner
    # Rows of one person stand beside each other.
    first = FirstOf.rows(person)
    numbers = np.diff(np.append(first, len(person)))
    return rng.permutation(first + (rng.random(len(first)) * numbers).astype(np.intp))


def _check_names(family: Family, raw: Raw, children: Sequence[Raw]) -> None:
    """Refuses columns that the release makes itself."""
    said = (one.name for child in children for one in (*child.summaries, *child.end_summaries))
    made = [*family.numbers(raw.name), *said]
    for child in children:
        if child.order:
            made += place_names(child.order, child.name)
    if raw.order:
        made.append(f"step_of_{raw.order}")
    if twice := [name for place, name in enumerate(made) if name in made[:place]]:
        raise DataError(
            f"{raw.name}: expected names of new columns that differ, got {twice[0]!r} twice; rename a summary"
        )
    if taken := sorted({*made}.intersection(raw.columns)):
        raise DataError(f"{raw.name}: expected no column {taken[0]!r}, which the release makes; rename it")
    # Names and types of columns that no release holds.
    table = raw_table(with_texts(raw.rows.iloc[:0], raw.storage))
    if len(raw.rows.columns):
        Cells.of(table.source, table.timezones).close()


def _kin(raw: Raw, tables: Sequence[Raw], domain: Domain | None) -> Kin:
    said = [one.name for child in tables if child.owner == raw.name for one in child.summaries]
    said += [] if domain is None else [one.name for one in domain.followers if one.name not in raw.columns]
    return Kin(
        name=raw.name,
        domain=None,
        key=raw.key,
        joins=raw.joins,
        pattern=raw.pattern or WHOLE_NUMBERS,
        parent=raw.owner,
        foreign=raw.foreign,
        ordered=raw.order is not None,
        columns=(*raw.columns, *said) if raw.columns else (),
        storage=raw.storage,
        summaries=(*raw.summaries, *raw.end_summaries),
        within=raw.within,
        near=raw.near,
        same=raw.same,
        rising=raw.rising,
        once=raw.once,
        repeats=raw.repeats,
        counts=raw.counts,
    )

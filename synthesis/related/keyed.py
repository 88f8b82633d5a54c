"""One table of several rows a person, as people and their rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...common.data.domain import Domain
from ...common.data.related.keys import without_keys
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.results.keys import keys_as_texts
from ...simulations.tables.frames import Source
from .complete import without_incomplete
from .frames import ROWS, frame_of
from .order import Ordered
from .tables import NOTHING_IMPLIED, Implied, Raw, read_tables

PEOPLE = "people"
"""Name of the people whose rows the only table of a release with a key has."""


def read_keyed(
    data: Source,
    key: str,
    per_person: tuple[str, ...],
    order: Ordered | None,
    rng: np.random.Generator,
    drop_incomplete: bool = False,
    known: Domain | None = None,
    implied: Implied = NOTHING_IMPLIED,
) -> tuple[Raw, ...]:
    """One table of several rows a person, as people and their rows.

    Args:
        data: the table.
        key: column that names the person of each row.
        per_person: columns that are the same in all rows of a person; people have the first one.
        order: of the rows of a person; None if it means nothing.
        rng: see `read_tables`.
        drop_incomplete: whether rows without a key or a value of the order are left out.
        known: what the columns hold, if it is known.
        implied: what columns have to do with other rows.
    """
    rows, storage = frame_of(ROWS, data)
    columns = tuple(map(str, rows.columns))
    for named in (key, *per_person, *([] if order is None or order is True else [order])):
        if named not in columns:
            raise DataError(f"expected the column {named!r}, found none{hint(named, columns)}; fix the name")
    if order in per_person:
        raise DataError(
            f"order: expected a column that differs between rows of a person, got {order!r}; name another"
        )
    if key in per_person:
        raise DataError(f"per_person: expected columns beside the key, got {key!r}; leave it out")
    rows = rows.assign(**{key: keys_as_texts(rows[key])})
    if drop_incomplete:
        rows = without_incomplete(ROWS, rows, [key], order, known)
    people = rows[[key, *per_person]][~rows[key].duplicated()]
    held = rows.drop(columns=list(per_person))
    tables = read_tables(
        {PEOPLE: people, ROWS: held},
        {ROWS: {key: PEOPLE}},
        {ROWS: order} if order is not None else {},
        rng,
        domains={} if known is None else {ROWS: known},
        implied=implied,
    )
    # They come back as the one table that they are.
    whose, those = tables
    return replace(whose, columns=()), replace(those, storage=storage, columns=columns, everybody=True)


def keyed_domains(domain: Domain, key: str, per_person: tuple[str, ...]) -> dict[str, Domain]:
    """The domains of people and of their rows, from that of the table with a key."""
    if key in domain.names:
        raise DataError(
            f"key: expected a column that is no attribute, got {key!r}, which would be released; take it out "
            "of the domain"
        )
    domain, _ = without_keys(domain, key)
    named = {one.name: one for one in domain.attributes}
    if lacking := [name for name in per_person if name not in named]:
        raise DataError(f"per_person: expected attributes of the domain, got {lacking[0]!r}; add it")
    own = tuple(one for one in domain.attributes if one.name not in per_person)
    if not own:
        raise DataError(
            "per_person: expected a column that differs between rows of a person, got none; leave one out"
        )
    found = {ROWS: Domain(own, domain.unmodelled, domain.rules)}
    if per_person:
        found[PEOPLE] = Domain(tuple(named[name] for name in per_person))
    return found

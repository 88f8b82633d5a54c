"""The people whose rows a party holds: which rows of them are used, and what names them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.people import PeopleRows, number_people
from ...common.data.table import Table
from ...common.privacy.cost import ALL_ROWS, WEIGHT_PARTS
from ..counting.catalogue import engine_of, keeps_identifiers
from ..counting.identifiers import Identifiers, missing_key, order_digest
from ..counting.people import People
from ..counting.rows import CountedRows
from ..sources.source import Source
from .held import HeldRows


def records_of(
    source: Source, domain: Domain, people: People, timeout_s: float, folder: Path
) -> tuple[HeldRows, bytes | None, Identifiers]:
    """The rows that are used, the digest of their order and what names their people.

    They stay in the source's engine, or in memory if it has none, or has identifiers that it does not keep,
    or if all rows of a person count.

    Args:
        source: where the rows live.
        domain: attributes of the party.
        people: which columns name them, and how many rows of one person are used.
        timeout_s: seconds that a statement of the engine may take.
        folder: where codes are written.

    Returns:
        The digest is None without a key column and with identifiers, since alignments bring rows into one
        order.

    Raises:
        DataError: see `read_records` and `CountedRows.from_engine`.
    """
    connect = engine_of(source, folder)
    unkept = people.identifiers and not keeps_identifiers(source)
    if connect is None or unkept or people.most == ALL_ROWS:
        return read_records(source, domain, people)
    rows = CountedRows.from_engine(connect, domain, timeout_s, folder, people)
    named = {name: rows.connection.texts(column) for name, column in people.identifiers.items()}
    return rows, rows.connection.order() if people.compare_order else None, Identifiers(named)


def read_records(
    source: Source, domain: Domain, people: People
) -> tuple[Table | PeopleRows, bytes | None, Identifiers]:
    """As `records_of`, in memory. If all rows of a person count, order and identifiers are those of people.

    Raises:
        DataError: a row lacks a key that it needs; or see `Source.read_with_texts`.
    """
    table, texts = source.read_with_texts(domain, people.columns)
    if people.most == ALL_ROWS:
        return _of_people(table, texts, people)
    key, order = people.key, None
    if key is not None:
        if people.compare_order and not all(texts[key]):
            raise missing_key(key)
        places = kept_rows(texts[key], people.most)
        if len(places) < table.record_count:
            # Texts of rows that are left out are no part of the digest.
            table = Table.concatenate([table.take(places)])
            texts = {column: [cells[place] for place in places] for column, cells in texts.items()}
        order = order_digest(texts[key]) if people.compare_order else None
    return table, order, Identifiers({name: texts[column] for name, column in people.identifiers.items()})


def _of_people(
    table: Table, texts: Mapping[str, Sequence[str]], people: People
) -> tuple[PeopleRows, bytes | None, Identifiers]:
    """All rows of people in the order of their first rows, which also name them."""
    assert people.key is not None, "the policy was checked"
    if not all(texts[people.key]):
        raise missing_key(people.key)
    person, first = number_people(texts[people.key])
    named = {name: [texts[column][row] for row in first] for name, column in people.identifiers.items()}
    order = order_digest(texts[people.key][row] for row in first) if people.compare_order else None
    return PeopleRows.evenly(table, person, len(first), WEIGHT_PARTS), order, Identifiers(named)


def kept_rows(keys: Sequence[str], most: int) -> NDArray[np.intp]:
    """Places of the first rows of each key, at most `most` of each, in order; of all rows without a key."""
    seen: Counter[str] = Counter()
    kept = []
    for place, key in enumerate(keys):
        seen[key] += 1
        if seen[key] <= most or not key:
            kept.append(place)
    return np.array(kept, dtype=np.intp)

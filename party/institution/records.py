"""The people whose rows a party holds: which rows of them are used, and what names them."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.people import PeopleRows
from ...common.data.table import Table, code_dtype
from ...common.privacy.cost import ALL_ROWS, WEIGHT_PARTS
from ..counting.batches import code_batches
from ..counting.catalogue import engine_of, keeps_identifiers
from ..counting.engines.names import code_of, other_of
from ..counting.identifiers import Identifiers, missing_key, names_of_people, order_digest
from ..counting.people import People
from ..counting.rows import CountedRows
from ..counting.sorted_tables import FOREIGN, PARENT, SortedTables
from ..policies.policy import Policy
from ..sources.source import Source
from .held import HeldRows

_ROWS_TABLE, _PEOPLE_TABLE = 0, 1
"""Numbers of the table of rows, and of their people."""

_KEYS = {other_of(0): FOREIGN}
"""The key comes first among the columns of `People`."""


def records_of(
    source: Source,
    domain: Domain,
    people: People,
    timeout_s: float,
    folder: Path,
    most_mb: int = Policy.max_disk_mb,
) -> tuple[HeldRows, bytes | None, Identifiers]:
    """The rows that are used, the digest of their order and what names their people.

    They stay in the source's engine, or in memory if it has none, or has identifiers that it does not keep.
    If all rows of a person count, their codes are in memory, and order and identifiers are those of people.

    Args:
        source: where the rows live.
        domain: attributes of the party.
        people: which columns name them, and how many rows of one person are used.
        timeout_s: seconds that a statement of the engine may take.
        folder: where codes are written.
        most_mb: most that files may take in which all rows of people are sorted, MiB.

    Returns:
        The digest is None without a key column and with identifiers, since alignments bring rows into one
        order.

    Raises:
        PolicyError: sorting needs more than that.
        DataError: a row lacks a key that it needs; or see `read_records` and `CountedRows.from_engine`.
    """
    connect = engine_of(source, folder)
    unkept = people.identifiers and not keeps_identifiers(source)
    if people.most == ALL_ROWS:
        return _read_people(source, domain, people, folder, most_mb)
    if connect is None or unkept:
        return read_records(source, domain, people)
    rows = CountedRows.from_engine(connect, domain, timeout_s, folder, people)
    named = {name: rows.connection.texts(column) for name, column in people.identifiers.items()}
    return rows, rows.connection.order() if people.compare_order else None, Identifiers(named)


def read_records(source: Source, domain: Domain, people: People) -> tuple[Table, bytes | None, Identifiers]:
    """As `records_of`, in memory, of some rows of a person.

    Raises:
        DataError: a row lacks a key that it needs; or see `Source.read_with_texts`.
    """
    table, cells = source.read_with_texts(domain, people.columns)
    texts = {name: names_of_people(column) for name, column in cells.items()}
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


def _read_people(
    source: Source, domain: Domain, people: People, folder: Path, most_mb: int
) -> tuple[PeopleRows, bytes | None, Identifiers]:
    """All rows of people in the order of their first rows, which also name them; sorted on disk."""
    assert people.key is not None, "the policy was checked"
    names = dict(zip(people.columns, map(other_of, itertools.count()), strict=False))
    with contextlib.closing(SortedTables(folder, most_mb)) as held:
        batches = code_batches(source, domain, people.columns, folder)
        held.add(
            _ROWS_TABLE, ({_KEYS.get(name, name): cells for name, cells in one.items()} for one in batches)
        )
        if not held.number_parents(_PEOPLE_TABLE, [_ROWS_TABLE]):
            raise missing_key(people.key)
        held.sort(_ROWS_TABLE, _PEOPLE_TABLE, "")
        keys = held.keys(_PEOPLE_TABLE)
        named = {
            name: keys if column == people.key else held.first_texts(_ROWS_TABLE, names[column])
            for name, column in people.identifiers.items()
        }
        types = {code_of(place): code_dtype(one.size) for place, one in enumerate(domain.attributes)}
        columns = held.columns(_ROWS_TABLE, {PARENT: np.dtype(np.int32), **types})
    person = columns.pop(PARENT)
    rows = PeopleRows.evenly(Table(domain, tuple(columns.values())), person, len(keys), WEIGHT_PARTS)
    return rows, order_digest(keys) if people.compare_order else None, Identifiers(named)


def kept_rows(keys: Sequence[str], most: int) -> NDArray[np.intp]:
    """Places of the first rows of each key, at most `most` of each, in order; of all rows without a key."""
    seen: Counter[str] = Counter()
    kept = []
    for place, key in enumerate(keys):
        seen[key] += 1
        if seen[key] <= most or not key:
            kept.append(place)
    return np.array(kept, dtype=np.intp)

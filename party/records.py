"""The people whose rows a party holds: which rows of them are used, and what names them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..common.data.domain import Domain
from ..common.data.table import Table
from ..common.errors import DataError
from .identifiers import Identifiers
from .sources.source import Source

_LENGTH_BYTES = 8


def read_records(
    source: Source, domain: Domain, key: str | None, most: int, identifiers: Mapping[str, str]
) -> tuple[Table, bytes | None, Identifiers]:
    """The rows that are used, the digest of their order and what names their people.

    Args:
        source: where the rows live.
        domain: attributes of the party.
        key: column that names the person of each row; None if there is none.
        most: largest number of rows of one key; further ones are left out.
        identifiers: agreed name -> column of each identifier by which rows are aligned. With any, a row may
            lack its key, and no order is compared, since alignments bring rows into one order.

    Returns:
        The digest is None without a key column and with identifiers.

    Raises:
        DataError: a row lacks a key that it needs; or see `Source.read_with_texts`.
    """
    columns = tuple(dict.fromkeys((*([] if key is None else [key]), *identifiers.values())))
    table, texts = source.read_with_texts(domain, columns)
    order = None
    if key is not None:
        if not identifiers:
            _check_keys(key, texts[key])
        places = kept_rows(texts[key], most)
        if len(places) < table.record_count:
            table = table.take(places)
            texts = {column: [cells[place] for place in places] for column, cells in texts.items()}
        order = None if identifiers else order_digest(texts[key])
    return table, order, Identifiers({name: texts[column] for name, column in identifiers.items()})


def kept_rows(keys: Sequence[str], most: int) -> NDArray[np.intp]:
    """Places of the first rows of each key, at most `most` of each, in order; of all rows without a key."""
    seen: Counter[str] = Counter()
    kept = []
    for place, key in enumerate(keys):
        seen[key] += 1
        if seen[key] <= most or not key:
            kept.append(place)
    return np.array(kept, dtype=np.intp)


def order_digest(keys: Sequence[str]) -> bytes:
    """SHA-256 of the keys in row order, each as UTF-8 with its length in front."""
    digest = hashlib.sha256()
    for key in keys:
        encoded = key.encode()
        digest.update(len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded)
    return digest.digest()


def _check_keys(name: str, keys: Sequence[str]) -> None:
    if not all(keys):
        raise DataError(
            f"key column {name!r}: expected a key in every row, found a row without; fix the rows"
        )

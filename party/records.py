"""The people whose rows a party holds: which rows of them are used, and a digest of their order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..common.data.domain import Domain
from ..common.data.table import Table
from .sources.source import Source

_LENGTH_BYTES = 8


def read_records(source: Source, domain: Domain, key: str, most: int) -> tuple[Table, bytes]:
    """The rows that are used, and the digest of their order.

    Args:
        source: where the rows live.
        domain: attributes of the party.
        key: column that names the person of each row.
        most: largest number of rows of one person; further ones are left out.

    Raises:
        DataError: see `Source.read_with_key`.
    """
    table, keys = source.read_with_key(domain, key)
    places = kept_rows(keys, most)
    return table.take(places), order_digest([keys[place] for place in places])


def kept_rows(keys: Sequence[str], most: int) -> NDArray[np.intp]:
    """Places of the first rows of each key, at most `most` of each, in order."""
    seen: Counter[str] = Counter()
    kept = []
    for place, key in enumerate(keys):
        seen[key] += 1
        if seen[key] <= most:
            kept.append(place)
    return np.array(kept, dtype=np.intp)


def order_digest(keys: Sequence[str]) -> bytes:
    """SHA-256 of the keys in row order, each as UTF-8 with its length in front."""
    digest = hashlib.sha256()
    for key in keys:
        encoded = key.encode()
        digest.update(len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded)
    return digest.digest()

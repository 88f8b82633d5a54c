"""Queries as bytes: kept in ledgers; masks, dealt randomness and statements are bound to them."""

from __future__ import annotations

import hashlib
from typing import get_args

from ..queries import Asked
from .derived import Kind

_KINDS = {
    asked: Kind(f"dpmosaic {asked.named}", 1, asked, f"a consistent {asked.named}")
    for asked in get_args(Asked)
}


def encode_asked(query: Asked) -> bytes:
    """The canonical bytes of a query; only equal queries have equal bytes."""
    return _KINDS[type(query)].encode(query)


def query_digest(query: Asked) -> str:
    """SHA-256 (hex) of the canonical bytes, to which masks and dealt randomness are bound."""
    return hashlib.sha256(encode_asked(query)).hexdigest()

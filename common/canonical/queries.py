"""Queries as bytes: kept in ledgers; masks, dealt randomness and statements are bound to them."""

from __future__ import annotations

import hashlib

from ..messages import AlignmentQuery, Asked, MarginalQuery, ScoreQuery
from .derived import Kind

MARGINAL = Kind("dpmosaic marginal query", 4, MarginalQuery, "a consistent query")
SCORE = Kind("dpmosaic score query", 3, ScoreQuery, "a consistent score query")
ALIGNMENT = Kind("dpmosaic alignment query", 1, AlignmentQuery, "a consistent query of an alignment")


def encode_asked(query: Asked) -> bytes:
    """The canonical bytes of a query; only equal queries have equal bytes."""
    (kind,) = (kind for kind in (MARGINAL, SCORE, ALIGNMENT) if isinstance(query, kind.of))
    return kind.encode(query)


def query_digest(query: Asked) -> str:
    """SHA-256 (hex) of the canonical bytes, to which masks and dealt randomness are bound."""
    return hashlib.sha256(encode_asked(query)).hexdigest()

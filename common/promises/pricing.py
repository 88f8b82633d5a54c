"""The ledger entry of a query."""

from __future__ import annotations

import hashlib
from fractions import Fraction

from ..canonical.queries import encode_asked
from ..queries import Asked
from .statement import Entry


def entry_of(query: Asked, zcdp_rho: Fraction, delta: Fraction) -> Entry:
    """The ledger entry of a query, which is not signed yet.

    Args:
        query: the query.
        zcdp_rho: its cost.
        delta: of labels, what they take of delta.
    """
    digest = hashlib.sha256(encode_asked(query)).digest()
    clique, groups = query.entered.clique, query.entered.groups
    counts = tuple(max(codes, default=-1) + 1 for codes in groups)
    return Entry(query.query_id, digest, query.kind, clique, counts, zcdp_rho, delta, b"")

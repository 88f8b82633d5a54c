"""Chains over aligned parties, if a marginal counts only the people who are in every party of a slice.

A position counts if every party of the slice has a row there. A party with attributes of the clique shows
that by a row of its indicators that is not zero; every other party multiplies its *presence* in: a part of
one column, 1 at the positions where it has a row.

If one party holds the whole clique, its part is divided: its smallest attribute A, then the rest B, as
(presence of the others) x A x B. The product up to A has the columns of A only, and all cliques of this party
that begin with A need the same one. The holder of B then has a share of that product itself: it multiplies
this share in the clear, and needs the openings of the others only (`products`).

Of people with all rows, a presence is in parts as well, all of them where the party has a row of the person,
and parts are not divided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...data.domain import Clique, Domain
from .columns import width

_PRESENCE = ""
"""Stands in front of a party's name; no attribute has an empty name."""


def presence(party: str) -> Clique:
    """The part that is the presence of the party of this name."""
    return (_PRESENCE, party)


def is_presence(part: Clique) -> bool:
    """Whether a part is a party's presence."""
    return part[:1] == (_PRESENCE,)


def columns_in(part: Clique) -> Clique:
    """The columns of a part; none of a presence."""
    return () if is_presence(part) else part


def present_chain(
    domain: Domain, parts: Sequence[Clique], others: Iterable[str], *, divided: bool = True
) -> tuple[Clique, ...]:
    """The chain of a clique, multiplied with the presence of the parties that hold nothing of it.

    Args:
        domain: domain of the plan.
        parts: parts of the clique, of columns, in roster order.
        others: names of the other parties of the slice, in roster order.
        divided: whether a clique of one party is divided.
    """
    chain = tuple(map(presence, others))
    if not chain and len(parts) == 2:
        return tuple(parts)
    if divided and len(parts) == 1 and len(parts[0]) > 1:
        first = min(parts[0], key=lambda column: width(domain, column))
        parts = ((first,), tuple(name for name in parts[0] if name != first))
        return (*chain, *parts)
    return (*chain, *sorted(parts, key=lambda part: math.prod(width(domain, column) for column in part)))

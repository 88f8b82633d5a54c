"""Related tables as parties will hold them, and the public ones to which they refer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...common.data.domain import Domain
from ...common.errors import DataError
from ...simulations.tables.frames import DomainLike, Source, read_domain
from ..related.links import Relations
from ..related.order import Ordered
from ..related.public import PublicTables
from ..related.stated import with_courses
from ..related.tables import NOTHING_IMPLIED, Implied, Raw, read_tables


@dataclass(frozen=True, eq=False)
class Held:
    """Related tables, as parties will hold them.

    Attributes:
        raw: the tables, each after its parent.
        domains: of each but those of keys alone, with the columns that refer to public tables.
        public: the tables that everybody may see, which no party holds.
    """

    raw: tuple[Raw, ...]
    domains: Mapping[str, Domain]
    public: PublicTables


def read_held(
    data: Mapping[str, Source],
    relations: Relations,
    order: Mapping[str, Ordered],
    domain: Mapping[str, DomainLike],
    rng: np.random.Generator,
    drop_incomplete: Collection[str] = (),
    public: Collection[str] = (),
    implied: Implied = NOTHING_IMPLIED,
) -> Held:
    """The tables that parties will hold; see `simulate_people`, and `read_tables` for the generator.

    Raises:
        DataError: see `read_tables`; or a table with columns has no domain.
    """
    known = PublicTables.of(data, relations, public)
    held = {name: one for name, one in data.items() if name not in known.frames}
    domains = {name: read_domain(one) for name, one in domain.items() if name not in known.frames}
    known = known.listed_in(domains)
    raw = read_tables(
        *(held, known.relations, order, rng, drop_incomplete, known.references, domains, implied)
    )
    for table in raw:
        if table.joins:
            raise DataError(
                f"{table.name}: expected over parties a key of one column, got one of several; make a column "
                "of them, in all tables that hold it"
            )
        if table.open_columns and table.name not in domain:
            raise DataError(
                f"{table.name}: expected a domain that parties agreed on, got none; describe the table"
            )
    raw = with_courses(raw, implied, domains)
    return Held(raw, known.complete(domains), known)

"""Several rows a person: one table with a key, or related tables, read and released."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..common.data.domain import Domain
from ..common.errors import DataError
from ..common.version import __version__
from ..curator.certificates.json_values import to_json_values
from ..curator.people.release import PeopleRelease
from ..curator.results.storage import Library
from ..simulations.tables.frames import DomainLike, Source, read_domain
from .ledgers.counting import BudgetWarning, Priced, counted_release
from .ledgers.places import LedgerLike
from .periods.yearly import Sharing, Yearly
from .related import A_PERSON, Asked, labels_delta, release_tables
from .related_tables import (
    Pairs,
    Raw,
    Relations,
    Summaries,
    keyed_domains,
    read_keyed,
    read_tables,
    with_bounds,
    with_pairs,
    with_summaries,
)

Ordered = str | Literal[True]
"""A column by which rows of a person are in order, or True for the order of the table."""


@dataclass(frozen=True)
class Stated:
    """What is said of the tables; see `synthesize`."""

    key: str | None
    relations: Relations | None
    order: Ordered | Mapping[str, Ordered] | None
    within: Mapping[str, tuple[str | None, str | None]]
    summaries: Summaries
    pairs: Pairs
    per_person: Sequence[str]
    domain: DomainLike | Mapping[str, DomainLike] | None
    sharing: Sharing | None = None


def release_people(
    data: Source | Mapping[str, Source], stated: Stated, asked: Asked, ledger: LedgerLike
) -> tuple[PeopleRelease, tuple[str, ...]]:
    """Releases people with their rows.

    Args:
        data: the table, or those by name.
        stated: what binds them.
        asked: the release, without domains.
        ledger: see `synthesize`.

    Returns:
        The release, and what its user should know of it.

    Raises:
        DataError: see `synthesize`.
    """
    kept = asked.kept
    rng = kept.stream(asked.seed).child("order of rows").generator()
    tables, domains = _read(
        data, stated.key, stated.relations, stated.order, stated.per_person, stated.domain, rng
    )
    tables = with_bounds(with_summaries(tables, stated.summaries), stated.within)
    tables = with_pairs(tables, stated.pairs)
    named = {
        "version of dpmosaic": __version__,
        "epsilon and delta": repr(asked.budget),
        "mechanism": json.dumps(to_json_values(asked.mechanism.describe()), sort_keys=True),
        "key, relations, order, bounds, summaries and workload": repr(
            (
                stated.key,
                stated.relations,
                stated.order,
                stated.within,
                stated.summaries,
                stated.pairs,
                tuple(stated.per_person),
            )
        ),
        "domains": repr({name: one.digest() for name, one in domains.items()}),
        "seed": repr(asked.seed),
    }
    yearly = None
    if stated.sharing is not None:
        yearly = Yearly.of(tables, domains, stated.sharing, asked)
        for note in yearly.notes(asked):
            warnings.warn(note, BudgetWarning, stacklevel=3)
        tables, domains, named = yearly.tables, yearly.domains, named | yearly.settings
    several = data if isinstance(data, Mapping) else {"": data}
    kept.bind(named, *several.values())
    held = [tables]
    # Nothing else holds the rows, so that they are let go when codes are enough.
    del tables
    priced = Priced(asked.budget, A_PERSON, asked.mechanism, labels_delta(asked.budget))
    if yearly is not None:
        # Domains of such releases have no labels.
        shared = yearly.lifetime.releases, yearly.earlier_ids
        priced = replace(priced, labels_delta=0.0, releases=shared[0], earlier=shared[1])
    with counted_release(data, ledger, priced, kept, asked.seed is not None):
        asked, raw = replace(asked, domains=domains), held.pop()
        people, told = release_tables(raw, asked) if yearly is None else yearly.release(asked)
    libraries = {name: Library.of(several.get(name, data)) for name in people.frames}
    return replace(people, libraries=libraries), told


def _read(
    data: Source | Mapping[str, Source],
    key: str | None,
    relations: Relations | None,
    order: Ordered | Mapping[str, Ordered] | None,
    per_person: Sequence[str],
    domain: DomainLike | Mapping[str, DomainLike] | None,
    rng: np.random.Generator,
) -> tuple[tuple[Raw, ...], dict[str, Domain]]:
    """The tables of a release of people, and the domains of those that have one; see `synthesize`."""
    if isinstance(data, Mapping):
        if key is not None or per_person:
            raise DataError(
                "key and per_person: expected relations beside several tables, got them; leave them out"
            )
        if order is not None and not isinstance(order, Mapping):
            raise DataError(
                "order: expected one for each table that has one, such as {'stays': 'admitted'}, got another"
            )
        given = {} if domain is None else domain
        if not isinstance(given, Mapping) or not set(given) <= set(data):
            raise DataError("domain: expected one for each table by name, got another; name tables")
        wanted = {name: None if one is True else one for name, one in (order or {}).items()}
        tables = read_tables(data, relations or {}, wanted, rng)
        return tables, {name: read_domain(one) for name, one in given.items()}
    assert key is not None
    if isinstance(per_person, str):
        raise DataError("per_person: expected names of columns, got a single text; put it into a list")
    if relations:
        raise DataError("relations: expected several tables by name beside them, got one; name its key alone")
    if isinstance(order, Mapping):
        raise DataError("order: expected a column or True beside a key, got names of tables; name the column")
    names = tuple(per_person)
    tables = read_keyed(data, key, names, None if order is True else order, order is not None, rng)
    return tables, {} if domain is None else keyed_domains(read_domain(domain), key, names)

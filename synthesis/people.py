"""Several rows a person: one table with a key, or related tables, read and released."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..common.data.domain import Domain
from ..common.data.related.keys import without_keys
from ..common.errors import DataError, MosaicWarning
from ..common.version import __version__
from ..curator.certificates.json_values import to_json_values
from ..curator.people.release import PeopleRelease
from ..curator.results.storage import Library
from ..simulations.tables.frames import DomainLike, Source, read_domain
from .ledgers.counting import BudgetWarning, Priced, counted_release
from .ledgers.places import LedgerLike
from .periods.yearly import Sharing, Yearly
from .related.asked import A_PERSON, Asked, labels_delta
from .related.frames import ROWS
from .related.keyed import keyed_domains, read_keyed
from .related.keys import with_patterns
from .related.links import Relations
from .related.making import release_tables
from .related.order import Ordered
from .related.public import PublicTables, without_described
from .related.stated import (
    notes_on_bounds,
    with_bounds,
    with_courses,
    with_end_summaries,
    with_pairs,
    with_series,
    with_summaries,
)
from .related.tables import Implied, Pairs, Raw, Summaries, read_tables


@dataclass(frozen=True)
class Stated:
    """What is said of the tables; see `synthesize`."""

    key: str | None
    relations: Relations | None
    order: Ordered | Mapping[str, Ordered] | None
    within: Mapping[str, tuple[str | None, str | None]]
    near: Mapping[str, str]
    summaries: Summaries
    pairs: Pairs
    per_person: Sequence[str]
    series: str | Mapping[str, str] | None
    implied: Implied
    domain: DomainLike | Mapping[str, DomainLike] | None
    drop_incomplete: bool | Sequence[str] = False
    public: Sequence[str] = ()
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
    public, held_by_people = PublicTables(), data
    if isinstance(data, Mapping):
        public = PublicTables.of(data, stated.relations or {}, stated.public)
        held_by_people = {name: one for name, one in data.items() if name not in public.frames}
    elif stated.public:
        raise DataError("public: expected several tables by name beside it, got one; leave it out")
    tables, domains = _read(held_by_people, stated, public, rng)
    tables = with_bounds(with_summaries(tables, stated.summaries), stated.within, stated.near, domains)
    for note in notes_on_bounds(tables, {*stated.within, *stated.near}, domains):
        warnings.warn(note, MosaicWarning, stacklevel=3)
    tables = with_courses(tables, stated.implied, domains)
    series = _series(stated, isinstance(data, Mapping))
    tables = with_series(with_pairs(tables, stated.pairs), series, domains)
    if stated.sharing is None:
        tables = with_end_summaries(tables, domains)
    named = {
        "version of dpmosaic": __version__,
        "epsilon and delta": repr(asked.budget),
        "mechanism": json.dumps(to_json_values(asked.mechanism.describe()), sort_keys=True),
        **{name: repr(said) for name, said in vars(stated).items() if name not in ("domain", "sharing")},
        "names of tables": repr([*data] if isinstance(data, Mapping) else []),
        "domains": repr({name: one.digest() for name, one in domains.items()}),
        "new keys": repr({one.name: one.pattern for one in tables if one.key}),
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
    with counted_release(held_by_people, ledger, priced, kept, asked.seed is not None):
        asked, raw = replace(asked, domains=domains), held.pop()
        people, told = release_tables(raw, asked) if yearly is None else yearly.release(asked)
    people = replace(people, public=public.frames)
    libraries = {name: Library.of(several.get(name, data)) for name in people.all_frames}
    return replace(people, libraries=libraries), told


def _series(stated: Stated, several: bool) -> Mapping[str, str]:
    """The column of each table that says which rows are one series.

    Raises:
        DataError: it is stated otherwise, or of releases that share a promise.
    """
    series = stated.series
    if series is None:
        return {}
    if stated.sharing is not None:
        raise DataError("series: expected none in releases that share a promise, got one; leave it out")
    if isinstance(series, str) and not several:
        return {ROWS: series}
    if isinstance(series, Mapping) and several:
        return {str(name): str(column) for name, column in series.items()}
    form = '{"observations": "test"}' if several else '"test"'
    raise DataError(f"series: expected a column, such as {form}, got another; name it so")


def _read(
    data: Source | Mapping[str, Source], stated: Stated, public: PublicTables, rng: np.random.Generator
) -> tuple[tuple[Raw, ...], dict[str, Domain]]:
    """The tables of a release of people, and the domains of those that have one; see `synthesize`."""
    key, order, per_person, domain = stated.key, stated.order, stated.per_person, stated.domain
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
        if not isinstance(given, Mapping) or not set(given) <= {*data, *public.frames}:
            raise DataError("domain: expected one for each table by name, got another; name tables")
        dropping = stated.drop_incomplete
        incomplete = (data if dropping else ()) if isinstance(dropping, bool) else dropping
        domains = {name: read_domain(one) for name, one in given.items() if name in data}
        references = public.listed_in(domains).references
        tables = read_tables(
            *(data, public.relations, order or {}, rng, incomplete, references, domains, stated.implied)
        )
        return with_patterns(without_described(tables, domains), domains)
    assert key is not None
    if isinstance(per_person, str):
        raise DataError("per_person: expected names of columns, got a single text; put it into a list")
    if stated.sharing is not None and stated.implied != Implied():
        raise DataError(
            "counts, rising and once: expected none in releases that share a promise, got some; leave them "
            "out"
        )
    if stated.relations:
        raise DataError("relations: expected several tables by name beside them, got one; name its key alone")
    if isinstance(order, Mapping):
        raise DataError("order: expected a column or True beside a key, got names of tables; name the column")
    if not isinstance(stated.drop_incomplete, bool):
        raise DataError("drop_incomplete: expected True or False beside a key, got names; say which")
    names = tuple(per_person)
    known = None if domain is None else read_domain(domain)
    people, rows = read_keyed(*(data, key, names, order, rng, stated.drop_incomplete, known, stated.implied))
    if known is None:
        return (people, rows), {}
    people = replace(people, pattern=without_keys(known, key)[1])
    return (people, rows), keyed_domains(known, key, names)

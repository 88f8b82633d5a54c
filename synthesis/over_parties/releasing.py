"""Related tables over parties in this process, as institutions release them: `curator/related`."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...common.crypto.randomness import RandomStream
from ...common.data.related.joint import joint_domain
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ALL_ROWS, Adjacency
from ...common.protocols.registry import MASKED
from ...common.protocols.related import RelatedPart
from ...common.release_spec import ReleaseSpec
from ...curator.measurers.size import Supposed
from ...curator.mechanisms.catalogue import mechanism_named
from ...curator.mechanisms.mechanism import Mechanism
from ...curator.mechanisms.parts.fitted import Report, ignore
from ...curator.parties.alignments import Aligned
from ...curator.parties.client import Connection
from ...curator.parties.federation import PartOfTables
from ...curator.people.release import PeopleRelease
from ...curator.related.making import Making, RelatedOrder
from ...curator.releasing.agreement import agree
from ...curator.releasing.planning.bins_share import DEFAULT_SHARE
from ...curator.releasing.planning.tables import check_protocol
from ...curator.releasing.progress import progress_bar
from ...curator.releasing.release import Released, ReleaseOrder, make_release
from ...party.policies.domain import KEY
from ...simulations.parties.alignment import align
from ...simulations.parties.network import (
    InProcessConnection,
    policy_for,
    start_dealers,
    start_parties,
)
from ...simulations.tables.frames import DomainLike, Source
from ..bar import console_for
from ..related.links import Relations
from ..related.order import Ordered
from ..related.tables import Implied, Pairs, Raw, Summaries
from ..unfinished import Forgotten
from .held import read_held
from .holders import Holders, parties_of, planned_tables


def simulate_people(
    data: Mapping[str, Source],
    epsilon: float,
    *,
    holders: Holders | str,
    relations: Relations,
    domain: Mapping[str, DomainLike],
    order: Mapping[str, Ordered] | None = None,
    series: Mapping[str, str] | None = None,
    same: Mapping[str, Sequence[str]] | None = None,
    rising: Mapping[str, Sequence[str]] | None = None,
    once: Mapping[str, Sequence[str]] | None = None,
    repeats: Relations | None = None,
    counts: Mapping[str, Mapping[str, int]] | None = None,
    drop_incomplete: Collection[str] = (),
    public: Collection[str] = (),
    summaries: Summaries | None = None,
    workload: Pairs | None = None,
    delta: float = 1e-9,
    mechanism: Mechanism | str = "mosaic",
    protocol: str = MASKED.name,
    seed: int | None = None,
    progress: bool | None = None,
) -> PeopleRelease:
    """As `synthesize` of related tables, with parties in this process.

    A person is a row of the table of people. If several parties hold tables, they align people once, within
    the promise. With one party in each slice, the number of its people is public.

    Args:
        data: the tables by name.
        epsilon: privacy budget, with delta.
        holders: who holds what, or a grid (`Holders.parse`).
        relations: see `synthesize`.
        domain: one for each table but those of keys alone, on which parties agreed.
        order: see `synthesize`.
        series: see `synthesize`.
        same: see `synthesize`.
        rising: see `synthesize`.
        once: see `synthesize`.
        repeats: see `synthesize`; parties need not hold such columns.
        counts: see `synthesize`; as `repeats`.
        drop_incomplete: tables whose rows without a key, a parent or a value of the order are left out.
        public: tables that everybody may see; parties hold columns that refer to them, and the curator the
            tables.
        summaries: see `synthesize`.
        workload: for a table that belongs to another, the pairs that matter; see `synthesize`.
        delta: privacy budget, with epsilon.
        mechanism: see `synthesize`.
        protocol: by which parties count people; others than "masked" where no slice has several parties.
        seed: see `synthesize`.
        progress: see `synthesize`.

    Raises:
        DataError: see `synthesize`; or a domain is missing, or the parties do not hold the tables.
        BudgetError: a privacy parameter is out of range.
    """
    stream = Forgotten().stream(seed)
    rng = stream.child("order of rows").generator()
    implied = Implied(repeats or {}, counts or {}, same or {}, rising or {}, once or {})
    held = read_held(data, relations, order or {}, domain, rng, drop_incomplete, public, implied)
    raw = held.raw
    if isinstance(holders, str):
        holders = Holders.parse(holders, raw)
    holders.check([table.name for table in raw])
    chosen = mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism
    spec = ReleaseSpec(
        Budget(epsilon, delta),
        # Without an alignment the number of people is public.
        Adjacency.ZERO_OUT if holders.aligning is None else Adjacency.ADD_REMOVE,
        protocol,
        collusions=holders.collusions,
    ).covering(ALL_ROWS)
    check_protocol(spec.protocol, [len(holders.tables)])
    tables = planned_tables(held, holders, summaries, workload, series)
    aligning = holders.aligning
    rho = Fraction(0) if aligning is None else Fraction(aligning.rho)
    wanted = RelatedOrder(tables, spec, chosen, DEFAULT_SHARE, rho, secrets.token_hex(16))
    with progress_bar(console_for(progress)) as report:
        parts = _Parts.start(raw, wanted, holders, stream.child("parties"), seed is not None)
        parts = replace(parts, report=report)
        return Making(wanted, parts, stream.child("making")).release()


@dataclass(frozen=True)
class _Parts:
    """The parts of a release among parties in this process; see `Parts`."""

    links: Sequence[Sequence[InProcessConnection]]
    dealing: Sequence[str | Connection]
    aligned: Aligned | None
    holds: Mapping[str, tuple[str, ...]]
    stream: RandomStream
    seeded: bool
    report: Report = ignore

    @classmethod
    def start(
        cls, raw: Sequence[Raw], order: RelatedOrder, holders: Holders, stream: RandomStream, seeded: bool
    ) -> _Parts:
        """Starts the parties, and aligns their people."""
        read = parties_of(raw, order.tables, holders)
        pieces = [[rows for rows, _ in row] for row in read]
        identifiers = [[list(named.columns[KEY]) for _, named in row] for row in read]
        aligning, spec = holders.aligning, order.spec
        policy = policy_for(
            spec.protocol,
            spec.unit,
            float(order.granted) * (1 + 2.0**-40),
            order.alignment_rho,
            holders.dealers,
        )
        policy = replace(policy, tables=frozenset(one.name for one in order.tables.tables))
        keys = stream.child("keys")
        named = None if aligning is None else identifiers
        links = start_parties(pieces, policy, keys, named, holders.dealers)
        dealing = start_dealers(holders.dealers, keys, links)
        aligned = None
        if aligning is not None:
            joint = joint_domain(order.tables.domains)
            aligned = align(links, joint, aligning, spec, stream.child("alignment"))
        return cls(links, dealing, aligned, order.tables.holds, stream, seeded)

    def make(self, name: str, order: ReleaseOrder, part: RelatedPart, supposed: Supposed | None) -> Released:
        """See `Parts.make`."""
        agreement = agree(
            order.domain,
            self.links,
            order.proposal(secrets.token_hex(16)),
            dealers=self.dealing,
            aligned=self.aligned,
            part=PartOfTables(part, self.holds),
        )
        measurer = agreement.measurer()
        if supposed is not None:
            measurer.suppose(supposed.in_terms(agreement.terms))
        stream = self.stream.child("part", name)
        return make_release(
            order,
            agreement.terms.plan,
            measurer,
            stream,
            seeded=self.seeded,
            report=self.report,
            named=False,
        )

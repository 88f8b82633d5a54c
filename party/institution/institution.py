"""Identity, rows and rules of an institution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Generic, Protocol, TypeVar

from ...common.canonical.terms import decode_terms
from ...common.crypto.identity import Identity, verify
from ...common.data.people import PeopleRows
from ...common.data.table import Table
from ...common.errors import DataError, MosaicError, PolicyError, ProtocolError
from ...common.privacy.cost import ALL_ROWS, ROWS_PER_PERSON, Adjacency
from ...common.promises.statement import TERMS
from ...common.protocols.aligned import Population
from ...common.protocols.alignment.plan import AlignmentPlan
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.partition import Partition
from ...common.terms import ReleaseTerms
from ..accounts.rows import KeptAlignment
from ..approving.approvals import Approvals
from ..counting.identifiers import Identifiers
from ..policies.policy import Policy
from .held import HeldRows, recode_rows, watch_rows
from .related import RelatedRows


class ReleaseLimits(Protocol):
    """What the policies of parties and dealers both limit."""

    @property
    def max_cpu_seconds(self) -> int:
        """Seconds of computing for one release."""

    @property
    def max_active_releases(self) -> int:
        """Number of active releases at the same time."""


Limits = TypeVar("Limits", bound=ReleaseLimits)


@dataclass(frozen=True, eq=False)
class Rules(Generic[Limits]):
    """Limits of a party or dealer, and the parties, dealers and curators that it trusts.

    Attributes:
        policy: its limits.
        known: names and public keys of the pinned parties and dealers; for protocols between them.
        curators: names of the pinned curators, by their identities; None to accept any (simulations).
        approvals: decisions of the institution's operator; None if there is no operator (simulations).
        today: returns the day in UTC.
    """

    policy: Limits
    known: Mapping[str, bytes] = field(default_factory=dict)
    curators: Mapping[bytes, str] | None = None
    approvals: Approvals | None = None
    today: Callable[[], date] = lambda: datetime.now(UTC).date()

    @property
    def by_hand(self) -> bool:
        """Whether a person decides on every release."""
        return self.approvals is not None and not self.approvals.automatic

    def name_of(self, curator: bytes) -> str:
        """The name under which a curator is pinned; empty if it is not."""
        return (self.curators or {}).get(curator, "")

    def signer(self, terms: bytes, signature: bytes) -> bytes:
        """Identity of the pinned curator that signed these terms; empty if any curator is accepted.

        Args:
            terms: encoded terms, as received.
            signature: signature over these bytes.

        Raises:
            PolicyError: no pinned curator signed them.
        """
        if self.curators is None:
            return b""
        for curator in self.curators:
            if is_signed(curator, terms, signature):
                return curator
        raise PolicyError("the terms are not signed by a pinned curator; pin the curator with its card")

    def check_date(self, terms: ReleaseTerms) -> None:
        """Refuses a new release after the last day on which it may be accepted.

        Raises:
            PolicyError: that day has passed.
        """
        if terms.spec.about.has_ended(self.today()):
            raise PolicyError(
                f"the release could be accepted until {terms.spec.about.until}; begin a new one with a "
                "later day"
            )

    def check_approved(self, terms: ReleaseTerms, curator: bytes, signature: bytes) -> None:
        """Refuses a new release that the operator did not approve.

        Args:
            terms: its terms.
            curator: identity of the curator that signed them.
            signature: its signature.

        Raises:
            PolicyError: they are not approved yet, or denied.
        """
        if self.approvals is not None:
            self.approvals.check(terms, curator, signature)

    def check_running(self, release_id: str) -> None:
        """Refuses every message of a release that the operator denied.

        Raises:
            PolicyError: it was denied.
        """
        if self.approvals is not None:
            self.approvals.check_running(release_id)


@dataclass(frozen=True, eq=False)
class Institution:
    """One institution.

    Attributes:
        name: name of its party in the federation.
        identity: long-term key.
        table: rows, as they were when the party was started.
        rules: limits and trusted peers.
        order: digest of the key of each row (`order_digest`); None without a key column.
        identifiers: what names the person of each row, by which rows are aligned.
        stated: number of rows that it states, which was released with noise; None to state that of its table.
        related: related tables, of which records are made for each part of a release; None of a single table.
            The table then has their columns and people, and no rows.
    """

    name: str
    identity: Identity
    table: HeldRows
    rules: Rules[Policy]
    order: bytes | None = None
    identifiers: Identifiers = field(default_factory=Identifiers)
    stated: int | None = None
    related: RelatedRows | None = None

    @property
    def record_count(self) -> int:
        """The number of rows as others know it."""
        return self.table.record_count if self.stated is None else self.stated

    def digest(self) -> str:
        """SHA-256 (hex) of rows and identifiers."""
        rows = self.table.digest() if self.related is None else self.related.digest()
        return self.identifiers.digest(rows) if self.identifiers.columns else rows

    @property
    def without_records(self) -> Institution:
        """This institution without rows of related tables, for decisions, which depend on none of them."""
        return self if self.related is None else replace(self, related=self.related.without_rows)

    def with_chosen_codes(self, plan: Partition) -> Institution:
        """This institution with its rows in the codes that an earlier release chose, if the plan has any.

        Raises:
            ProtocolError: they were chosen for another domain.
        """
        if self.related is not None and plan.related is not None:
            own = next((entry.attributes for entry in plan.roster if entry.name == self.name), ())
            return replace(self, table=self.related.records(plan.related, own)) if own else self
        if plan.chosen is None:
            return self
        try:
            plan.chosen.coding.check_complete(self.table.domain)
            return replace(self, table=recode_rows(self.table, plan.chosen.coding))
        except DataError as cause:
            raise ProtocolError(f"the plan has codes that do not fit this party's domain: {cause}") from cause

    def with_check(self, check: Callable[[], None]) -> Institution:
        """This institution for a release; see `held.watch_rows`."""
        return replace(self, table=watch_rows(self.table, check))

    def check_partition(self, plan: Partition, aligned: KeptAlignment | None = None) -> None:
        """Refuses a plan that does not match this institution, or names parties that it did not pin.

        Args:
            plan: proposed by the curator.
            aligned: what this party keeps of the alignment that the plan names; None if it names none.

        Raises:
            ProtocolError: the plan does not match this party.
            PolicyError: a party of the plan is not pinned, or pinned with another key, or the policy says
                otherwise about whose records the parties hold.
        """
        own = [entry for entry in plan.roster if entry.name == self.name]
        records = self.record_count if aligned is None else aligned.placement.size
        if isinstance(plan, AlignmentPlan):
            records = 0
        # A plan may leave out attributes that another party of the slice answers for.
        if (
            not own
            or (own[0].identity, own[0].record_count) != (self.identity.public, records)
            or not own[0].attributes
            or not set(own[0].attributes) <= set(self.table.domain.names)
            or own[0].attributes != self.table.domain.canonical(own[0].attributes)
        ):
            raise ProtocolError(
                "expected a plan that names this party with its identity, attributes and records, got "
                "another; describe the party again"
            )
        anywhere = plan.alignment is not None and plan.alignment.population is Population.ANYWHERE
        domain = self.table.domain.project(own[0].attributes)
        # Codes of a position without a row.
        held = (domain.with_absent() if anywhere else domain).shape(own[0].attributes)
        if plan.domain.shape(own[0].attributes) != held:
            raise ProtocolError(
                "the plan has other sizes of this party's attributes; use the same domain file"
            )
        for entry in plan.roster:
            if entry.name != self.name and self.rules.known.get(entry.name) != entry.identity:
                raise PolicyError(
                    f"the plan names party {entry.name!r} with an identity that is not pinned here; compare "
                    "fingerprints with its operator and pin it"
                )
        self.rules.policy.records.check_plan(plan, own[0], self.rules.known)

    def check_dealers(self, plan: MaskedPlan, curator: bytes) -> None:
        """Refuses a plan with a dealer that is not pinned, or in which this party deals against its policy.

        Args:
            plan: proposed by the curator.
            curator: identity of the curator that signed it; empty if any is accepted.

        Raises:
            PolicyError: a dealer is not pinned, or pinned with another key; or this party may not deal.
        """
        parties = {entry.name for entry in plan.roster}
        for dealer in plan.dealers:
            if dealer.name == self.name and not self.rules.policy.may_deal:
                raise PolicyError(
                    "the plan names this party as a dealer, and its policy does not allow that; its owner "
                    "can set may_deal, or name another dealer"
                )
            if curator and dealer.identity == curator and dealer.name != CURATOR_DEALS:
                raise PolicyError(
                    f"the plan names the curator as the dealer {dealer.name!r}; name another institution, or "
                    f"{CURATOR_DEALS!r} for trials"
                )
            if dealer.name in parties:
                continue
            pinned = (curator or dealer.identity) if dealer.name == CURATOR_DEALS else None
            if dealer.identity != self.rules.known.get(dealer.name, pinned):
                raise PolicyError(
                    f"the plan names dealer {dealer.name!r} with an identity that is not pinned here; "
                    "compare fingerprints with its operator and pin it"
                )

    def check_alignment(self, terms: ReleaseTerms, aligned: KeptAlignment | None) -> None:
        """Refuses a release that counts on another alignment than this party took part in, or on none.

        Args:
            terms: terms of a release that does not align rows itself.
            aligned: what this party keeps of the alignment that the plan names; None if it names none.

        Raises:
            PolicyError: the policy hides the number of rows, and the plan would make it public; or the terms
                ask for what aligned parties do not answer.
            ProtocolError: the plan states the alignment otherwise than this party's ledger.
        """
        stated = terms.plan.alignment
        if stated is None or aligned is None:
            if self.rules.policy.max_alignment_rho:
                raise PolicyError(
                    "the policy hides the number of rows, and the release would make it public; align the "
                    "rows of all parties first, and plan the release with this alignment"
                )
            if terms.spec.adjacency is Adjacency.ADD_REMOVE and self.stated is None:
                raise PolicyError(
                    "the number of records is public without an alignment, and add-remove would not hold; "
                    "align the rows first, or plan the release with zero-out"
                )
            return
        if terms.masked_plan is None or terms.unit.multiple > 1:
            raise PolicyError(
                "aligned parties answer by the protocol 'masked' only, with one row of each person; plan the "
                f"release with {ROWS_PER_PERSON} = 1"
            )
        made, anywhere = decode_terms(aligned.terms), stated.population is Population.ANYWHERE
        if anywhere and made.aligning is not None and made.aligning.across_slices:
            raise PolicyError(
                "the alignment compared slices, so it can only count people everywhere; plan the release "
                'with the population "everywhere", or align without across_slices'
            )
        keys = 0 if made.aligning is None else len(made.aligning.match)
        kept = (aligned.placement.people, aligned.zcdp_rho, keys)
        same = (stated.people, stated.zcdp_rho, stated.match_keys) == kept and [
            (e.slice, e.identity) for e in made.plan.roster
        ] == [(e.slice, e.identity) for e in terms.plan.roster]
        if not same:
            raise ProtocolError(
                "expected the alignment as this party's ledger has it, with the same parties in the same "
                "order, got another; align the rows of these parties"
            )
        if made.unit.squared_sensitivity != terms.unit.squared_sensitivity:
            raise PolicyError(
                f"the alignment was charged under {made.spec.adjacency.value}, and would cost otherwise "
                f"under {terms.spec.adjacency.value}; plan both with one adjacency"
            )

    def check_related(self, plan: Partition) -> None:
        """Refuses to answer of related tables as of one, and the other way round; see `RelatedRows.check`.

        Raises:
            ProtocolError: the plan is of another kind of table, or relates tables otherwise.
            PolicyError: the policy does not allow a table.
        """
        if isinstance(plan, AlignmentPlan):
            return
        if (self.related is None) != (plan.related is None):
            raise ProtocolError(
                "expected a plan of this party's kind of tables: with [tables.NAME] of related ones, or "
                "with a domain of a single one; compare the plan and the policy"
            )
        if self.related is not None and plan.related is not None:
            self.related.check(plan.related, self.rules.policy.tables)

    def check_reviewed(self, terms: ReleaseTerms) -> None:
        """Refuses terms that hide which of this party's attributes nobody has reviewed.

        Raises:
            ProtocolError: they leave one out.
        """
        (own,) = (entry.attributes for entry in terms.plan.roster if entry.name == self.name)
        if terms.aligning is not None:
            # It asks for no attribute.
            return
        part = terms.plan.related
        if self.related is None or part is None:
            unreviewed = self.table.domain.unreviewed
        else:
            unreviewed = part.following_from(self.related.domain.unreviewed)
        hidden = set(unreviewed).intersection(own) - set(terms.purpose.unreviewed)
        if hidden:
            raise ProtocolError(
                "the domain file of this party has entries that nobody has reviewed, and the terms do not "
                f"say so: {', '.join(sorted(hidden))}; plan the release with the same domain file"
            )

    def check_keys(self, terms: ReleaseTerms) -> None:
        """Refuses a release whose rows of one person this party cannot bound or, with `masked`, cannot align.

        Raises:
            PolicyError: the party's source names no key column.
        """
        weighted = isinstance(self.table, Table | PeopleRows) and self.table.weights is not None
        whole = self.rules.policy.max_rows_per_person != ALL_ROWS
        if whole == weighted:
            raise PolicyError(
                "expected rows of weights at a party that uses all rows of people, and whole rows at others, "
                "got the others; start the party again"
            )
        if self.order is not None or terms.plan.alignment is not None:
            return
        if terms.unit.multiple > 1:
            raise PolicyError(
                "the release covers several rows of a person, but this party has no key column to bound "
                f"them; its owner names one, or plan {ROWS_PER_PERSON} = 1"
            )
        slices = [entry.slice for entry in terms.plan.roster]
        (own,) = [entry.slice for entry in terms.plan.roster if entry.name == self.name]
        guaranteed = self.rules.policy.records.order_guaranteed
        if terms.masked_plan is not None and slices.count(own) > 1 and not guaranteed:
            raise PolicyError(
                "the plan joins rows of several parties, and this party has no key column to compare their "
                "order; its owner names one, or states that the order is guaranteed"
            )


def caught(check: Callable[[], None]) -> Iterator[MosaicError]:
    """What a check refuses; nothing if it passes."""
    try:
        check()
    except MosaicError as refusal:
        yield refusal


def is_signed(curator: bytes, terms: bytes, signature: bytes) -> bool:
    """Whether the curator with this identity signed these encoded terms."""
    try:
        verify(curator, TERMS, terms, signature)
    except ProtocolError:
        return False
    return True

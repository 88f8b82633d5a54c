"""Messages between the curator and a party, as frozen values; `wire/codec.py` encodes them."""

from __future__ import annotations

import enum
import hashlib
import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from .crypto.randomness import KEY_BYTES
from .data.domain import Clique, Domain
from .data.view import View
from .errors import MosaicError, ProtocolError
from .history import START, Mark
from .labels import LabelSearch
from .privacy.budget import AnswerKind, Budget
from .privacy.cost import PrivacyUnit, counting_cost, counting_sigma, gaussian_cost, score_cost
from .privacy.spending import Cost
from .protocols.alignment.plan import ALIGNMENT, AlignmentPlan
from .protocols.masked.plan import Chain, MaskedPlan
from .protocols.partition import Partition
from .protocols.registry import INDICATOR, MASKED, TRUSTED
from .release_spec import ReleaseSpec

PROTOCOL_VERSION = 1
"""Incremented with every change that an older party or curator would misread."""

MAX_QUERY_ID = 256
"""Largest number of characters of a query's id."""

_RELEASE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class PartyDescription:
    """Public facts about a party.

    Attributes:
        name: name in the federation.
        protocol_version: version of the messages that it understands.
        software_version: version of this package at the party.
        domain: attributes that it holds; None of a dealer.
        record_count: number of its rows; None if it is not public, because the policy allows alignments.
        protocols: names of the protocols that its policy allows.
        identity: long-term Ed25519 public key, 32 bytes.
        alignments: ids of the alignments of its current rows.
        identifiers: agreed names of the identifiers by which its rows can be aligned, sorted.
        max_cells: upper limit of the cells of a marginal; None if it states none.
        sends_to: names of the parties to which it sends openings itself, sorted.
        takes_from: names of the parties from which it takes them, sorted.
    """

    name: str
    protocol_version: int
    software_version: str
    domain: Domain | None
    record_count: int | None
    protocols: tuple[str, ...]
    identity: bytes
    alignments: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    max_cells: int | None = None
    sends_to: tuple[str, ...] = ()
    takes_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What a party or dealer would say to terms, without a charge or a reservation.

    Attributes:
        refusals: every reason for which it would refuse them; empty if it would accept them.
        by_hand: whether a person there decides on every release.
    """

    refusals: tuple[MosaicError, ...] = ()
    by_hand: bool = False


@dataclass(frozen=True)
class Purpose:
    """What the answers of a release are for, and what they may be.

    Attributes:
        domain_digest: SHA-256 of the whole table's domain, as hexadecimal digits (`Domain.digest`).
        mechanism: name, variant and parameters of the mechanism, as JSON text.
        workload: the marginals to preserve, in words (`Workload.in_words`).
        workload_digest: SHA-256 of these marginals and their weights, as hexadecimal digits.
        labels: open categories whose labels the release looks for; None for none.
        max_cells: the release measures no marginal with more cells; None if it does not say.
        max_attributes: it measures no marginal of more attributes; None if it does not say.
        unreviewed: attributes whose bounds or categories were read from private rows, and that nobody has
            reviewed; such a release is not private as stated.
    """

    domain_digest: str
    mechanism: str
    workload: str
    workload_digest: str
    labels: LabelSearch | None = None
    max_cells: int | None = None
    max_attributes: int | None = None
    unreviewed: Clique = ()

    def __post_init__(self) -> None:
        if self.max_cells is not None and self.max_cells < 0:
            raise ValueError("a marginal cannot have fewer than no cells")
        if self.max_attributes is not None and self.max_attributes < 1:
            raise ValueError("a marginal cannot have fewer than one attribute")

    def measures(self, clique: Clique, cells: int) -> bool:
        """Whether the release may measure a marginal of so many cells."""
        small = self.max_cells is None or cells <= self.max_cells
        return small and (self.max_attributes is None or len(clique) <= self.max_attributes)


@dataclass(frozen=True)
class ReleaseTerms:
    """Terms of a release, which every party accepts or refuses.

    Attributes:
        release_id: 32 lower-case hexadecimal digits, unique among all releases that the party ever took
            part in.
        protocol_version: version of the messages that the curator understands.
        spec: what the release promises, by which protocol, with what its parties agree on.
        granted_rho: upper limit of the total cost of the release, zCDP.
        plan: which party holds what; with the protocol `masked` a `MaskedPlan`, in the parts of the unit, to
            align rows an `AlignmentPlan`.
        purpose: what the answers are for.
    """

    release_id: str
    protocol_version: int
    spec: ReleaseSpec
    granted_rho: float
    plan: Partition | MaskedPlan | AlignmentPlan
    purpose: Purpose

    def __post_init__(self) -> None:
        if not _RELEASE_ID.fullmatch(self.release_id):
            raise ValueError("the id of a release must be 32 lower-case hexadecimal digits")
        if not 0 < self.granted_rho < math.inf:
            raise ValueError("the budget of a release must be a positive finite rho")
        if (self.masked_plan is not None) != (self.spec.protocol == MASKED.name):
            raise ValueError("a release needs a masked plan with the protocol 'masked', and none with others")
        if (self.aligning is not None) != (self.spec.protocol == ALIGNMENT):
            raise ValueError("a release needs match keys to align rows, and none with another protocol")
        if self.spec != self.spec.over(self.plan):
            raise ValueError("a release has the collusions, the check and the sample of its plan")
        self.plan.check_identities()
        unreviewed = self.purpose.unreviewed
        if unreviewed != tuple(name for name in self.plan.domain if name in unreviewed):
            raise ValueError("a release names its unreviewed attributes once, in the order of its plan")
        if self.aligning is not None and self.purpose.labels is not None:
            raise ValueError("a release that aligns rows looks for no labels")
        if self.unit.parts > 1 and self.purpose.labels is not None:
            raise ValueError("a release of people with all rows looks for no labels")
        if self.unit.parts > 1 and not counts_people(self.spec.protocol, self.plan):
            raise ValueError("the protocol does not count people with all rows")
        part = self.plan.related
        if part is not None and (self.unit.parts == 1 or part.left_rho < self.granted_rho):
            raise ValueError("a part of a release of related tables counts people, within what is left of it")
        if self.masked_plan is not None and self.masked_plan.parts != self.unit.parts:
            object.__setattr__(self, "plan", replace(self.masked_plan, parts=self.unit.parts))

    @property
    def granted_cost(self) -> Cost:
        """Upper limit of the cost of the release, with the delta of the labels that it looks for."""
        search = self.purpose.labels
        delta = Fraction(0) if search is None else Fraction(search.delta)
        return Cost(self.unit, Fraction(self.granted_rho), delta)

    @property
    def before(self) -> Cost:
        """What the release that chose the codes cost; the promise covers it too."""
        chosen = self.plan.chosen
        if chosen is None:
            return Cost(self.unit)
        return Cost(self.unit, Fraction(chosen.zcdp_rho), Fraction(chosen.labels_delta))

    @property
    def noise_budget(self) -> Budget:
        """The promise that noise has to keep: without the delta of labels, here and of chosen ones.

        Raises:
            BudgetError: labels take the whole delta, or there is none.
        """
        search, chosen, budget = self.purpose.labels, self.plan.chosen, self.spec.budget
        here = budget if search is None else budget.without_delta(search.delta)
        return here if chosen is None else here.without_delta(chosen.labels_delta)

    @property
    def unit(self) -> PrivacyUnit:
        """What differs between neighbouring tables; every cost is for it."""
        return self.spec.unit

    @property
    def masked_plan(self) -> MaskedPlan | None:
        """The plan of the protocol `masked`; None with any other protocol."""
        return self.plan if isinstance(self.plan, MaskedPlan) else None

    @property
    def aligning(self) -> AlignmentPlan | None:
        """The plan of a release that aligns rows; None of any other."""
        return self.plan if isinstance(self.plan, AlignmentPlan) else None


def counts_people(protocol: str, plan: Partition) -> bool:
    """Whether a protocol counts people with all rows over these parties.

    Noisy vectors of each person are not in parts, so `indicator` does so only if each slice has one party.
    """
    whole = len(plan.roster) == plan.slice_count
    return protocol in (MASKED.name, TRUSTED.name, ALIGNMENT) or (protocol == INDICATOR.name and whole)


@dataclass(frozen=True)
class SignedTerms:
    """Terms of a release, as the curator signed them.

    Attributes:
        terms: canonical bytes (`common/canonical/terms.py`).
        curator_signature: Ed25519 by the curator, over them.
        seen: mark of the party's ledger that the curator has seen last.
    """

    terms: bytes
    curator_signature: bytes = b""
    seen: Mark = START


@dataclass(frozen=True)
class Acceptance:
    """A party's signed acceptance of a release.

    Attributes:
        ephemeral: the party's X25519 public key for this release, 32 bytes.
        signature: Ed25519 signature by its identity, over the terms, the mark and the ephemeral key.
        mark: mark of the party's ledger.
    """

    ephemeral: bytes
    signature: bytes
    mark: Mark


@dataclass(frozen=True)
class Acknowledgement:
    """That a request was done, where there is nothing else to say."""


@dataclass(frozen=True)
class AbandonRequest:
    """Ends a release without a certificate.

    Attributes:
        release_id: id of an accepted release.
    """

    release_id: str


@dataclass(frozen=True)
class Introduction:
    """Introduces the parties of a release to each other.

    Attributes:
        release_id: id of an accepted release.
        acceptances: acceptances of all participants, in the plan's order: parties, then other dealers.
    """

    release_id: str
    acceptances: tuple[Acceptance, ...]

    def keys_digest(self) -> bytes:
        """SHA-256 of all keys, without signatures and marks, which differ when an acceptance is repeated."""
        fields = [accepted.ephemeral for accepted in self.acceptances]
        return hashlib.sha256(b"".join(len(f).to_bytes(4, "big") + f for f in fields)).digest()


class DeliveryKind(enum.Enum):
    """Kind of a delivery; the value is its number on the wire."""

    OPENING = 1
    DEALT_ROWS = 2
    DEALT_PRODUCTS = 3
    SCORE_STEP = 4
    SCORE_REFERENCES = 5
    RECORD_ORDER = 7
    PROOF = 8
    ATTESTATION = 9
    ALIGNMENT_KEY = 10
    POSITIONS = 11
    ALIGNMENT_POINTS = 12
    MASK_SEEDS = 13
    DEALT_CHECK = 14
    CHECK = 15
    COINS = 16


@dataclass(frozen=True)
class OpeningRequest:
    """Asks a participant for a message that is sealed for another one.

    Attributes:
        release_id: id of an accepted release.
        chain: the parts multiplied so far; a chain of one part means the party's own indicators.
        recipient: place of the other participant in the plan.
        kind: kind of the message.
        query_id: id of the score query, of one of its steps.
        step: of a score query, the number of the step; of points to align rows, the place of their owner;
            of an opening, the number of its range of rows; of coins, the place of who opened the matrix.
    """

    release_id: str
    chain: Chain
    recipient: int
    kind: DeliveryKind = DeliveryKind.OPENING
    query_id: str = ""
    step: int = 0

    def delivery(self, sender: int) -> Delivery:
        """The header of the message.

        Args:
            sender: place of its sender in the plan.
        """
        return Delivery(self.release_id, self.kind, self.chain, sender, self.query_id, self.step)


@dataclass(frozen=True)
class PushRequest:
    """Asks a party to send an opening to another one itself.

    Attributes:
        opening: the message.
        recipient: name of the other party.
        sender: place of the asked one in the plan.
    """

    opening: OpeningRequest
    recipient: str
    sender: int


@dataclass(frozen=True)
class DealRequest:
    """Asks a dealer for a message that is sealed for a party.

    Attributes:
        release_id: id of an accepted release.
        kind: kind of the message: MASK_SEEDS, DEALT_PRODUCTS, DEALT_ROWS, DEALT_CHECK or ATTESTATION.
        recipient: place of the party in the plan.
        chains: chains that are dealt for, of the party's slice.
        owner: of an attestation, place of the party that opened a matrix; of dealt rows and their check,
            place of the party whose mask is the left factor.
    """

    release_id: str
    kind: DeliveryKind
    recipient: int
    chains: tuple[Chain, ...] = ()
    owner: int = 0


@dataclass(frozen=True)
class Delivery:
    """Header of a stream of words.

    Attributes:
        release_id: id of an accepted release.
        kind: opening, tag or key of another party, message of a dealer, public references, or positions.
        chain: chain of the opened matrix, or of the product.
        sender: place in the plan of the participant that sent it; 0 for the curator.
        query_id: id of the score query that it belongs to, if any.
        step: see `OpeningRequest`.
        chains: chains of several products, instead of `chain`.
        owner: see `DealRequest`.
    """

    release_id: str
    kind: DeliveryKind
    chain: Chain = ()
    sender: int = 0
    query_id: str = ""
    step: int = 0
    chains: tuple[Chain, ...] = ()
    owner: int = 0


@dataclass(frozen=True)
class MultiplyRequest:
    """Asks a party to compute its shares of products.

    Attributes:
        release_id: id of an accepted release.
        chains: chains of the party's slice, each of two or more parts.
    """

    release_id: str
    chains: tuple[Chain, ...]


@dataclass(frozen=True)
class AlignRequest:
    """Asks a party for the tokens of rows, to align them.

    Attributes:
        release_id: id of an accepted release.
        owner: place in the roster of the party whose rows they are of.
    """

    release_id: str
    owner: int


class AnswerForm(enum.Enum):
    """Form of an answer; the value is its number on the wire."""

    HISTOGRAM = 1
    RECORD_WISE = 2
    SHARE = 3
    LABELS = 4


@dataclass(frozen=True)
class MarginalQuery:
    """One query to one party.

    Attributes:
        release_id: id of an accepted release.
        query_id: unique within the release; the same query with the same id gets the same answer.
        form: one histogram, one indicator vector per record, a masked share of one histogram, or the labels
            of an open category.
        view: what is asked for, of attributes of the whole table; of an interaction, the differences that
            determine it.
        sigma: scale of the noise, in counts.
        other_sigmas: with RECORD_WISE, if several parties of the slice hold a part of the clique: `sigma` is
            that of the first one in the roster, these are those of the others.
    """

    named: ClassVar[str] = "marginal query"

    release_id: str
    query_id: str
    form: AnswerForm
    view: View
    sigma: float
    other_sigmas: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.query_id) <= MAX_QUERY_ID or not self.view.clique:
            raise ValueError(
                f"a query needs an id of 1 to {MAX_QUERY_ID} characters and at least one attribute"
            )
        if not all(0 < sigma < math.inf for sigma in self.sigmas):
            raise ValueError("the sigma of a query must be a positive finite number")
        if self.form is AnswerForm.LABELS and not (len(self.view.clique) == 1 and self.view.is_plain):
            raise ValueError("a query for labels is for one attribute")
        if self.other_sigmas and self.form is not AnswerForm.RECORD_WISE:
            raise ValueError("only a query for indicator vectors has several sigmas")

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The scales of the noise of all parties of the slice that hold a part, in the roster's order."""
        return (self.sigma, *self.other_sigmas)

    @property
    def clique(self) -> Clique:
        """The attributes that the query is for."""
        return self.view.clique

    @property
    def kind(self) -> AnswerKind:
        """What its noise is added to."""
        if self.form is AnswerForm.LABELS:
            return AnswerKind.LABELS
        return AnswerKind.INTERACTION if self.view.interaction else AnswerKind.MARGINAL

    @property
    def entered(self) -> View:
        """What a ledger's entry says of it: its attributes, and how many groups of codes."""
        return self.view

    def cost(self, terms: ReleaseTerms) -> Cost:
        """What it costs a person, for the unit of its release.

        Raises:
            ProtocolError: it is for labels that the release does not look for.
            BudgetError: it cannot be charged, such as for too much or too little noise.
        """
        # Several parties with noise of their own answer for the same records.
        shape = self.view.interaction_shape(terms.plan.domain)
        rho = sum((gaussian_cost(sigma, terms.unit, shape) for sigma in self.sigmas), Fraction(0))
        if self.form is not AnswerForm.LABELS:
            return Cost(terms.unit, rho)
        search = terms.purpose.labels
        if search is None:
            raise ProtocolError("the release looks for no labels; compare the plan")
        return Cost(terms.unit, rho, Fraction(search.delta) / len(search.attributes))


@dataclass(frozen=True)
class Charged:
    """That a party charged a query.

    Attributes:
        signature: Ed25519, over the query's entry in the party's ledger and all before it.
    """

    signature: bytes


@dataclass(frozen=True)
class AnswerRequest:
    """Asks a party to answer a query.

    Attributes:
        query: the query.
        charges: signatures of all parties of the slice over their charges, in the roster's order; empty if
            the party is alone.
    """

    query: MarginalQuery
    charges: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class ScoreQuery:
    """A query for noisy L1 distances of marginals to public references.

    Attributes:
        release_id: id of an accepted release.
        query_id: unique within the release, also among marginal queries.
        views: marginals of the whole table, of codes or of groups.
        sigma: scale of the noise of every score, in records.
        references: SHA-256 of the references, one clique after the other, as little-endian int64.
        largest_reference: upper bound of the absolute reference of a cell.
        largest_total: upper bound of the sum of a view's absolute references.
    """

    named: ClassVar[str] = "score query"
    kind: ClassVar[AnswerKind] = AnswerKind.SCORES
    entered: ClassVar[View] = View(())

    release_id: str
    query_id: str
    views: tuple[View, ...]
    sigma: float
    references: bytes
    largest_reference: int
    largest_total: int

    def __post_init__(self) -> None:
        asked = all(view.clique for view in self.views) and self.views
        if not 0 < len(self.query_id) <= MAX_QUERY_ID or not asked:
            raise ValueError(
                f"a score query needs an id of 1 to {MAX_QUERY_ID} characters and cliques of at least one "
                "attribute"
            )
        if len(self.references) != KEY_BYTES:
            raise ValueError(f"the digest of references must have {KEY_BYTES} bytes")
        if not 0 < self.sigma < math.inf:
            raise ValueError("the sigma of a query must be a positive finite number")
        if not 0 <= self.largest_reference <= self.largest_total < 1 << 62:
            raise ValueError("the bounds of a score query must be whole numbers, the total's the larger")
        if any(view.boxes or view.interaction for view in self.views):
            raise ValueError("a score query compares marginals, not boxes nor interactions")

    def cells(self, domain: Domain) -> tuple[int, ...]:
        """The number of cells of each marginal that is compared."""
        return tuple(view.cells(domain) for view in self.views)

    def cost(self, terms: ReleaseTerms) -> Cost:
        """What it costs a person; see `MarginalQuery.cost`."""
        return Cost(terms.unit, score_cost(self.sigma, terms.unit, len(self.views)))


@dataclass(frozen=True)
class AlignmentQuery:
    """The only query of a release that aligns rows: the noise that hides how many people are where.

    Attributes:
        release_id: id of an accepted release.
        query_id: unique within the release.
        sigma: scale of the discrete Gaussian on whole numbers that hides each count, in people.
    """

    named: ClassVar[str] = "alignment query"
    kind: ClassVar[AnswerKind] = AnswerKind.ALIGNMENT
    entered: ClassVar[View] = View(())

    release_id: str
    query_id: str
    sigma: float

    def __post_init__(self) -> None:
        if not 0 < len(self.query_id) <= MAX_QUERY_ID or not 0 < self.sigma < math.inf:
            raise ValueError("a query needs an id of 1 to 256 characters and a positive finite sigma")

    def cost(self, terms: ReleaseTerms) -> Cost:
        """What it costs a person; see `MarginalQuery.cost`."""
        return Cost(terms.unit, counting_cost(self.sigma, terms.unit))


def alignment_query(terms: ReleaseTerms) -> AlignmentQuery:
    """The query of a release that aligns rows: the grant determines its noise."""
    sigma = counting_sigma(Fraction(terms.granted_rho), terms.unit)
    return AlignmentQuery(terms.release_id, ALIGNMENT, sigma)


Asked = MarginalQuery | ScoreQuery | AlignmentQuery
"""A query that parties charge: it says its name, its kind, what a ledger enters and what it costs."""

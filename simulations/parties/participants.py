"""The parties of a simulation, which make one release, or before it another one that chooses bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.people import PeopleRows
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.promises.statement import Claim
from ...common.protocols.aligned import Population
from ...common.protocols.chosen import Chosen
from ...common.protocols.partition import Partition
from ...common.protocols.registry import INDICATOR, INDICATOR_MLE, MASKED, THEOREM, TRUSTED
from ...curator.certificates.certificate import Certificate
from ...curator.measurers.measurer import Measurer
from ...curator.parties.alignments import Aligned
from ...curator.parties.asking import Asking
from ...curator.parties.client import Connection
from ...curator.releasing.agreement import Agreement, Proposal, agree
from ...curator.releasing.journalled import signatures_of
from ...curator.releasing.planning.alignment_order import AlignmentOrder
from ...curator.releasing.release import ReleaseOrder
from .alignment import align
from .measurers import CentralMeasurer
from .network import Fresh, InProcessConnection, keep_key, policy_for, start_dealers, start_parties
from .paper_protocols import IndicatorMleMeasurer, TheoremMeasurer
from .partition import Grid, partition
from .people import Linkage, everywhere, link_tables


@dataclass(frozen=True)
class Started:
    """A release that the parties accepted.

    Attributes:
        measurer: measurer of the release.
        plan: which party holds what.
        cost_factor: what the parties are charged, as a multiple of the measurer's charges.
        agreement: the parties; None with the protocol `theorem`, which has none.
    """

    measurer: Measurer
    plan: Partition
    cost_factor: int = 1
    agreement: Agreement | None = None

    def certify(self, certificate: Certificate) -> None:
        """Has the parties sign the certificate of the release, so that a later one can use what it chose."""
        if self.agreement is not None:
            release_id = self.agreement.terms.release_id
            claim = Claim(release_id, certificate.digest(), certificate.promise.zcdp_rho_spent)
            signatures_of(claim, self.agreement, Asking())


@dataclass(frozen=True)
class Participants:
    """The parties and dealers of a simulation.

    Attributes:
        real: table that errors are relative to, in the codes of the parties' domain, with the value `absent`
            if the release counts people of any party.
        domain: domain of the parties' tables.
        grid: which party holds what.
        links: connections to the parties, slice by slice; empty if the protocol has no parties.
        dealing: the dealers.
        aligned: alignment of the parties' rows; None if the parties of a slice hold the same records.
        record_wise: see `simulate`.
        asking: recalls answers of the protocol `trusted`.
    """

    real: Table
    domain: Domain
    grid: Grid
    links: Sequence[Sequence[InProcessConnection]] = ()
    dealing: Sequence[str | Connection] = ()
    aligned: Aligned | None = None
    record_wise: bool = False
    asking: Asking | None = None

    @classmethod
    def in_order(
        cls,
        table: Table | PeopleRows,
        order: ReleaseOrder,
        grid: Grid,
        stream: RandomStream,
        dealers: int,
        record_wise: bool,
        fresh: Fresh = keep_key,
    ) -> Participants:
        """Starts parties that hold the same records in the same order.

        Args:
            table: the real table, or of people with all rows.
            order: the release that spends the whole budget.
            grid: partition of the table.
            stream: source of the parties' keys.
            dealers: number of dealers; if zero, the curator deals.
            record_wise: see `simulate`.
            fresh: see `start_parties`.
        """
        real = table.table if isinstance(table, PeopleRows) else table
        pieces = [[table]] if order.protocol.one_party else partition(table, grid)
        if order.protocol is THEOREM:
            return cls(real, table.domain, grid)
        proposal = _proposal_of(order, "0" * 32, grid)
        policy = policy_for(
            proposal.spec.protocol,
            order.spec.unit,
            proposal.charged_rho,
            dealers=dealers,
            labels_delta=order.labels_delta,
        )
        keys = stream.child("parties")
        links = start_parties(pieces, policy, keys, dealers=dealers, stated=order.records, fresh=fresh)
        dealing = start_dealers(dealers, keys, links)
        return cls(real, table.domain, grid, links, dealing, record_wise=record_wise)

    @classmethod
    def aligning(
        cls,
        table: Table | PeopleRows,
        order: ReleaseOrder,
        grid: Grid,
        stream: RandomStream,
        people: Linkage,
        aligning: AlignmentOrder,
        dealers: int,
    ) -> Participants:
        """Starts parties that hold overlapping people, and aligns their rows.

        Args:
            table: the real table, or of people with all rows.
            order: the release that spends the whole budget.
            grid: partition of the table.
            stream: source of all randomness.
            people: which people each party holds.
            aligning: how rows are aligned.
            dealers: number of dealers; if zero, the curator deals.

        Raises:
            DataError: the protocol does not work over aligned rows, or nobody is left.
        """
        if order.protocol is not MASKED:
            raise DataError(
                f"protocol: expected 'masked' over aligned rows, got {order.protocol.name!r}; choose it, or "
                "let the parties of a slice hold the same people"
            )
        rng = stream.child("people").generator()
        pieces: Sequence[Sequence[Table | PeopleRows]]
        if isinstance(table, PeopleRows):
            pieces, identifiers = people.scatter(table, grid, rng)
            real = everywhere(table, people, identifiers)
        else:
            tables, identifiers = people.scatter(table, grid, rng)
            joined = [
                link_tables(order.domain, row, texts, aligning.population)
                for row, texts in zip(tables, identifiers, strict=True)
            ]
            pieces, real = tables, Table.concatenate(joined)
        if not real.record_count:
            raise DataError(
                "expected somebody whom all parties of a slice hold, got nobody; raise the overlap or lower "
                "typos"
            )
        return cls.place(real, table.domain, pieces, identifiers, order, grid, stream, aligning, dealers)

    @classmethod
    def place(
        cls,
        real: Table,
        domain: Domain,
        pieces: Sequence[Sequence[Table | PeopleRows]],
        identifiers: Sequence[Sequence[Sequence[str]]],
        order: ReleaseOrder,
        grid: Grid,
        stream: RandomStream,
        aligning: AlignmentOrder,
        dealers: int,
    ) -> Participants:
        """Starts parties with these pieces of a table, and aligns their rows.

        Args:
            real: what the release should be of.
            domain: of the parties' tables together.
            pieces: for each slice, the rows of each party.
            identifiers: of each row, or person with all rows.
            order: see `aligning`.
            grid: see `aligning`.
            stream: see `aligning`.
            aligning: see `aligning`.
            dealers: see `aligning`.
        """
        granted, rho = float(order.granted), Fraction(aligning.rho)
        spec = order.spec
        policy = policy_for(MASKED.name, spec.unit, granted, rho, dealers, order.labels_delta)
        keys = stream.child("parties")
        links = start_parties(pieces, policy, keys, identifiers, dealers)
        dealing = start_dealers(dealers, keys, links)
        aligned = align(links, domain, aligning, spec, stream.child("alignment"))
        return cls(real, domain, grid, links, dealing, aligned)

    def coded_domain(self, chosen: Chosen) -> Domain:
        """The domain of a release with chosen bins."""
        coded = chosen.coding.domain(self.domain)
        anywhere = self.aligned is not None and self.aligned.alignment.population is Population.ANYWHERE
        return coded.with_absent() if anywhere else coded

    def real_with(self, chosen: Chosen) -> Table:
        """The table that errors are relative to, in chosen bins."""
        domain = self.coded_domain(chosen)
        if self.aligned is None or self.aligned.alignment.population is not Population.ANYWHERE:
            return chosen.coding.table(self.real)
        held = {name: np.minimum(self.real.column(name), self.domain[name].size - 1) for name in self.domain}
        recoded = chosen.coding.table(replace(Table.from_codes(self.domain, held), texts=self.real.texts))
        columns = {
            name: np.where(
                self.real.column(name) == self.domain[name].size, domain[name].size - 1, recoded.column(name)
            )
            for name in self.domain
        }
        return Table.from_codes(domain, columns)

    def start(self, order: ReleaseOrder, release_id: str, rng: np.random.Generator) -> Started:
        """Asks the parties to accept a release.

        Args:
            order: the release.
            release_id: its id.
            rng: noise of the protocol `theorem`, which has no parties.
        """
        cuts = self.grid.slices
        held = Partition.of_slices(order.domain, ((cut.rows, cut.groups) for cut in cuts))
        # Codes that a step before chose, if the parties' domain leaves any open.
        chosen = order.chosen if self.domain.open else None
        table = self.real if chosen is None else self.real_with(chosen)
        if order.protocol is THEOREM:
            vertical = max(len(cut.groups) for cut in cuts)
            return Started(TheoremMeasurer(table, len(cuts), vertical, order.granted, rng), held)
        proposal = _proposal_of(order, release_id, self.grid)
        agreement = agree(
            self.domain,
            self.links,
            proposal,
            dealers=self.dealing,
            aligned=self.aligned,
            chosen=chosen,
        )
        federation, terms = agreement.federation, agreement.terms
        if self.aligned is not None:
            return Started(agreement.measurer(), terms.plan, agreement=agreement)
        measurer: Measurer
        if proposal.copies > 1:
            measurer = IndicatorMleMeasurer(federation, terms, order.granted, proposal.copies)
        elif order.protocol is TRUSTED:
            measurer = CentralMeasurer(
                federation, terms, order.granted, table, order.spec.budget, self.asking
            )
        else:
            measurer = agreement.measurer(record_wise=self.record_wise)
        return Started(measurer, terms.masked_plan or held, proposal.copies, agreement)


def _proposal_of(order: ReleaseOrder, release_id: str, grid: Grid) -> Proposal:
    proposal = order.proposal(release_id)
    if order.protocol is not INDICATOR_MLE:
        return proposal
    copies = len(grid.slices) * max(len(cut.groups) for cut in grid.slices)
    if order.domain.open:
        raise DataError(
            f"protocol {INDICATOR_MLE.name!r} follows a paper without choices of bins; declare them in the "
            "domain"
        )
    return replace(proposal, spec=replace(order.spec, protocol=INDICATOR.name), copies=copies)

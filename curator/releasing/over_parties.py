"""A release over parties' daemons: `make_release` with a journal and signatures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from ...common.bounded import json_of
from ...common.crypto.identity import Identity
from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.promises.binding import BindingStore
from ...common.promises.statement import Claim
from ...common.protocols.aligned import Population
from ...common.protocols.chosen import Chosen
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ..certificates.certificate import Certificate
from ..measurers.size import Supposed
from ..mechanisms.catalogue import mechanism_named
from ..mechanisms.parts.fitted import Report, ignore
from ..parties.alignments import Aligned
from ..parties.asking import Asking
from ..parties.client import Connection, SlowConnection
from ..parties.dealer import CuratorDealer
from ..parties.federation import PartOfTables
from ..parties.journal import Journal
from ..parties.marks import Marks
from .agreement import agree
from .journalled import end_at_dropped_out, giving_up, sealing, signatures_of
from .memory import check_memory
from .planning.plan import ReleasePlan
from .release import Released, ReleaseOrder, make_release
from .remembered import RememberedConnection


def release_over_parties(
    plan: ReleasePlan,
    links: Sequence[Sequence[Connection]],
    journal: Journal,
    *,
    signer: Identity,
    identities: Mapping[str, bytes],
    dealers: Mapping[str, Connection] | None = None,
    aligned: Aligned | None = None,
    order: ReleaseOrder | None = None,
    part: PartOfTables | None = None,
    supposed: Supposed | None = None,
    marks: Marks | None = None,
    publish: Callable[[Released], Mapping[str, str]] = lambda made: {},
    away_s: float = 0.0,
    report: Report = ignore,
    today: date | None = None,
) -> Released:
    """Makes or resumes a release; queries that were answered are not asked again.

    Args:
        plan: plan of the release; the one in the journal.
        links: connections to the plan's parties, slice by slice.
        journal: journal of the release.
        signer: the curator's identity, which signs the terms.
        identities: identities of the enrolled parties and dealers, by name, as on their cards.
        dealers: connections to the plan's dealers that are no party and not the curator, by name.
        aligned: alignment of the parties' rows; None if the parties of a slice hold the same records.
        order: what is released, if it is not what the plan says: the choice of bins, or a release after it.
        part: of a release of related tables; None of a single table.
        supposed: of its records, if they are not people; see `Measurer.suppose`.
        marks: marks of the parties' ledgers that were seen before; kept up to date.
        publish: writes the files of the release; returns the SHA-256 of each by name, for the certificate.
        away_s: seconds to wait for an unavailable party.
        report: called after every step.
        today: the day in UTC on which new terms are drawn up; None for the clock's.

    Raises:
        DataError: plan and parties do not fit each other; nothing has been measured.
        ModelError: the marginals do not fit into the memory; nothing has been measured.
        PolicyError: a party does not allow the release. It is abandoned unless it waits for an operator.
        PartyUnavailable: a party stayed unavailable; the journal holds all answers so far.
    """
    order, keys, asking = (
        order or order_of(plan),
        RandomStream(journal.key),
        Asking(journal, away_s, notes=journal),
    )
    if order.spec.may_drop_out:
        links = [
            [
                link if isinstance(link, SlowConnection) else RememberedConnection(link, name, journal)
                for name, link in zip(names, row, strict=True)
            ]
            for names, row in zip(plan.slices, links, strict=True)
        ]
    asked = today or datetime.now(UTC).date()
    about = replace(order.spec.about, asked=asked.isoformat())
    proposal = order.with_spec(about=about).proposal(journal.release_id)
    agreement = agree(
        plan.domain if part is None else order.domain,
        links,
        proposal,
        dealers=dealers_of(plan, dealers or {}, signer, keys.child("dealer"), journal),
        left_out=plan.left_out,
        identities=identities,
        sealing=sealing(journal, signer),
        asking=asking,
        marks=marks,
        aligned=aligned,
        chosen=order.chosen,
        direct=plan.direct,
        refused=giving_up(journal),
        recalled=journal.note("certificate") is not None,
        part=part,
    )
    # The reason as the parties signed it, also when the release is resumed on a later day.
    order = order.with_spec(about=agreement.terms.spec.about)
    measurer = agreement.measurer(asking)
    if supposed is not None:
        measurer.suppose(supposed.in_terms(agreement.terms))
    check_memory(order.domain, order.mechanism.steps(measurer, order.workload))
    made = make_release(order, agreement.terms.plan, measurer, keys, report=report)
    # A resumed release writes the same files, also those that state when its certificate was made, and gives
    # the parties the same certificate to sign.
    created = journal.note_once("created", made.certificate.created.encode()).decode()
    made = replace(made, certificate=replace(made.certificate, created=created))
    issued = made.certificate.with_outputs(publish(made))
    noted = journal.note_once("certificate", json.dumps(issued.to_json()).encode())
    certificate = Certificate.from_json(json_of(noted))
    if certificate.outputs != issued.outputs:
        raise DataError(
            "the files of the resumed release differ from those that its certificate names; resume it with "
            "the table format and the version, and on the machine, that began it"
        )
    claim = Claim(journal.release_id, certificate.digest(), certificate.promise.zcdp_rho_spent)
    gone = [one.party for one in certificate.dropouts]
    signed = certificate.with_signatures(signatures_of(claim, agreement, asking, marks, gone))
    end_at_dropped_out(agreement, signed)
    return Released(made.synthetic, made.fitted, signed)


def dealers_of(
    plan: ReleasePlan,
    links: Mapping[str, Connection],
    signer: Identity,
    keys: RandomStream,
    bindings: BindingStore,
) -> list[str | Connection]:
    """The dealers of a plan, as `agree` takes them.

    Args:
        plan: plan of the release.
        links: connections to the dealers that are no party and not the curator, by name.
        signer: the curator's identity, for a curator that deals.
        keys: source of the secrets of a curator that deals.
        bindings: where a curator that deals keeps what it received.
    """
    return [
        CuratorDealer(signer, keys, bindings)
        if name == CURATOR_DEALS
        else name
        if name in plan.parties
        else links[name]
        for name in plan.dealers
    ]


def order_of(plan: ReleasePlan, chosen: Chosen | None = None) -> ReleaseOrder:
    """The order of a plan.

    Args:
        plan: plan of the release.
        chosen: the codes that were chosen for open attributes, if there are any.

    Raises:
        DataError: the mechanism or the workload does not exist.
    """
    anywhere = plan.alignment is not None and plan.alignment.population is Population.ANYWHERE
    coded = plan.domain if chosen is None else chosen.coding.domain(plan.domain)
    domain = coded.with_absent() if anywhere else coded
    return ReleaseOrder(
        domain,
        plan.spec,
        mechanism_named(plan.mechanism, plan.variant, plan.settings),
        Workload.wanted(domain, plan.workload, plan.target),
        chosen,
    )

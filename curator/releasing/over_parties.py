"""A release over parties' daemons: the one path of a release between its journal and the signatures on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.crypto.identity import Identity
from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...common.messages import ReleaseTerms
from ...common.statement import Claim, check_statement
from ..certificates.certificate import Certificate
from ..certificates.statements import Signatures
from ..certificates.verify import sign_terms
from ..mechanisms.catalogue import mechanism_named
from ..mechanisms.parts.fitted import Report, ignore
from ..parties.asking import Asking
from ..parties.client import Connection
from ..parties.federation import Federation
from ..parties.journal import Journal
from .agreement import Agreement, Proposal, agree, nothing_to_forget
from .plan import ReleasePlan
from .release import Layout, Released, ReleaseOrder, make_release


def release_over_parties(
    plan: ReleasePlan,
    links: Sequence[Sequence[Connection]],
    journal: Journal,
    *,
    signer: Identity,
    identities: Mapping[str, bytes],
    away_s: float = 0.0,
    report: Report = ignore,
) -> Released:
    """Makes a release, or goes on with one that stopped; what was answered is not asked again.

    Args:
        plan: of the release; the one that the journal holds.
        links: connections to the plan's parties, slice by slice.
        journal: of the release.
        signer: the curator's identity, which signs the terms.
        identities: of the enrolled parties, by name, as on their cards.
        away_s: how long to wait for a party that went away.
        report: called after every step.

    Raises:
        DataError: something does not fit; nothing has been measured.
        PolicyError: a party does not allow the release.
        PartyUnavailable: a party stayed away; the journal holds what was answered.
    """
    order, keys, asking = order_of(plan), RandomStream(journal.key), Asking(journal, away_s)
    proposal = Proposal(journal.release_id, order.protocol, order.adjacency, order.granted, order.collusions)

    def sealed(proposed: ReleaseTerms) -> tuple[ReleaseTerms, bytes]:
        terms = decode_terms(journal.note_once("terms", encode_terms(proposed)))
        return terms, sign_terms(signer, terms)

    agreement = agree(
        order.domain,
        links,
        proposal,
        left_out=plan.left_out,
        identities=identities,
        sealing=sealed,
        asking=asking,
    )
    measurer = agreement.measurer(keys.child("dealer"), asking)
    made = make_release(order, layout_of(agreement.federation), measurer, keys, report=report)
    # What parties sign does not change when a release is resumed after they signed.
    noted = journal.note_once("certificate", json.dumps(made.certificate.to_json()).encode())
    certificate = Certificate.from_json(json.loads(noted))
    signed = certificate.with_signatures(_signatures(certificate, agreement, asking))
    return Released(made.synthetic, made.fitted, signed)


def order_of(plan: ReleasePlan) -> ReleaseOrder:
    """What a plan asks for.

    Raises:
        DataError: there is no such mechanism or workload.
    """
    return ReleaseOrder(
        plan.domain,
        plan.protocol,
        plan.adjacency,
        mechanism_named(plan.mechanism, plan.variant, plan.settings),
        Workload.parse(plan.domain, plan.workload),
        plan.budget,
        plan.collusions,
        plan.rows,
    )


def layout_of(federation: Federation) -> Layout:
    """What the parties hold."""
    held = tuple(tuple(member.attributes for member in members) for members in federation.slices)
    return Layout(federation.record_counts, held)


def _signatures(certificate: Certificate, agreement: Agreement, asking: Asking) -> Signatures:
    """What the parties state of the release, each checked."""
    members, terms = agreement.federation.members, encode_terms(agreement.terms)
    claim = Claim(agreement.terms.release_id, certificate.digest(), certificate.promise.zcdp_rho_spent)
    statements = [
        asking.persist(partial(member.client.certify, claim), nothing_to_forget) for member in members
    ]
    for member, statement in zip(members, statements, strict=True):
        check_statement(statement, member.description.identity, terms, claim.certificate)
    names = [member.description.name for member in members]
    return Signatures.of(terms, agreement.signature, names, statements)

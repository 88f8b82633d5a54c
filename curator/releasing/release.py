"""A release from parties behind connections: agreed with all of them, measured, fitted, drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.crypto.identity import Identity
from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import PolicyError
from ...common.messages import PROTOCOL_VERSION, Acceptance, ReleaseTerms
from ...common.privacy.cost import Adjacency
from ...common.statement import Claim, check_statement
from ..certificates.certificate import Plan, certificate
from ..certificates.verify import certificate_digest, sign_terms, with_signatures
from ..measurers.federation import FederationMeasurer
from ..measurers.masked import MaskedMeasurer, masked_plan
from ..measurers.measurer import Measurer
from ..mechanisms.catalogue import mechanism_named
from ..mechanisms.parts.fitted import FittedModel, Report, ignore
from ..parties.asking import Asking
from ..parties.client import Connection
from ..parties.federation import Federation, connect
from ..parties.journal import Journal
from .plan import ReleasePlan


@dataclass(frozen=True)
class Released:
    """What a release gives.

    Attributes:
        synthetic: the synthetic table, coded.
        fitted: model, measurements, rounds and bounds.
        certificate: JSON values; public.
    """

    synthetic: Table
    fitted: FittedModel
    certificate: dict[str, Any]


def release(
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
    keys = RandomStream(journal.key)
    mechanism = mechanism_named(plan.mechanism, plan.variant, plan.settings)
    workload = Workload.parse(plan.domain, plan.workload)
    granted = mechanism.granted(plan.budget)
    asking = Asking(journal, away_s)
    federation = asking.persist(lambda: connect(plan.domain, links, plan.left_out), _nothing)
    for member in federation.members:
        said = member.description
        if identities.get(said.name) != said.identity:
            raise PolicyError(
                f"party {said.name!r} has not the identity of an enrolled card; get its card and enroll it"
            )
    proposed = propose(
        federation, journal.release_id, plan.protocol, plan.adjacency, granted, plan.collusions
    )
    terms = decode_terms(journal.note_once("terms", encode_terms(proposed)))
    signature = sign_terms(signer, terms)
    acceptances = asking.persist(lambda: federation.accept(terms, signature), _nothing)
    measurer = begin(federation, terms, acceptances, granted, keys.child("dealer"), asking)
    fitted = mechanism.run(measurer, workload, keys.child("mechanism"), report)
    records = sum(federation.record_counts)
    synthetic = fitted.model.generate(plan.rows or records, keys.child("rows").generator())
    fitted = fitted.bounded_for(synthetic, records)
    stated = Plan(
        plan.domain,
        federation.record_counts,
        tuple(tuple(member.attributes for member in members) for members in federation.slices),
        plan.protocol,
        plan.adjacency,
        mechanism,
        workload,
        plan.budget,
    )
    issued = certificate(
        stated,
        measurer.accountant,
        fitted,
        not_private=measurer.not_private,
        observers=measurer.observers,
    )
    # What parties sign does not change when a release is resumed after they signed.
    issued = json.loads(journal.note_once("certificate", json.dumps(issued).encode()))
    claim = Claim(terms.release_id, certificate_digest(issued), issued["promise"]["zcdp_rho_spent"])
    statements = [
        asking.persist(partial(member.client.certify, claim), _nothing) for member in federation.members
    ]
    names = [member.description.name for member in federation.members]
    for member, statement in zip(federation.members, statements, strict=True):
        check_statement(statement, member.description.identity, encode_terms(terms), claim.certificate)
    return Released(synthetic, fitted, with_signatures(issued, terms, signature, names, statements))


def propose(
    federation: Federation,
    release_id: str,
    protocol: str,
    adjacency: Adjacency,
    granted: Fraction,
    collusions: int | None,
    copies: int = 1,
) -> ReleaseTerms:
    """The terms of a release over these parties.

    Args:
        federation: the parties.
        release_id: unique.
        protocol: that they speak.
        adjacency: which tables are neighbours.
        granted: upper limit of all costs, zCDP.
        collusions: with `masked`; None for its default.
        copies: how often parties are charged for what is granted once.
    """
    masked = masked_plan(federation, granted, adjacency, collusions) if protocol == "masked" else None
    return ReleaseTerms(
        release_id, PROTOCOL_VERSION, protocol, adjacency, charged_rho(granted, copies), masked
    )


def charged_rho(granted: Fraction, copies: int = 1) -> float:
    """What parties have to grant, as the float that crosses the wire; rounded up where it needs rounding."""
    return float(granted) if copies == 1 else float(granted * copies) * (1 + 2.0**-50)


def begin(
    federation: Federation,
    terms: ReleaseTerms,
    acceptances: tuple[Acceptance, ...],
    granted: Fraction,
    dealer: RandomStream,
    asking: Asking | None = None,
    *,
    record_wise: bool = False,
) -> Measurer:
    """What measures under terms that every party accepted.

    Args:
        federation: the parties.
        terms: of the release.
        acceptances: what each party signed.
        granted: upper limit of all costs, zCDP.
        dealer: where dealt randomness comes from.
        asking: how what costs budget is asked for.
        record_wise: see `FederationMeasurer`.
    """
    if terms.masked is not None:
        return MaskedMeasurer(federation, terms, acceptances, granted, dealer, asking)
    return FederationMeasurer(federation, terms, granted, record_wise=record_wise, asking=asking)


def _nothing() -> None:
    """Nothing was delivered yet."""

"""An alignment over parties' daemons: terms, tokens, matching, positions and signatures, with a journal."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....common.bounded import json_of
from ....common.crypto.identity import Identity
from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Domain
from ....common.messages import Delivery, DeliveryKind, Introduction, OpeningRequest
from ....common.privacy.cost import counting_cost
from ....common.promises.statement import Claim
from ....common.protocols.alignment.dummies import AlignmentNoise
from ....common.protocols.alignment.matching import Matching, match, match_across
from ....common.protocols.alignment.plan import DDH, AlignmentPlan
from ....common.queries import alignment_query
from ....common.terms import ReleaseTerms
from ....common.version import __version__
from ....common.wire.alignments import positions_payload
from ...certificates.alignment import AlignmentCertificate
from ...parties.asking import Asking
from ...parties.client import Connection, PartyClient
from ...parties.journal import Journal
from ...parties.marks import Marks
from ..agreement import Agreement, agree, nothing_delivered
from ..journalled import giving_up, sealing, signatures_of
from ..planning.alignment_order import AlignmentProposal


def align_over_parties(
    proposal: AlignmentProposal,
    domain: Domain,
    links: Sequence[Sequence[Connection]],
    journal: Journal,
    *,
    signer: Identity,
    identities: Mapping[str, bytes],
    left_out: Mapping[str, Sequence[str]] | None = None,
    marks: Marks | None = None,
    away_s: float = 0.0,
) -> AlignmentCertificate:
    """Makes or resumes an alignment; parties charge it once, and the curator draws the same words again.

    Run by: the curator, which is the matcher.

    Args:
        proposal: the proposed alignment, with the id in the journal.
        domain: domain of the whole table.
        links: connections to the parties, slice by slice.
        journal: journal of the alignment.
        signer: the curator's identity, which signs the terms.
        identities: identities of the enrolled parties, by name, as on their cards.
        left_out: for each party by name, attributes that it holds but does not answer for.
        marks: marks of the parties' ledgers that were seen before; kept up to date.
        away_s: seconds to wait for an unavailable party.

    Raises:
        DataError: plan and parties do not fit each other; nothing was charged.
        PolicyError: a party does not allow it. It is abandoned unless it waits for an operator.
        PartyUnavailable: a party stayed unavailable; what was charged is not charged again.
    """
    asking = Asking(away_s=away_s)
    agreement = agree(
        domain,
        links,
        proposal,
        left_out=left_out,
        identities=identities,
        sealing=sealing(journal, signer),
        asking=asking,
        marks=marks,
        refused=giving_up(journal),
        recalled=journal.note("certificate") is not None,
        counted=False,
    )
    noted = journal.note("certificate")
    if noted is None:
        keys = RandomStream(journal.key)
        matchings = asking.persist(lambda: match_slices(agreement, keys), nothing_delivered)
        made = _certificate(agreement, matchings)
        noted = journal.note_once("certificate", json.dumps(made.to_json()).encode())
    certificate = AlignmentCertificate.from_json(json_of(noted))
    claim = Claim(certificate.alignment_id, certificate.digest(), float(certificate.zcdp_rho))
    return certificate.with_signatures(signatures_of(claim, agreement, asking, marks))


def match_slices(agreement: Agreement, keys: RandomStream) -> list[Matching]:
    """The matching of each slice, after all parties have stored their positions; the same when repeated.

    Args:
        agreement: parties that accepted an alignment.
        keys: words of the matcher.
    """
    terms, clients = agreement.terms, [member.client for member in agreement.federation.members]
    plan, release_id = _plan(terms), terms.release_id
    introduction = Introduction(release_id, agreement.acceptances)
    for client in clients:
        client.introduce(introduction)
    for first, *others in plan.groups:
        for place in others:
            request = OpeningRequest(release_id, (), place, DeliveryKind.ALIGNMENT_KEY)
            clients[first].relay(first, request, clients[place])
    matchings: list[Matching] = []
    for number, group in enumerate(plan.groups):
        tokens = (
            _pass_points(terms, clients, group) if plan.keying == DDH else _ask_tokens(terms, clients, group)
        )
        matchings += _matchings(terms, tokens, keys.child("matching", str(number)))
        del tokens
    people = [found.people for found in matchings]
    for number, found in enumerate(matchings):
        for place, positions in zip(plan.members(number), found.positions, strict=True):
            placed = positions_payload(found.size, people, positions)
            clients[place].deliver(Delivery(release_id, DeliveryKind.POSITIONS), placed)
    return matchings


def _matchings(
    terms: ReleaseTerms, tokens: Sequence[NDArray[np.uint64]], stream: RandomStream
) -> tuple[Matching, ...]:
    """The matching of each slice of a group."""
    plan, sigma = _plan(terms), alignment_query(terms).sigma
    if not plan.across_slices:
        return (match(tokens, sigma, stream, plan.keying),)
    slices = [[tokens[place] for place in plan.members(number)] for number in range(plan.slice_count)]
    return match_across(slices, sigma, stream, plan.keying)


def _ask_tokens(
    terms: ReleaseTerms, clients: Sequence[PartyClient], group: Sequence[int]
) -> list[NDArray[np.uint64]]:
    """The tokens of each party of a group; the parties compute at the same time."""
    plan = _plan(terms)

    def ask_party(place: int) -> NDArray[np.uint64]:
        return clients[place].align(terms.release_id, place, len(plan.match))

    with ThreadPoolExecutor(len(group)) as threads:
        return list(threads.map(ask_party, group))


def _pass_points(
    terms: ReleaseTerms, clients: Sequence[PartyClient], group: Sequence[int]
) -> list[NDArray[np.uint64]]:
    """The tokens of each party of a group, whose points pass through the others before."""
    plan, release_id, tokens = _plan(terms), terms.release_id, []
    for start, owner in enumerate(group):
        ring = [*group[start:], *group[:start]]
        for sender, recipient in pairwise(ring):
            request = OpeningRequest(release_id, (), recipient, DeliveryKind.ALIGNMENT_POINTS, step=owner)
            clients[sender].relay(sender, request, clients[recipient])
        tokens.append(clients[ring[-1]].align(release_id, owner, len(plan.match)))
    return tokens


def _plan(terms: ReleaseTerms) -> AlignmentPlan:
    assert terms.aligning is not None, "the terms of an alignment have match keys"
    return terms.aligning


def _certificate(agreement: Agreement, matchings: Sequence[Matching]) -> AlignmentCertificate:
    terms = agreement.terms
    sigma = alignment_query(terms).sigma
    return AlignmentCertificate(
        alignment_id=terms.release_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={"dpmosaic": __version__},
        sizes=tuple(found.size for found in matchings),
        people=tuple(found.people for found in matchings),
        left_out=tuple(found.left_out for found in matchings),
        zcdp_rho=counting_cost(sigma, terms.unit),
        sigma=published_sigma(_plan(terms), sigma),
    )


def noise_of(plan: AlignmentPlan, group: Sequence[int], sigma: float) -> AlignmentNoise:
    """All noise of the parties whose rows are compared.

    Args:
        plan: plan of the alignment.
        group: their indices in the roster.
        sigma: scale of the numbers of dummies.
    """
    slices = plan.slice_count if plan.across_slices else 1
    return AlignmentNoise(sigma, len(group), plan.keying, slices)


def published_sigma(plan: AlignmentPlan, sigma: float) -> float:
    """The largest standard deviation of a published number of people; see `noise_of`."""
    variances = []
    for group in plan.groups:
        noise = noise_of(plan, group, sigma)
        padding = 0.0 if noise.padding is None else noise.padding.sigma
        for number in {plan.roster[place].slice for place in group}:
            # With slices compared, one of its numbers adds up those of all patterns in the other slices.
            added = 1 << (len(group) - len(plan.members(number)))
            variances.append(added * sigma**2 + padding**2 + noise.published_sigma**2)
    return math.sqrt(max(variances))

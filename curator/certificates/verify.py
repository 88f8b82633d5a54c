"""Verifies a certificate offline: its signatures, and that every party charged what it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.card import Card, FederationList
from ...common.crypto.identity import Identity, verify
from ...common.errors import MosaicError, ProtocolError
from ...common.messages import ReleaseTerms
from ...common.protocols.registry import find_protocol
from ...common.statement import TERMS, Statement, check_statement
from .certificate import Certificate


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        what: what was checked.
        passed: whether the check passed.
        finding: what was found, or what is wrong.
    """

    what: str
    passed: bool
    finding: str


def sign_terms(identity: Identity, terms: ReleaseTerms) -> bytes:
    """The curator's signature of a release's terms."""
    return identity.sign(TERMS, encode_terms(terms))


def verify_certificate(certificate: Certificate, federation: FederationList) -> Iterator[Check]:
    """Verifies a certificate against pinned identities; contacts no party.

    Args:
        certificate: certificate of a release.
        federation: cards whose identities were compared out of band.
    """
    signed = certificate.signed
    if signed is None:
        yield Check("form", False, "not signed, so not the certificate of a release over daemons")
        return
    try:
        terms = decode_terms(signed.terms)
    except ProtocolError:
        yield Check("form", False, "the signed terms are damaged")
        return
    private = certificate.differentially_private and not certificate.labels
    yield Check(
        "label", private, "differentially private" if private else "labelled as not a private release"
    )
    plan, promise = certificate.plan, certificate.promise
    stated = (plan.protocol, plan.adjacency, promise.zcdp_rho_granted)
    same = (terms.protocol, terms.adjacency.value, terms.granted_rho) == stated
    yield Check(
        "terms", same, "as the certificate states" if same else "differ from what the certificate states"
    )
    curator = federation.curator
    yield _checked(
        f"curator {curator.name}",
        lambda: verify(curator.identity, TERMS, signed.terms, signed.curator_signature),
        "signed the terms",
    )
    statements = {
        party.name: Statement(party.entries, party.signature, party.mark) for party in signed.parties
    }
    yield _check_parties(terms, statements, federation, sum(map(len, plan.parties)))
    for card in federation.parties:
        if card.name in statements:
            yield _check_party(card, statements[card.name], signed.terms, certificate)
    within = promise.zcdp_rho_spent <= promise.zcdp_rho_granted
    yield Check("budget", within, "spent within the grant" if within else "spent more than the grant")


def _check_parties(
    terms: ReleaseTerms, statements: Mapping[str, Statement], federation: FederationList, count: int
) -> Check:
    known = {card.name: card.identity for card in federation.parties}
    named = {entry.name: entry.identity for entry in terms.plan.roster}
    missing = sorted({name for name in (*statements, *named) if name not in known or name not in statements})
    wrong = sorted(name for name, identity in named.items() if known.get(name) != identity)
    if missing or wrong or len(statements) != count:
        odd = ", ".join(dict.fromkeys([*missing, *wrong])) or "their number differs from the plan's"
        return Check("parties", False, f"not all signed, or identities differ from the cards: {odd}")
    return Check("parties", True, f"all {count} identities match the cards")


def _check_party(card: Card, statement: Statement, terms: bytes, certificate: Certificate) -> Check:
    what, claimed = f"party {card.name}", certificate.promise.zcdp_rho_spent
    try:
        spent = float(check_statement(statement, card.identity, terms, certificate.digest()))
    except MosaicError as error:
        return Check(what, False, str(error))
    protocol = find_protocol(certificate.plan.protocol)
    # Otherwise a party is charged only for its own part of a query.
    alike = protocol is None or protocol.charges_alike
    if not (spent == claimed if alike else spent <= claimed):
        return Check(
            what, False, "its ledger charged a different sum from the one that the certificate states"
        )
    return Check(what, True, f"signed {len(statement.entries)} entries and the certificate")


def _checked(what: str, check: Callable[[], None], finding: str) -> Check:
    try:
        check()
    except MosaicError as error:
        return Check(what, False, str(error))
    return Check(what, True, finding)

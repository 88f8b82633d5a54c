"""Verifies a certificate offline: who signed it, and that every party charged what it says."""

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
class Line:
    """One thing that was verified.

    Attributes:
        what: was verified.
        passed: whether it holds.
        said: what was found, or what is wrong.
    """

    what: str
    passed: bool
    said: str


def sign_terms(identity: Identity, terms: ReleaseTerms) -> bytes:
    """The curator's signature of a release's terms."""
    return identity.sign(TERMS, encode_terms(terms))


def verified(certificate: Certificate, federation: FederationList) -> Iterator[Line]:
    """Verifies a certificate against pinned identities; needs nobody's answer.

    Args:
        certificate: of a release.
        federation: the cards, whose identities were compared out of band.
    """
    signed = certificate.signed
    if signed is None:
        yield Line("form", False, "not signed: no certificate of a release over daemons")
        return
    try:
        terms = decode_terms(signed.terms)
    except ProtocolError:
        yield Line("form", False, "the terms that were signed are damaged")
        return
    private = certificate.differentially_private and not certificate.labels
    yield Line("label", private, "differentially private" if private else "labelled: no private release")
    plan, promise = certificate.plan, certificate.promise
    stated = (plan.protocol, plan.adjacency, promise.zcdp_rho_granted)
    same = (terms.protocol, terms.adjacency.value, terms.granted_rho) == stated
    yield Line("terms", same, "as the certificate says" if same else "not those that the certificate states")
    curator = federation.curator
    yield _line(
        f"curator {curator.name}",
        lambda: verify(curator.identity, TERMS, signed.terms, signed.curator_signature),
        "signed the terms",
    )
    statements = {party.name: Statement(party.entries, party.signature) for party in signed.parties}
    yield _members(terms, statements, federation, sum(map(len, plan.parties)))
    for card in federation.parties:
        if card.name in statements:
            yield _party(card, statements[card.name], signed.terms, certificate)
    within = promise.zcdp_rho_spent <= promise.zcdp_rho_granted
    yield Line("budget", within, "spent within the grant" if within else "spent past it")


def _members(
    terms: ReleaseTerms, statements: Mapping[str, Statement], federation: FederationList, count: int
) -> Line:
    known = {card.name: card.identity for card in federation.parties}
    named = {entry.name: entry.identity for entry in terms.masked.roster} if terms.masked else {}
    missing = sorted({name for name in (*statements, *named) if name not in known or name not in statements})
    wrong = sorted(name for name, identity in named.items() if known.get(name) != identity)
    if missing or wrong or len(statements) != count:
        odd = ", ".join(dict.fromkeys([*missing, *wrong])) or "their number differs from the plan's"
        return Line("parties", False, f"not all signed, or not those of the cards: {odd}")
    return Line("parties", True, f"all {count} are those of the cards")


def _party(card: Card, statement: Statement, terms: bytes, certificate: Certificate) -> Line:
    what, claimed = f"party {card.name}", certificate.promise.zcdp_rho_spent
    try:
        spent = float(check_statement(statement, card.identity, terms, certificate.digest()))
    except MosaicError as error:
        return Line(what, False, str(error))
    protocol = find_protocol(certificate.plan.protocol)
    # Else a party is charged for its own part of a query alone.
    alike = protocol is None or protocol.charges_alike
    if not (spent == claimed if alike else spent <= claimed):
        return Line(what, False, "its ledger charged another sum than the certificate states")
    return Line(what, True, f"signed {len(statement.entries)} entries and the certificate")


def _line(what: str, check: Callable[[], None], said: str) -> Line:
    try:
        check()
    except MosaicError as error:
        return Line(what, False, str(error))
    return Line(what, True, said)

"""Verifies a certificate offline: its signatures, and that every party charged what it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.card import Card, FederationList
from ...common.crypto.identity import Identity, verify
from ...common.errors import MosaicError, ProtocolError
from ...common.messages import ReleaseTerms
from ...common.protocols.partition import Partition, RosterEntry
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
    statements = {party.name: Statement(party.entries, party.signature) for party in signed.parties}
    yield _check_parties(terms, statements, federation, sum(map(len, plan.parties)))
    for card in federation.parties:
        if card.name in statements:
            yield _check_party(card, statements[card.name], signed.terms, certificate)
    yield _check_charges(terms, statements, promise.zcdp_rho_spent)
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
    return _checked(
        f"party {card.name}",
        lambda: check_statement(statement, card.identity, terms, certificate.digest()),
        f"signed {len(statement.entries)} entries and the certificate",
    )


def _check_charges(terms: ReleaseTerms, statements: Mapping[str, Statement], claimed: float) -> Check:
    """Parties of the same records charged the same, and the certificate states the cost of a record."""
    what, protocol = "charges", find_protocol(terms.protocol)
    alike = protocol is None or protocol.charges_alike
    largest: dict[str, Fraction] = {}
    for group in [terms.plan.roster] if alike else _slices(terms.plan):
        ledgers = [statements[entry.name].entries for entry in group if entry.name in statements]
        charged = [[(entry.query_id, entry.query, entry.zcdp_rho) for entry in ledger] for ledger in ledgers]
        if any(other != charged[0] for other in charged[1:]):
            return Check(what, False, "parties of the same records charged different queries or costs")
        for query_id, _, rho in charged[0] if charged else ():
            # A record is in one slice only: of what slices charge for a query, the largest counts.
            largest[query_id] = max(rho, largest.get(query_id, rho))
    if float(sum(largest.values(), Fraction(0))) != claimed:
        return Check(what, False, "the ledgers charged a different sum from the one that is stated")
    return Check(what, True, "the parties charged what the certificate states")


def _slices(plan: Partition) -> list[Sequence[RosterEntry]]:
    return [[plan.roster[i] for i in plan.members(number)] for number in range(plan.slice_count)]


def _checked(what: str, check: Callable[[], object], finding: str) -> Check:
    try:
        check()
    except MosaicError as error:
        return Check(what, False, str(error))
    return Check(what, True, finding)

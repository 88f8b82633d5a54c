"""Verifies a certificate offline: who signed it, and that every party charged what it says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.card import FederationList
from ...common.crypto.identity import Identity, verify
from ...common.errors import MosaicError, ProtocolError
from ...common.messages import ReleaseTerms
from ...common.statement import TERMS, Entry, Statement, check_statement

_SIGNED = "signed"
"""The part of a certificate that holds terms and signatures; the rest is what they sign."""


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


def certificate_digest(certificate: Mapping[str, Any]) -> bytes:
    """SHA-256 of all that a certificate says, without the signatures on it."""
    said = {name: value for name, value in certificate.items() if name != _SIGNED}
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).digest()


def with_signatures(
    certificate: Mapping[str, Any],
    terms: ReleaseTerms,
    signature: bytes,
    names: Sequence[str],
    statements: Sequence[Statement],
) -> dict[str, Any]:
    """A certificate with the terms, the curator's signature on them, and the parties' statements.

    Args:
        certificate: what was signed.
        terms: of the release.
        signature: the curator's.
        names: of the parties.
        statements: of the parties, in this order.
    """
    parties = [
        {
            "name": name,
            "entries": [
                {
                    "query_id": entry.query_id,
                    "query": entry.query.hex(),
                    "zcdp_rho": str(entry.zcdp_rho),
                    "signature": entry.signature.hex(),
                }
                for entry in statement.entries
            ],
            "signature": statement.signature.hex(),
        }
        for name, statement in zip(names, statements, strict=True)
    ]
    signed = {"terms": encode_terms(terms).hex(), "curator_signature": signature.hex(), "parties": parties}
    return {**certificate, _SIGNED: signed}


def sign_terms(identity: Identity, terms: ReleaseTerms) -> bytes:
    """The curator's signature of a release's terms."""
    return identity.sign(TERMS, encode_terms(terms))


def verified(certificate: object, federation: FederationList) -> Iterator[Line]:
    """Verifies a certificate against pinned identities; needs nobody's answer.

    Args:
        certificate: what its file holds.
        federation: the cards, whose identities were compared out of band.
    """
    try:
        assert isinstance(certificate, dict)
        signed = certificate[_SIGNED]
        encoded = bytes.fromhex(signed["terms"])
        terms = decode_terms(encoded)
        statements = {party["name"]: _statement(party) for party in signed["parties"]}
        signature = bytes.fromhex(signed["curator_signature"])
        promise, stated = certificate["promise"], certificate["plan"]
        granted, claimed = float(promise["zcdp_rho_granted"]), float(promise["zcdp_rho_spent"])
        private = certificate["differentially_private"] is True and certificate["labels"] == []
        protocol, adjacency = stated["protocol"], stated["adjacency"]
        count = sum(len(parties) for parties in stated["parties"])
    except (AssertionError, KeyError, TypeError, ValueError, AttributeError, ProtocolError) as cause:
        yield Line(
            "form", False, f"no certificate of a release over daemons, or damaged ({type(cause).__name__})"
        )
        return
    yield Line("label", private, "differentially private" if private else "labelled: no private release")
    same = (terms.protocol, terms.adjacency.value, terms.granted_rho) == (protocol, adjacency, granted)
    yield Line("terms", same, "as the certificate says" if same else "not those that the certificate states")
    curator = federation.curator
    yield _line(
        f"curator {curator.name}",
        lambda: verify(curator.identity, TERMS, encoded, signature),
        "signed the terms",
    )
    yield _members(terms, statements, federation, count)
    digest = certificate_digest(certificate)
    for card in federation.parties:
        if card.name in statements:
            yield _party(card.name, statements[card.name], card.identity, encoded, digest, claimed, protocol)
    yield Line(
        "budget", claimed <= granted, "spent within the grant" if claimed <= granted else "spent past it"
    )


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


def _party(
    name: str,
    statement: Statement,
    identity: bytes,
    terms: bytes,
    digest: bytes,
    claimed: float,
    protocol: str,
) -> Line:
    try:
        spent = float(check_statement(statement, identity, terms, digest))
    except MosaicError as error:
        return Line(f"party {name}", False, str(error))
    # With indicator vectors a party is charged for its own part of a query alone.
    holds = spent <= claimed if protocol == "indicator" else spent == claimed
    if not holds:
        return Line(f"party {name}", False, "its ledger charged another sum than the certificate states")
    return Line(f"party {name}", True, f"signed {len(statement.entries)} entries and the certificate")


def _line(what: str, check: Callable[[], None], said: str) -> Line:
    try:
        check()
    except MosaicError as error:
        return Line(what, False, str(error))
    return Line(what, True, said)


def _statement(form: Mapping[str, Any]) -> Statement:
    entries = tuple(
        Entry(
            str(entry["query_id"]),
            bytes.fromhex(entry["query"]),
            Fraction(entry["zcdp_rho"]),
            bytes.fromhex(entry["signature"]),
        )
        for entry in form["entries"]
    )
    return Statement(entries, bytes.fromhex(form["signature"]))

"""What a party signs of a release: its ledger's entries, each bound to all before it, and the certificate.

The entries of a release form a chain: a link is the digest of the one before and of the entry. The first link
is that of the terms, so that no entry can be taken out, put in or moved to another release. Who knows the
parties' identities verifies all of it, without the parties.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from .crypto.identity import Identity, verify
from .errors import ProtocolError

TERMS, ENTRY, CERTIFICATE = "terms of a release", "ledger entry", "certificate of a release"
"""What a signature is for."""

DIGEST_BYTES = 32
_PREFIX = b"dpmosaic ledger 1"


@dataclass(frozen=True)
class Entry:
    """One charged query, as a party's ledger has it.

    Attributes:
        query_id: unique within the release.
        query: SHA-256 of the query.
        zcdp_rho: its cost, as the party computed it.
        signature: the party's, over the link that the entry makes.
    """

    query_id: str
    query: bytes
    zcdp_rho: Fraction
    signature: bytes


@dataclass(frozen=True)
class Claim:
    """What a curator asks parties to sign at the end of a release.

    Attributes:
        release_id: of the release.
        certificate: SHA-256 of the certificate.
        zcdp_rho_spent: what the certificate says was spent.
    """

    release_id: str
    certificate: bytes
    zcdp_rho_spent: float

    def __post_init__(self) -> None:
        if not self.release_id or len(self.certificate) != DIGEST_BYTES or not self.zcdp_rho_spent >= 0:
            raise ValueError("a claim names a release, the digest of its certificate and what was spent")


@dataclass(frozen=True)
class Statement:
    """What a party says at the end of a release.

    Attributes:
        entries: of its ledger, in order.
        signature: over the last link and the certificate.
    """

    entries: tuple[Entry, ...]
    signature: bytes


def first_link(terms: bytes) -> bytes:
    """The link of the encoded terms, on which the first entry builds."""
    return hashlib.sha256(_PREFIX + hashlib.sha256(terms).digest()).digest()


def next_link(link: bytes, query_id: str, query: bytes, zcdp_rho: Fraction) -> bytes:
    """The link of an entry on those before it."""
    fields = (link, query_id.encode(), query, str(zcdp_rho).encode())
    return hashlib.sha256(b"".join(len(field).to_bytes(4, "big") + field for field in fields)).digest()


def state(identity: Identity, entries: Iterable[Entry], link: bytes, claim: Claim) -> Statement:
    """A party's statement.

    Run by: each party, last step of a release.

    Args:
        identity: of the party.
        entries: of its ledger for the release.
        link: of the last of them.
        claim: what the curator asks it to sign.
    """
    return Statement(tuple(entries), identity.sign(CERTIFICATE, link + claim.certificate))


def check_statement(statement: Statement, identity: bytes, terms: bytes, certificate: bytes) -> Fraction:
    """What a party spent on a release, if all that it states was signed by it.

    Run by: the curator, and anybody who has the certificate.

    Args:
        statement: of the party.
        identity: of the party, pinned.
        terms: encoded.
        certificate: SHA-256 of the certificate.

    Raises:
        ProtocolError: an entry is altered, missing or moved, or the certificate is another one.
    """
    link = first_link(terms)
    seen = set()
    for entry in statement.entries:
        if entry.query_id in seen or entry.zcdp_rho < 0:
            raise ProtocolError("expected a ledger that charges each query once, got another; ask the party")
        seen.add(entry.query_id)
        link = next_link(link, entry.query_id, entry.query, entry.zcdp_rho)
        verify(identity, ENTRY, link, entry.signature)
    verify(identity, CERTIFICATE, link + certificate, statement.signature)
    return sum((entry.zcdp_rho for entry in statement.entries), Fraction(0))

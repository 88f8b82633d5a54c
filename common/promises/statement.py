"""A party's signed statement of a release: its ledger entries, chained by hashes, and the certificate.

A link of the chain is the digest of the previous link and of the entry. The first link is that of the terms,
so no entry can be removed, inserted or moved to another release, and the terms state the unit of every cost.
The statement can be verified without the parties, from their identities.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..crypto.identity import Identity, verify
from ..data.domain import Clique
from ..errors import ProtocolError
from ..history import Mark
from ..privacy.budget import AnswerKind

TERMS, ENTRY, CERTIFICATE = "terms of a release", "ledger entry", "certificate of a release"
"""Purposes of signatures."""

DIGEST_BYTES = 32
_PREFIX = b"dpmosaic ledger 1"


@dataclass(frozen=True)
class Entry:
    """One charged query in a party's ledger.

    Attributes:
        query_id: unique within the release.
        query: SHA-256 of the query.
        kind: what the noise was added to, as follows from the query.
        clique: attributes of the marginal that was asked for; empty for scores and alignments.
        groups: number of groups of codes of each of them, 0 for single codes; empty for single codes of all.
        zcdp_rho: cost for the unit of the release's terms, as the party computed it.
        delta: probability with which a label that one person alone has is stated; 0 of other kinds.
        signature: the party's signature over the link of the entry.
    """

    query_id: str
    query: bytes
    kind: AnswerKind
    clique: Clique
    groups: tuple[int, ...]
    zcdp_rho: Fraction
    delta: Fraction
    signature: bytes

    def __post_init__(self) -> None:
        if self.kind is AnswerKind.OTHER or not 0 <= self.delta < 1:
            raise ValueError("parties charge queries of known kinds, with a delta from 0 to 1")
        if (self.delta > 0) != (self.kind is AnswerKind.LABELS):
            raise ValueError("labels have a delta above 0, and nothing else has one")


@dataclass(frozen=True)
class Claim:
    """A certificate that the curator asks the parties to sign at the end of a release.

    Attributes:
        release_id: id of the release.
        certificate: SHA-256 of the certificate.
        zcdp_rho_spent: cost that the certificate states.
    """

    release_id: str
    certificate: bytes
    zcdp_rho_spent: float

    def __post_init__(self) -> None:
        if not self.release_id or len(self.certificate) != DIGEST_BYTES or not self.zcdp_rho_spent >= 0:
            raise ValueError("a claim needs a release, the digest of its certificate and the cost spent")


@dataclass(frozen=True)
class Statement:
    """A party's signed statement at the end of a release.

    Attributes:
        entries: ledger entries of the release, in order.
        signature: signature over the last link, the mark and the certificate.
        mark: mark of the ledger when the release was certified.
    """

    entries: tuple[Entry, ...]
    signature: bytes
    mark: Mark


def first_link(terms: bytes) -> bytes:
    """The link of the encoded terms, which precedes the first entry."""
    return hashlib.sha256(_PREFIX + hashlib.sha256(terms).digest()).digest()


def next_link(link: bytes, entry: Entry) -> bytes:
    """The link of an entry, which need not be signed yet, after the given link."""
    asked = (str(len(entry.clique)), *entry.clique, *map(str, entry.groups))
    words = (entry.kind.value, str(entry.zcdp_rho), str(entry.delta), *asked)
    fields = (link, entry.query_id.encode(), entry.query, *(word.encode() for word in words))
    return hashlib.sha256(b"".join(len(field).to_bytes(4, "big") + field for field in fields)).digest()


def state(identity: Identity, entries: Iterable[Entry], link: bytes, claim: Claim, mark: Mark) -> Statement:
    """Signs a party's statement.

    Run by: each party, last step of a release.

    Args:
        identity: identity of the party.
        entries: its ledger entries of the release.
        link: link of the last entry.
        claim: certificate that the curator asks it to sign.
        mark: mark of the ledger when the release was certified.
    """
    signed = link + mark.signed_bytes() + claim.certificate
    return Statement(tuple(entries), identity.sign(CERTIFICATE, signed), mark)


def check_statement(statement: Statement, identity: bytes, terms: bytes, certificate: bytes) -> Fraction:
    """The cost of a release at a party, if the party signed the whole statement.

    Run by: the curator, and any reader of the certificate.

    Args:
        statement: statement of the party.
        identity: pinned public key of the party.
        terms: encoded terms of the release.
        certificate: SHA-256 of the certificate.

    Raises:
        ProtocolError: an entry is altered, missing or moved, or the statement is of another certificate.
    """
    link = first_link(terms)
    seen = set()
    for entry in statement.entries:
        if entry.query_id in seen or entry.zcdp_rho < 0:
            raise ProtocolError("expected a ledger that charges each query once; ask the party's operator")
        seen.add(entry.query_id)
        link = next_link(link, entry)
        verify(identity, ENTRY, link, entry.signature)
    verify(identity, CERTIFICATE, link + statement.mark.signed_bytes() + certificate, statement.signature)
    return sum((entry.zcdp_rho for entry in statement.entries), Fraction(0))

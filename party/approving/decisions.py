"""An operator's decision on a requested release, signed with the party's identity."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from ...common.canonical.form import integer, octets, record, text
from ...common.crypto.identity import Identity, verify
from ...common.errors import ProtocolError

PENDING, APPROVED, DENIED = "pending", "approved", "denied"

DECISION = "decision on a release"
"""Purpose of the signature."""

_KIND, _VERSION = "dpmosaic decision", 1


@dataclass(frozen=True)
class Decision:
    """Who decided what on a release, when and why.

    Attributes:
        verdict: `APPROVED` or `DENIED`.
        by: name of the person who decided, or of the rule that did.
        at: time, ISO 8601 in UTC.
        reason: reason in the operator's words; may be empty.
        signature: the party's signature over all of the above, the terms and the decision's number.
    """

    verdict: str
    by: str
    at: str
    reason: str
    signature: bytes = b""

    def __post_init__(self) -> None:
        if self.verdict not in (APPROVED, DENIED):
            raise ValueError("a decision approves or denies")

    def sign(self, identity: Identity, terms: bytes, number: int) -> Decision:
        """This decision with the party's signature.

        Args:
            identity: identity of the party.
            terms: encoded terms of the release.
            number: number of earlier decisions on the same release.
        """
        return replace(self, signature=identity.sign(DECISION, self._message(terms, number)))

    def is_signed(self, public: bytes, terms: bytes, number: int) -> bool:
        """Whether the party with this public key signed the decision; for the arguments see `sign`."""
        try:
            verify(public, DECISION, self._message(terms, number), self.signature)
        except ProtocolError:
            return False
        return True

    def _message(self, terms: bytes, number: int) -> bytes:
        words = (self.verdict, self.by, self.at, self.reason)
        fields = (octets(hashlib.sha256(terms).digest()), integer(number), *map(text, words))
        return record(_KIND, _VERSION, fields)

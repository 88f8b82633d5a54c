"""A party's signed acceptance of a release."""

from __future__ import annotations

from ..crypto.agreement import EphemeralKey
from ..crypto.identity import Identity, verify
from ..history import Mark
from ..messages import Acceptance

ACCEPTANCE = "acceptance of a release"
"""Purpose of the signature."""


def accept(terms: bytes, identity: Identity, secret: bytes, mark: Mark) -> Acceptance:
    """Signs a release, the party's ephemeral key for agreement with other parties, and its ledger's mark.

    Run by: each party.

    Args:
        terms: SHA-256 of the encoded terms.
        identity: identity of the party.
        secret: 32 bytes that the ledger stores for this release only.
        mark: mark of the ledger, which contains the acceptance.
    """
    ephemeral = EphemeralKey.from_seed(secret).public
    return Acceptance(ephemeral, identity.sign(ACCEPTANCE, _signed_bytes(terms, ephemeral, mark)), mark)


def check_acceptance(accepted: Acceptance, identity: bytes, terms: bytes) -> None:
    """Returns only if the party signed this acceptance of these terms.

    Run by: every other party, and the curator.

    Args:
        accepted: acceptance of the party.
        identity: pinned public key of the party.
        terms: SHA-256 of the encoded terms.

    Raises:
        ProtocolError: it did not.
    """
    signed = _signed_bytes(terms, accepted.ephemeral, accepted.mark)
    verify(identity, ACCEPTANCE, signed, accepted.signature)


def _signed_bytes(terms: bytes, ephemeral: bytes, mark: Mark) -> bytes:
    return terms + mark.signed_bytes() + ephemeral

"""What a party signs when it takes part in a release."""

from __future__ import annotations

from ..common.canonical.terms import terms_digest
from ..common.crypto.agreement import EphemeralKey
from ..common.crypto.identity import Identity
from ..common.messages import Acceptance, ReleaseTerms

ACCEPTANCE = "acceptance of a release"
"""What the signature is for."""


def accept(terms: ReleaseTerms, identity: Identity, secret: bytes) -> Acceptance:
    """The party's signature of a release, with the key that the other parties agree on keys with.

    Args:
        terms: of the release.
        identity: of the party.
        secret: 32 bytes that the ledger keeps for this release alone.
    """
    ephemeral = EphemeralKey.from_seed(secret).public
    return Acceptance(ephemeral, identity.sign(ACCEPTANCE, terms_digest(terms) + ephemeral))

"""A party's signed acceptance of a release."""

from __future__ import annotations

from ..common.canonical.terms import terms_digest
from ..common.crypto.agreement import EphemeralKey
from ..common.crypto.identity import Identity
from ..common.messages import Acceptance, ReleaseTerms

ACCEPTANCE = "acceptance of a release"
"""Purpose of the signature."""


def accept(terms: ReleaseTerms, identity: Identity, secret: bytes) -> Acceptance:
    """Signs a release and the party's ephemeral key, for key agreement with the other parties.

    Args:
        terms: terms of the release.
        identity: identity of the party.
        secret: 32 bytes that the ledger stores for this release only.
    """
    ephemeral = EphemeralKey.from_seed(secret).public
    return Acceptance(ephemeral, identity.sign(ACCEPTANCE, terms_digest(terms) + ephemeral))

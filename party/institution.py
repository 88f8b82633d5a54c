"""Identity, rows and rules of an institution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..common.crypto.identity import Identity, verify
from ..common.data.table import Table
from ..common.errors import PolicyError, ProtocolError
from ..common.messages import ReleaseTerms
from ..common.statement import TERMS
from .policy import Policy


@dataclass(frozen=True, eq=False)
class Rules:
    """Limits of an institution, and the parties and curators that it trusts.

    Attributes:
        policy: limits of the institution.
        known: names and public keys of the pinned parties; for protocols between parties.
        curators: identities of the pinned curators; None to accept any (simulations).
        approve: raises to refuse a new release that the policy allows but that awaits manual approval.
    """

    policy: Policy
    known: Mapping[str, bytes] = field(default_factory=dict)
    curators: Collection[bytes] | None = None
    approve: Callable[[ReleaseTerms], None] | None = None

    def check_signature(self, terms: bytes, signature: bytes) -> None:
        """Refuses terms that no pinned curator signed.

        Args:
            terms: encoded terms, as received.
            signature: signature over these bytes.

        Raises:
            PolicyError: no pinned curator signed them.
        """
        if self.curators is not None and not any(
            _is_signed(curator, terms, signature) for curator in self.curators
        ):
            raise PolicyError("the terms are not signed by a pinned curator; pin the curator with its card")


@dataclass(frozen=True, eq=False)
class Institution:
    """One institution.

    Attributes:
        name: name of its party in the federation.
        identity: long-term key.
        table: rows, as read when the party was started.
        rules: limits and trusted peers.
    """

    name: str
    identity: Identity
    table: Table
    rules: Rules


def _is_signed(curator: bytes, terms: bytes, signature: bytes) -> bool:
    try:
        verify(curator, TERMS, terms, signature)
    except ProtocolError:
        return False
    return True

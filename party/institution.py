"""What an institution brings to its party: who it is, its rows, and its rules."""

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
    """What an institution allows, and to whom.

    Attributes:
        policy: its limits.
        known: names and public keys of the parties that it pinned; for protocols between parties.
        curators: identities of the curators that it pinned; None where any will do (simulations).
        approve: refuses a new release that the policy allows, by raising, where a person has to approve it.
    """

    policy: Policy
    known: Mapping[str, bytes] = field(default_factory=dict)
    curators: Collection[bytes] | None = None
    approve: Callable[[ReleaseTerms], None] | None = None

    def check_signature(self, terms: bytes, signature: bytes) -> None:
        """Refuses terms that no pinned curator signed.

        Args:
            terms: the bytes as they came, not decoded yet.
            signature: over them.

        Raises:
            PolicyError: no pinned curator signed them.
        """
        if self.curators is not None and not any(
            _is_signed(curator, terms, signature) for curator in self.curators
        ):
            raise PolicyError("the terms are not signed by a curator that is pinned here; send it its card")


@dataclass(frozen=True, eq=False)
class Institution:
    """One institution.

    Attributes:
        name: of its party, as the federation knows it.
        identity: its long-term key.
        table: its rows, as they were read when the party was started.
        rules: what it allows.
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

"""Identity, rows and rules of an institution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..common.crypto.identity import Identity, verify
from ..common.data.table import Table
from ..common.errors import PolicyError, ProtocolError
from ..common.messages import ReleaseTerms
from ..common.protocols.partition import Partition
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

    def signer(self, terms: bytes, signature: bytes) -> bytes:
        """Identity of the pinned curator that signed these terms; empty if any curator is accepted.

        Args:
            terms: encoded terms, as received.
            signature: signature over these bytes.

        Raises:
            PolicyError: no pinned curator signed them.
        """
        if self.curators is None:
            return b""
        for curator in self.curators:
            if _is_signed(curator, terms, signature):
                return curator
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

    def check_partition(self, plan: Partition) -> None:
        """Refuses a plan that does not match this institution, or names parties that it did not pin.

        Args:
            plan: proposed by the curator.

        Raises:
            ProtocolError: the plan does not match this party.
            PolicyError: a party of the plan is not pinned, or pinned with another key.
        """
        own = [entry for entry in plan.roster if entry.name == self.name]
        # A plan may leave out attributes that another party of the slice answers for.
        if (
            not own
            or (own[0].identity, own[0].record_count) != (self.identity.public, self.table.record_count)
            or not own[0].attributes
            or not set(own[0].attributes) <= set(self.table.domain.names)
            or own[0].attributes != self.table.domain.canonical(own[0].attributes)
        ):
            raise ProtocolError(
                "expected a plan that names this party with its identity, attributes and records, got "
                "another; describe the party again"
            )
        if plan.domain.shape(own[0].attributes) != self.table.domain.shape(own[0].attributes):
            raise ProtocolError(
                "the plan has other sizes of this party's attributes; use the same domain file"
            )
        for entry in plan.roster:
            if entry.name != self.name and self.rules.known.get(entry.name) != entry.identity:
                raise PolicyError(
                    f"the plan names party {entry.name!r} with an identity that is not pinned here; compare "
                    "fingerprints with its operator and pin it"
                )


def _is_signed(curator: bytes, terms: bytes, signature: bytes) -> bool:
    try:
        verify(curator, TERMS, terms, signature)
    except ProtocolError:
        return False
    return True

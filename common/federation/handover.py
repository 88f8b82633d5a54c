"""Hand-overs of an identity: the former key of a member signs the public key that follows it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..crypto.certificates import check_name
from ..crypto.identity import Identity, verify
from ..errors import DataError, ProtocolError

_PURPOSE = "handover of an identity"
_MOST_HANDOVERS = 1000


@dataclass(frozen=True)
class Handover:
    """One change of a member's identity.

    Attributes:
        role: role of the member.
        name: name of the member.
        former: its identity before, 32 bytes.
        identity: its identity afterwards, 32 bytes.
        recounted: whether its ledger was restored from a backup and recounted since the hand-over before, so
            that it lacks events that others have seen.
        signature: by the former identity, over all of the above.

    Raises:
        DataError: the former identity did not sign it.
    """

    role: str
    name: str
    former: bytes
    identity: bytes
    recounted: bool
    signature: bytes

    def __post_init__(self) -> None:
        check_name(self.name)
        message = _signed_bytes(self.role, self.name, self.former, self.identity, self.recounted)
        try:
            verify(self.former, _PURPOSE, message, self.signature)
        except ProtocolError as cause:
            raise DataError(
                f"the hand-over of {self.name!r} is not signed by its former identity; ask its owner for "
                "the card again"
            ) from cause

    @classmethod
    def issue(
        cls, role: str, name: str, former: Identity, identity: bytes, *, recounted: bool = False
    ) -> Handover:
        """Signs a hand-over with the former key."""
        message = _signed_bytes(role, name, former.public, identity, recounted)
        return cls(role, name, former.public, identity, recounted, former.sign(_PURPOSE, message))

    @classmethod
    def from_json(cls, form: Any) -> Handover:
        """Reads a hand-over and verifies its signature.

        Raises:
            DataError: it is none, or was altered.
        """
        try:
            former, identity, signature = (
                bytes.fromhex(form[key]) for key in ("former", "identity", "signature")
            )
            recounted = bool(form["recounted"])
            return cls(str(form["role"]), str(form["name"]), former, identity, recounted, signature)
        except (KeyError, ValueError, TypeError):
            raise DataError(
                "expected a hand-over of an identity, got another; ask for the card again"
            ) from None

    def to_json(self) -> dict[str, Any]:
        """The hand-over as JSON values."""
        keys = {"former": self.former, "identity": self.identity, "signature": self.signature}
        said = {"role": self.role, "name": self.name, "recounted": self.recounted}
        return said | {key: value.hex() for key, value in keys.items()}


def read_handovers(form: object) -> tuple[Handover, ...]:
    """The hand-overs of a member, in their order.

    Raises:
        DataError: the form is no list of hand-overs, or one was altered.
    """
    if not isinstance(form, list) or len(form) > _MOST_HANDOVERS:
        raise DataError("expected a list of hand-overs of an identity, got another; ask for the card again")
    return tuple(Handover.from_json(entry) for entry in form)


def up_to(handovers: Iterable[Handover], identity: bytes) -> tuple[Handover, ...]:
    """The hand-overs that lead to an identity; a later one was not completed."""
    found: tuple[Handover, ...] = ()
    led: tuple[Handover, ...] = ()
    for handover in handovers:
        found = (*found, handover)
        led = found if handover.identity == identity else led
    return led


def path(
    handovers: Sequence[Handover], role: str, name: str, former: bytes, identity: bytes
) -> tuple[Handover, ...] | None:
    """The hand-overs of this member that lead from one identity to another; None if none do.

    Args:
        handovers: in their order.
        role: role of the member.
        name: name of the member.
        former: identity that is pinned.
        identity: identity that should follow it.
    """
    taken: tuple[Handover, ...] = ()
    reached = former
    for handover in handovers:
        if (handover.role, handover.name, handover.former) == (role, name, reached):
            taken, reached = (*taken, handover), handover.identity
    return taken if reached == identity else None


def _signed_bytes(role: str, name: str, former: bytes, identity: bytes, recounted: bool) -> bytes:
    form = {
        "role": role,
        "name": name,
        "former": former.hex(),
        "identity": identity.hex(),
        "recounted": recounted,
    }
    return json.dumps(form, sort_keys=True, separators=(",", ":")).encode("ascii")

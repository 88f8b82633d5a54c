"""The keying "ddh" of an alignment: points that pass through all parties before they are tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.frames import in_frames
from ....common.protocols.alignment.ddh import (
    POINT_BYTES,
    group_tokens,
    hash_to_group,
    raise_to,
    secret_scalar,
)
from ....common.protocols.alignment.plan import AlignmentPlan
from ...policies.allowance import Quota

_POINTS = "points"


class Passing:
    """One party's place in the ring of the parties whose rows are compared.

    The points of a party pass through the others in the order of the roster, each of which multiplies them by
    a secret scalar; the one before their owner turns them into tokens for the matcher.

    Guarantee: the points are sealed between neighbours. If they passed openly through the curator, it could
        put in points of identifiers of its choice, follow them through all parties, and so try identifiers.
        Sealed, it sees only final tokens and how many they are, which dummies hide; another party sees how
        many they are with the padding that only the owner knows (`AlignmentNoise`), and under the decisional
        Diffie-Hellman assumption nothing of the points, since it does not know the owner's scalar.

    Args:
        plan: plan of the alignment.
        me: index of this party in the roster.
        peers: the other parties.
        secret: secret of this release in the ledger.
        memory: bytes that points may take.
    """

    def __init__(self, plan: AlignmentPlan, me: int, peers: Peers, secret: bytes, memory: Quota) -> None:
        self._ring = plan.group(me)[1]
        self._levels = len(plan.match)
        self._me = me
        self._peers = peers
        self._scalar = secret_scalar(RandomStream(secret).child_key("scalar of points"))
        self._memory = memory
        self._points: dict[int, NDArray[np.uint8]] = {}

    def begin(self, tokens: NDArray[np.uint64]) -> None:
        """Makes the points of this party's own tokens, unless they are there already."""
        if self._me not in self._points:
            self._points[self._me] = raise_to(hash_to_group(tokens), self._scalar)

    def send(self, owner: int, recipient: int) -> Iterator[bytes]:
        """The points of a party, multiplied by this one, sealed for the next one.

        Raises:
            ProtocolError: the points do not go from this party to that one.
            DeliveriesLost: they were not delivered here.
        """
        if recipient == owner or recipient != self._next(self._me):
            raise ProtocolError("expected points to pass along the ring of parties; compare the plan")
        points = self._of(owner)
        return self._peers.seal(recipient, [_POINTS, str(owner)], in_frames(points.reshape(-1).data))

    def receive(self, owner: int, sender: int, chunks: Iterable[bytes]) -> None:
        """Multiplies the points of another party, as the one before this one sends them.

        Raises:
            ProtocolError: the points do not come from there, or are none of the group.
            PolicyError: they take more memory than the policy allows.
        """
        if owner == self._me or owner not in self._ring or self._next(sender) != self._me:
            raise ProtocolError("expected points to pass along the ring of parties; compare the plan")
        octets = bytearray()
        for chunk in self._peers.unseal(sender, [_POINTS, str(owner)], chunks):
            octets += chunk
            self._memory.reserve({(_POINTS, owner): len(octets)})
        if len(octets) % (self._levels * POINT_BYTES):
            raise ProtocolError("expected whole points, got a part of one; start a new alignment")
        points = np.frombuffer(octets, dtype=np.uint8).reshape(-1, self._levels, POINT_BYTES)
        self._points[owner] = raise_to(points, self._scalar)

    def tokens(self, owner: int) -> NDArray[np.uint64]:
        """The tokens of a party whose points have passed through all, shape (tokens, levels, 2).

        Raises:
            ProtocolError: this party is not the last that multiplies them.
            DeliveriesLost: they were not delivered here.
        """
        if self._next(self._me) != owner:
            raise ProtocolError("expected a request to the last party of the ring; compare the plan")
        return group_tokens(self._of(owner))

    def _of(self, owner: int) -> NDArray[np.uint8]:
        if owner not in self._points:
            raise DeliveriesLost("points of a party are missing; deliver them (again)")
        return self._points[owner]

    def _next(self, place: int) -> int:
        """The party after another one; -1 after one that is not in the ring."""
        if place not in self._ring:
            return -1
        return self._ring[(self._ring.index(place) + 1) % len(self._ring)]

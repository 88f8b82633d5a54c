"""What dealers deal to a party: the seeds of its masks, and parts of its shares of products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ....common.crypto.randomness import KEY_BYTES
from ....common.dealing.dealing import dealt_labels
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import DeliveryKind
from ....common.protocols.arithmetic.ring import Words
from ....common.protocols.masked.dealers import known_components
from ....common.protocols.masked.masks import Masks, release_masks
from ....common.protocols.masked.plan import MaskedPlan
from ....common.wire.streams import row_blocks


class ReceivedSeeds:
    """The seeds of a party's masks, of which each dealer sends those that it knows.

    Args:
        peers: the other participants.
        dealers: places of the dealers of the party's slice.
        digest: SHA-256 of the terms.
    """

    def __init__(self, peers: Peers, dealers: Sequence[int], digest: bytes) -> None:
        self._peers = peers
        self._dealers = dealers
        self._digest = digest
        self._seeds: dict[int, bytes] = {}
        self._senders: set[int] = set()

    def receive(self, dealer: int, frames: Iterable[bytes]) -> None:
        """Stores the seeds of one dealer.

        Raises:
            ProtocolError: it is no dealer of the slice, or two dealers sent different seeds of one component.
        """
        if dealer not in self._dealers:
            raise ProtocolError("expected seeds of a dealer of this slice; compare the plan")
        known = known_components(len(self._dealers), self._dealers.index(dealer))
        payload = self._peers.unseal(dealer, dealt_labels(DeliveryKind.MASK_SEEDS, ()), frames)
        (seeds,) = row_blocks(payload, np.dtype("u1"), len(known), KEY_BYTES, len(known))
        for component, seed in zip(known, seeds, strict=True):
            if self._seeds.setdefault(component, seed.tobytes()) != seed.tobytes():
                raise ProtocolError(
                    "expected the same seed of a component of the masks from both dealers that know it, got "
                    "two: one of them does not follow the protocol; ask their operators"
                )
        self._senders.add(dealer)

    @property
    def masks(self) -> Masks:
        """The party's masks.

        Raises:
            DeliveriesLost: a dealer's seeds were not delivered.
        """
        if not self._senders.issuperset(self._dealers):
            raise DeliveriesLost("a mask needs the seeds of all dealers; deliver them first")
        return Masks({number: release_masks(seed, self._digest) for number, seed in self._seeds.items()})


class InSlice:
    """A part of a party's session that dealers of its slice deal for.

    Args:
        plan: plan of the release.
        me: index of this party in the roster.
        seeds: seeds of this party's masks.
        peers: the other participants.
    """

    def __init__(self, plan: MaskedPlan, me: int, seeds: ReceivedSeeds, peers: Peers) -> None:
        self._plan = plan
        self._me = me
        self._slice = plan.roster[me].slice
        self._records = plan.opened_records(self._slice)
        self._dealers = plan.dealers_of(self._slice)
        self._seeds = seeds
        self._peers = peers
        self._streams = peers.streams()


class DealtShare:
    """A party's share of a product as far as dealers dealt it.

    Args:
        dealers: places of the dealers of the slice.
    """

    def __init__(self, dealers: Sequence[int]) -> None:
        self._parts: dict[int, Words | None] = dict.fromkeys(dealers)

    def add(self, dealer: int, words: Words) -> None:
        """Stores the part of one dealer, shape (cells,)."""
        self._parts[dealer] = words.copy()

    @property
    def complete(self) -> bool:
        """Whether all dealers dealt."""
        return all(words is not None for words in self._parts.values())

    @property
    def words(self) -> Words:
        """The sum of all parts, shape (cells,)."""
        first, *others = (words for words in self._parts.values() if words is not None)
        return sum(others, start=first)

"""Checks that shares of row-wise products are opened as they are: this party's own, and those of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ....common.dealing.dealing import dealt_labels
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import Delivery
from ....common.protocols.arithmetic.ring import WIDE, Words
from ....common.protocols.masked.opened_rows import (
    holds_left,
    opened_check_labels,
    opened_check_mask,
    opened_check_pad,
    opened_weights,
    other_cells,
)
from ....common.protocols.masked.plan import Chain, MaskedPlan
from ....common.protocols.masked.sacrifice import inner, repetitions, unpaired_check, weighted_sums
from ....common.wire.streams import row_blocks
from .dealt import InSlice, ReceivedSeeds


@dataclass(frozen=True)
class Tested:
    """What a receiver tests an opened share with; each is read from its beginning.

    Attributes:
        factor: gives the factor that the receiver knows, in blocks of rows.
        words: gives the opening, in blocks of rows.
    """

    factor: Callable[[], Iterator[Words]]
    words: Callable[[], Iterator[Words]]


class OpenedRows(InSlice):
    """The checks of opened row-wise products; see `common/protocols/masked/opened_rows`, and `InSlice`."""

    def __init__(self, plan: MaskedPlan, me: int, seeds: ReceivedSeeds, peers: Peers) -> None:
        super().__init__(plan, me, seeds, peers)
        self._sacrificed: dict[tuple[int, Chain], Words] = {}
        self._attested: dict[tuple[int, Chain], dict[int, Words]] = {}

    def prove(self, chain: Chain, recipient: int, factor: Iterable[Words]) -> Iterator[bytes]:
        """This party's part of the check of its opening, sealed for its receiver.

        Args:
            chain: chain of the product.
            recipient: index of the receiver in the roster.
            factor: the factor that others opened, in blocks of rows.
        """
        times = repetitions(self._plan.ring)
        cells = other_cells(self._plan, chain, holds_left(self._plan, chain, self._slice, self._me))
        mask = opened_check_mask(self._seeds.masks, recipient, chain)
        total, start = np.zeros(times, dtype=np.uint64), 0
        for block in factor:
            hidden = mask.uniform(WIDE, start, len(block), times * cells)
            total += inner(hidden, block.astype(np.uint64, copy=False))
            start += len(block)
        for dealer in self._dealers:
            total -= opened_check_pad(self._plan, self._streams[dealer], recipient, chain)
        return self._peers.seal(recipient, opened_check_labels(chain), [total.data])

    def receive(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores another party's part of the check of its opening."""
        sender, chain = delivery.sender, delivery.chain
        sealed = self._peers.unseal(sender, opened_check_labels(chain), chunks)
        (words,) = row_blocks(sealed, WIDE.dtype, 1, repetitions(self._plan.ring), 1)
        self._sacrificed[sender, chain] = words[0]

    def decide(
        self, delivery: Delivery, chunks: Iterable[bytes], coins: bytes, tested: Tested, rows: int
    ) -> bool:
        """Accepts or refuses another party's opening, from its part of the check and those of all dealers.

        Args:
            delivery: header of a dealer's part.
            chunks: the dealer's part.
            coins: this party's coins for the opening.
            tested: what is tested, in blocks of rows.
            rows: number of rows of each block.

        Returns:
            Whether it is accepted; not before the parts of all dealers were delivered.

        Raises:
            ProtocolError: other words were opened.
            DeliveriesLost: the holder's part was not delivered.
        """
        plan, holder, chain, dealer = self._plan, delivery.owner, delivery.chain, delivery.sender
        if (holder, chain) not in self._sacrificed:
            raise DeliveriesLost("an attestation needs the proof; deliver the proof first")
        columns = other_cells(plan, chain, holds_left(plan, chain, self._slice, holder))
        times = repetitions(plan.ring)
        sealed = self._peers.unseal(dealer, dealt_labels(delivery.kind, (chain,), holder), chunks)
        # The row after the records contains the sums.
        sent = row_blocks(sealed, WIDE.dtype, self._records + 1, times * columns, rows)
        attested = self._attested.setdefault((holder, chain), {})
        attested[dealer] = unpaired_check(sent, tested.factor(), self._records, times)
        if attested.keys() != set(self._dealers):
            return False
        del self._attested[holder, chain]
        left = self._sacrificed[holder, chain] + sum(attested.values())
        left += weighted_sums(plan.ring, opened_weights(coins), tested.words())
        if left.any():
            raise ProtocolError(
                f"expected the opened share of a product from party {plan.roster[holder].name!r}, got other "
                "words: it, another holder or its dealer did not follow the protocol; ask their operators"
            )
        return True

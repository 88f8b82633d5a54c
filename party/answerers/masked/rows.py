"""Row-wise products that dealers dealt, each checked before its receiver uses it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....common.crypto.randomness import RandomStream
from ....common.dealing.dealing import dealt_labels, pad_stream
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import Delivery, DeliveryKind
from ....common.protocols.arithmetic.ring import WIDE, Words
from ....common.protocols.masked.plan import Chain, MaskedPlan, block_rows, labels
from ....common.protocols.masked.sacrifice import (
    CHECK_MASK,
    CHECK_PAD,
    hidden_sums,
    repetitions,
    unpaired_check,
    weighted_sums,
)
from ....common.wire.streams import row_blocks
from ...policies.allowance import Quota
from .dealt import InSlice, ReceivedSeeds
from .openings import Openings


class DealtRows(InSlice):
    """The row-wise products of one party; see `common/protocols/masked/sacrifice`.

    Dealers deal one product for each owner of the left factor, to the holder of the last part. It uses them
    only after the check with every owner.

    For the other arguments see `InSlice`.

    Args:
        disk: bytes of dealt rows.
    """

    def __init__(self, plan: MaskedPlan, me: int, seeds: ReceivedSeeds, peers: Peers, disk: Quota) -> None:
        super().__init__(plan, me, seeds, peers)
        self._dealt = Openings(disk)
        self._words: dict[tuple[int, Chain, int], Words] = {}
        self._passed: set[tuple[int, Chain]] = set()

    def receive(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores dealt rows, or dealt words of their check.

        Raises:
            ProtocolError: this party holds not the last part, or the owner no earlier one.
        """
        chain, owner, dealer = delivery.chain, delivery.owner, delivery.sender
        self._check(chain, owner, self._me)
        dealt = self._peers.unseal(dealer, dealt_labels(delivery.kind, (chain,), owner), chunks)
        if delivery.kind is DeliveryKind.DEALT_ROWS:
            key = delivery.kind, owner, chain, dealer
            self._dealt.put(key, WIDE, self._records, self._plan.cells(chain), dealt)
        else:
            (words,) = row_blocks(dealt, WIDE.dtype, 1, repetitions(self._plan.ring), 1)
            self._words[owner, chain, dealer] = words[0]

    def answer(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """The owner's part of a check, sealed for the receiver: rows of X + X', then a row of sums.

        Args:
            chain: chain of the product.
            recipient: index in the roster of the party that holds its last part.

        Raises:
            ProtocolError: this party holds no earlier part.
        """
        self._check(chain, self._me, recipient)
        return self._peers.seal(recipient, self._what(chain), self._check_blocks(chain, recipient))

    def _check_blocks(self, chain: Chain, recipient: int) -> Iterator[memoryview]:
        ring, plan = self._plan.ring, self._plan
        left, cells, columns = chain[:-1], plan.cells(chain), plan.cells(chain[-1:])
        times = repetitions(ring)
        mask, hidden = self._seeds.masks.of(plan, left), self._seeds.masks.child(CHECK_MASK, *labels(chain))
        pads, check_pads = self.pads("row-wise share", chain), self.pads(CHECK_PAD, chain)
        blocks = (
            (
                mask.wide(ring, start, size, plan.cells(left)),
                _sum([WIDE.uniform(pad, size, cells) for pad in pads]),
                hidden.uniform(WIDE, start, size, times * columns),
            )
            for start, size in self._blocks(chain)
        )
        pad = _sum([WIDE.uniform(pad, 1, times)[0] for pad in check_pads])
        for block in hidden_sums(ring, self._weights(chain, recipient), blocks, pad):
            yield block.data

    def decide(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Accepts or refuses what was dealt for the product with one owner.

        Args:
            delivery: header of the owner's part of the check.
            chunks: the owner's part.

        Raises:
            ProtocolError: the check failed, as it will again, since nothing else can be dealt.
            DeliveriesLost: a dealer's message was not delivered.
        """
        chain, owner = delivery.chain, delivery.sender
        self._check(chain, owner, self._me)
        if any((owner, chain, dealer) not in self._words for dealer in self._dealers):
            raise DeliveriesLost("a check needs the messages of all dealers; deliver them first")
        ring, plan = self._plan.ring, self._plan
        columns, times = plan.cells(chain[-1:]), repetitions(ring)
        at_once = self._at_once(chain)
        sealed = self._peers.unseal(owner, self._what(chain), chunks)
        # The row after the records contains the sums.
        received = row_blocks(sealed, WIDE.dtype, self._records + 1, times * columns, at_once)
        mask, stream = self._seeds.masks.of(plan, chain[-1:]), self._weights(chain, owner)
        others = (mask.wide(ring, start, size, columns) for start, size in self._blocks(chain))
        zero = unpaired_check(received, others, self._records, times)
        zero += weighted_sums(ring, stream, self._dealt_blocks(owner, chain, at_once))
        zero += _sum([self._words[owner, chain, dealer] for dealer in self._dealers])
        if zero.any():
            names = ", ".join(repr(self._plan.participants[place].name) for place in self._dealers)
            raise ProtocolError(
                f"expected a row-wise product that passes its check, got another: a dealer of {names}, or "
                "another holder of the product, did not follow the protocol; ask their operators"
            )
        self._passed.add((owner, chain))

    def blocks(self, chain: Chain, rows: int) -> Iterator[Words]:
        """The receiver's share of the product of the masks, uint64, in blocks of rows.

        Raises:
            DeliveriesLost: the check with an owner was not delivered.
        """
        owners = self._plan.openers(chain, self._slice)
        if not self._passed.issuperset((owner, chain) for owner in owners):
            raise DeliveriesLost("a product needs dealt rows that passed their check; deliver both")
        parts = [self._dealt_blocks(owner, chain, rows) for owner in owners]
        for blocks in zip(*parts, strict=True):
            yield _sum(blocks)

    def owner_blocks(self, chain: Chain, sizes: Iterable[int]) -> Iterator[Words]:
        """An owner's share of the product of the masks, uint64, in blocks of these numbers of rows."""
        pads, cells = self.pads("row-wise share", chain), self._plan.cells(chain)
        for size in sizes:
            yield _sum([WIDE.uniform(pad, size, cells) for pad in pads])

    def drop(self, chain: Chain) -> None:
        """Frees what was dealt for a product."""
        for owner in self._plan.openers(chain, self._slice):
            self._passed.discard((owner, chain))
            for dealer in self._dealers:
                self._dealt.drop((DeliveryKind.DEALT_ROWS, owner, chain, dealer))
                self._words.pop((owner, chain, dealer), None)

    def _check(self, chain: Chain, owner: int, receiver: int) -> None:
        self._plan.check_chain(chain, self._slice, parts=2)
        last = self._plan.holders(chain, self._slice)[-1]
        if last != receiver or owner not in self._plan.openers(chain, self._slice):
            raise ProtocolError(
                "expected a product between its last holder and an earlier one; compare the plan"
            )

    def _dealt_blocks(self, owner: int, chain: Chain, rows: int) -> Iterator[Words]:
        """What all dealers dealt for the product with one owner, in blocks of rows."""
        keys: list[Hashable] = [(DeliveryKind.DEALT_ROWS, owner, chain, dealer) for dealer in self._dealers]
        for blocks in zip(*(self._dealt.blocks(key, rows) for key in keys), strict=True):
            yield _sum(blocks)

    def _at_once(self, chain: Chain) -> int:
        return block_rows(WIDE, 4 * self._plan.cells(chain))

    def _blocks(self, chain: Chain) -> Iterator[tuple[int, int]]:
        """First row and number of rows of each block."""
        at_once = self._at_once(chain)
        for start in range(0, self._records, at_once):
            yield start, min(at_once, self._records - start)

    def _weights(self, chain: Chain, other: int) -> RandomStream:
        return self._streams[other].child("check weights", *labels(chain))

    def pads(self, kind: str, chain: Chain) -> list[RandomStream]:
        """This party's share of a dealt product: the words that hide what each dealer deals for it."""
        return [pad_stream(self._streams[dealer], kind, chain) for dealer in self._dealers]

    def _what(self, chain: Chain) -> list[str]:
        return [DeliveryKind.CHECK.name, *labels(chain)]


def _sum(blocks: Iterable[Words]) -> Words:
    first, *others = blocks
    return sum(others, start=first)

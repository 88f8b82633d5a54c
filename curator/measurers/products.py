"""Products between parties, for the protocol `masked`: who opens, deals and multiplies what, and once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from ...common.data.view import View
from ...common.errors import DeliveriesLost
from ...common.messages import DealRequest, DeliveryKind, MultiplyRequest, OpeningRequest
from ...common.protocols.masked.plan import Chain, MaskedPlan
from ..parties.client import PartyClient

_MOST_NAMED = 1 << 19
"""Largest number of bytes of the columns that one message names, unless it names a single chain."""


class Products:
    """What the parties and dealers of a release have sent each other, and have yet to send.

    Args:
        release_id: id of the release.
        plan: its plan.
        participants: the parties in the order of the roster, then the dealers.
    """

    def __init__(self, release_id: str, plan: MaskedPlan, participants: Sequence[PartyClient]) -> None:
        self._release_id = release_id
        self._plan = plan
        self._participants = participants
        self._opened: set[tuple[int, Chain, int]] = set()
        self._ranges: set[tuple[int, Chain, int, int]] = set()
        self._multiplied: set[tuple[int, Chain]] = set()
        self._seeded: set[int] = set()
        self._ordered: set[int] = set()
        self._lost: set[int] = set()

    def begin(self, number: int) -> None:
        """Before the first opening of a slice: its parties get seeds of masks, and compare their order."""
        if number not in self._seeded and len(self._plan.members(number)) > 1:
            for recipient, dealer in itertools.product(
                self._plan.members(number), self._plan.dealers_of(number)
            ):
                self._deal(dealer, DealRequest(self._release_id, DeliveryKind.MASK_SEEDS, recipient))
        self._seeded.add(number)
        self._compare_order(number)

    def prepare(self, asked: Sequence[View]) -> None:
        """Opens, deals and multiplies what these views need and earlier ones did not."""
        for number in range(self._plan.slice_count):
            chains = dict.fromkeys(self._plan.chain(view, number) for view in asked)
            together: dict[Chain, list[Chain]] = {}
            for chain in chains:
                if len(chain) > 1 and (number, chain) not in self._multiplied:
                    # Openings of longer chains are large: they are made once for all products that need them,
                    # and freed after the multiplication.
                    together.setdefault(chain[:-1] if len(chain) > 2 else (), []).append(chain)
            for group in together.values():
                for piece in _pieces(group):
                    self._multiply(piece, number)

    def forget(self, lost: DeliveriesLost) -> None:
        """Forgets what was delivered to the participant that lost it.

        If that is not known, or was no help since the last product, all deliveries are forgotten.
        """
        places = {place for place, client in enumerate(self._participants) if client is lost.at}
        if not places or places == self._lost:
            places = set(range(len(self._participants)))
        self._lost = places
        self._opened = {one for one in self._opened if one[2] not in places}
        self._ranges = {one for one in self._ranges if one[2] not in places}
        holders = self._plan.holders
        self._multiplied = {
            (number, chain) for number, chain in self._multiplied if places.isdisjoint(holders(chain, number))
        }
        # Seeds and tags are small.
        self._seeded.clear()
        self._ordered.clear()

    def _compare_order(self, number: int) -> None:
        """The parties of a slice compare the order of their records, unless they did."""
        if number in self._ordered or self._plan.alignment is not None:
            return
        members = self._plan.members(number)
        for sender, recipient in itertools.permutations(members, 2):
            request = OpeningRequest(self._release_id, (), recipient, DeliveryKind.RECORD_ORDER)
            self._participants[sender].relay(sender, request, self._participants[recipient])
        self._ordered.add(number)

    def _multiply(self, chains: Sequence[Chain], number: int) -> None:
        self.begin(number)
        for before in dict.fromkeys(chain[:k] for chain in chains for k in range(2, len(chain))):
            self._exchange(before, number)
            self._deal_rows(before, number)
        for chain in chains:
            self._exchange(chain, number)
        for recipient in dict.fromkeys(self._plan.holders(chain, number)[-1] for chain in chains):
            dealt = tuple(c for c in chains if self._plan.holders(c, number)[-1] == recipient)
            request = DealRequest(self._release_id, DeliveryKind.DEALT_PRODUCTS, recipient, dealt)
            self._deal_all(number, request)
        for party in self._plan.members(number):
            own = tuple(c for c in chains if party in self._plan.holders(c, number))
            if own:
                self._participants[party].multiply(MultiplyRequest(self._release_id, own))
        self._multiplied.update((number, chain) for chain in chains)
        self._lost = set()
        # The parties keep openings of single parts.
        self._opened = {opened for opened in self._opened if len(opened[1]) == 1}

    def _exchange(self, chain: Chain, number: int) -> None:
        """The holders of the last part and of the parts before it exchange openings of what they multiply."""
        last = self._plan.holders(chain, number)[-1]
        for owner in self._plan.openers(chain, number):
            self._open(owner, chain[:-1], last)
            self._open(last, chain[-1:], owner)

    def _open(self, owner: int, chain: Chain, recipient: int) -> None:
        if (owner, chain, recipient) in self._opened:
            return
        for place in range(self._plan.opened_ranges(chain, self._plan.roster[owner].slice)):
            opened = (owner, chain, recipient, place)
            if opened not in self._ranges:
                request = OpeningRequest(self._release_id, chain, recipient, step=place)
                self._participants[owner].relay(owner, request, self._participants[recipient])
                self._ranges.add(opened)
        if self._plan.check:
            self._check(owner, chain, recipient)
        self._opened.add((owner, chain, recipient))
        self._ranges = {known for known in self._ranges if known[:3] != (owner, chain, recipient)}

    def _check(self, owner: int, chain: Chain, recipient: int) -> None:
        """Has an opening proved to its receiver, which tells the dealers its coins once it has the proof.

        Of one part, it tells the owner first. Of a product, it needs the openings of the factors.
        """
        number = self._plan.roster[owner].slice
        for factor in (chain[:-1], chain[-1:]) if len(chain) > 1 else ():
            for holder in self._plan.holders(factor, number):
                if holder != recipient:
                    self._open(holder, factor, recipient)
        if len(chain) == 1:
            self._tell(owner, chain, recipient, owner)
        proof = OpeningRequest(self._release_id, chain, recipient, DeliveryKind.PROOF)
        self._participants[owner].relay(owner, proof, self._participants[recipient])
        for dealer in self._plan.dealers_of(number):
            self._tell(owner, chain, recipient, dealer)
        self._deal_all(
            number, DealRequest(self._release_id, DeliveryKind.ATTESTATION, recipient, (chain,), owner)
        )

    def _tell(self, owner: int, chain: Chain, recipient: int, told: int) -> None:
        """The receiver of an opening tells somebody its coins."""
        coins = OpeningRequest(self._release_id, chain, told, DeliveryKind.COINS, step=owner)
        self._participants[recipient].relay(recipient, coins, self._participants[told])

    def _deal_rows(self, chain: Chain, number: int) -> None:
        """Has a row-wise product dealt and checked with every owner of the left factor."""
        recipient = self._plan.holders(chain, number)[-1]
        for owner in self._plan.openers(chain, number):
            for kind in (DeliveryKind.DEALT_ROWS, DeliveryKind.DEALT_CHECK):
                self._deal_all(number, DealRequest(self._release_id, kind, recipient, (chain,), owner))
            check = OpeningRequest(self._release_id, chain, recipient, DeliveryKind.CHECK)
            self._participants[owner].relay(owner, check, self._participants[recipient])

    def _deal_all(self, number: int, request: DealRequest) -> None:
        """All dealers of a slice deal at the same time."""
        dealers = self._plan.dealers_of(number)
        with ThreadPoolExecutor(len(dealers)) as threads:
            list(threads.map(lambda dealer: self._deal(dealer, request), dealers))

    def _deal(self, dealer: int, request: DealRequest) -> None:
        self._participants[dealer].relay_dealt(dealer, request, self._participants[request.recipient])


def _pieces(chains: Sequence[Chain]) -> Iterator[list[Chain]]:
    """The chains in messages of limited size: the columns of grouped attributes have long names."""
    piece, size = list[Chain](), 0
    for chain in chains:
        named = sum(len(column.encode()) for part in chain for column in part)
        if piece and size + named > _MOST_NAMED:
            yield piece
            piece, size = [], 0
        piece.append(chain)
        size += named
    yield piece

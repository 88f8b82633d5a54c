"""What a dealer does in one release: it deals seeds of masks, and its parts of products of masks.

A dealer knows masks, or some of their components (`common/protocols/masked/dealers`), but sees no opening,
since openings are sealed between parties. What it deals is sealed for one party. It is hidden by pads that
only the dealer and the other holders of the product know, so that the party learns nothing from it, not even
together with one of three dealers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ..canonical.terms import terms_digest
from ..crypto.randomness import KEY_BYTES, FreshKeys, RandomStream
from ..errors import DeliveriesLost, ProtocolError
from ..frames import join_chunks
from ..messages import Acceptance, DealRequest, Delivery, DeliveryKind, OpeningRequest
from ..processes.workers import RangeMap, inline
from ..promises.binding import Binding
from ..protocols.arithmetic.ring import WIDE, Words
from ..protocols.masked import products
from ..protocols.masked.dealers import dealt_terms, knowing_positions, known_components
from ..protocols.masked.masks import (
    Mask,
    Masks,
    coins_labels,
    proof_stream,
    release_masks,
)
from ..protocols.masked.one_hot import attest
from ..protocols.masked.one_hot_integers import challenge_of
from ..protocols.masked.opened_rows import (
    holds_left,
    opened_check_mask,
    opened_check_pad,
    opened_weights,
    other_cells,
)
from ..protocols.masked.plan import Chain, MaskedPlan, block_rows, labels, products_of, rectangles
from ..protocols.masked.ranges import dealt_range, sum_of
from ..protocols.masked.sacrifice import CHECK_MASK, CHECK_PAD, hidden_sums, inner, repetitions
from ..terms import ReleaseTerms
from .evaluator import DealerScores
from .peers import Peers

_COMPONENT = "component of masks"


class Dealing:
    """One dealer of one release.

    Args:
        terms: terms of a release with a masked plan.
        place: place of the dealer in the plan.
        secret: 32 bytes of the dealer for this release only.
        acceptances: acceptances of all participants, in the plan's order; verified here.
        salts: source of salts.
        binding: what this dealer received of the others.
        ranges: multiplies ranges of rows.

    Raises:
        ProtocolError: an acceptance is missing, or not signed by the participant in the plan.
    """

    def __init__(
        self,
        terms: ReleaseTerms,
        place: int,
        secret: bytes,
        acceptances: Sequence[Acceptance],
        salts: FreshKeys,
        binding: Binding,
        ranges: RangeMap = inline,
    ) -> None:
        if terms.masked_plan is None:
            raise ProtocolError(f"a release by the protocol {terms.spec.protocol!r} has no dealers")
        self._plan: MaskedPlan = terms.masked_plan
        self._place = place
        self._ranges = ranges
        self._secret = RandomStream(secret)
        self._peers = Peers(terms, place, secret, acceptances, salts, binding)
        self._streams = self._peers.streams()
        self._digest = terms_digest(terms)
        self.scores = DealerScores(self._plan, place, self._peers)
        """Its score queries, if it is evaluator 0."""
        self._coins: dict[tuple[int, int, Chain], bytes] = {}

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """The sealed frames of a message to a party of a slice that it deals for.

        Raises:
            ProtocolError: it does not deal for this party, or the request does not fit the plan.
        """
        recipient, kind = request.recipient, request.kind
        number = self._slice_of(recipient)
        match kind:
            case DeliveryKind.MASK_SEEDS:
                payload: Iterator[bytes] = iter([b"".join(self._seeds(recipient, number).values())])
                return self._peers.seal(recipient, dealt_labels(kind, ()), payload)
            case DeliveryKind.ATTESTATION:
                return self._attestation(request, number)
        if not request.chains:
            raise ProtocolError("expected chains to deal for, got none; name them")
        for chain in request.chains:
            self._plan.check_chain(chain, number, parts=2, summed=kind is DeliveryKind.DEALT_PRODUCTS)
            if self._plan.holders(chain, number)[-1] != recipient:
                raise ProtocolError("expected chains whose last part the recipient holds; compare the plan")
        match kind:
            case DeliveryKind.DEALT_PRODUCTS:
                dealt = self._products(request.chains, number)
                payload = (dealt[chain].tobytes() for chain in request.chains)
            case DeliveryKind.DEALT_ROWS | DeliveryKind.DEALT_CHECK if len(request.chains) == 1:
                (chain,), owner = request.chains, request.owner
                if owner not in self._plan.openers(chain, number):
                    raise ProtocolError("expected a holder of an earlier part as owner; compare the plan")
                blocks = self._rows if kind is DeliveryKind.DEALT_ROWS else self._check
                payload = (block.tobytes() for block in blocks(chain, owner, number))
            case _:
                raise ProtocolError("expected what a dealer deals, got another kind; compare versions")
        return self._peers.seal(recipient, dealt_labels(kind, request.chains, request.owner), payload)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """The sealed frames of a step of a score query."""
        if request.kind is not DeliveryKind.SCORE_STEP:
            raise ProtocolError("a dealer holds no rows to open; compare the plan")
        return self.scores.evaluator(request.query_id).open(request.step, request.recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores the coins of a check, or what an evaluator of scores receives."""
        if delivery.kind is DeliveryKind.COINS:
            self._receive_coins(delivery, chunks)
            return
        if delivery.kind not in (DeliveryKind.SCORE_STEP, DeliveryKind.SCORE_REFERENCES):
            raise ProtocolError("a dealer takes no openings; compare the plan of the release")
        self.scores.evaluator(delivery.query_id).deliver(delivery, chunks)

    def _slice_of(self, party: int) -> int:
        """The slice of a party, if this dealer deals for it."""
        if not 0 <= party < len(self._plan.roster):
            raise ProtocolError("expected a party of the plan as recipient, got another; compare the plan")
        number = self._plan.roster[party].slice
        if self._place not in self._plan.dealers_of(number):
            raise ProtocolError("this dealer does not deal for the recipient's slice; compare the plan")
        return number

    def _seeds(self, party: int, number: int) -> dict[int, bytes]:
        """The seeds of the components of a party's masks that this dealer knows.

        Two dealers that know a component derive its seed from the key that they share.
        """
        dealers = self._plan.dealers_of(number)
        name, seeds = self._plan.roster[party].name, {}
        for component in known_components(len(dealers), dealers.index(self._place)):
            others = {dealers[p] for p in knowing_positions(len(dealers), component)} - {self._place}
            source = self._streams[others.pop()] if others else self._secret
            seeds[component] = source.child_key(_COMPONENT, str(number), str(component), name)
        return seeds

    def _masks(self, party: int) -> Masks:
        """The masks of a party, as far as this dealer knows them."""
        seeds = self._seeds(party, self._plan.roster[party].slice)
        return Masks({number: release_masks(seed, self._digest) for number, seed in seeds.items()})

    def _mask(self, party: int, chain: Chain) -> Mask:
        return self._masks(party).of(self._plan, chain)

    def _terms(self, number: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        dealers = self._plan.dealers_of(number)
        return dealt_terms(len(dealers), dealers.index(self._place))

    def _rows(self, chain: Chain, owner: int, number: int) -> Iterator[Words]:
        """This dealer's part of the row-wise product of an owner's mask, less the pad, in blocks of rows."""
        ring, plan, left, right = self._plan.ring, self._plan, chain[:-1], chain[-1:]
        pad = self._pad(owner, "row-wise share", chain)
        mask = self._mask(owner, left)
        right_mask = self._mask(plan.holders(chain, number)[-1], right)
        for start, size in self._blocks(number, 8 * plan.cells(chain)):
            product = self._product(
                products.row_products,
                mask.wide_components(ring, start, size, plan.cells(left)),
                right_mask.wide_components(ring, start, size, plan.cells(right)),
                number,
            )
            yield products.dealt_share(product, WIDE.uniform(pad, size, plan.cells(chain)))

    def _check(self, chain: Chain, owner: int, number: int) -> Iterator[Words]:
        """This dealer's part of the product that the check of a row-wise product sacrifices, less the pad."""
        ring, plan, right = self._plan.ring, self._plan, chain[-1:]
        times, cells = repetitions(ring), plan.cells(right)
        mask = self._masks(owner).child(CHECK_MASK, *labels(chain))
        right_mask = self._mask(plan.holders(chain, number)[-1], right)
        total = np.zeros(times, dtype=np.uint64)
        for start, size in self._blocks(number, 8 * times * cells):
            total += self._product(
                inner,
                mask.components(WIDE, start, size, times * cells),
                right_mask.wide_components(ring, start, size, cells),
                number,
            )
        pad = self._pad(owner, CHECK_PAD, chain)
        yield products.dealt_share(total, WIDE.uniform(pad, 1, times)[0])

    def _products(self, chains: Sequence[Chain], number: int) -> dict[Chain, Words]:
        """This dealer's parts of the products of the masks, less pads; each of shape (cells,)."""
        plan, ring, dealt = self._plan, self._plan.ring, {}
        # Who opens a left factor depends on who holds the right one, which differs in no other way.
        divided = [c for c in chains if len(plan.openers(c, number)) < len(c) - 1]
        whole = [c for c in chains if c not in set(divided)]
        for lefts, rights in [*rectangles(plan, whole), *rectangles(plan, divided)]:
            widths = [plan.cells(chain) for chain in lefts]
            right_widths = [plan.cells((right,)) for right in rights]
            masks = [[self._mask(i, c) for i in plan.openers((*c, rights[0]), number)] for c in lefts]
            right_masks = [self._mask(plan.holders((r,), number)[0], (r,)) for r in rights]
            left, right = (
                list(zip(masks, widths, strict=True)),
                list(zip(right_masks, right_widths, strict=True)),
            )
            pieces = (
                (ring, self._terms(number), left, right, start, size)
                for start, size in self._blocks(number, sum(widths) + sum(right_widths))
            )
            total = np.zeros((sum(widths), sum(right_widths)), dtype=ring.dtype)
            for product in self._ranges(dealt_range, pieces, plan.opened_records(number)):
                total += product
            for chain, product in products_of(plan, lefts, rights, total):
                pads = [self._pad(i, "product share", chain) for i in plan.openers(chain, number)]
                hidden = sum_of([ring.uniform(s, 1, product.size)[0] for s in pads])
                dealt[chain] = products.dealt_share(product, hidden)
        return dealt

    def _product(
        self,
        multiply: Callable[[Words, Words], Words],
        left: dict[int, Words],
        right: dict[int, Words],
        number: int,
    ) -> Words:
        """This dealer's terms of a product of a left mask and a right one, given by components."""
        return sum_of([multiply(left[x], sum_of([right[y] for y in ys])) for x, ys in self._terms(number)])

    def _receive_coins(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores the coins by which a receiver has an opening proved; there are no others for it, ever."""
        recipient, owner, chain = delivery.sender, delivery.step, delivery.chain
        self._check_opened(owner, chain, self._slice_of(recipient))
        sealed = self._peers.unseal(recipient, coins_labels(owner, chain), chunks)
        # Of one part, the key of the point comes after the coins.
        self._coins[recipient, owner, chain] = join_chunks(sealed, (1 + (len(chain) == 1)) * KEY_BYTES)

    def _check_opened(self, owner: int, chain: Chain, number: int) -> None:
        if not self._plan.check or self._slice_of(owner) != number:
            raise ProtocolError(
                "expected the owner and the chain of an opening, in a release that checks openings; compare "
                "the plan"
            )
        self._plan.check_chain(chain, number)

    def _attestation(self, request: DealRequest, number: int) -> Iterator[bytes]:
        """Its message to the receiver of an opening, by the receiver's coins (`one_hot`, `opened_rows`)."""
        plan, owner, recipient = self._plan, request.owner, request.recipient
        chain = request.chains[0] if len(request.chains) == 1 else ()
        self._check_opened(owner, chain, number)
        if (recipient, owner, chain) not in self._coins:
            raise DeliveriesLost("an attestation needs the coins of the receiver; deliver them first")
        told = self._coins[recipient, owner, chain]
        coins, point = told[:KEY_BYTES], told[KEY_BYTES:]
        what = dealt_labels(request.kind, request.chains, owner)
        if len(chain) > 1:
            blocks = self._opened_check(chain, owner, recipient, number, coins)
            return self._peers.seal(recipient, what, (block.data for block in blocks))
        challenge, masks = challenge_of(plan, number, chain, coins), self._masks(owner)
        ring, cells = plan.opened_ring(chain), plan.cells(chain)
        known, streams = {}, {}
        for component, source in masks.sources.items():
            mask = Masks({component: source}).of(plan, chain)
            blocks = (mask.uniform(ring, *at, cells) for at in self._blocks(number, 4 * cells))
            known[component] = challenge.sketch(blocks, masks=True)
            streams[component] = proof_stream(source, recipient, coins, chain)
        dealers = plan.dealers_of(number)
        position = dealers.index(self._place)
        attested = attest(challenge, known, streams, RandomStream(point), len(dealers), position)
        return self._peers.seal(recipient, what, [attested.astype("<u8").tobytes()])

    def _opened_check(
        self, chain: Chain, owner: int, recipient: int, number: int, coins: bytes
    ) -> Iterator[Words]:
        """Its part of the check of an opened share of a row-wise product (`opened_rows`).

        Of three dealers, each answers for one component of the masks.
        """
        plan, ring, cells = self._plan, self._plan.ring, self._plan.cells(chain)
        left = holds_left(plan, chain, number, owner)
        factor = chain[:-1] if left else chain[-1:]
        dealers = plan.dealers_of(number)
        component, *_ = known_components(len(dealers), dealers.index(self._place))
        masks = Masks({component: self._masks(owner).sources[component]})
        mask, opened = masks.of(plan, factor), masks.of(plan, chain)
        hidden = opened_check_mask(masks, recipient, chain)
        times, columns = repetitions(ring), other_cells(plan, chain, left)
        shares = self._shares(chain, owner, number)
        blocks = (
            (
                mask.wide(ring, start, size, plan.cells(factor)),
                opened.wide(ring, start, size, cells) - next(shares),
                hidden.uniform(WIDE, start, size, times * columns),
            )
            for start, size in self._blocks(number, 8 * cells)
        )
        pad = opened_check_pad(plan, self._streams[owner], recipient, chain)
        return hidden_sums(ring, opened_weights(coins), blocks, pad, right=not left)

    def _shares(self, chain: Chain, owner: int, number: int) -> Iterator[Words]:
        """What a holder of a row-wise product adds to it: pads, or all that was dealt; in blocks of rows."""
        if holds_left(self._plan, chain, number, owner):
            pad, cells = self._pad(owner, "row-wise share", chain), self._plan.cells(chain)
            return (WIDE.uniform(pad, size, cells) for _, size in self._blocks(number, 8 * cells))
        dealt = [self._rows(chain, other, number) for other in self._plan.openers(chain, number)]
        return (sum_of(blocks) for blocks in zip(*dealt, strict=True))

    def _pad(self, owner: int, kind: str, chain: Chain) -> RandomStream:
        """What only this dealer and another holder of a product know, and the recipient does not."""
        return pad_stream(self._streams[owner], kind, chain)

    def _blocks(self, number: int, cells: int) -> Iterator[tuple[int, int]]:
        """First row and number of rows of each block of a slice."""
        records, at_once = self._plan.opened_records(number), block_rows(self._plan.ring, cells)
        for start in range(0, records, at_once):
            yield start, min(at_once, records - start)


def pad_stream(pair: RandomStream, kind: str, chain: Chain) -> RandomStream:
    """Run by a dealer and by the owner of a left factor: words that hide what the dealer deals.

    Args:
        pair: stream of the key that the two share.
        kind: "product share", "row-wise share" or `CHECK_PAD`.
        chain: chain of the product.
    """
    return pair.child("pad", kind, *labels(chain))


def dealt_labels(kind: DeliveryKind, chains: Sequence[Chain], owner: int = 0) -> list[str]:
    """Labels of a sealed message of a dealer."""
    named = [text for chain in chains for text in (str(len(chain)), *labels(chain))]
    return ["dealt", kind.name, str(owner), *named]

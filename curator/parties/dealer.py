"""The dealer of the protocol `masked`: deals seeds of masks, and shares of products of masks.

It knows every mask but sees no opening, since openings are sealed between parties: it learns nothing
unless it colludes with a party. The curator is the dealer. In a release of two parties it also evaluates
scores; what it receives then is uniform to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...common.canonical.terms import terms_digest
from ...common.crypto.randomness import FreshKeys, RandomStream
from ...common.dealing.evaluator import Resharing, ScoreEvaluator
from ...common.dealing.peers import Peers
from ...common.messages import ReleaseTerms, ScoreQuery
from ...common.protocols.masked import products
from ...common.protocols.masked.field import Elements
from ...common.protocols.masked.masks import dealer_pair_key, proof_stream, release_masks
from ...common.protocols.masked.one_hot import Challenge, attest
from ...common.protocols.masked.plan import Chain, MaskedPlan, block_rows, labels, products_of, rectangles
from ...common.protocols.masked.ring import Words
from ...common.wire import codec, queries, streams


class Dealer:
    """The dealer of one release.

    Args:
        terms: terms of the release.
        plan: plan of the release.
        keys: source of the parties' seeds; the same keys deal the same randomness again.
    """

    def __init__(self, terms: ReleaseTerms, plan: MaskedPlan, keys: RandomStream) -> None:
        self._plan = plan
        names = [entry.name for entry in plan.roster]
        self.seeds = tuple(keys.child_key("mask seed", terms.release_id, name) for name in names)
        """For each party of the roster, 32 secret bytes."""
        self._salts = keys.child("salts", terms.release_id)
        self._digest = terms_digest(terms)
        self.masks = tuple(release_masks(seed, self._digest) for seed in self.seeds)
        """For each party of the roster, the source of its masks and dealt shares."""

    def rows(self, chain: Chain, number: int) -> Iterator[Words]:
        """The last holder's share of the row-wise product of the masks, in blocks of rows.

        Args:
            chain: chain of at least two parts.
            number: number of the slice.
        """
        ring, plan = self._plan.ring, self._plan
        left, right = chain[:-1], chain[-1:]
        owners = plan.openers(chain, number)
        shares = [self._stream(i, "row-wise share", chain) for i in owners]
        masks = [self._stream(i, "mask", left) for i in owners]
        right_masks = self._stream(plan.holders(right, number)[0], "mask", right)
        for size in self._blocks(number, 4 * plan.cells(chain)):
            mask = _sum([ring.uniform(s, size, plan.cells(left)) for s in masks])
            product = products.row_products(mask, ring.uniform(right_masks, size, plan.cells(right)))
            yield products.dealt_share(
                product, _sum([ring.uniform(s, size, plan.cells(chain)) for s in shares])
            )

    def products(self, chains: Sequence[Chain], number: int) -> Iterator[tuple[Chain, Words]]:
        """The last holder's share of the product of the masks, for each chain of a slice, in any order.

        Args:
            chains: chains of at least two parts.
            number: number of the slice.

        Yields:
            A chain and its words, shape (cells,).
        """
        plan = self._plan
        # Who opens a left factor depends on who holds the right one, which differs in no other way.
        divided = [c for c in chains if len(plan.openers(c, number)) < len(c) - 1]
        whole = [c for c in chains if c not in set(divided)]
        for lefts, rights in [*rectangles(plan, whole), *rectangles(plan, divided)]:
            widths = [plan.cells(chain) for chain in lefts]
            right_widths = [plan.cells((right,)) for right in rights]
            masks = [
                [self._stream(i, "mask", c) for i in plan.openers((*c, rights[0]), number)] for c in lefts
            ]
            right_masks = [self._stream(plan.holders((r,), number)[0], "mask", (r,)) for r in rights]
            total = np.zeros((sum(widths), sum(right_widths)), dtype=plan.ring.dtype)
            for size in self._blocks(number, sum(widths) + sum(right_widths)):
                left = [
                    _sum([plan.ring.uniform(s, size, width) for s in streams])
                    for streams, width in zip(masks, widths, strict=True)
                ]
                right = [
                    plan.ring.uniform(s, size, width)
                    for s, width in zip(right_masks, right_widths, strict=True)
                ]
                total += plan.ring.transposed_product(np.hstack(left), np.hstack(right))
            for chain, product in products_of(plan, lefts, rights, total):
                yield chain, self._dealt(chain, number, product)

    def attestation(self, owner: int, chain: Chain, recipient: int, coins: bytes) -> Elements:
        """Its message to the receiver of an opening, once the receiver has the owner's proof (`one_hot`).

        Args:
            owner: index of the owner in the roster.
            chain: the opened part.
            recipient: index of the receiver in the roster.
            coins: coins of the proof.
        """
        number, cells = self._plan.roster[owner].slice, self._plan.cells(chain)
        stream = self._stream(owner, "mask", chain)
        masks = (self._plan.ring.uniform(stream, size, cells) for size in self._blocks(number, 4 * cells))
        challenge = Challenge.from_coins(coins, self._plan.records(number), cells)
        proof = proof_stream(self.masks[owner], recipient, coins, chain)
        return attest(challenge, challenge.sketch(masks, masks=True), proof, RandomStream.from_os())

    def evaluator(self, query: ScoreQuery) -> ScoreEvaluator:
        """The dealer as evaluator of scores, if the plan names it."""
        place = len(self._plan.roster)
        peers = DealerPeers(self._digest, place, tuple(map(dealer_pair_key, self.masks)), self._salts.key)
        resharing = Resharing(self._plan, query, place, peers)
        return ScoreEvaluator(resharing, query, place, peers, None)

    def _dealt(self, chain: Chain, number: int, product: Words) -> Words:
        """The last holder's share of one product."""
        streams = [self._stream(i, "product share", chain) for i in self._plan.openers(chain, number)]
        shares = _sum([self._plan.ring.uniform(s, 1, product.size)[0] for s in streams])
        return products.dealt_share(product, shares)

    def _stream(self, party: int, kind: str, chain: Chain) -> RandomStream:
        return self.masks[party].child(kind, *labels(chain))

    def _blocks(self, number: int, cells: int) -> Iterator[int]:
        """Number of rows of each block of a slice."""
        records, at_once = self._plan.records(number), block_rows(self._plan.ring, cells)
        for start in range(0, records, at_once):
            yield min(at_once, records - start)


class DealerPeers(Peers):
    """Keys that the dealer shares with every party.

    Args:
        digest: digest of the terms.
        me: place of the dealer.
        keys: key shared with each party, in roster order.
        salts: source of salts.
    """

    def __init__(self, digest: bytes, me: int, keys: Sequence[bytes], salts: FreshKeys) -> None:
        self._me, self._digest, self._keys = me, digest, dict(enumerate(keys))
        self._salts = salts


class DealerLink:
    """A connection to the dealer in this process, which evaluates scores.

    Args:
        dealer: dealer of the release.
    """

    def __init__(self, dealer: Dealer) -> None:
        self._dealer = dealer
        self._evaluator: ScoreEvaluator | None = None

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests; see `Connection`."""
        if method == "PrepareScores":
            self._evaluator = self._dealer.evaluator(queries.decode_score_query(*requests))
            yield codec.encode_acknowledgement()
            return
        assert self._evaluator is not None, "scores are prepared first"
        if method == "Open":
            request = queries.decode_opening_request(*requests)
            yield from streams.encode_payload(self._evaluator.open(request.step, request.recipient))
        else:
            assert method == "Deliver", "a dealer has no other method"
            delivery, chunks = streams.decode_delivery(iter(requests))
            self._evaluator.deliver(delivery, chunks)
            yield codec.encode_acknowledgement()


def _sum(blocks: Sequence[Words]) -> Words:
    return sum(blocks[1:], start=blocks[0])

"""A party's session of the protocol `masked`: its openings, deliveries, products and shares."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.canonical.terms import terms_digest
from ....common.crypto.randomness import FreshKeys, RandomStream
from ....common.data.domain import Clique
from ....common.data.interactions import difference_count
from ....common.data.people import adding_up, rows_digest, vectors_at_once
from ....common.data.rows import Rows
from ....common.data.view import View
from ....common.dealing.dealing import dealt_labels
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, PolicyError, ProtocolError
from ....common.messages import Delivery, DeliveryKind, Introduction
from ....common.promises.binding import Binding, digest_of_labels
from ....common.protocols.arithmetic.ring import Words
from ....common.protocols.dropouts.plan import DropoutPlan
from ....common.protocols.masked import reveal
from ....common.protocols.masked.columns import add_up, groups_of, names_of, width
from ....common.protocols.masked.plan import (
    MAX_OPENING_BYTES,
    Chain,
    block_rows,
    labels,
    products_of,
    rectangles,
    spans,
)
from ....common.protocols.masked.presence import columns_in
from ....common.protocols.masked.ranges import left_range, right_range
from ....common.protocols.masked.sampling import SampledRows, sampled_positions
from ....common.terms import ReleaseTerms
from ....common.wire.streams import row_blocks
from ...policies.allowance import Allowance
from .checks import Checks
from .dealt import DealtShare, ReceivedSeeds
from .dropouts import Dropouts, Signing
from .matrices import Matrices
from .opened_rows import OpenedRows, Tested
from .openings import Openings, opened_labels
from .order import RecordOrder
from .rows import DealtRows


class MaskedSession:
    """Computes the party's masked shares in one release.

    Memory: the rows, blocks of `block_rows`, and the shares of products, 4 or 8 bytes per cell; openings are
    on disk.

    Args:
        rows: records of the party, without attributes that are not in the plan; over aligned parties, at
            their positions. Products use those that the plan samples.
        terms: terms of the release.
        me: index of the party in the roster.
        secret: secret of this release in the ledger.
        introduction: introduction from the curator; its acceptances are verified here.
        order: digest of the key of each row; None if the policy guarantees the order of the rows.
        salts: source of salts.
        binding: what this party received of the others, and hid.
        allowance: what the release may use of the machine.
        sign: signs who is in an answer, where parties may drop out.

    Raises:
        ProtocolError: an acceptance is not signed by the party in the plan.
    """

    def __init__(
        self,
        rows: Rows,
        terms: ReleaseTerms,
        me: int,
        secret: bytes,
        introduction: Introduction,
        order: bytes | None,
        salts: FreshKeys,
        binding: Binding,
        allowance: Allowance,
        sign: Signing,
    ) -> None:
        if terms.masked_plan is None:
            raise ProtocolError(f"a release by the protocol {terms.spec.protocol!r} has no products")
        self.plan = plan = terms.masked_plan
        self.me = me
        self._slice = plan.roster[self.me].slice
        self._names = frozenset(plan.domain)
        self._presences = plan.presences(self._slice)
        self._rows = rows
        self._multiplied = _rows_multiplied(rows, terms, self._slice)
        self.peers = Peers(terms, self.me, secret, introduction.acceptances, salts, binding)
        self._streams = self.peers.streams()
        self.binding = binding
        # Aligned parties have no order to compare: their rows are at positions.
        compared = plan.members(self._slice) if plan.alignment is None else ()
        self._order = RecordOrder(self.peers, {i: plan.roster[i].name for i in compared if i != me}, order)
        self._dealers = plan.dealers_of(self._slice)
        self._seeds = ReceivedSeeds(self.peers, self._dealers, terms_digest(terms))
        self._openings = Openings(allowance.disk)
        self._memory = allowance.memory
        self.processors = allowance.processors
        self._checks = Checks(plan, self.me, self._seeds, self.peers, RandomStream(secret))
        self._opened_rows = OpenedRows(plan, self.me, self._seeds, self.peers)
        self._row_products = DealtRows(plan, self.me, self._seeds, self.peers, allowance.disk)
        self._matrices = Matrices(
            plan,
            self.me,
            self._seeds,
            self.peers,
            self._multiplied,
            self._openings,
            self._checks,
            self._row_products,
        )
        self._products: dict[Chain, Words] = {}
        self._dealt: dict[Chain, DealtShare] = {}
        self._dropouts = (
            Dropouts(plan, terms_digest(terms), me, secret, self._streams, binding, sign)
            if isinstance(plan, DropoutPlan)
            else None
        )

    @property
    def dropouts(self) -> Dropouts:
        """The party's masks where parties may drop out.

        Raises:
            ProtocolError: none may in this release.
        """
        if self._dropouts is None:
            raise ProtocolError("no party may drop out of the release, as its terms say; compare the plan")
        return self._dropouts

    def cells(self, chain: Chain, *, parts: int = 2, holder: int | None = None) -> int:
        """Cells of the product of a chain's parts.

        Args:
            chain: chain of this party's slice.
            parts: least number of its parts.
            holder: index in the roster of a party that holds one of them; this party if None.

        Raises:
            ProtocolError: it is not such a chain.
        """
        self._check(chain, parts=parts, holder=holder, summed=parts > 1)
        return self.plan.cells(chain)

    def order_tag(self, recipient: int) -> Iterator[bytes]:
        """The tag of the order of this party's records, for another party of the slice."""
        return self._order.tag(recipient)

    def open(self, chain: Chain, recipient: int, place: int = 0) -> Iterator[bytes]:
        """Rows of a matrix of this party minus its mask, sealed for another party of the slice.

        Args:
            chain: chain of the matrix: a part of the party, or the parts multiplied so far.
            recipient: index of the other party in the roster.
            place: number of the range of rows.

        Yields:
            Sealed frames.

        Raises:
            DeliveriesLost: the order of the records was not compared with every party of the slice.
        """
        self._check_neighbour(recipient)
        self._order.check()
        self._check(chain)
        self._check_size(chain)
        within = self.plan.opened_range(chain, self._slice, place)
        self._bind_rows(chain, within)
        opened = self._matrices.own_opening(chain, self._matrices.rows_at_once(chain), within)
        return self.peers.seal(recipient, opened_labels(chain, place), (block.data for block in opened))

    def coins(self, chain: Chain, owner: int, recipient: int) -> Iterator[bytes]:
        """The coins by which another party proves its opening, sealed for that party or for a dealer.

        Args:
            chain: one part of the other party.
            owner: its index in the roster.
            recipient: its place, or that of a dealer.
        """
        self._check_neighbour(owner)
        self._check(chain, holder=owner)
        if recipient not in (owner, *self._dealers):
            raise ProtocolError("expected the owner of an opening or a dealer as recipient; compare the plan")
        return self._checks.coins(chain, owner, recipient)

    def prove(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """The proof that an opening of this party is one-hot, or a product, sealed for its receiver.

        Args:
            chain: chain of the opened matrix.
            recipient: index of the other party in the roster.

        Raises:
            DeliveriesLost: the receiver's coins, or what this party multiplies, were not delivered.
        """
        self.processors.check()
        self._check_neighbour(recipient)
        self._check(chain)
        self._check_size(chain)
        rows = self._matrices.rows_at_once(chain)
        if len(chain) > 1:
            return self._opened_rows.prove(
                chain, recipient, self._matrices.other_factor(chain, self.me, rows)
            )
        for place in range(self.plan.opened_ranges(chain, self._slice)):
            self._bind_rows(chain, self.plan.opened_range(chain, self._slice, place))
        return self._checks.prove(chain, recipient, self._matrices.masks_and_codes(chain, rows))

    def check(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """This party's part of the check of a dealt row-wise product, sealed for its receiver.

        Args:
            chain: chain of the product.
            recipient: index in the roster of the party that holds its last part.
        """
        self.processors.check()
        self._check_wide(chain)
        return self._row_products.answer(chain, recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores an opening of another party, or a message of the dealer."""
        chain, kind, sender = delivery.chain, delivery.kind, delivery.sender
        records = self._multiplied.record_count
        match kind:
            case DeliveryKind.OPENING:
                self._check_neighbour(sender)
                self._check(chain, holder=sender)
                self._check_size(chain)
                within = self.plan.opened_range(chain, self._slice, delivery.step)
                opened = self.peers.unseal(sender, opened_labels(chain, delivery.step), chunks)
                ring, cells = self.plan.opened_ring(chain), self.plan.cells(chain)
                self._openings.put((sender, chain), ring, records, cells, opened, within)
            case DeliveryKind.RECORD_ORDER:
                self._order.compare(sender, chunks)
            case DeliveryKind.COINS:
                self._check_neighbour(sender)
                self._check(chain)
                self._checks.receive_coins(delivery, chunks)
            case DeliveryKind.PROOF:
                self._check_neighbour(sender)
                self._check(chain, holder=sender)
                checks = self._opened_rows if len(chain) > 1 else self._checks
                checks.receive(delivery, chunks)
            case DeliveryKind.ATTESTATION:
                self._check_dealer(sender)
                self._check_neighbour(delivery.owner)
                self._check(chain, holder=delivery.owner)
                self._decide(delivery, chunks)
            case DeliveryKind.MASK_SEEDS:
                self._seeds.receive(sender, chunks)
            case DeliveryKind.DEALT_ROWS | DeliveryKind.DEALT_CHECK:
                self._check_wide(chain)
                self._check_dealer(sender)
                self._row_products.receive(delivery, chunks)
            case DeliveryKind.CHECK:
                self.processors.check()
                self._check_wide(chain)
                self._row_products.decide(delivery, chunks)
            case DeliveryKind.DEALT_PRODUCTS:
                self._receive_products(delivery.chains, sender, chunks)
            case _:
                raise ProtocolError(f"{kind.name} belongs to a score query; name the query")

    def _decide(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Accepts or refuses an opening that its owner and a dealer proved."""
        chain, owner = delivery.chain, delivery.owner
        rows = self._matrices.rows_at_once(chain)
        if len(chain) == 1:
            self._checks.decide(delivery, chunks, self._openings.blocks((owner, chain), rows))
            return
        self.processors.check()
        self._check_size(chain)
        tested = Tested(
            lambda: (block.astype(np.uint64) for block in self._matrices.other_factor(chain, owner, rows)),
            lambda: self._openings.blocks((owner, chain), rows),
        )
        coins = self._checks.coins_for(owner, chain)
        if self._opened_rows.decide(delivery, chunks, coins, tested, rows):
            self._checks.accept(owner, chain)

    def _receive_products(self, chains: Sequence[Chain], dealer: int, chunks: Iterable[bytes]) -> None:
        """Adds what a dealer dealt for products to what the others dealt; ignores what came before."""
        self._check_dealer(dealer)
        kind, ring = DeliveryKind.DEALT_PRODUCTS, self.plan.ring
        sizes: dict[Hashable, int] = {
            (kind, c): self.cells(c) * ring.word_bytes for c in chains if c not in self._products
        }
        self._memory.reserve(sizes)
        total = sum(map(self.cells, chains))
        dealt = self.peers.unseal(dealer, dealt_labels(kind, chains), chunks)
        (words,) = row_blocks(dealt, ring.dtype, 1, total, 1)
        columns = spans([self.plan.cells(chain) for chain in chains])
        for chain, at in zip(chains, columns, strict=True):
            if chain not in self._products:
                self._dealt.setdefault(chain, DealtShare(self._dealers)).add(dealer, words[0, at])

    def _check_dealer(self, sender: int) -> None:
        if sender not in self._dealers:
            raise ProtocolError("expected a message of a dealer of this slice; compare the plan")

    def multiply(self, chains: Sequence[Chain]) -> None:
        """Computes the party's shares of products from the deliveries.

        Raises:
            DeliveriesLost: an opening or a share of the dealer is missing.
            PolicyError: there is no memory for all of them; none is computed.
        """
        different = dict.fromkeys(chains)
        for chain in different:
            self._check(chain, parts=2, summed=True)
        wanted = [chain for chain in different if chain not in self._products]
        sizes: dict[Hashable, int] = {
            chain: self.plan.cells(chain) * self.plan.ring.word_bytes for chain in wanted
        }
        self._memory.reserve(sizes)
        try:
            self._multiply(wanted)
        finally:
            self._memory.free(chain for chain in wanted if chain not in self._products)
            done = [chain for chain in wanted if chain not in self._dealt]
            self._memory.free((DeliveryKind.DEALT_PRODUCTS, chain) for chain in done)

    def _multiply(self, wanted: Sequence[Chain]) -> None:
        ends_here = {chain: self._holders(chain)[-1] == self.me for chain in wanted}
        for lefts, rights in rectangles(self.plan, [chain for chain in wanted if not ends_here[chain]]):
            self._multiply_left(lefts, rights)
        for lefts, rights in rectangles(self.plan, [chain for chain in wanted if ends_here[chain]]):
            self._multiply_right(lefts, rights)
        for chain in wanted:
            for k in range(2, len(chain)):
                self._forget(chain[:k])

    def check_share(self, view: View) -> None:
        """Refuses a marginal of which this party has no share yet.

        Raises:
            DataError: the groups do not fit.
            DeliveriesLost: a product was not computed.
        """
        self.plan.check_view(view)
        chain = self.plan.chain(view, self._slice)
        if len(chain) > 1 and self.me in self._holders(chain) and chain not in self._products:
            raise DeliveriesLost("the answer needs a product that was not computed; multiply first")

    def share(self, view: View) -> Words:
        """The party's exact share of a view, shape (cells,) or (boxes,); all shares sum to the exact counts.

        Counts are those of sampled rows if the plan says so (`MaskedPlan.is_sampled`). The shares of a cell
        in which every attribute is `absent` are zero.

        Raises:
            DataError: the groups or boxes do not fit.
            DeliveriesLost: a product was not computed.
        """
        self.check_share(view)
        ring, domain = self.plan.ring, self.plan.domain
        chain = self.plan.chain(view, self._slice)
        if self.me not in self._holders(chain):
            return np.zeros(view.size(domain), dtype=ring.dtype)
        if len(chain) == 1:
            rows = self._multiplied if self.plan.is_sampled(view.clique) else self._rows
            held_rows = adding_up(rows) if view.adds_up else rows
            share = ring.words(held_rows.marginal(view.clique, view.groups))
        else:
            held = [column for part in chain for column in columns_in(part)]
            axes = [held.index(column) for column in self.plan.columns(view)]
            sizes = [width(domain, column) for column in held]
            share = self._products[chain].reshape(sizes).transpose(axes).flatten()
        share *= ring.dtype.type(self.plan.scale(chain, self._slice))
        if self.plan.absent:
            share[-1] = 0
        return view.in_boxes(share, domain)

    def check_before(self, query: str, before: Sequence[int]) -> None:
        """Refuses to answer a query without parties that have not dropped out, or with one that has.

        Args:
            query: digest of the query.
            before: places of the parties that have dropped out.

        Raises:
            ProtocolError: see `Dropouts.check_asked`.
        """
        if before or self._dropouts is not None:
            self.dropouts.check_asked(query, before)

    def answer(
        self,
        query: str,
        sigma: float,
        share: Words,
        stream: RandomStream,
        view: View | None = None,
        before: Sequence[int] = (),
    ) -> NDArray[np.int64]:
        """A share plus the party's noise and mask: ring words as integers, with the shape that is sent.

        Args:
            query: digest of the query.
            sigma: scale of the charged noise.
            share: exact share, shape (values,).
            stream: stream of the noise.
            view: of which the share is; None for scores.
            before: places of the parties that have dropped out, where they may.
        """
        ring = self.plan.ring
        noise = self.plan.noise.draw(sigma, share.size, stream)
        interaction = () if view is None else view.interaction_shape(self.plan.domain)
        words = difference_count(interaction) if interaction else share.size
        if self._dropouts is not None:
            mask = self._dropouts.mask(query, before, words)
        else:
            others = {p: self._streams[p] for p in range(len(self.plan.roster)) if p != self.me}
            mask = reveal.pairwise_mask(ring, self.me, others, query, words)
        grid, parts = self.plan.noise.grid(sigma), self.plan.parts
        return ring.as_signed(reveal.masked_answer(ring, share, grid, noise, mask, interaction, parts))

    def _check(
        self, chain: Chain, *, parts: int = 1, holder: int | None = None, summed: bool = False
    ) -> None:
        """Refuses an invalid chain of this slice, and one with no part of the holder."""
        self.plan.check_chain(chain, self._slice, parts=parts, summed=summed)
        if (self.me if holder is None else holder) not in self._holders(chain):
            raise ProtocolError("expected a chain with a part of the party that opens it; compare the plan")

    def _check_wide(self, chain: Chain) -> None:
        self._check(chain, parts=2)
        self._check_size(chain)

    def _check_size(self, chain: Chain) -> None:
        if self.plan.opening_bytes(chain, self._slice) > MAX_OPENING_BYTES:
            raise PolicyError(
                "the product needs openings larger than the protocol's limit; query a smaller clique"
            )

    def _holders(self, chain: Chain) -> tuple[int, ...]:
        return self.plan.holders(chain, self._slice)

    def _check_neighbour(self, other: int) -> None:
        if other == self.me or other not in self.plan.members(self._slice):
            raise ProtocolError("expected an opening between two parties of one slice; compare the plan")

    def _bind_rows(self, chain: Chain, within: range) -> None:
        """Binds this party's rows to the mask that hides a matrix of them; all else in it was received."""
        if self._holders(chain)[-1] == self.me:
            columns = columns_in(chain[-1])
            rows = adding_up(self._multiplied) if add_up(columns) else self._multiplied
            digest = rows_digest(rows, names_of(columns), within, groups_of(columns))
            self.binding.use(
                "rows under a mask", digest_of_labels([str(within.start), *labels(chain)]), digest
            )

    def _multiply_left(self, lefts: Sequence[Chain], rights: Sequence[Clique]) -> None:
        """A^T F + C_left for every left and right factor."""
        self.processors.check()
        ring, plan = self.plan.ring, self.plan
        widths, right_widths = [plan.cells(c) for c in lefts], [plan.cells((r,)) for r in rights]
        rows = block_rows(ring, sum(widths) + sum(right_widths))
        masks = [(self._matrices.mask(c), w) for c, w in zip(lefts, widths, strict=True)]
        opened = zip(*(self._matrices.sum_of_openings((right,), rows) for right in rights), strict=True)
        pieces = (
            (ring, masks, start, at) for start, at in zip(itertools.count(0, rows), opened, strict=False)
        )
        total = np.zeros((sum(widths), sum(right_widths)), dtype=ring.dtype)
        for product in self.processors.map(left_range, pieces, self._multiplied.record_count):
            total += product
        for chain, product in products_of(plan, lefts, rights, total):
            shares = [
                ring.uniform(pad, 1, product.size)[0]
                for pad in self._row_products.pads("product share", chain)
            ]
            self._products[chain] = sum(shares, start=product)

    def _multiply_right(self, lefts: Sequence[Chain], rights: Sequence[Clique]) -> None:
        """E^T V + C_right for every left and right factor."""
        self.processors.check()
        plan = self.plan
        chains = [(*left, right) for left in lefts for right in rights]
        if not all(chain in self._dealt and self._dealt[chain].complete for chain in chains):
            raise DeliveriesLost("a product needs the shares of all dealers; deliver them first")
        widths = [plan.cells(chain) for chain in lefts]
        cells = [plan.cells((right,)) for right in rights]
        rows = vectors_at_once(self._multiplied, block_rows(plan.ring, sum(widths)))
        totals = [np.zeros((sum(widths), n), dtype=plan.ring.dtype) for n in cells]
        opened = zip(*(self._matrices.sum_of_openings(left, rows) for left in lefts), strict=True)
        pieces = (
            (
                at,
                [
                    (self._matrices.vectors(right, start, rows), n)
                    for right, n in zip(rights, cells, strict=True)
                ],
            )
            for start, at in zip(itertools.count(0, rows), opened, strict=False)
        )
        # Sums by code take less than sending the openings to a cluster, and the codes stay here.
        for found in self.processors.map(right_range, pieces, self._multiplied.record_count, here=True):
            for total, product in zip(totals, found, strict=True):
                total += product
        for right, total in zip(rights, totals, strict=True):
            for chain, product in products_of(plan, lefts, [right], total):
                self._products[chain] = product + self._dealt.pop(chain).words

    def _forget(self, chain: Chain) -> None:
        """Frees openings and dealt rows that only one clique needs."""
        self._row_products.drop(chain)
        for sender in self.plan.members(self._slice):
            self._openings.drop((sender, chain))


def _rows_multiplied(rows: Rows, terms: ReleaseTerms, number: int) -> Rows:
    """The rows of a slice that are opened and multiplied: all, or the sample that the plan demands."""
    plan = terms.masked_plan
    if plan is None or plan.sampling is None:
        return rows
    records, sampled = plan.records(number), plan.sampling.sampled[number]
    return SampledRows(rows, sampled_positions(terms.release_id, number, records, sampled))

"""A party's matrices of one release, and those that others opened to it, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ....common.data.domain import Clique
from ....common.data.people import adding_up, vectors_at_once, vectors_of
from ....common.data.rows import Rows
from ....common.data.vectors import Vectors
from ....common.dealing.peers import Peers
from ....common.protocols.arithmetic.ring import Words
from ....common.protocols.masked import products
from ....common.protocols.masked.columns import add_up, groups_of, names_of
from ....common.protocols.masked.masks import Mask
from ....common.protocols.masked.opened_rows import holds_left
from ....common.protocols.masked.plan import Chain, MaskedPlan, block_rows
from ....common.protocols.masked.presence import columns_in
from ....common.protocols.masked.products import Codes
from .checks import Checks
from .dealt import InSlice, ReceivedSeeds
from .openings import Openings
from .rows import DealtRows


class Matrices(InSlice):
    """The matrices that one party multiplies; a block has the rows that `rows_at_once` says.

    For the other arguments see `InSlice`.

    Args:
        rows: the rows that are opened and multiplied.
        openings: what others opened to this party.
        checks: which of these were proved.
        row_products: what dealers dealt for row-wise products.
    """

    def __init__(
        self,
        plan: MaskedPlan,
        me: int,
        seeds: ReceivedSeeds,
        peers: Peers,
        rows: Rows,
        openings: Openings,
        checks: Checks,
        row_products: DealtRows,
    ) -> None:
        super().__init__(plan, me, seeds, peers)
        self._rows = rows
        self._openings = openings
        self._checks = checks
        self._row_products = row_products

    def rows_at_once(self, chain: Chain) -> int:
        """The rows of a block."""
        return block_rows(self._plan.opened_ring(chain), 4 * self._plan.cells(chain))

    def _codes(self, part: Clique, start: int, rows: int) -> Codes:
        columns = columns_in(part)
        return self._rows.cell_codes(names_of(columns), start, start + rows, groups_of(columns))

    def vectors(self, part: Clique, start: int, rows: int) -> Codes | Vectors:
        """The cells of some rows, of the columns of a part; weighted sums where people have several."""
        columns = columns_in(part)
        rows_held = adding_up(self._rows) if add_up(columns) else self._rows
        return vectors_of(rows_held, names_of(columns), start, start + rows, groups_of(columns))

    def sum_of_openings(self, chain: Chain, rows: int) -> Iterator[Words]:
        """The sum of the openings of a chain's holders, block by block; a share of this party is in clear."""
        return self._sum_opened(chain, rows, lambda: self._matrix(chain, rows))

    def _all_opened(self, chain: Chain, rows: int) -> Iterator[Words]:
        """The sum of the openings of a chain's holders, block by block, also of this party's own."""
        return self._sum_opened(chain, rows, lambda: self.own_opening(chain, rows))

    def _sum_opened(self, chain: Chain, rows: int, own: Callable[[], Iterator[Words]]) -> Iterator[Words]:
        dtype, holders = self._plan.ring.dtype, self._plan.holders(chain, self._slice)
        for holder in holders:
            if holder != self._me:
                self._checks.require(holder, chain)
        matrices = [own() if i == self._me else self._openings.blocks((i, chain), rows) for i in holders]
        if self._plan.check and len(chain) > 1:
            lefts, rights = self._all_opened(chain[:-1], rows), self._all_opened(chain[-1:], rows)
            matrices.append(map(products.row_products, lefts, rights))
        for blocks in zip(*matrices, strict=True):
            yield sum(blocks[1:], start=blocks[0]).astype(dtype, copy=False)

    def own_opening(self, chain: Chain, rows: int, within: range | None = None) -> Iterator[Words]:
        """This party's matrix less its mask, block by block, in the words that are opened."""
        blocks = self._mask_and_matrix(chain, rows, within)
        return (products.opening(matrix, mask) for mask, matrix in blocks)

    def _mask_and_matrix(
        self, chain: Chain, rows: int, within: range | None = None
    ) -> Iterator[tuple[Words, Words]]:
        """The mask and the matrix of this party, block by block, in the words that are opened."""
        within = range(self._rows.record_count) if within is None else within
        ring, mask, cells = self._plan.opened_ring(chain), self.mask(chain), self._plan.cells(chain)
        checked = self._plan.check and len(chain) > 1
        matrix = self._masked_product(chain, rows) if checked else self._matrix(chain, rows, within)
        for start, block in zip(within[::rows], matrix, strict=True):
            hidden = mask.uniform(ring, start, len(block), cells)
            yield hidden, block.astype(ring.dtype, copy=False)

    def masks_and_codes(self, chain: Chain, rows: int) -> Iterator[tuple[Words, Codes]]:
        """The mask of one part of this party, in the words that are opened, and its codes, block by block."""
        ring, mask, cells = self._plan.opened_ring(chain), self.mask(chain), self._plan.cells(chain)
        for start in range(0, self._rows.record_count, rows):
            codes = self._codes(chain[-1], start, rows)
            yield mask.uniform(ring, start, len(codes), cells), codes

    def mask(self, chain: Chain) -> Mask:
        """The mask of this party's matrix."""
        return self._seeds.masks.of(self._plan, chain)

    def _matrix(self, chain: Chain, rows: int, within: range | None = None) -> Iterator[Words]:
        """This party's matrix: indicators of its own part, or its share of a row-wise product."""
        ring = self._plan.ring
        within = range(self._rows.record_count) if within is None else within
        records = within[::rows]
        last, cells = chain[-1], self._plan.cells(chain[-1:])
        if len(chain) == 1:
            for start in records:
                size = min(rows, within.stop - start)
                # Blocks that are sent have the same size whatever the numbers of rows of people are.
                at_once = vectors_at_once(self._rows, size)
                parts = [
                    products.indicators(ring, self.vectors(last, at, min(at_once, start + size - at)), cells)
                    for at in range(start, start + size, at_once)
                ]
                yield parts[0] if len(parts) == 1 else np.concatenate(parts)
        elif self._plan.check:
            yield from (share.astype(ring.dtype) for share in self._masked_product(chain, rows))
        elif self._plan.holders(chain, self._slice)[-1] == self._me:
            dealt = self._row_products.blocks(chain, rows)
            for start, opened, share in zip(
                records, self.sum_of_openings(chain[:-1], rows), dealt, strict=True
            ):
                vectors, words = self.vectors(last, start, rows), share.astype(ring.dtype)
                yield products.right_rows(opened, vectors, cells, words)
        else:
            masks = self.mask(chain[:-1])
            sizes = (min(rows, within.stop - start) for start in records)
            shares = self._row_products.owner_blocks(chain, sizes)
            for start, opened, share in zip(
                records, self.sum_of_openings((last,), rows), shares, strict=True
            ):
                mask = masks.uniform(ring, start, len(opened), self._plan.cells(chain[:-1]))
                yield products.left_rows(mask, opened, share.astype(ring.dtype))

    def _masked_product(self, chain: Chain, rows: int) -> Iterator[Words]:
        """This party's share of a row-wise product less that of openings, uint64; see `opened_rows`."""
        left = holds_left(self._plan, chain, self._slice, self._me)
        own, records = chain[:-1] if left else chain[-1:], self._rows.record_count
        mask, cells, starts = self.mask(own), self._plan.cells(own), range(0, records, rows)
        sizes = (min(rows, records - start) for start in starts)
        dealt = self._row_products
        shares = dealt.owner_blocks(chain, sizes) if left else dealt.blocks(chain, rows)
        others = self.other_factor(chain, self._me, rows)
        for start, other, share in zip(starts, others, shares, strict=True):
            factor = mask.wide(self._plan.ring, start, len(other), cells)
            yield products.row_products(*((factor, other) if left else (other, factor))) + share

    def other_factor(self, chain: Chain, holder: int, rows: int) -> Iterator[Words]:
        """What others opened and a holder of a row-wise product multiplies by its mask, block by block."""
        left = holds_left(self._plan, chain, self._slice, holder)
        return self._all_opened(chain[-1:] if left else chain[:-1], rows)

"""Distributed marginal measurement as step functions without input or output.

Source: RandDPGen, Algorithm 1. Each party adds noise to the indicator vector of every record before it sends
them; the curator multiplies the parties' vectors record by record and sums over the records. If one party
holds the whole clique of a slice, it sums first and adds noise once.

Theorem 4.1 of the paper omits that the noise of a product is summed over all records, so its variance grows
with their number. `product_variance` is the correct variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ..crypto.randomness import RandomStream
from ..data.domain import Clique
from ..data.rows import Rows
from ..data.view import View
from ..later import np
from ..privacy.cost import grid_of
from ..privacy.noise import noisy_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_CELLS = 1 << 18


def divide(clique: Clique, holders: Sequence[Clique]) -> dict[int, Clique]:
    """Run by the curator: the attributes of the clique that each party of a slice answers for (lines 3 to 5).

    Args:
        clique: attributes of the marginal, in domain order.
        holders: attributes of each party of the slice.

    Returns:
        Party index to its non-empty part of the clique, in domain order.
    """
    parts = {j: tuple(name for name in clique if name in held) for j, held in enumerate(holders)}
    return {j: part for j, part in parts.items() if part}


def allocate(rho: Fraction, part: Clique, clique: Clique) -> Fraction:
    """Run by the curator: the share |A| / |r| of the budget, for one party (line 6)."""
    return rho * len(part) / len(clique)


def noisy_histogram(
    rows: Rows,
    view: View,
    sigma: float,
    stream: RandomStream,
    parts: int = 1,
) -> NDArray[np.int64]:
    """Run by a party that holds the whole clique: its counts plus noise, in units of 1/grid.

    Of an interaction, the differences of noisy cells.

    Guarantee: `gaussian_cost(sigma, adjacency)` for the records of the party's slice, or the cost of the
        interaction.
    """
    return view.sent(noisy_counts(view.counted(rows), sigma, stream, parts), rows.domain)


def noisy_indicators(
    held: Rows, part: Clique, sigma: float, stream: RandomStream
) -> Iterator[NDArray[np.int64]]:
    """Run by a party that holds a part of the clique: indicator vectors plus noise (lines 7 and 8).

    Guarantee: `gaussian_cost(sigma, adjacency)`: a record has one vector with a single 1, and vectors have
        independent noise.

    Args:
        held: the party's records.
        part: attributes of the clique that the party holds.
        sigma: scale of the noise of every entry.
        stream: random words of the noise.

    Yields:
        Blocks of rows, shape (rows, cells), int64, in units of 1/grid.
    """
    cells = held.domain.cells(part)
    rows = max(1, _BLOCK_CELLS // cells)
    for start in range(0, held.record_count, rows):
        block = held.cell_codes(part, start, start + rows)
        indicators = np.zeros((block.size, cells), dtype=np.int64)
        indicators[np.arange(block.size), block] = 1
        yield noisy_counts(indicators, sigma, stream)


def block_rows(parts: Sequence[int]) -> int:
    """Rows that the curator multiplies at a time, given the cells of each part; bounds its memory."""
    return max(1, 16 * _BLOCK_CELLS // max(parts[-1], math.prod(parts[:-1])))


def multiply(blocks: Sequence[NDArray[np.int64]], sigmas: Sequence[float]) -> NDArray[np.float64]:
    """Run by the curator: products record by record, summed over a block of records (line 10).

    Args:
        blocks: for each party, shape (rows, n_j), int64, in units of 1/grid of its sigma.
        sigmas: scale of each party's noise.

    Returns:
        Shape (n_1, ..., n_s), float64, in counts.
    """
    factors = [block / grid_of(sigma) for block, sigma in zip(blocks, sigmas, strict=True)]
    product = np.ones((len(factors[0]), 1))
    for factor in factors[:-1]:
        product = (product[:, :, None] * factor[:, None, :]).reshape(len(product), -1)
    cells: NDArray[np.float64] = product.T @ factors[-1]
    return cells.reshape([factor.shape[1] for factor in factors])


def product_variance(records: int, cells: Sequence[int], sigmas: Sequence[float]) -> float:
    """Variance of one cell of a slice's product, averaged over its cells; depends only on public facts.

    The variance of cell t is the sum over records of prod_j (v_j + s_j^2) - prod_j v_j, with v_j the
    record's exact indicator of t at party j. Summed over all cells, a record contributes
    prod_j (1 + n_j s_j^2) - 1, independent of its values.

    Args:
        records: number of records of the slice.
        cells: number of cells of each party's part.
        sigmas: scale of each party's noise.
    """
    spread = math.prod(1 + n * s * s for n, s in zip(cells, sigmas, strict=True)) - 1
    return records * spread / math.prod(cells)

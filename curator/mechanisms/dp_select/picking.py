"""The compiled loop of the selection: candidates, and the distance after adding each.

Source: DP-Select, Algorithms 1 and 2. A candidate record changes one cell of each marginal. An exponential
mechanism does not depend on terms that all candidates of a step share. So the L1 distance needs only the
changed cells, and the L2 distance two running sums. The largest cumulative difference needs all cells, once
for all candidates of a step if each is a single record.

`pick` is one long function: split into several, the compiled loop would sum in another order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...pgm.compiled import compiled, compiled_part

DENSITY, KOLMOGOROV, L2 = 0, 1, 2


@compiled
def pick(
    kind: int,
    cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    shares: NDArray[np.float64],
    weights: NDArray[np.float64],
    counts: NDArray[np.int64],
    order: NDArray[np.int64],
    taken: int,
    needed: int,
    at_once: int,
    factor: float,
    uniform: NDArray[np.float64],
    gumbel: NDArray[np.float64],
) -> int:
    """Runs one step for each row of `gumbel`, or fewer if enough rows are selected.

    Args:
        kind: index of the distance in `DISTANCES`.
        cells: cells of the pool's rows, shape (rows, cliques).
        offsets: start of each clique's cells, and the end, shape (cliques + 1,).
        shares: shares of the reference, one for each cell.
        weights: weights of the cliques.
        counts: number of selected rows in each cell; updated in place.
        order: the pool's rows, with the selected ones at the end; updated in place.
        taken: number of rows already selected.
        needed: number of rows to select in total.
        at_once: number of rows of a candidate.
        factor: factor of the distance in the exponent.
        uniform: draws in [0, 1) that select candidates, shape (steps, candidates * at_once).
        gumbel: Gumbel noise, shape (steps, candidates); all zero to select the best candidate.

    Returns:
        The number of rows selected so far.
    """
    marginals = len(weights)
    products = np.zeros(marginals)
    squares = np.zeros(marginals)
    reference_squares = np.zeros(marginals)
    for i in range(marginals):
        for j in range(offsets[i], offsets[i + 1]):
            products[i] += shares[j] * counts[j]
            squares[i] += float(counts[j]) * counts[j]
            reference_squares[i] += shares[j] * shares[j]
    extremes = np.empty((3, len(shares) if kind == KOLMOGOROV and at_once == 1 else 0))
    for step in range(len(gumbel)):
        size = min(at_once, needed - taken)
        if size <= 0:
            break
        remaining = len(order) - taken
        candidates = min(gumbel.shape[1], remaining // size)
        for place in range(candidates * size):
            other = place + int(uniform[step, place] * (remaining - place))
            order[place], order[other] = order[other], order[place]
        total = float(taken + size)
        if extremes.size:
            _cumulate(offsets, shares, counts, total, extremes)
        best, best_value = 0, -np.inf
        for candidate in range(candidates):
            rows = order[candidate * size : (candidate + 1) * size]
            if kind == DENSITY:
                change = _density(cells, shares, weights, counts, rows, total)
            elif kind == L2:
                change = _l2(
                    cells, shares, weights, counts, rows, total, products, squares, reference_squares
                )
            elif extremes.size:
                change = _kolmogorov_of_one(cells[rows[0]], weights, total, extremes)
            else:
                change = _kolmogorov(cells, offsets, shares, weights, counts, rows, total)
            value = gumbel[step, candidate] - factor * change
            if value > best_value:
                best, best_value = candidate, value
        for within in range(size - 1, -1, -1):
            place = best * size + within
            row = order[place]
            for i in range(marginals):
                j = cells[row, i]
                products[i] += shares[j]
                squares[i] += 2 * counts[j] + 1
                counts[j] += 1
            taken += 1
            last = len(order) - taken
            order[place], order[last] = order[last], order[place]
    return taken


@compiled_part
def _density(cells: Any, shares: Any, weights: Any, counts: Any, rows: Any, total: float) -> float:
    """Change of the weighted L1 distances by adding these rows, at the same total."""
    change = 0.0
    for row in rows:
        for i in range(len(weights)):
            j = cells[row, i]
            change += weights[i] * (
                abs(shares[j] - (counts[j] + 1) / total) - abs(shares[j] - counts[j] / total)
            )
            counts[j] += 1
    for row in rows:
        for i in range(len(weights)):
            counts[cells[row, i]] -= 1
    return change


@compiled_part
def _l2(
    cells: Any,
    shares: Any,
    weights: Any,
    counts: Any,
    rows: Any,
    total: float,
    products: Any,
    squares: Any,
    reference_squares: Any,
) -> float:
    """The weighted L2 distances after adding these rows."""
    found = 0.0
    for i in range(len(weights)):
        product, square = products[i], squares[i]
        for row in rows:
            j = cells[row, i]
            product += shares[j]
            square += 2 * counts[j] + 1
            counts[j] += 1
        for row in rows:
            counts[cells[row, i]] -= 1
        found += weights[i] * math.sqrt(
            max(0.0, reference_squares[i] - 2 * product / total + square / total**2)
        )
    return found


@compiled_part
def _kolmogorov(
    cells: Any, offsets: Any, shares: Any, weights: Any, counts: Any, rows: Any, total: float
) -> float:
    """The weighted largest cumulative differences after adding these rows."""
    for row in rows:
        for i in range(len(weights)):
            counts[cells[row, i]] += 1
    found = 0.0
    for i in range(len(weights)):
        cumulative, largest = 0.0, 0.0
        for j in range(offsets[i], offsets[i + 1]):
            cumulative += shares[j] - counts[j] / total
            largest = max(largest, abs(cumulative))
        found += weights[i] * largest
    for row in rows:
        for i in range(len(weights)):
            counts[cells[row, i]] -= 1
    return found


@compiled_part
def _cumulate(offsets: Any, shares: Any, counts: Any, total: float, extremes: Any) -> None:
    """For each cell, the largest cumulative difference before it, and the largest and smallest from it on."""
    before, highest, lowest = extremes
    for i in range(len(offsets) - 1):
        cumulative, largest = 0.0, 0.0
        for j in range(offsets[i], offsets[i + 1]):
            before[j] = largest
            cumulative += shares[j] - counts[j] / total
            highest[j] = cumulative
            largest = max(largest, abs(cumulative))
        high, low = -np.inf, np.inf
        for j in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            high, low = max(high, highest[j]), min(low, highest[j])
            highest[j], lowest[j] = high, low


@compiled_part
def _kolmogorov_of_one(touched: Any, weights: Any, total: float, extremes: Any) -> float:
    """The same after adding one row, which lowers the differences by 1 / total from its cell on."""
    before, highest, lowest = extremes
    found = 0.0
    for i in range(len(weights)):
        j = touched[i]
        after = max(abs(highest[j] - 1 / total), abs(lowest[j] - 1 / total))
        found += weights[i] * max(before[j], after)
    return found

"""How much of what two attributes have in common a set of selected pairs leaves unsaid: ABSyn's CR-score.

Source: Jia et al., "ABSyn: An Accurate Differentially Private Data Synthesis Scheme With Adaptive Selection
and Batch Processes", section V.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def largest_r_scores(sizes: Sequence[int]) -> Array:
    """The largest that R = ||Pr[A, B] - Pr[A] Pr[B]||_1 can be: 2 (m - 1) / m, m the smaller domain's size.

    Source: ABSyn, section V.C.

    Args:
        sizes: of the attributes' domains, d of them.

    Returns:
        Shape (d, d).
    """
    smaller = np.minimum.outer(np.array(sizes), np.array(sizes))
    largest: Array = 2.0 * (smaller - 1) / smaller
    return largest


def normalised(r_scores: Array, largest: Array) -> Array:
    """R-scores as shares of the largest that there can be, within [0, 1] whatever their noise.

    Noise can take a score below 0 or above the largest, and the product of a path's weights is the best over
    all paths only if no weight is above 1.

    Source: ABSyn, Equation 6.

    Args:
        r_scores: shape (d, d).
        largest: of `largest_r_scores`.
    """
    shares = np.divide(r_scores, largest, out=np.zeros_like(r_scores), where=largest > 0)
    return np.clip(shares, 0.0, 1.0)


def no_paths(count: int) -> Array:
    """The products of `with_edge` for a graph of so many attributes without edges."""
    return np.eye(count)


def with_edge(products: Array, one: int, other: int, weight: float) -> Array:
    """The best product of weights over all paths between any two attributes, once an edge is added.

    A best path takes an edge once at most, because no weight is above 1: it is a best path of before, or two
    of them with the new edge between. Edge by edge this comes to what the paper's search from every attribute
    finds, at a cost that lets every candidate be tried.

    Source: ABSyn, Equation 8 and Algorithm 1, lines 6 to 22. The product of the path without edges is 1,
        where line 9 has a weight w_ii that Equation 6 does not define; line 16 has j in place of k.

    Args:
        products: shape (d, d), symmetric.
        one: an attribute's place.
        other: another's, which the edge joins it to.
        weight: in [0, 1].
    """
    through = np.outer(products[:, one], weight * products[other])
    best: Array = np.maximum(products, np.maximum(through, through.T))
    return best


def cr_scores(shares: Array, products: Array, *, difference: bool) -> Array:
    """What the selected pairs leave unsaid of each pair, as a share of the largest R-score.

    A path of selected pairs with the product p tells a share p of what a pair has in common, which leaves
    R (1 - p). The paper's Equation 7 subtracts the path from the score instead, R - p: below 0 for a pair
    that has less in common than the path, so that the sum of what is missing falls where a model errs.

    Source: ABSyn, Equation 7; the default is what its authors' program computes (con-fide/ABSyn).

    Args:
        shares: normalised R-scores, shape (d, d).
        products: best products over paths, shape (d, d).
        difference: as in Equation 7.
    """
    return shares - products if difference else shares * (1 - products)

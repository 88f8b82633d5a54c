"""ABSyn's CR-score: how much of a pair's dependence a set of selected pairs does not explain.

Source: Jia et al., "ABSyn: An Accurate Differentially Private Data Synthesis Scheme With Adaptive Selection
and Batch Processes", section V.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def largest_r_scores(sizes: Sequence[int]) -> Array:
    """The maximum of R = ||Pr[A, B] - Pr[A] Pr[B]||_1: 2 (m - 1) / m, where m is the smaller domain size.

    Source: ABSyn, section V.C.

    Args:
        sizes: domain sizes of the d attributes.

    Returns:
        Shape (d, d).
    """
    smaller = np.minimum.outer(np.array(sizes), np.array(sizes))
    largest: Array = 2.0 * (smaller - 1) / smaller
    return largest


def normalise(r_scores: Array, largest: Array) -> Array:
    """R-scores as shares of their maximum, clipped to [0, 1].

    Noise can move a score below 0 or above the maximum, and `with_edge` needs weights of at most 1.

    Source: ABSyn, Equation 6.

    Args:
        r_scores: noisy R-scores, shape (d, d).
        largest: result of `largest_r_scores`.
    """
    shares = np.divide(r_scores, largest, out=np.zeros_like(r_scores), where=largest > 0)
    return np.clip(shares, 0.0, 1.0)


def no_paths(count: int) -> Array:
    """The products of `with_edge` for a graph of `count` attributes without edges."""
    return np.eye(count)


def with_edge(products: Array, one: int, other: int, weight: float) -> Array:
    """The best product of weights over all paths between any two attributes, after an edge is added.

    A best path uses an edge at most once, because no weight is above 1: it is an old best path, or two of
    them joined by the new edge. The result equals the paper's search from every attribute, but is cheap
    enough to try every candidate.

    Source: ABSyn, Equation 8 and Algorithm 1, lines 6 to 22. The product of the empty path is 1,
        where line 9 has a weight w_ii that Equation 6 does not define; line 16 has j in place of k.

    Args:
        products: shape (d, d), symmetric.
        one: index of an attribute.
        other: index of the attribute at the other end of the edge.
        weight: weight of the edge, in [0, 1].
    """
    through = np.outer(products[:, one], weight * products[other])
    best: Array = np.maximum(products, np.maximum(through, through.T))
    return best


def cr_scores(shares: Array, products: Array, *, difference: bool) -> Array:
    """The part of each pair's R-score that the selected pairs do not explain, as a share of the maximum.

    A path of selected pairs with product p explains a share p of a pair's score, which leaves R (1 - p). The
    paper's Equation 7 subtracts the product from the score instead, R - p. This is negative for a pair that
    depends less than the path implies, so that an error of the model lowers the sum.

    Source: ABSyn, Equation 7; the default follows the authors' program (con-fide/ABSyn).

    Args:
        shares: normalised R-scores, shape (d, d).
        products: best products over paths, shape (d, d).
        difference: compute R - p, as in Equation 7.
    """
    return shares - products if difference else shares * (1 - products)

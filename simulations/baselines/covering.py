"""Views that cover every pair of attributes once: few marginals in which each pair can be counted.

Source: Cheng et al., "Multi-party high-dimensional data publishing under differential privacy" (2019): a
non-overlapping covering design, whose parameters are chosen for least noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.data.domain import Clique, Domain

_LARGEST_VIEW = 4


def covering_views(domain: Domain) -> list[Clique]:
    """Views that no two share a pair, of the size whose pairs have least noise.

    A pair of a view is a sum of its other cells, and the budget is split over the views, so its variance is
    in proportion to the number of views times the cells of a view over those of the pair.
    """
    if len(domain) < 2:
        return []
    found = [_greedy(domain.names, size) for size in range(2, min(_LARGEST_VIEW, len(domain)) + 1)]
    return min(found, key=lambda views: _noise(domain, views))


def _greedy(names: Sequence[str], size: int) -> list[Clique]:
    """Views of at most this size, each grown by the first attributes whose pairs are all open."""
    free = ~np.eye(len(names), dtype=bool)
    views = []
    for first in range(len(names)):
        while free[first].any():
            view = [first]
            fits = free[first].copy()
            while len(view) < size and fits.any():
                place = int(np.argmax(fits))
                view.append(place)
                fits &= free[place]
            view.sort()
            free[np.ix_(view, view)] = False
            views.append(tuple(names[place] for place in view))
    return views


def _noise(domain: Domain, views: Sequence[Clique]) -> float:
    """Sum over pairs of the variance of their cells, up to a factor."""
    total = 0.0
    for view in views:
        sizes = domain.shape(view)
        cells = float(np.prod(sizes))
        total += sum(cells for i in range(len(sizes)) for _ in range(i))
    return total * len(views)

"""Views that cover every pair of attributes once: few marginals that contain all pairs.

Source: Cheng et al., "Multi-party high-dimensional data publishing under differential privacy" (2019): a
non-overlapping covering design with the parameters of least noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.data.domain import Clique, Domain

_LARGEST_VIEW = 4


def covering_views(domain: Domain) -> list[Clique]:
    """Views of which no two share a pair, of the size that gives pairs the least noise.

    A pair's marginal is a sum over the other attributes of its view, and the budget is split over the views.
    So its variance is proportional to the number of views times the cells of the view over those of the pair.
    """
    if len(domain) < 2:
        return []
    found = [_greedy(domain.names, size) for size in range(2, min(_LARGEST_VIEW, len(domain)) + 1)]
    return min(found, key=lambda views: _noise(domain, views))


def _greedy(names: Sequence[str], size: int) -> list[Clique]:
    """Views of at most this size, each extended by the first attributes whose pairs are all uncovered."""
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

"""Pairs of ordered attributes in few groups: what neighbouring codes share, at the noise of few cells.

A correlation is one number of a pair, but a measurement in codes spends its budget on all of its cells. A
few groups of each attribute, with even shares, show most of it with far less noise.

What groups show is spread over their codes as smoothly as possible. The departure from a model is the
exponential of a sum of products of scores of both attributes. With one score of each this is a
linear-by-linear association, as in a normal copula; with as many as groups tell, groups have their counts.

Source: Goodman, "Simple models for the analysis of association in cross-classifications having ordered
    categories" (1979).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.categorical import CodedAttribute
from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Grouping, group_sums, grouped
from ....common.data.view import View
from ..parts.allocation import EXPECTED_L1
from ..parts.consistency import rake
from .components import Array
from .grouping import has_order, neighbours
from .knowledge import Knowledge
from .settings import SETTINGS


def pairs_in_few_groups(
    known: Knowledge, candidates: Collection[Clique], left: Mapping[Clique, float], noise: float
) -> list[View]:
    """Those of the pairs of which few groups tell much more than codes, in these groups; large ones first.

    Args:
        known: what is known of the table.
        candidates: pairs that were scored or measured in codes.
        left: the share of a pair's size that is expected to be its error in codes; 1 where nothing is said.
        noise: variance of the noise of a cell of a pair's marginal, for its share of the budget.
    """
    domain, shares = known.domain, known.shares()
    sizes: dict[View, float] = {}
    for pair in candidates if are_mostly_ordered(domain) else ():
        ordered = {name: domain[name].size for name in pair if is_in_order(domain[name])}
        in_codes, largest = left.get(pair, 1.0), max(ordered.values(), default=0)
        if largest <= 2 or min(domain.shape(pair)) < 2 or in_codes <= SETTINGS.few_left:
            continue
        size, sampled, errors = known.size(pair), known.sampling_error(View(pair)), {}
        for most in range(2, min(SETTINGS.most_few + 1, largest)):
            shape = [min(domain[name].size, most) if name in ordered else domain[name].size for name in pair]
            errors[most] = error_in_groups(shape, most, size, sampled, noise)
        best = min(errors, key=errors.__getitem__)
        if errors[best] <= SETTINGS.groups_tell * in_codes:
            groups = (neighbours(shares[name], best) if ordered.get(name, 0) > best else () for name in pair)
            sizes[View(pair, tuple(groups))] = size
    return sorted(sizes, key=lambda view: -sizes[view])


def are_mostly_ordered(domain: Domain) -> bool:
    """Whether most attributes have three or more values in an order; elsewhere, few pairs are correlated."""
    ordered = [one for one in domain.attributes if one.size > 2 and is_in_order(one)]
    return 2 * len(ordered) > len(domain.attributes)


def are_few(domain: Domain, view: View) -> bool:
    """Whether a view counts an ordered attribute in few groups, and no other attribute in groups."""
    # A protocol may need one more group, for the code of absent rows.
    most = SETTINGS.most_few + 1
    return are_mostly_ordered(domain) and all(
        not labels or (max(labels) < most and is_in_order(domain[name])) for name, labels in view.groupings
    )


def is_in_order(attribute: Attribute) -> bool:
    """Whether an attribute's codes are said to be in order; plain codes of more than two values are not."""
    return attribute.size == 2 or (has_order(attribute) and not isinstance(attribute, CodedAttribute))


def error_in_groups(shape: Sequence[int], most: int, size: float, sampled: float, noise: float) -> float:
    """The expected error of an interaction that is measured in groups, as a share of its size.

    What sampling makes of codes does not show in groups, and of the rest a share of 1 / most is expected not
    to.

    Args:
        shape: numbers of groups of its attributes.
        most: groups of an attribute, at most.
        size: L1 norm of the interaction, in records.
        sampled: expected L1 sampling error of its codes, in records.
        noise: variance of the noise of a cell of a marginal.
    """
    trend = math.sqrt(max(size**2 - sampled**2, 0.0))
    kept = math.prod(1 - 1 / n for n in shape)
    deviation = trend / (EXPECTED_L1 * math.prod(shape))
    shown = math.hypot(1 / math.sqrt(1 + deviation**2 / (noise * kept**2)), 1 / most)
    return math.hypot(min(sampled / size, 1.0), trend / size * shown)


def spread_smoothly(
    cells: Array, groups: Sequence[Grouping], wanted: Array, margins: Sequence[Array]
) -> Array:
    """Cells with nearly these counts of groups and one-way marginals, smooth relative to other cells.

    Args:
        cells: a model's, shape (n_r,).
        groups: the grouping of each of both attributes.
        wanted: positive counts of groups, shape (groups,).
        margins: the positive one-way marginals of both attributes.
    """
    shape = tuple(map(len, margins))
    one, other = (Scores.of(margin, labels) for margin, labels in zip(margins, groups, strict=True))
    ones = [((axis,), margin) for axis, margin in enumerate(margins)]
    shares = wanted.reshape(-1, other.solve.shape[1]) / wanted.sum()
    weights = np.zeros((one.codes.shape[1], other.codes.shape[1]))
    found = cells
    # Steps of Newton's method towards the counts of groups.
    for _ in range(8):
        sums = group_sums(found, shape, tuple(groups)).reshape(shares.shape)
        weights += one.solve @ (shares - sums / found.sum()) @ other.solve.T
        # No cell becomes more than e^4 times as likely as in the model, or less.
        logs = np.clip(one.codes @ weights @ other.codes.T, -4.0, 4.0)
        found = rake(cells * np.exp(logs).ravel(), shape, ones)
    return np.where(cells > 0, found, 0.0)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of an attribute's codes, as many as its groups tell apart.

    Attributes:
        codes: of each code, shape (n, s), with a mean of zero. In groups, one fewer than there are groups:
            that of a normal variable of the same ranks, then Legendre polynomials of ranks. Otherwise one
            for each code.
        solve: what turns departures of groups' shares into weights of scores, shape (s, groups).
    """

    codes: Array
    solve: Array

    @classmethod
    def of(cls, margin: Array, labels: Grouping) -> Scores:
        """Scores of an attribute with these positive counts of codes, shape (n,), and groups, if any."""
        # Late, since it takes time, and few releases need it.
        from scipy.special import ndtri

        shares = margin / margin.sum()
        group_of, count = grouped(np.arange(len(shares)), len(shares), labels)
        scores = np.eye(count)
        if labels:
            ranks = np.cumsum(shares) - shares / 2
            scores = np.polynomial.legendre.legvander(2 * ranks - 1, count - 1)[:, 1:]
            scores[:, 0] = ndtri(ranks)
        scores = scores - shares @ scores
        inside = group_of == np.arange(count)[:, None]
        return cls(scores, np.linalg.pinv(inside @ (shares[:, None] * scores)))

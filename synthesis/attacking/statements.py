"""What a release states of itself, compared with what its owner knows: costs, labels, ends and bins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.values import number_or_nan, text_of
from ...common.privacy.budget import AnswerKind
from ...common.privacy.cost import grid_of
from ...common.privacy.partition_selection import threshold
from ...curator.certificates.certificate import Certificate
from ...curator.certificates.charges_check import costs_of_noise
from ...curator.certificates.statements import StatedCharge
from ...curator.mechanisms.parts.scoring import SELECTED_BY
from ..learning.columns import OTHER
from ..learning.forms.forms import WORDS
from .reading import RealRows, numeric

_SAME_COST = 1 + 1e-6
"""Relative difference up to which two computations of a cost agree."""

_FEW = 3
"""An end that more rows have is no secret of one of them."""

_FEWEST_BINS = 4


@dataclass(frozen=True)
class Suspicion:
    """Something that a release shows, and how likely it is to show it without a leak.

    Attributes:
        what: in words, with names of columns and without values.
        chance: its probability, at most; 0 for what cannot be.
    """

    what: str
    chance: float


def uncharged(
    certificate: Certificate, first: Certificate | None, domain: Domain, published: float
) -> list[str]:
    """What was asked of the real rows, as certificates state it, and is not in the stated cost.

    Args:
        certificate: of the release.
        first: of the one that chose codes; None if there was none.
        domain: of the release.
        published: what the published measurements cost, zCDP.
    """
    found = []
    for one in (certificate, first):
        if one is None:
            continue
        stated = {charge: charge.zcdp_rho * _SAME_COST for charge in one.charges}
        cheap = {charge.step for charge in stated if _cost(one, charge, domain) > stated[charge]}
        found += [f"the step {step!r} costs more at its stated noise than was charged" for step in cheap]
        if sum(charge.zcdp_rho for charge in one.charges) > one.promise.zcdp_rho_spent * _SAME_COST:
            found.append("the charges add up to more than was stated as spent")
        charged = {charge.clique for charge in one.charges}
        if any(measured.clique not in charged for measured in one.measurements):
            found.append("a measurement was not charged")
        scored = any(charge.kind == AnswerKind.SCORES for charge in one.charges)
        if one.selected_by == SELECTED_BY and not scored:
            found.append("measurements were selected by noisy scores, and no score was charged")
    if published > certificate.promise.zcdp_rho_spent * _SAME_COST:
        found.append("the published measurements tell more than all that was charged")
    return found


def _cost(certificate: Certificate, charge: StatedCharge, domain: Domain) -> Fraction:
    """What the noise of a charge costs; 0 if that does not follow from its scale alone."""
    if charge.steps is not None or charge.kind in (AnswerKind.OTHER, AnswerKind.LABELS):
        return Fraction(0)
    return max(costs_of_noise(charge, certificate.plan.spec.unit, domain), default=Fraction(0))


def rare_labels(rows: RealRows, first: Certificate | None, delta: float) -> list[Suspicion]:
    """Labels that a first step found, though so few rows have them that noise should have hidden them.

    A label of c rows passes the threshold of partition selection if its noise reaches what is missing. Labels
    that everybody knows (`forms`) pass another, lower one.

    Args:
        rows: the real rows.
        first: certificate of the step that found labels; None if there was none.
        delta: with which it may find a label of one row.
    """
    if first is None or not delta:
        return []
    public = {*WORDS, "", OTHER}
    # Few numbers, beside which labels stand, are counted on a public grid.
    of_numbers = {charge.clique for charge in first.charges if charge.step == "few numbers"}
    sigmas: dict[str, float] = {}
    for charge in first.charges:
        if charge.kind == AnswerKind.LABELS:
            (name,), sigma = charge.clique, max(map(max, charge.noise_sigmas_by_slice))
            sigmas[name] = max(sigma, sigmas.get(name, 0.0))
    found = []
    for name, sigma in sigmas.items():
        attribute = rows.read.domain[name] if name in rows.read.domain else None
        if not isinstance(attribute, CategoricalAttribute):
            continue
        needed = threshold(sigma, delta) / grid_of(sigma)
        counts = rows.read.marginal((name,))
        held = [
            n
            for one, n in zip(map(text_of, attribute.categories), counts, strict=True)
            if one not in public and ((name,) not in of_numbers or math.isnan(number_or_nan(one)))
        ]
        if held:
            chance = float(stats.norm.sf((needed - min(held)) / sigma)) * len(held)
            found.append(Suspicion(f"a label of the column {name!r} that hardly any row has", chance))
    return found


def ends_and_bins(
    domain: Domain, found: Mapping[str, NDArray[np.float64]], epsilon: float
) -> Iterator[Suspicion]:
    """Ends of numbers and edges of bins that are those of the real rows.

    An end that is the smallest or largest number of at most `_FEW` rows, and none that people like to write,
    would without these rows be one of all numbers between the next one and it, and epsilon bounds how much
    more likely it is with them. Bins whose edges all are quantiles of the real rows have as many chances as
    there are numbers that are equally near to them.

    Args:
        domain: of the release.
        found: the real numbers of its columns of numbers, by name.
        epsilon: of the release.
    """
    for attribute in numeric(domain):
        numbers = np.sort(found[attribute.name][np.isfinite(found[attribute.name])])
        if len(numbers) < 2 or attribute.minimum is None or attribute.maximum is None:
            continue
        for end, order in ((attribute.minimum, numbers), (attribute.maximum, -numbers[::-1])):
            sign = 1 if order is numbers else -1
            held = int(np.searchsorted(order, order[0], side="right"))
            if sign * end == order[0] and held <= _FEW and held < len(order):
                places = (order[held] - order[0]) / _roundness(end)
                chance = min(1.0, math.exp(min(held * epsilon, 700.0)) / max(1.0, places))
                yield Suspicion(f"an end of the column {attribute.name!r} is that of the real rows", chance)
        yield Suspicion(
            f"the bins of the column {attribute.name!r} are quantiles of the real rows",
            _quantile_chance(attribute.edges, numbers),
        )


def _quantile_chance(edges: tuple[float, ...], numbers: NDArray[np.float64]) -> float:
    """How likely it is that all edges are quantiles of equal shares, if each lies anywhere in its share."""
    bins = len(edges) - 1
    if bins < _FEWEST_BINS:
        return 1.0
    inner = np.asarray(edges[1:-1])
    low, high = np.searchsorted(numbers, inner, side="left"), np.searchsorted(numbers, inner, side="right")
    wanted = len(numbers) * np.arange(1, bins) / bins
    if not ((low - 1 <= wanted) & (wanted <= high + 1)).all():
        return 1.0
    return float(np.prod(np.minimum(1.0, (high - low + 2) / (len(numbers) / bins))))


def _roundness(number: float) -> float:
    """The largest power of ten of which a number is a multiple; a tiny one if it is of none."""
    for power in range(12, -7, -1):
        step = 10.0**power
        if number and abs(number / step - round(number / step)) < 1e-9:
            return step
    return 1e12 if not number else 1e-7

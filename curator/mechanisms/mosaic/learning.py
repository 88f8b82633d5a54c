"""What all interactions of a table say of each: sizes, and covariances along attributes.

Covariances are learned by expectation maximisation: given those of all attributes, every interaction has
posterior means and variances of its coefficients. Their squares, divided by the expected variances along the
other attributes, estimate the covariance along one attribute. The prior counts as some independent
observations.

If two numbers are correlated, the largest coefficient of one goes with the largest of the other, the second
with the second, and hardly any others (a normal copula has only these, by Mehler's formula). The product of
covariances does not say so. What it lacks is learned as one factor for each two ranks, from all pairs.

Source: the flip-flop of Dutilleul, "The MLE algorithm for the matrix normal distribution" (1999), with noise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ....common.data.domain import Clique
from ..parts.consistency import onto
from .components import Array, Axis, expected_axis, log_prior, ranks
from .effects import Effect
from .factors import predicted_pairs
from .observed import Prediction
from .settings import SETTINGS

Key = TypeVar("Key", bound=Hashable)

MEANS = np.geomspace(1e-3, 2, 40)
"""Grid of values of a mean, as a share of the records."""

SHARES = (np.arange(20) + 0.5) / 20
"""Grid of values of a share."""

_FIRST_STEPS, _MORE_STEPS = 4, 2
"""Steps from the prior, and from what fewer measurements taught."""

_COUPLED_PAIRS = 1000
"""Largest number of pairs, evenly chosen, from which their coupling is learned."""


def learned_prior(effects: Sequence[Effect], records: float, shares: Array = SHARES) -> tuple[float, float]:
    """Posterior means of m and of the share of interactions that are none, given all that is known of them.

    The prior is uniform over the logarithm of m and over the shares.

    Args:
        effects: scored or measured interactions of one kind.
        records: number of records.
        shares: possible shares.

    Returns:
        m, as a share of the records, and the share.
    """
    known = np.array([effect.log_likelihood(records) for effect in effects])
    # The most likely value counts as 1, and no prior vanishes: no sum does.
    likely = np.exp(known - known.max(axis=1, keepdims=True))
    means = MEANS
    some = likely @ np.exp([log_prior(mean) for mean in means]).T
    none = np.exp([effect.log_prior_of_none(records) for effect in effects])
    none = (likely * none).sum(axis=1)[:, None]
    evidence = np.array([np.log((1 - share) * some + share * none).sum(axis=0) for share in shares])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    return float(weights.sum(axis=0) @ means), float(weights.sum(axis=1) @ shares)


def nearness(effects: Sequence[tuple[Effect, Prediction]], records: float) -> tuple[float, float]:
    """How near measured interactions are to what was predicted of them without their own measurements.

    Args:
        effects: measured interactions, and what is predicted of each; at least one.
        records: number of records.

    Returns:
        Mean distance of those that are near, as a share of the records, and the share of these; their
        posterior means, with uniform priors over the share and over the logarithm of the distance.
    """
    typical, shares = MEANS, SHARES
    found = [effect.evidence(records, prediction, typical) for effect, prediction in effects]
    ratios = np.array([ahead - without for without, ahead in found])
    odds = np.logaddexp(np.log(shares)[:, None, None] + ratios, np.log1p(-shares)[:, None, None])
    logs = odds.sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return float(weights.sum(axis=0) @ typical), float(weights.sum(axis=1) @ shares)


def predictions(
    pairs: Mapping[Clique, Effect], margins: Mapping[str, Array], records: float
) -> dict[Clique, Prediction]:
    """Each pair as the measured ones lead to expect it; none if no measured pair can be predicted.

    Args:
        pairs: scored or measured pairs, with what is known of them.
        margins: attribute -> its shares of the records, shape (n,); in the order of the domain.
        records: number of records.
    """
    axes = {
        name: expected_axis(margin)
        for name, margin in margins.items()
        if 1 < margin.size <= SETTINGS.most_values
    }
    for clique, effect in pairs.items():
        axes |= dict(zip(clique, effect.axes, strict=False))
    measured = {clique: effect.observed for clique, effect in pairs.items() if effect.observed is not None}
    found = predicted_pairs(
        {name: margin for name, margin in margins.items() if name in axes}, axes, measured, records
    )
    ahead = {
        clique: records * np.outer(*(margins[name] for name in clique)).ravel() + found[clique]
        for clique in pairs
        if clique in found
    }
    known = [(pairs[c], Prediction(ahead[c], 1.0, 0.5)) for c in measured if c in ahead]
    if not known:
        return {}
    typical, share = nearness(known, records)
    return {clique: Prediction(cells, typical, share) for clique, cells in ahead.items()}


def has_shape(effect: Effect) -> bool:
    """Whether it has more than one degree of freedom and is small enough to learn covariances from."""
    return 2 < max(effect.shape) <= SETTINGS.most_values


def learned_axes(
    effects: Mapping[tuple[Key, ...], Effect], records: float, before: Mapping[Key, Axis] | None = None
) -> dict[Key, Axis]:
    """The covariance along each attribute, or along the groups of its codes.

    Args:
        effects: measured interactions with `has_shape`, by their attributes.
        records: number of records.
        before: what was learned from fewer measurements, to go on from; of no, some or all attributes.
    """
    expected: dict[Key, Axis] = {}
    effects = _some_of_each(effects)
    for clique, effect in effects.items():
        cells = np.maximum(effect.reference, 0.0).reshape(effect.shape)
        for axis, name in enumerate(clique):
            if name not in expected:
                expected[name] = expected_axis(onto(cells, axis))
    axes = expected | dict(before or {})
    for _ in range(_MORE_STEPS if before else _FIRST_STEPS):
        sums = {name: SETTINGS.axis_observations * axis.covariance for name, axis in expected.items()}
        observations = dict.fromkeys(expected, SETTINGS.axis_observations)
        for clique, effect in effects.items():
            known = effect.with_axes(tuple(axes[name] for name in clique))
            for name, (scatter, count) in zip(clique, _scatters(known, records), strict=True):
                sums[name] = sums[name] + scatter
                observations[name] += count
        axes = {name: Axis.of(sums[name] / observations[name]) for name in sums}
    return axes


def _some_of_each(effects: Mapping[tuple[Key, ...], Effect]) -> dict[tuple[Key, ...], Effect]:
    """Effects chosen at random, until every attribute has `axis_interactions` of them or all of its own."""
    cliques, seen = list(effects), Counter[Key]()
    chosen: set[tuple[Key, ...]] = set()
    # The choice is public, and the same in every run.
    for place in np.random.default_rng(0).permutation(len(cliques)).tolist():
        clique = cliques[place]
        if any(seen[name] < SETTINGS.axis_interactions for name in clique):
            chosen.add(clique)
            seen.update(clique)
    return {clique: effect for clique, effect in effects.items() if clique in chosen}


def _scatters(effect: Effect, records: float) -> Iterator[tuple[Array, int]]:
    """For each attribute, the scatter matrix of its values, and the number of observations in it."""
    scales, weights = effect.sizes(records)
    shape = [len(axis.variances) for axis in effect.axes]
    component = effect.components[-1]
    means, variances = (part.reshape(shape) for part in component.posterior(scales, weights))
    expected = float(weights @ scales**2) * component.profile.reshape(shape) ** 2
    for place, axis in enumerate(effect.axes):
        count = len(axis.variances)
        # The attribute's own factor of the expected variance cancels.
        scale = axis.variances[:, None] / np.moveaxis(expected, place, 0).reshape(count, -1)
        seen = np.moveaxis(means, place, 0).reshape(count, -1)
        unsure = np.moveaxis(variances, place, 0).reshape(count, -1)
        inner = (seen * scale) @ seen.T + np.diag((unsure * scale).sum(axis=1))
        yield axis.vectors @ inner @ axis.vectors.T, scale.shape[1]


def couples(effect: Effect) -> bool:
    """Whether it is a pair of which both attributes have several coefficients."""
    return len(effect.shape) == 2 and min(effect.shape) > 2 and has_shape(effect)


def learned_coupling(effects: Collection[Effect], records: float, before: Array | None = None) -> Array:
    """Factors of the variances of coefficients by the ranks of both; see `expected_variances`.

    Args:
        effects: measured pairs with axes that `couples`.
        records: number of records.
        before: what was learned from fewer measurements, to go on from.

    Returns:
        Shape (SETTINGS.ranks, SETTINGS.ranks), symmetric; all ones without pairs.
    """
    effects = list(effects)[:: max(1, math.ceil(len(effects) / _COUPLED_PAIRS))]
    coupling = np.ones((SETTINGS.ranks, SETTINGS.ranks)) if before is None else before
    for _ in range(_FIRST_STEPS if before is None else _MORE_STEPS):
        sums, counts = np.full((2, SETTINGS.ranks, SETTINGS.ranks), SETTINGS.coupling_observations)
        for effect in effects:
            known = effect.with_axes(effect.axes, coupling)
            places = np.ix_(*(ranks(axis) for axis in known.axes))
            scales, weights = known.sizes(records)
            component = known.components[-1]
            means, variances = component.posterior(scales, weights)
            variance = (component.profile**2).reshape(coupling[places].shape) / coupling[places]
            seen = (means**2 + variances).reshape(variance.shape) / (variance * float(weights @ scales**2))
            np.add.at(sums, places, seen)
            np.add.at(counts, places, 1.0)
        coupling = sums / counts
        coupling = np.sqrt(coupling * coupling.T)
    return coupling

"""An independent check of a release's epsilon: the privacy loss distribution of the added noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache, reduce
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from ...common.privacy.budget import Accountant
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import PrivacyUnit, charged_variance, grid_of

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

_INTERVAL_ROUNDING = 1e-5
"""What rounding losses to multiples of an interval may add to mu^2, as a share of it."""

_TRUNCATED = 1e-9
"""Tails of this share of delta are counted as infinite losses at every composition."""

_CONVOLUTION_ERROR, _CONVOLUTION_ERROR_EACH = 1e-13, 1e-17
"""Bounds on the error of delta by convolutions in 64-bit floats: once, and for each variable (measured)."""

_LEAST_SIGMA = 0.1
"""Under less noise for a record, the tails that dp-accounting computes do not overlap."""

_MOST_GRID_STEPS = 2.0**21
"""Of more noise, in steps of its grid, the probabilities of all values take gigabytes."""

_LABELS = "labels"
"""Kind of the noise on labels, which one party draws alone: nobody sees more of it than was charged."""

_Noise = tuple[float, bool | tuple[int, ...] | str]
"""A scale, with True for a score, the shape for an interaction, `_LABELS`, or () for a marginal."""


def checked_epsilon(
    accountant: Accountant,
    delta: float,
    unit: PrivacyUnit,
    noise_factor: float = 1.0,
) -> float | None:
    """Upper bound on epsilon at delta, from the probability masses of the discrete noise itself.

    One record changes one cell of a marginal by 1 (two cells under replace-one), so the privacy loss of a
    measurement is that of one noise variable against its shift, for any number of cells. It changes every
    score by 1 (by 2 under replace-one), so each score counts. A person with m records shifts each at most m
    times as far. An interaction, and the counts of labels, count as the Gaussian that they are charged as.
    The bound takes the scales as given; the Gaussian accounting of the grant covers that they were chosen
    adaptively.

    dp-accounting rounds losses to multiples of an interval h such that their distribution only gets worse.
    Each rounding picks one of two losses h apart, and no such pair is easier to tell from the other than two
    Gaussians of mu = h sqrt(pi / 8). All n roundings therefore add at most n h^2 pi / 8 to mu^2. If the
    estimate is above the epsilon of the Gaussian accounting by no more than that, the two agree and the
    smaller bound is returned, so that rounding alone never exceeds a promise. Noise that is too small by more
    than the rounding gives an epsilon above it.

    Source: Google's dp-accounting, pessimistic estimates ("connect the dots": Doroshenko et al. 2022).

    Args:
        accountant: accountant of the release.
        delta: delta in (0, 1).
        unit: what differs between neighbouring tables.
        noise_factor: scale of the evaluated noise as a multiple of the charged scale, on the same grid.

    Returns:
        None if a charge is not Gaussian, if nothing was charged, if 64-bit floats are too coarse for so
        small a delta (below 4e-13 for a few variables), if there is so little noise that no number bounds
        epsilon at this delta, or so much (beyond two million counts) that its values take too much memory.
    """
    if not accountant.charges or not all(charge.sigmas for charge in accountant.charges):
        return None
    slices = zip(*(charge.sigmas for charge in accountant.charges), strict=True)
    kinds = [
        _LABELS if charge.labels else charge.scores or charge.interaction for charge in accountant.charges
    ]
    noise = {
        frozenset(
            Counter((s, kind) for sigmas, kind in zip(piece, kinds, strict=True) for s in sigmas).items()
        )
        for piece in slices
    }
    changed = unit.adjacency.squared_sensitivity
    most = max(sum(count for _, count in variables) for variables in noise) * changed
    float_error = _CONVOLUTION_ERROR + _CONVOLUTION_ERROR_EACH * most
    if float_error > delta / 4:
        return None
    alone = {sigma for variables in noise for (sigma, kind), _ in variables if kind in (True, ())}
    if any(sigma * noise_factor < _LEAST_SIGMA * unit.multiple for sigma in alone):
        return None
    if any(grid_of(sigma) * sigma * noise_factor > _MOST_GRID_STEPS for sigma in alone):
        return None
    labels = sum((charge.zcdp_rho for charge in accountant.charges if charge.labels), Fraction(0))
    mu = math.sqrt(2 * (labels + (accountant.spent - labels) / Fraction(noise_factor) ** 2))
    interval = mu * math.sqrt(_INTERVAL_ROUNDING * 8 / math.pi / most)
    truncated = _TRUNCATED * delta
    found = max(
        _epsilon(variables, noise_factor, unit, interval, truncated, delta - float_error)
        for variables in noise
    )
    if not math.isfinite(found):
        return None
    lost = 2 * float_error + 2 * most * truncated
    within = gaussian_epsilon(mu * math.sqrt(1 + _INTERVAL_ROUNDING), delta - lost)
    return min(found, gaussian_epsilon(mu, delta)) if found <= within else float(found)


def checked_epsilons(
    accountant: Accountant, delta: float, unit: PrivacyUnit, factors: Collection[float]
) -> dict[float, float | None]:
    """`checked_epsilon` for each of some factors of noise."""
    return {factor: checked_epsilon(accountant, delta, unit, factor) for factor in factors}


def prepare_check() -> None:
    """Imports dp-accounting, for a thread or process that has time before `checked_epsilon` is called."""
    import_module("dp_accounting.pld.privacy_loss_distribution")


@lru_cache(maxsize=64)
def _epsilon(
    variables: frozenset[tuple[_Noise, int]],
    factor: float,
    unit: PrivacyUnit,
    interval: float,
    truncated: float,
    delta: float,
) -> float:
    """Epsilon at delta; a program that makes a release again and again waits for it once."""
    found = _distribution(variables, factor, unit, interval, truncated)
    return float(found.get_epsilon_for_delta(delta))


def _distribution(
    variables: frozenset[tuple[_Noise, int]],
    factor: float,
    unit: PrivacyUnit,
    interval: float,
    truncated: float,
) -> PrivacyLossDistribution:
    # Late, since it takes most of a second; see `prepare_check`.
    from dp_accounting.pld import privacy_loss_distribution as pld

    changed = unit.adjacency.squared_sensitivity
    # Gaussians compose to one Gaussian.
    gaussian = sum(
        (
            count * unit.squared_interaction_sensitivity(kind) / charged_variance(sigma, factor)
            for (sigma, kind), count in variables
            if isinstance(kind, tuple) and kind
        ),
        Fraction(0),
    ) + sum(
        (
            count * Fraction(unit.squared_sensitivity) / charged_variance(sigma)
            for (sigma, kind), count in variables
            if kind == _LABELS
        ),
        Fraction(0),
    )
    losses = [
        _of_discrete_gaussian(
            grid_of(sigma) * sigma * factor,
            grid_of(sigma) * unit.multiple * (changed if scored else 1),
            interval,
        ).self_compose(count if scored else count * changed, truncated)
        for (sigma, scored), count in sorted(variables, key=repr)
        if scored in (True, ())
    ]
    if gaussian:
        losses.append(
            pld.from_gaussian_mechanism(
                1 / math.sqrt(gaussian), value_discretization_interval=interval, use_connect_dots=True
            )
        )
    return reduce(lambda one, other: one.compose(other, truncated), losses)


def _of_discrete_gaussian(sigma: float, sensitivity: int, interval: float) -> PrivacyLossDistribution:
    """What `from_discrete_gaussian_mechanism` of dp-accounting finds, bit by bit, in a tenth of its time.

    Its class has the probabilities, and its function connects the dots. Only its loops over single values,
    which find at which losses there are dots, are arrays here.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import DiscreteGaussianPrivacyLoss

    noise = DiscreteGaussianPrivacyLoss(sigma, sensitivity)
    ends = noise.connect_dots_bounds()
    values = np.arange(ends.upper_x, ends.lower_x - 1, -1)
    scaled = sensitivity * (-0.5 * sensitivity - values) / sigma**2 / interval
    multiples = np.union1d(np.floor(scaled), np.ceil(scaled))
    losses = multiples * interval
    last = np.floor(
        np.clip(-0.5 * sensitivity - losses * sigma**2 / sensitivity, ends.lower_x - 1, ends.upper_x)
    )
    deltas = noise.mu_upper_cdf(last) - np.exp(losses + noise.mu_lower_log_cdf(last))
    dots = pld_pmf.create_pmf_pessimistic_connect_dots(interval, multiples, np.clip(deltas, 0, 1))
    return PrivacyLossDistribution(dots)

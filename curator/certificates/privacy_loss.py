"""A second opinion on a release's epsilon: the privacy loss distribution of the noise that was added."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import reduce

from dp_accounting.pld import privacy_loss_distribution as pld

from ...common.privacy.budget import Accountant
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import Adjacency, charged_variance, grid_of

_RELATIVE_INTERVAL = 5e-5
"""Losses are rounded to multiples of this share of epsilon, connecting the dots: an error of its square."""


_Noise = tuple[float, bool | tuple[int, ...]]
"""A scale, and True for a score's, the shape of its marginal for an interaction's, () for a marginal's."""


def checked_epsilon(
    accountant: Accountant, delta: float, adjacency: Adjacency, noise_factor: float = 1.0
) -> float | None:
    """Upper bound on epsilon at delta, from the probability masses of the discrete noise itself.

    One record changes one cell of a marginal by 1 (two cells under replace-one), so the privacy loss of a
    measurement is that of one noise variable against its shift, whatever the number of cells. It changes
    every score by 1 (by 2 under replace-one), so each score counts. An interaction counts as the Gaussian
    that it is charged as. The bound is for the scales as they were chosen; that choosing them along the way
    costs nothing more is what the Gaussian accounting of the grant is for.

    Source: Google's dp-accounting, pessimistic estimates.

    Args:
        accountant: what was charged.
        delta: in (0, 1).
        adjacency: which tables are neighbours.
        noise_factor: the noise that is looked at, as a multiple of the scales that were charged; it lies on
            their grid.

    Returns:
        None where a charge is not Gaussian, or nothing was charged.
    """
    if not accountant.charges or not all(charge.sigmas for charge in accountant.charges):
        return None
    slices = zip(*(charge.sigmas for charge in accountant.charges), strict=True)
    kinds = [charge.scores or charge.interaction for charge in accountant.charges]
    noise = {
        frozenset(
            Counter((s, kind) for sigmas, kind in zip(piece, kinds, strict=True) for s in sigmas).items()
        )
        for piece in slices
    }
    interval = _RELATIVE_INTERVAL * gaussian_epsilon(math.sqrt(2 * accountant.spent) / noise_factor, delta)
    return max(_epsilon(variables, noise_factor, delta, adjacency, interval) for variables in noise)


def _epsilon(
    variables: frozenset[tuple[_Noise, int]],
    factor: float,
    delta: float,
    adjacency: Adjacency,
    interval: float,
) -> float:
    changed = adjacency.squared_sensitivity
    # Gaussians compose as one.
    gaussian = sum(
        (
            count * adjacency.squared_interaction_sensitivity(kind) / charged_variance(sigma, factor)
            for (sigma, kind), count in variables
            if isinstance(kind, tuple) and kind
        ),
        Fraction(0),
    )
    losses = [
        pld.from_discrete_gaussian_mechanism(
            sigma=grid_of(sigma) * sigma * factor,
            sensitivity=grid_of(sigma) * (changed if scored else 1),
            value_discretization_interval=interval,
            use_connect_dots=True,
        ).self_compose(count if scored else count * changed)
        for (sigma, scored), count in sorted(variables, key=repr)
        if scored in (True, ())
    ]
    if gaussian:
        losses.append(
            pld.from_gaussian_mechanism(
                1 / math.sqrt(gaussian), value_discretization_interval=interval, use_connect_dots=True
            )
        )
    return float(reduce(lambda one, other: one.compose(other), losses).get_epsilon_for_delta(delta))

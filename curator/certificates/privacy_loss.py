"""An independent check of a release's epsilon: the privacy loss distribution of the added noise."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import reduce

from dp_accounting.pld import privacy_loss_distribution as pld

from ...common.privacy.budget import Accountant
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import Adjacency, PrivacyUnit, charged_variance, grid_of

_RELATIVE_INTERVAL = 5e-5
"""Losses are rounded to multiples of this share of epsilon; "connect the dots" makes the error quadratic."""


_Noise = tuple[float, bool | tuple[int, ...]]
"""A scale, with True for a score, the shape for an interaction, or () for a marginal."""


def checked_epsilon(
    accountant: Accountant,
    delta: float,
    adjacency: Adjacency,
    noise_factor: float = 1.0,
    rows_per_person: int = 1,
) -> float | None:
    """Upper bound on epsilon at delta, from the probability masses of the discrete noise itself.

    One record changes one cell of a marginal by 1 (two cells under replace-one), so the privacy loss of a
    measurement is that of one noise variable against its shift, for any number of cells. It changes every
    score by 1 (by 2 under replace-one), so each score counts. A person with m records shifts each at most m
    times as far. An interaction counts as the Gaussian that it is charged as. The bound takes the scales as
    given; the Gaussian accounting of the grant covers that they were chosen adaptively.

    Source: Google's dp-accounting, pessimistic estimates.

    Args:
        accountant: accountant of the release.
        delta: delta in (0, 1).
        adjacency: which tables are neighbours.
        noise_factor: scale of the evaluated noise as a multiple of the charged scale, on the same grid.
        rows_per_person: number of records in which neighbouring tables differ.

    Returns:
        None if a charge is not Gaussian, or nothing was charged.
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
    unit = PrivacyUnit(adjacency, rows_per_person)
    interval = _RELATIVE_INTERVAL * gaussian_epsilon(math.sqrt(2 * accountant.spent) / noise_factor, delta)
    return max(_epsilon(variables, noise_factor, delta, unit, interval) for variables in noise)


def _epsilon(
    variables: frozenset[tuple[_Noise, int]],
    factor: float,
    delta: float,
    unit: PrivacyUnit,
    interval: float,
) -> float:
    changed = unit.adjacency.squared_sensitivity
    # Gaussians compose to one Gaussian.
    gaussian = sum(
        (
            count * unit.squared_interaction_sensitivity(kind) / charged_variance(sigma, factor)
            for (sigma, kind), count in variables
            if isinstance(kind, tuple) and kind
        ),
        Fraction(0),
    )
    losses = [
        pld.from_discrete_gaussian_mechanism(
            sigma=grid_of(sigma) * sigma * factor,
            sensitivity=grid_of(sigma) * unit.rows_per_person * (changed if scored else 1),
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

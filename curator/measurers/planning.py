"""What a release with the protocol `masked` agrees on, and the noise that its answers get."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ...common.data.domain import Clique
from ...common.data.view import View
from ...common.errors import DataError
from ...common.privacy.cost import Neighbours, PrivacyUnit, coarser_sigma, gaussian_sigma, grid_of
from ...common.privacy.distributed import DistributedNoise
from ...common.protocols.arithmetic.ring import WIDE, Ring
from ...common.protocols.dropouts.plan import MAY_DROP_OUT, DropoutPlan
from ...common.protocols.masked.dealers import DealerEntry
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.masked.trust import trust_assumption
from ..parties.federation import Federation
from .measurer import Observer
from .size import NoisySize

LARGEST_OF_RECORDS = 3
"""All counts, and all distances to a rounded reference, are at most this times the number of records."""

_LEAST_PARTIES = 3
"""With so many parties, all evaluators of scores are parties; with two, evaluator 0 is the first dealer."""

_MOST_SIGMA = 2.0**18
"""Largest noise, in people, for which a ring of people with all rows has room."""

_INTERACTION = 3
"""The ring has room for interactions of at most this many attributes, each with at most ..."""

_INTERACTION_SHARE = Fraction(1, 4)
"""... this share of the budget; an interaction that it has no room for gets more noise, and costs less."""


def masked_plan(
    federation: Federation, granted: Fraction, unit: PrivacyUnit, tolerated: int | None = None
) -> MaskedPlan:
    """The plan of a release over these parties.

    Args:
        federation: the parties.
        granted: upper limit of the costs of all queries together, zCDP; it bounds the noise from below.
        unit: what differs between neighbouring tables.
        tolerated: number of parties that may collude; by default one, or zero for a single party.

    Raises:
        BudgetError: no honest party would be left; or counts and noise do not fit 64 bits.
        DataError: see `MaskedPlan`.
    """
    partition = federation.partition
    roster = partition.roster
    tolerated = _collusions_of(federation, tolerated)
    ring = _ring(federation, granted, DistributedNoise(len(roster), tolerated, unit.parts), unit)
    # Two colluding evaluators would see the values that they evaluate. Each round of scores would be a round
    # trip of files.
    scores = len(roster) > 1 and tolerated <= 1 and not federation.by_files
    evaluators = _evaluators(len(roster)) if scores else ()
    return MaskedPlan(
        partition.domain,
        roster,
        tolerated,
        ring,
        evaluators,
        _dealers(federation, bool(evaluators)),
        parts=unit.parts,
        alignment=partition.alignment,
        chosen=partition.chosen,
        related=partition.related,
    )


def dropout_plan(
    federation: Federation,
    granted: Fraction,
    unit: PrivacyUnit,
    tolerated: int | None,
    may_drop_out: int,
) -> DropoutPlan:
    """The plan of a release of which so many parties may drop out; nobody evaluates scores.

    For the other arguments see `masked_plan`.

    Raises:
        BudgetError: see `masked_plan`.
        DataError: see `DropoutPlan`; or a party is reached by files.
    """
    if federation.by_files:
        raise DataError(
            f"{MAY_DROP_OUT}: expected parties that are reached over the network, since nobody knows of "
            "one that is reached by files whether it is gone, got another; leave it out"
        )
    partition = federation.partition
    tolerated = _collusions_of(federation, tolerated)
    planned = DropoutPlan(
        partition.domain,
        partition.roster,
        tolerated,
        WIDE,
        parts=unit.parts,
        alignment=partition.alignment,
        chosen=partition.chosen,
        related=partition.related,
        may_drop_out=may_drop_out,
    )
    return replace(planned, ring=_ring(federation, granted, planned.noise, unit))


def _collusions_of(federation: Federation, stated: int | None) -> int:
    return min(1, len(federation.members) - 1) if stated is None else stated


def _ring(federation: Federation, granted: Fraction, drawn: DistributedNoise, unit: PrivacyUnit) -> Ring:
    """The smallest ring that has room for counts and noise."""
    sigma = gaussian_sigma(granted, unit)
    # Without parts, the scale of the noise is at most 512 in units of 1/grid.
    noise = drawn.largest(512.0 if unit.parts == 1 else _MOST_SIGMA)
    records = sum(federation.record_counts)
    grid = drawn.grid(sigma)
    # A record changes an interaction by at least 2^(-k/2), so its grid may be finer by this factor.
    coarser = drawn.grid(gaussian_sigma(granted * _INTERACTION_SHARE, unit))
    differences = (coarser << math.ceil(_INTERACTION / 2)) * records + (noise << _INTERACTION)
    return Ring.holding(max(grid * LARGEST_OF_RECORDS * records + noise, differences))


def _dealers(federation: Federation, scores: bool) -> tuple[DealerEntry, ...]:
    """The dealers of the plan: none if every slice has one party and no dealer evaluates scores.

    Raises:
        DataError: the release needs a dealer, and there is none.
    """
    evaluates = scores and len(federation.members) == _LEAST_PARTIES - 1
    if not evaluates and all(len(members) == 1 for members in federation.slices):
        return ()
    if not federation.dealers:
        raise DataError("the release needs dealers, and the plan names none; name one or three in dealers")
    return tuple(dealer.entry for dealer in federation.dealers)


def _evaluators(parties: int) -> tuple[int, int, int]:
    """Places of the evaluators: the party in the middle, the first and the last; of two, the dealer first."""
    return (parties // 2 if parties >= _LEAST_PARTIES else parties, 0, parties - 1)


def masked_sigma(plan: MaskedPlan, adjacency: Neighbours, view: View, zcdp_rho: Fraction) -> float:
    """Standard deviation of every cell at this cost; infinite if the openings exceed their limit."""
    if not plan.feasible(view):
        return math.inf
    shape = view.interaction_shape(plan.domain)
    scale = scale_of(plan, gaussian_sigma(zcdp_rho, adjacency, shape), shape)
    return factor_of(plan, view.clique) * plan.noise.total_sigma(scale)


def factor_of(plan: MaskedPlan, clique: Clique) -> float:
    """What answers for a clique, and their noise, are multiplied by: rows for each row that answers."""
    return plan.sampling.factor if plan.sampling is not None and plan.is_sampled(clique) else 1.0


def scale_of(plan: MaskedPlan, sigma: float, shape: tuple[int, ...]) -> float:
    """A scale of noise; for an interaction the least one from `sigma` on that the ring has room for."""
    while shape and not plan.ring.holds(plan.largest(sigma, interaction=shape)) and grid_of(sigma) > 1:
        sigma = coarser_sigma(sigma)
    return sigma


def observers_of(plan: MaskedPlan) -> tuple[Observer, ...]:
    """The noise and the assumptions against each observer."""
    factor, parties, tolerated = plan.noise.factor, len(plan.roster), plan.tolerated
    dealing, adding = trust_assumption(plan), "every party adds its noise"
    if plan.fewest_parties < parties:
        adding = f"every party in an answer adds its noise, at least {plan.fewest_parties}"
    observers = [
        Observer("the public", adding, factor),
        Observer("the curator", dealing or adding, factor),
    ]
    if tolerated:
        observers.append(
            Observer(
                f"up to {tolerated} of the {parties} parties together, with the public's view",
                "; ".join(filter(None, [f"at most {tolerated} of the parties collude", dealing])),
                1.0,
            )
        )
    return tuple(observers)


def noisy_size(plan: MaskedPlan, unit: PrivacyUnit) -> NoisySize | None:
    """What the alignment says of the number of people everywhere; None if marginals do not say more.

    With the population anywhere, sums of marginals contain the same noisy numbers of people.
    """
    alignment = plan.alignment
    if alignment is None or plan.absent:
        return None
    found = sum(counts[-1] for counts in alignment.people)
    return NoisySize(found, plan.slice_count * alignment.sigma(unit) ** 2)

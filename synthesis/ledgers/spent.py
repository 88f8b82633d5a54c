"""What releases of one table cost, what they promise together, and what a limit still allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...common.labels import DELTA_SHARE
from ...common.privacy.budget import Budget
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...common.privacy.rounding import float_below, text_above
from ...common.privacy.spending import Cost, together
from ...curator.mechanisms.mechanism import Mechanism

_HALVINGS = 40
"""Steps in which the epsilon that a limit leaves is found."""


@dataclass(frozen=True)
class Spent:
    """What one release of a table cost.

    Attributes:
        release_id: of the release.
        at: when it began, UTC, ISO 8601.
        out: its folder; empty if it had none.
        budget: its promise, epsilon with delta.
        cost: Gaussian noise and texts; rho is zero if the release has noise of another kind.
        alone: whether it has noise of another kind, whose epsilon and delta are added to those of others.
        rows: digest of the rows under the salt of the ledger.
        ended: whether it ended early, and so cost less than its promise.
        turn: drawn when a process began it or went on with it last; its folder has noted it, unless that is a
            copy from before.
        after: id of the release that it continues, with which it shares a promise; empty if there is none.
    """

    release_id: str
    at: str
    out: str
    budget: Budget
    cost: Cost
    alone: bool = False
    rows: str = ""
    ended: bool = False
    turn: str = ""
    after: str = ""

    @classmethod
    def of(
        cls,
        release_id: str,
        at: str,
        out: str,
        budget: Budget,
        unit: PrivacyUnit,
        mechanism: Mechanism,
        labels_delta: float,
        releases: int = 1,
    ) -> Spent:
        """A release that may spend all that it is granted.

        Args:
            release_id: see `Spent`, as the next two.
            at: see there.
            out: see there.
            budget: its promise, epsilon with delta.
            unit: what differs between neighbouring tables.
            mechanism: what it measures by.
            labels_delta: what texts may take of delta.
            releases: number of releases that share the promise, of which this is one.
        """
        noise = budget.without_delta(labels_delta)
        rho = mechanism.granted(noise)
        # Every other calibration of a mechanism is for noise that is not Gaussian alone.
        if rho != noise.granted(gaussian_only=True):
            return cls(release_id, at, out, budget, Cost(unit), alone=True)
        rho /= releases
        if releases > 1:
            budget = replace(budget, epsilon=gaussian_epsilon(math.sqrt(2 * rho), noise.delta or 0.0))
        return cls(release_id, at, out, budget, Cost(unit, rho, Fraction(labels_delta)))

    def only(self, share: float) -> Spent:
        """The same release if it ended after this share of its rho."""
        if self.alone:
            return self
        cost = replace(self.cost, zcdp_rho=self.cost.zcdp_rho * Fraction(share))
        return replace(self, cost=cost, ended=True)


@dataclass(frozen=True)
class Composed:
    """What several releases promise together to whoever is the unit of all of them.

    Attributes:
        unit: what differs between neighbouring tables.
        releases: their number.
        epsilon: of all together.
        delta: of all together.
    """

    unit: PrivacyUnit
    releases: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"epsilon {text_above(self.epsilon)} at delta {text_above(self.delta, 3)}"


def compose(spent: Sequence[Spent]) -> Composed:
    """What releases of one unit promise together.

    Their noise composes as one Gaussian mechanism, whose rho is the sum (`Budget.granted`), at the largest
    delta that any of them has for noise. What texts take of delta is that of events, and is added.

    Args:
        spent: the releases, at least one.
    """
    noisy = [one for one in spent if not one.alone]
    cost = sum((one.cost for one in noisy), Cost(spent[0].cost.unit))
    alone = [one.budget for one in spent if one.alone]
    epsilon = math.fsum(one.epsilon or 0.0 for one in alone)
    delta = math.fsum(one.delta or 0.0 for one in alone)
    if noisy:
        noise = max(one.budget.without_delta(float(one.cost.delta)).delta or 0.0 for one in noisy)
        epsilon += gaussian_epsilon(math.sqrt(2 * cost.zcdp_rho), noise)
        delta += noise + float(cost.delta)
    return Composed(cost.unit, len(spent), epsilon, delta)


def by_unit(spent: Sequence[Spent]) -> tuple[Composed, ...]:
    """What the releases of each unit promise together: of different units there is no sum."""
    units = dict.fromkeys(one.cost.unit for one in spent)
    return tuple(compose([one for one in spent if one.cost.unit == unit]) for unit in units)


def fits(spent: Sequence[Spent], limit: Budget) -> bool:
    """Whether releases of any units stay within a limit, in the strictest of their adjacencies."""
    whole = together(one.cost for one in spent)
    epsilon, delta = limit.epsilon or 0.0, Fraction(limit.delta or 0.0)
    for one in spent:
        if one.alone:
            added = _for_adjacency(one, whole.unit.adjacency)
            epsilon, delta = epsilon - added[0], delta - Fraction(added[1])
    delta -= whole.delta
    if not whole.zcdp_rho:
        return epsilon >= 0 and delta >= 0
    if epsilon <= 0 or delta <= 0:
        return False
    rest = float_below(delta)
    return rest > 0 and Budget(epsilon, rest).allows(whole.zcdp_rho)


def epsilon_left(spent: Sequence[Spent], limit: Budget) -> float:
    """The epsilon of one more release without a domain, one row its unit, that a limit allows, rounded down.

    Args:
        spent: the releases so far.
        limit: the limit; the release has its delta.
    """
    assert limit.epsilon is not None
    low, high = 0.0, limit.epsilon
    if fits([*spent, _next(high, limit)], limit):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits([*spent, _next(middle, limit)], limit) else (low, middle)
    return math.floor(low * 1000) / 1000


def _next(epsilon: float, limit: Budget) -> Spent:
    budget = Budget(epsilon, limit.delta)
    labels = DELTA_SHARE * (limit.delta or 0.0)
    rho = budget.without_delta(labels).granted(gaussian_only=True)
    cost = Cost(PrivacyUnit(Adjacency.ADD_REMOVE), rho, Fraction(labels))
    return Spent("", "", "", budget, cost)


def _for_adjacency(one: Spent, adjacency: Adjacency) -> tuple[float, float]:
    """Epsilon and delta of a release under an adjacency; replacing a row is two changes (group privacy)."""
    epsilon, delta = one.budget.epsilon or 0.0, one.budget.delta or 0.0
    if adjacency is Adjacency.REPLACE_ONE is not one.cost.unit.adjacency:
        return 2 * epsilon, (1 + math.exp(min(epsilon, 700.0))) * delta
    return epsilon, delta

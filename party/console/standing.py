"""The lifetime budget of an institution: what is spent, reserved and left, and by which releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from ...common.privacy.conversion import best_guess, zcdp_epsilon
from ..approvals import Request
from ..decisions import APPROVED
from ..ledger_rows import LedgerSummary

_DELTA = 1e-9
"""Delta at which a limit in rho is put into words."""

WIDTH, HEIGHT = 1000.0, 240.0
"""Size of the chart, in units of its own; the page stretches it."""


@dataclass(frozen=True)
class Part:
    """What one accepted release takes of the lifetime budget.

    Attributes:
        release_id: id of the release.
        state: `OPEN`, `CERTIFIED` or `ABANDONED`.
        day: time of its last approval, ISO 8601 in UTC; empty if the request is not stored any more.
        spent: cost so far, zCDP.
        reserved: what it may still spend, zCDP.
    """

    release_id: str
    state: str
    day: str
    spent: float
    reserved: float


@dataclass(frozen=True)
class Standing:
    """The lifetime budget and its use.

    Attributes:
        lifetime: limit of all releases together, zCDP.
        parts: the accepted releases, in the order of acceptance.
    """

    lifetime: float
    parts: tuple[Part, ...]

    @property
    def spent(self) -> float:
        """Cost of all releases so far, zCDP."""
        return sum(part.spent for part in self.parts)

    @property
    def reserved(self) -> float:
        """What open releases may still spend, zCDP."""
        return sum(part.reserved for part in self.parts)

    @property
    def left(self) -> float:
        """What nothing has spent or reserved, zCDP; negative if the limit was lowered below that."""
        return self.lifetime - self.spent - self.reserved

    @property
    def guess(self) -> float:
        """Chance of a right guess about one person, at most, from even odds, once all is spent."""
        return best_guess(zcdp_epsilon(self.lifetime, _DELTA), _DELTA)

    def share(self, rho: float) -> float:
        """A cost as a share of the lifetime budget, within 0..1."""
        return min(1.0, max(0.0, rho / self.lifetime)) if self.lifetime else 0.0


@dataclass(frozen=True)
class Chart:
    """The use of the budget over time: each release is a step at the time when it was approved.

    Attributes:
        first: day at the left edge.
        last: day at the right edge.
        spent: corners of the area of what is spent, as an SVG attribute.
        used: corners of the area of what is spent or reserved.
    """

    first: str
    last: str
    spent: str
    used: str


def standing_of(
    lifetime: Fraction, summaries: Sequence[LedgerSummary], requests: Sequence[Request]
) -> Standing:
    """The use of the budget.

    Args:
        lifetime: limit of all releases together, zCDP.
        summaries: accepted releases, in the order of acceptance.
        requests: requested releases.
    """
    approved = {
        request.terms.release_id: decision.at
        for request in requests
        for decision in request.decisions
        if decision.verdict == APPROVED
    }
    parts = tuple(
        Part(
            one.release_id,
            one.state,
            approved.get(one.release_id, ""),
            float(one.spent),
            float(one.reserved - one.spent),
        )
        for one in summaries
    )
    return Standing(float(lifetime), parts)


def chart_of(standing: Standing, now: datetime) -> Chart | None:
    """The chart until now; None if no release was accepted whose time of approval is known."""
    dated = sorted(
        ((datetime.fromisoformat(part.day), part) for part in standing.parts if part.day),
        key=lambda pair: pair[0],
    )
    if not dated or not standing.lifetime:
        return None
    first, whole = dated[0][0], max((now - dated[0][0]).total_seconds(), 1.0)
    undated = [part for part in standing.parts if not part.day]
    spent = sum(part.spent for part in undated)
    used = spent + sum(part.reserved for part in undated)
    steps = [(0.0, spent, used)]
    for at, part in dated:
        spent, used = spent + part.spent, used + part.spent + part.reserved
        steps.append(((at - first).total_seconds() / whole * WIDTH, spent, used))
    scale = max(standing.lifetime, used)
    areas = (_area([(x, step[place] / scale) for x, *step in steps]) for place in (0, 1))
    return Chart(f"{first:%Y-%m-%d}", f"{now:%Y-%m-%d}", *areas)


def _area(steps: Sequence[tuple[float, float]]) -> str:
    """Corners of the area below a line of steps, from heights within 0..1."""
    corners, height = [(0.0, HEIGHT)], 0.0
    for x, share in steps:
        corners += [(x, HEIGHT * (1 - height)), (x, HEIGHT * (1 - share))]
        height = share
    corners += [(WIDTH, HEIGHT * (1 - height)), (WIDTH, HEIGHT)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)

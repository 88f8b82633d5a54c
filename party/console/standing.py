"""The lifetime budget of an institution: what is spent, reserved and left, and by which releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from ...common.privacy.conversion import best_guess, zcdp_epsilon
from ..accounts.rows import LedgerCharge, LedgerEvents, LedgerSummary, moment
from ..approving.approvals import Request, approved_at

_DELTA = 1e-9
"""Delta at which a limit in rho is put into words."""

CHART_WIDTH, CHART_HEIGHT = 1000.0, 240.0
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
class Change:
    """A change of what is spent or reserved.

    Attributes:
        at: time, ISO 8601 in UTC; empty if it is not known.
        spent: what was charged, zCDP.
        reserved: what was reserved; negative for what a charge or the end of a release takes off.
    """

    at: str
    spent: float
    reserved: float


@dataclass(frozen=True)
class Standing:
    """The lifetime budget and its use.

    Attributes:
        lifetime: limit of all releases together, zCDP.
        parts: the accepted releases, in the order of acceptance.
        changes: how it came to that.
        counted: what the ledger counts of the limit, zCDP: all parts under the strictest adjacency, and what
            was lost with a backup; None for the sum of the parts.
    """

    lifetime: float
    parts: tuple[Part, ...]
    changes: tuple[Change, ...] = ()
    counted: float | None = None

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
        return self.lifetime - (self.spent + self.reserved if self.counted is None else self.counted)

    @property
    def guess(self) -> float:
        """Chance of a right guess about one person, at most, from even odds, once all is spent."""
        return best_guess(zcdp_epsilon(self.lifetime, _DELTA), _DELTA)

    def share(self, rho: float) -> float:
        """A cost as a share of the lifetime budget, within 0..1."""
        return min(1.0, max(0.0, rho / self.lifetime)) if self.lifetime else 0.0


@dataclass(frozen=True)
class Chart:
    """The use of the budget over time: steps at the times of the ledger, or else of the approval.

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
    lifetime: Fraction,
    summaries: Sequence[LedgerSummary],
    requests: Sequence[Request],
    events: Sequence[LedgerEvents],
    charges: Sequence[LedgerCharge],
) -> Standing:
    """The use of the budget.

    Args:
        lifetime: limit of all releases together, zCDP.
        summaries: accepted releases, in the order of acceptance.
        requests: requested releases.
        events: beginning and end of the releases.
        charges: their charges.
    """
    approved = approved_at(requests)
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
    return Standing(float(lifetime), parts, tuple(_changes(summaries, approved, events, charges)))


def _changes(
    summaries: Sequence[LedgerSummary],
    approved: Mapping[str, str],
    events: Sequence[LedgerEvents],
    charges: Sequence[LedgerCharge],
) -> Iterator[Change]:
    """What each event of the ledger did; one without a time counts at the approval of its release."""
    spent = {one.release_id: one for one in summaries}
    counted: dict[str, Fraction] = defaultdict(Fraction)
    for one in events:
        at, granted = approved.get(one.release_id, ""), float(spent[one.release_id].granted)
        yield Change(moment(one.accepted_at) or at, 0.0, granted)
    for charge in charges:
        rho = float(charge.zcdp_rho)
        counted[charge.release_id] += charge.zcdp_rho
        yield Change(moment(charge.at) or approved.get(charge.release_id, ""), rho, -rho)
    for one in events:
        summary, at = spent[one.release_id], moment(one.closed_at) or approved.get(one.release_id, "")
        # A release that was open when its ledger was restored counts in full, without entries.
        rest = summary.spent - counted[one.release_id]
        left = (summary.reserved - summary.spent) - (summary.granted - counted[one.release_id])
        yield Change(at, float(rest), float(left))


def chart_of(standing: Standing, now: datetime) -> Chart | None:
    """The chart until now; None if no time of a release is known."""
    dated = sorted(
        ((datetime.fromisoformat(change.at), change) for change in standing.changes if change.at),
        key=lambda pair: pair[0],
    )
    if not dated or not standing.lifetime:
        return None
    first, whole = dated[0][0], max((now - dated[0][0]).total_seconds(), 1.0)
    undated = [change for change in standing.changes if not change.at]
    spent = sum(change.spent for change in undated)
    used = spent + sum(change.reserved for change in undated)
    steps = [(0.0, spent, used)]
    for at, change in dated:
        spent, used = spent + change.spent, used + change.spent + change.reserved
        steps.append(((at - first).total_seconds() / whole * CHART_WIDTH, spent, used))
    scale = max(standing.lifetime, *(used for _, _, used in steps))
    areas = (_area([(x, step[place] / scale) for x, *step in steps]) for place in (0, 1))
    return Chart(f"{first:%Y-%m-%d}", f"{now:%Y-%m-%d}", *areas)


def _area(steps: Sequence[tuple[float, float]]) -> str:
    """Corners of the area below a line of steps, from heights within 0..1."""
    corners, height = [(0.0, CHART_HEIGHT)], 0.0
    for x, share in steps:
        corners += [(x, CHART_HEIGHT * (1 - height)), (x, CHART_HEIGHT * (1 - share))]
        height = share
    corners += [(CHART_WIDTH, CHART_HEIGHT * (1 - height)), (CHART_WIDTH, CHART_HEIGHT)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)

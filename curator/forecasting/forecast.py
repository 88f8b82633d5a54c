"""Forecast of a release from its plan and the parties' public descriptions; charges nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from ...common.crypto.identity import Identity
from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.view import View
from ...common.errors import DataError
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import score_sigma
from ...common.promises.binding import BindingsInMemory
from ...common.protocols.chosen import Chosen
from ...common.protocols.masked.sampling import Sampling
from ...common.protocols.registry import BUILT_IN
from ...common.terms import ReleaseTerms
from ..measurers.federation import FederationMeasurer
from ..measurers.limits import is_too_large
from ..measurers.planning import masked_sigma
from ..mechanisms.parts.steps import Step
from ..parties.alignments import Aligned
from ..parties.client import Connection, PartyClient
from ..parties.federation import Federation, connect
from ..releasing.bins.choosing import even_coding
from ..releasing.bins.order import bins_order
from ..releasing.over_parties import dealers_of, order_of
from ..releasing.planning.plan import ReleasePlan
from ..releasing.release import ReleaseOrder
from .by_files import round_trips
from .costs import RoleCost, larger, role_costs, usual
from .outlook import Outlook, outlook
from .resources import Resources, resources
from .traffic import Traffic, masked_traffic, plain_traffic

NEVER_PROPOSED = "0" * 32
"""Id of terms that no party sees."""


@dataclass(frozen=True)
class Forecast:
    """The forecast of a release.

    Attributes:
        granted: the whole budget, zCDP, without the release that chooses bins.
        epsilon: epsilon of the promise; for a budget in rho, at its delta, or None without a delta.
        delta: delta of the promise.
        parties: names of the parties, then of the dealers that are none, in the plan's order.
        outlook: steps and marginals of the mechanism.
        traffic: upper bounds of the payload.
        costs: what each role takes of its machine: the parties and dealers, then the curator.
        seconds: expected time if every role has a core, with waiting for the slowest one.
        resources: what the mechanism takes at the curator.
        link_mib_s: assumed bandwidth of every party's link, MiB/s.
        latency_s: measured latency of the slowest of them.
        bins_rho: what the release before spends on choosing bins, zCDP; None without one. Their number is
            planned.
        sampling: how many rows answer for marginals across parties; None for all.
        round_trips: about how often files are carried to each party by files and back, by name.
    """

    granted: Fraction
    epsilon: float | None
    delta: float | None
    parties: tuple[str, ...]
    outlook: Outlook
    traffic: Traffic
    costs: tuple[RoleCost, ...]
    seconds: float
    resources: Resources
    link_mib_s: float
    latency_s: float
    bins_rho: float | None = None
    sampling: Sampling | None = None
    round_trips: Mapping[str, int] = field(default_factory=dict)

    @property
    def sampling_error(self) -> float:
        """Bound on the total variation distance by sampling of every marginal of the workload; 0 without."""
        if self.sampling is None:
            return 0.0
        cells = max((marginal.cells for marginal in self.outlook.marginals), default=1)
        return min(1.0, self.sampling.l1_bound(cells) / (2 * sum(self.sampling.records)))

    def to_json(self) -> dict[str, Any]:
        """The forecast for scripts; null replaces the infinite sigma of what is never measured."""
        each = zip(self.parties, self.traffic.received, self.traffic.sent, strict=True)
        return {
            "dry_run": True,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "zcdp_rho": float(self.granted),
            "bins_zcdp_rho": self.bins_rho,
            "steps": [asdict(step) for step in self.outlook.steps],
            "rounds": sum(step.times for step in self.outlook.steps if "round" in step.name),
            "marginals": [_finite(asdict(marginal)) for marginal in self.outlook.marginals],
            "bytes_at_most": self.traffic.total,
            "parties": {name: {"received": got, "sent": sent} for name, got, sent in each},
            "round_trips": dict(self.round_trips),
            "sample": None if self.sampling is None else self._sample,
            "roles": {cost.name: {"cpu_s": cost.cpu_s, "peak_mb": cost.peak_mb} for cost in self.costs},
            "seconds": self.seconds,
            "curator": asdict(self.resources),
            "assumed": {"link_mib_per_s": self.link_mib_s, "latency_s": self.latency_s},
        }

    @property
    def _sample(self) -> dict[str, Any]:
        assert self.sampling is not None
        rows = sum(self.sampling.sampled)
        return {
            "rows": rows,
            "of": sum(self.sampling.records),
            "total_variation_at_most": self.sampling_error,
        }


def forecast(
    plan: ReleasePlan,
    links: Sequence[Sequence[Connection]],
    link_mib_s: float,
    aligned: Aligned | None = None,
    dealers: Mapping[str, Connection] | None = None,
) -> Forecast:
    """Asks parties and dealers only for their descriptions; charges and measures nothing.

    Args:
        plan: plan of the release.
        links: connections to the plan's parties, by slice.
        link_mib_s: bandwidth of the slowest party's link, MiB/s.
        aligned: alignment of the parties' rows; None if the parties of a slice hold the same records.
        dealers: connections to the plan's dealers that are no party and not the curator, by name.

    Raises:
        DataError: plan and parties do not match, or mechanism (`outlook`) or protocol have no forecast.
    """
    chosen = None
    if plan.bins_share is not None:
        records = connect(plan.domain, links, plan.left_out, aligned).record_count
        chosen = planned_bins(plan.domain, order_of(plan), plan.bins_share, records)
    dealing = dealers_of(plan, dealers or {}, Identity.generate(), RandomStream.from_os(), BindingsInMemory())
    federation = connect(plan.domain, links, plan.left_out, aligned, dealers=dealing, chosen=chosen)
    return forecast_order(order_of(plan, chosen), federation, link_mib_s)


def forecast_order(
    order: ReleaseOrder, federation: Federation, link_mib_s: float, records_at_hand: bool = False
) -> Forecast:
    """Forecasts the release of an order over parties that have described themselves.

    Args:
        order: the order, with the bins that are planned, if any are chosen.
        federation: the parties and dealers.
        link_mib_s: bandwidth of the slowest party's link, MiB/s.
        records_at_hand: whether the records are in one place, as in simulation.

    Raises:
        DataError: the mechanism (`outlook`) or the protocol has no forecast.
    """
    if order.protocol.name not in BUILT_IN:
        raise DataError(
            f"protocol {order.protocol.name!r} of another package has no forecast; release without --dry-run"
        )
    granted, chosen = order.granted, order.chosen
    terms = order.proposal(NEVER_PROPOSED).terms(federation)
    latency = max(map(_latency, federation.clients_of(terms).values()))
    noise = _Planned(federation, terms, granted)
    seen = outlook(order.mechanism, noise, order.workload, records_at_hand)
    sigmas = {step.name: step.sigmas[0] for step in seen.steps if step.sigmas}

    def traffic_of(steps: Sequence[Step]) -> Traffic:
        if terms.masked_plan is not None:
            return masked_traffic(terms.masked_plan, steps, sigmas)
        return plain_traffic(federation, steps)

    expected = traffic_of(usual(seen.planned, order.workload))
    costs = role_costs(
        terms.plan, expected, larger(seen.planned, order.workload, terms.plan), order.spec.rows
    )
    seconds = expected.total / (link_mib_s * 2**20) + expected.calls * latency
    seconds += max(cost.cpu_s for cost in costs[:-1]) + costs[-1].cpu_s
    epsilon, delta = order.spec.budget.epsilon, order.spec.budget.delta
    if epsilon is None and delta is not None:
        epsilon = gaussian_epsilon(math.sqrt(2 * order.spec.budget.granted(gaussian_only=True)), delta)
    sampling = None if terms.masked_plan is None else terms.masked_plan.sampling
    return Forecast(
        granted,
        epsilon,
        delta,
        tuple(federation.clients_of(terms)),
        seen,
        traffic_of(seen.planned),
        costs,
        seconds,
        resources(order.mechanism, order.domain, seen.planned, order.spec.budget),
        link_mib_s,
        latency,
        None if chosen is None else chosen.zcdp_rho,
        sampling,
        round_trips(federation, seen.planned, choosing=chosen is not None),
    )


def planned_bins(domain: Domain, order: ReleaseOrder, share: float, record_count: int) -> Chosen:
    """As many bins as the release before would choose, of equal width.

    Args:
        domain: domain of the table, with open attributes.
        order: order of the release that spends the whole budget.
        share: share of the budget that chooses bins.
        record_count: number of records.
    """
    choosing = bins_order(order, share)
    coding = even_coding(domain, record_count, float(order.granted - choosing.granted))
    return Chosen(NEVER_PROPOSED, "0" * 64, float(choosing.granted), coding, choosing.labels_delta)


class _Planned:
    """The noise of a planned release; see `PlannedNoise`."""

    def __init__(self, federation: Federation, terms: ReleaseTerms, granted: Fraction) -> None:
        self.domain: Domain = federation.domain
        self.record_count = federation.record_count
        self.granted = granted
        self._terms = terms
        self._plain = FederationMeasurer(federation, terms, granted)

    @property
    def scores_exactly(self) -> bool:
        masked = self._terms.masked_plan
        if masked is None:
            return self._plain.scores_exactly
        return bool(masked.evaluators) or len(masked.roster) == 1

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        if is_too_large(self._terms, self.domain, view):
            return math.inf
        if self._terms.masked_plan is None:
            return self._plain.expected_sigma(view, zcdp_rho)
        return masked_sigma(self._terms.masked_plan, self._terms.unit, view, zcdp_rho)

    def expected_score_sigma(self, count: int, zcdp_rho: Fraction) -> float:
        masked = self._terms.masked_plan
        factor = 1.0 if masked is None else masked.noise.factor
        if masked is not None and masked.sampling is not None:
            factor *= masked.sampling.factor
        return factor * score_sigma(zcdp_rho, self._terms.unit, count)


def _latency(client: PartyClient) -> float:
    began = time.monotonic()
    client.describe()
    return time.monotonic() - began


def _finite(form: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value == math.inf else value for name, value in form.items()}

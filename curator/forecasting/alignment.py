"""Forecast of an alignment from its plan alone; charges nothing. Nobody states how many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console

from ...common.errors import DataError
from ...common.protocols.alignment.ddh import POINT_BYTES
from ...common.protocols.alignment.dummies import TOKEN_WORDS
from ...common.protocols.alignment.plan import DDH
from ...common.queries import alignment_query
from ...common.terms import ReleaseTerms
from ..parties.client import Connection
from ..parties.federation import connect
from ..releasing.aligning.over_parties import noise_of, published_sigma
from ..releasing.planning.alignment_order import AlignmentProposal
from ..releasing.planning.plan import ReleasePlan
from .forecast import NEVER_PROPOSED

_WORD_BYTES, _POSITION_BYTES = 8, 4
_HMAC_S, _POINT_S = 5e-6, 3e-4
"""Seconds for one match key of one row at one party with its share of the matching, and for one point at one
party, on one core; rough values."""


@dataclass(frozen=True)
class AlignmentForecast:
    """The forecast of an alignment.

    Attributes:
        zcdp_rho: what every party would charge, at most.
        sigma: largest standard deviation of a published number of people.
        dummies: for each slice, average number of positions of nobody.
        bytes_of_dummies: average payload for them over all parties.
        bytes_per_row: payload for one row of one party.
        seconds_per_million: time for a million rows at each party, without the network.
    """

    zcdp_rho: float
    sigma: float
    dummies: tuple[int, ...]
    bytes_of_dummies: int
    bytes_per_row: int
    seconds_per_million: float

    def to_json(self) -> dict[str, Any]:
        """The forecast for scripts."""
        return {"dry_run": True, **asdict(self)}


def forecast_alignment(plan: ReleasePlan, links: Sequence[Sequence[Connection]]) -> AlignmentForecast:
    """What an alignment would cost and send; asks parties only for their descriptions.

    Args:
        plan: a plan with an alignment.
        links: connections to the plan's parties, by slice.

    Raises:
        DataError: plan and parties do not match, or the plan aligns nothing.
    """
    if plan.alignment is None:
        raise DataError("plan: expected the section [alignment], found none; add it")
    federation = connect(plan.domain, links, plan.left_out, counted=False)
    return _forecast(AlignmentProposal(NEVER_PROPOSED, plan.alignment, plan.spec).terms(federation))


def _forecast(terms: ReleaseTerms) -> AlignmentForecast:
    plan, sigma = terms.aligning, alignment_query(terms).sigma
    assert plan is not None, "the terms of an alignment have match keys"
    levels, parties = len(plan.match), max(map(len, plan.groups))
    hops = parties - 1 if plan.keying == DDH else 0
    sent = levels * (_WORD_BYTES * TOKEN_WORDS + hops * POINT_BYTES) + _POSITION_BYTES
    # Points of all parties pass through each other one by one; tokens are made at the same time.
    seconds = levels * (parties**2 * _POINT_S if plan.keying == DDH else _HMAC_S)
    nobody, dummies = [0] * plan.slice_count, 0
    for group in plan.groups:
        noise = noise_of(plan, group, sigma)
        patterns = np.arange(noise.shifts.size)
        for place in group:
            dummies += int(noise.shifts[patterns >> group.index(place) & 1 > 0].sum())
        for number in {plan.roster[place].slice for place in group}:
            members = sum(1 << group.index(place) for place in plan.members(number))
            held = int(noise.shifts[patterns & members > 0].sum())
            nobody[number] = held + noise.empty(1).shift
    return AlignmentForecast(
        terms.granted_rho,
        published_sigma(plan, sigma),
        tuple(nobody),
        dummies * sent,
        sent,
        1e6 * seconds,
    )


def print_alignment(console: Console, forecast: AlignmentForecast) -> None:
    """Prints what an alignment would cost, hide and send."""
    console.print(
        f"Alignment: every party would charge rho {forecast.zcdp_rho:.6g}. Nothing was matched or charged.\n"
        f"Numbers of people would have a standard deviation of {forecast.sigma:.3g}; positions of nobody, by "
        f"slice, about {', '.join(map(str, forecast.dummies))}.\n"
        f"Payload: {forecast.bytes_of_dummies / 2**20:.2f} MiB for dummies, {forecast.bytes_per_row} bytes "
        "for each row of each party.\n"
        f"About {forecast.seconds_per_million:.0f} s for a million rows at each party, without the network."
    )

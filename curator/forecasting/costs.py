"""What a release takes of each role's machine: processor seconds and memory, from its plan only.

Every term is a number of the plan times a constant that was measured: `benchmarks/scale.py` prints what it
predicts beside what it measures. Interactions larger than the workload's are counted where no product of
several parties is needed; whether others are measured depends on what the release finds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...common.data.domain import Domain
from ...common.data.workload import Workload
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.partition import Partition, RosterEntry
from ..mechanisms.parts.steps import Asks, Step
from ..releasing.row_count import default_rows
from .traffic import Traffic

CURATOR = "curator"

_OPENED_WORD_BYTES = 4
"""Of a word of the usual ring."""

_PARTY_S, _DEALER_S, _CURATOR_S = 3.3, 1.0, 14.0
"""Seconds of a release of few records, with the fit of a model of usual size."""

_S_PER_CODE = 1.05e-7
"""To read and encode a value of a row, with all passes that count attributes alone."""

_S_PER_COUNTED = 4.2e-8
"""To count a row in a pair of attributes of one party, over all steps that ask for it."""

_S_PER_OPENED_WORD = 1.4e-8
"""To mask a word of an opening, to seal or unseal it, and to read it for products."""

_S_PER_PRODUCT = 1.2e-10
"""To multiply two words of a left part and of what was opened to it."""

_S_PER_SUM = 6e-10
"""To add a word of what was opened, for the holder of the right part."""

_S_PER_DEALT_WORD = 3e-9
"""To read a word of a mask."""

_PARTY_S_PER_LARGER, _PARTY_S_PER_LARGER_ROW, _CURATOR_S_PER_LARGER = 2.5e-3, 3e-8, 1.6e-2
"""To score an interaction larger than the workload's, and to count a row in it; and for the curator."""

_S_PER_RELAYED_BYTE = 2.1e-9
"""For a byte that the curator passes on."""

_S_PER_DRAWN = 1.3e-7
"""To draw, adjust and write a value of a synthetic row."""

_ALONE_MB, _PARTY_MB, _DEALER_MB, _CURATOR_MB = 300.0, 230.0, 142.0, 520.0
"""Of processes with few records."""

_CODES_MB = 384.0
"""What DuckDB holds of a party's codes at most, of which each takes as many bits as it needs."""

_SAMPLE_COPIES = 3
"""Copies of the places of sampled rows while they are found, of 4 bytes each, or 8 beyond 2^32 rows."""

_COPIES, _BYTES_PER_ROW = 3, 16
"""Copies of the codes of all synthetic rows that the curator holds, and what it holds beside them."""


@dataclass(frozen=True)
class RoleCost:
    """What one role takes.

    Attributes:
        name: of the party or dealer, or `CURATOR`.
        cpu_s: processor seconds.
        peak_mb: most memory of the process, MB.
    """

    name: str
    cpu_s: float
    peak_mb: float


def usual(steps: Sequence[Step], workload: Workload) -> tuple[Step, ...]:
    """The steps without those that look for interactions larger than the workload's."""
    largest = max(map(len, workload.cliques), default=1)
    return tuple(step for step in steps if all(len(clique) <= largest for clique in step.cliques))


def larger(steps: Sequence[Step], workload: Workload, plan: Partition) -> int:
    """Number of scores of larger interactions, at most; 0 if they need products of several parties."""
    if any(len(entries) > 1 for entries in plan.slices):
        return 0
    known = usual(steps, workload)
    scores = [step for step in steps if step not in known and step.asks is Asks.SCORES]
    return sum(step.times * len(step.cliques) for step in scores)


def role_costs(
    plan: Partition, traffic: Traffic, scored_larger: int = 0, rows: int | None = None
) -> tuple[RoleCost, ...]:
    """The cost of each role: parties in the roster's order, dealers that are none, then the curator.

    Args:
        plan: plan of the release.
        traffic: traffic of its `usual` steps.
        scored_larger: number of `larger` interactions.
        rows: number of synthetic rows; None for the default.
    """
    multiplied, dealt = _products(plan)
    costs: list[RoleCost] = []
    for place, participant in enumerate(plan.participants):
        if participant.name == CURATOR_DEALS:
            continue
        # A curator that deals has no place in the traffic.
        words = (traffic.received[len(costs)] + traffic.sent[len(costs)]) / _OPENED_WORD_BYTES
        seconds = dealt.get(place, 0.0)
        if place < len(plan.roster):
            entry = plan.roster[place]
            pairs = len(entry.attributes) * (len(entry.attributes) - 1) / 2
            counted = _S_PER_CODE * len(entry.attributes) + _S_PER_COUNTED * pairs
            each = _PARTY_S_PER_LARGER + _PARTY_S_PER_LARGER_ROW * entry.record_count
            seconds += _PARTY_S + entry.record_count * counted + scored_larger * each
            seconds += words * _S_PER_OPENED_WORD + multiplied.get(place, 0.0)
            costs.append(RoleCost(participant.name, seconds, _party_mb(plan, entry)))
        else:
            costs.append(RoleCost(participant.name, _DEALER_S + seconds, _DEALER_MB))
    curator = _curator(plan.domain, plan.record_count, traffic, rows)
    own = sum(s for place, s in dealt.items() if plan.participants[place].name == CURATOR_DEALS)
    own += _CURATOR_S_PER_LARGER * scored_larger
    return (*costs, RoleCost(CURATOR, curator.cpu_s + own, curator.peak_mb))


def _party_mb(plan: Partition, entry: RosterEntry) -> float:
    bits = sum((plan.domain[name].size - 1).bit_length() for name in entry.attributes)
    codes = min(_CODES_MB, entry.record_count * bits / 8e6)
    if len(plan.members(entry.slice)) == 1:
        return _ALONE_MB + codes
    sampled = 0
    if isinstance(plan, MaskedPlan) and plan.sampling is not None:
        sampled = plan.sampling.sampled[entry.slice] * np.min_scalar_type(entry.record_count).itemsize
    return _PARTY_MB + codes + _SAMPLE_COPIES * sampled / 1e6


def _curator(domain: Domain, records: int, traffic: Traffic, rows: int | None) -> RoleCost:
    drawn = rows or default_rows(domain, records)
    seconds = _CURATOR_S + drawn * len(domain) * _S_PER_DRAWN + traffic.total / 2 * _S_PER_RELAYED_BYTE
    held = drawn * (_COPIES * len(domain) + _BYTES_PER_ROW) / 1e6
    return RoleCost(CURATOR, seconds, _CURATOR_MB + held)


def _products(plan: Partition) -> tuple[dict[int, float], dict[int, float]]:
    """Seconds of products of pairs of attributes: of parties, and of dealers, by place."""
    parties: dict[int, float] = {}
    dealers: dict[int, float] = {}
    if not isinstance(plan, MaskedPlan):
        return parties, dealers
    for number in range(plan.slice_count):
        records = plan.opened_records(number)
        for left, right in itertools.combinations(plan.members(number), 2):
            # Words of all single attributes of each.
            m, n = (sum(plan.domain[a].size for a in plan.roster[p].attributes) for p in (left, right))
            _add(parties, left, records * m * n * _S_PER_PRODUCT)
            _add(parties, right, records * m * len(plan.roster[right].attributes) * _S_PER_SUM)
            for dealer in plan.dealers_of(number):
                _add(dealers, dealer, records * (m * n * _S_PER_PRODUCT + (m + n) * _S_PER_DEALT_WORD))
    return parties, dealers


def _add(seconds: dict[int, float], place: int, more: float) -> None:
    seconds[place] = seconds.get(place, 0.0) + more

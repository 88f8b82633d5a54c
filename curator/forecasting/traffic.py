"""Upper bounds of the bytes between the curator and each party and dealer, from the plan only."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...common.crypto.randomness import KEY_BYTES
from ...common.data.view import View
from ...common.protocols.arithmetic.field import WORD_BYTES
from ...common.protocols.arithmetic.ring import WIDE
from ...common.protocols.indicator import divide
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.one_hot import PROOF_ELEMENTS, attestation_elements
from ...common.protocols.masked.one_hot_integers import attested_vectors
from ...common.protocols.masked.opened_rows import holds_left, other_cells
from ...common.protocols.masked.plan import Chain, MaskedPlan
from ...common.protocols.masked.sacrifice import repetitions
from ...common.protocols.scores.query import score_shape
from ..mechanisms.parts.steps import Asks, Step
from ..parties.federation import Federation

_REFERENCE_BYTES = 8
_ORDER_DIGEST_BYTES = 32
"""Bytes of a keyed digest of the order of records."""


@dataclass
class Traffic:
    """Payload of a release; all of it passes through the curator.

    Attributes:
        received: bytes that each party receives, in the roster's order, and then each dealer that is none; a
            curator that deals is not among them.
        sent: bytes that each of them sends.
        calls: approximate number of the curator's calls.
    """

    received: list[int]
    sent: list[int]
    calls: int = 0
    _curator: int | None = None
    _relayed: set[tuple[int, Chain, int]] = field(default_factory=set)
    _dealt: set[tuple[int, Chain]] = field(default_factory=set)

    @classmethod
    def between(cls, participants: Sequence[str]) -> Traffic:
        """No traffic between the curator and others.

        Args:
            participants: their names, by their places in the plan; `CURATOR_DEALS` may be among them.
        """
        curator = participants.index(CURATOR_DEALS) if CURATOR_DEALS in participants else None
        others = len(participants) - (curator is not None)
        return cls([0] * others, [0] * others, _curator=curator)

    @property
    def total(self) -> int:
        """Bytes that the curator receives and sends."""
        return sum(self.received) + sum(self.sent)

    def relay(self, sender: int, recipient: int, size: int) -> None:
        """Adds bytes from one participant to another, by their places in the plan."""
        self._add(self.sent, sender, size)
        self._add(self.received, recipient, size)

    def give(self, recipient: int, size: int) -> None:
        """Adds bytes from the curator to a participant."""
        self._add(self.received, recipient, size)

    def _add(self, amounts: list[int], place: int, size: int) -> None:
        if place == self._curator:
            return
        amounts[place - (self._curator is not None and place > self._curator)] += size
        self.calls += 1


def masked_traffic(plan: MaskedPlan, steps: Sequence[Step], sigmas: Mapping[str, float]) -> Traffic:
    """Traffic by the protocol `masked` if every step asks for its largest marginals each time.

    Args:
        plan: plan of the protocol.
        steps: steps of the mechanism.
        sigmas: by name of each step that scores, the deviation of the scores' noise, in records.
    """
    traffic = Traffic.between([participant.name for participant in plan.participants])
    asked = dict.fromkeys(one for step in steps for one in step.asked)
    feasible = {view: view.cells(plan.domain) for view in asked if plan.feasible(view)}
    for number in range(plan.slice_count):
        if plan.alignment is None:
            for sender, recipient in itertools.permutations(plan.members(number), 2):
                traffic.relay(sender, recipient, _ORDER_DIGEST_BYTES)
        for chain in dict.fromkeys(plan.chain(view, number) for view in feasible):
            if len(chain) > 1:
                _add_products(traffic, plan, chain, number)
    for step in steps:
        largest = _largest(step, feasible)
        if step.asks is Asks.SCORES and largest:
            _add_scores(traffic, plan, largest, step.times, sigmas[step.name])
        else:
            words = step.times * sum(feasible[one] for one in largest)
            for place in range(len(plan.roster)):
                traffic.sent[place] += words * plan.ring.word_bytes
                traffic.calls += step.times * len(largest)
    return traffic


def plain_traffic(federation: Federation, steps: Sequence[Step], word_bytes: int = 4) -> Traffic:
    """Traffic by `indicator` or `trusted`; see `masked_traffic`."""
    traffic = Traffic.between([member.description.name for member in federation.members])
    asked = dict.fromkeys(one for step in steps for one in step.asked)
    sent = {one: _answers(federation, one, word_bytes) for one in asked}
    totals = {one: sum(sizes.values()) for one, sizes in sent.items()}
    for step in steps:
        for one in _largest(step, totals):
            if step.asks is Asks.SCORES:
                traffic.received[0] += step.times * one.cells(federation.domain) * _REFERENCE_BYTES
                continue
            for place, size in sent[one].items():
                traffic.sent[place] += step.times * size
                traffic.calls += step.times
            # Before the first answer of a slice, each of its parties charges the query.
            traffic.calls += step.times * sum(len(s) for s in federation.slices if len(s) > 1)
    return traffic


def _largest(step: Step, sizes: Mapping[View, int]) -> list[View]:
    """The largest of a step's marginals, as many as it asks for at once."""
    known = [one for one in step.asked if one in sizes]
    return sorted(known, key=lambda one: -sizes[one])[: step.most]


def _answers(federation: Federation, view: View, word_bytes: int) -> dict[int, int]:
    """Bytes that each party sends for one measurement, by its index in the roster."""
    sizes, place = {}, 0
    for members, records in zip(federation.slices, federation.record_counts, strict=True):
        parts = divide(view.clique, [member.attributes for member in members])
        for j, part in parts.items():
            # Groups are counted by a party that holds the whole clique; indicators are of single codes.
            whole = len(parts) == 1
            entries = view.cells(federation.domain) if whole else records * federation.domain.cells(part)
            sizes[place + j] = entries * word_bytes
        place += len(members)
    return sizes


def _add_products(traffic: Traffic, plan: MaskedPlan, chain: Chain, number: int) -> None:
    """Adds the traffic of one chain; see `MaskedMeasurer`."""
    for k in range(2, len(chain) + 1):
        last = plan.holders(chain[:k], number)[-1]
        for owner in plan.openers(chain[:k], number):
            _add_opening(traffic, plan, owner, chain[: k - 1], last, number)
            _add_opening(traffic, plan, last, chain[k - 1 : k], owner, number)
        if k < len(chain) and (number, chain[:k]) not in traffic._dealt:
            traffic._dealt.add((number, chain[:k]))
            _deal_rows(traffic, plan, chain[:k], number)
    _deal(traffic, plan, plan.holders(chain, number)[-1], plan.cells(chain) * plan.ring.word_bytes)


def _deal_rows(traffic: Traffic, plan: MaskedPlan, chain: Chain, number: int) -> None:
    """Adds the row-wise products of a chain, one with each owner of the left factor, and their checks."""
    last, records, times = (
        plan.holders(chain, number)[-1],
        plan.opened_records(number),
        repetitions(plan.ring),
    )
    word_bytes = WIDE.word_bytes
    for owner in plan.openers(chain, number):
        _deal(traffic, plan, last, records * plan.cells(chain) * word_bytes)
        _deal(traffic, plan, last, times * word_bytes)
        traffic.relay(owner, last, times * (records + 1) * plan.cells(chain[-1:]) * word_bytes)


def _deal(traffic: Traffic, plan: MaskedPlan, recipient: int, size: int) -> None:
    """Adds what each dealer of the slice of a party deals to it."""
    for dealer in plan.dealers_of(plan.roster[recipient].slice):
        traffic.relay(dealer, recipient, size)


def _add_opening(
    traffic: Traffic, plan: MaskedPlan, owner: int, chain: Chain, recipient: int, number: int
) -> None:
    # Openings serve every product that contains them.
    if (owner, chain, recipient) in traffic._relayed:
        return
    traffic._relayed.add((owner, chain, recipient))
    traffic.relay(owner, recipient, plan.opening_bytes(chain, number))
    if not plan.check:
        return
    if len(chain) == 1:
        traffic.relay(owner, recipient, PROOF_ELEMENTS * WORD_BYTES)
        attested = attestation_elements(plan.opened_records(number), attested_vectors(plan))
        _deal(traffic, plan, recipient, attested * WORD_BYTES)
        return
    for factor in (chain[:-1], chain[-1:]):
        for holder in plan.holders(factor, number):
            if holder != recipient:
                _add_opening(traffic, plan, holder, factor, recipient, number)
    words = repetitions(plan.ring) * WIDE.word_bytes
    columns = other_cells(plan, chain, holds_left(plan, chain, number, owner))
    traffic.relay(owner, recipient, words)
    _deal(traffic, plan, recipient, (plan.opened_records(number) + 1) * columns * words)


def _add_scores(traffic: Traffic, plan: MaskedPlan, asked: Sequence[View], times: int, sigma: float) -> None:
    """Adds the traffic of scores, all views in one batch; a single party only gets the references."""
    records = plan.record_count
    cells = tuple(view.cells(plan.domain) for view in asked)
    if not plan.evaluators:
        traffic.received[0] += times * sum(cells) * _REFERENCE_BYTES
        return
    shape = score_shape(plan, cells, sigma, records, 2 * records)
    assistant, one, two = plan.evaluators
    others = set(range(len(plan.roster))) - set(plan.evaluators)
    for _ in range(times):
        traffic.give(assistant, shape.total * _REFERENCE_BYTES)
        for place in (one, two, *others):
            traffic.relay(place, assistant, shape.word_bytes)
        if others:
            traffic.relay(one, two, KEY_BYTES * len(others))
        for step in shape.steps:
            traffic.relay(plan.evaluators[step.sender], plan.evaluators[step.recipient], step.size)
        traffic.calls += 2 * len(plan.roster)

"""Compares the charges that a certificate states with the parties' signed ledgers and with their noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...common.data.domain import Clique, Domain
from ...common.errors import BudgetError, MosaicError, ProtocolError
from ...common.privacy.budget import Accountant, AnswerKind, Charge
from ...common.privacy.cost import PrivacyUnit, gaussian_cost, score_cost
from ...common.privacy.spending import Cost
from ...common.promises.statement import Entry
from ...common.protocols.partition import Partition
from ...common.terms import ReleaseTerms
from ..measurers.planning import observers_of
from .certificate import Certificate
from .check import Check
from .issuing import costs_of_steps, promise_of
from .json_values import to_json_values
from .statements import StatedCharge

_SAME = 1e-6
"""Relative difference up to which two computations of a number agree."""


Costs = tuple[Fraction, ...]
"""What one query cost the records of each slice, zCDP."""


@dataclass(frozen=True)
class Charged:
    """One query in the signed ledgers of all parties.

    Attributes:
        kind: what its noise was added to.
        clique: attributes that were asked for; empty for scores.
        groups: number of groups of each, 0 for single codes; empty if no slice counted groups.
        costs: what it cost the records of each slice, zCDP.
        delta: of labels, what it took of delta.
    """

    kind: AnswerKind
    clique: Clique
    groups: tuple[int, ...]
    costs: Costs
    delta: Fraction

    def is_for(self, stated: StatedCharge, domain: Domain) -> bool:
        """Whether a certificate states this query as it was asked."""
        sizes = domain.shape(self.clique)
        counts = tuple(n or size for n, size in zip(self.groups, sizes, strict=True)) if self.groups else ()
        return (stated.kind, stated.clique, stated.groups) == (self.kind, self.clique, counts)


def costs_of(plan: Partition, ledgers: Mapping[str, Sequence[Entry]]) -> list[Charged]:
    """The queries of a release, as the signed ledgers of all parties have them.

    Args:
        plan: the signed partition.
        ledgers: entries of each party, by name.

    Raises:
        ProtocolError: a party's entries are missing, or two parties charged differently.
    """
    slices = []
    for number, parties in enumerate(plan.slices, start=1):
        charged = {
            tuple(replace(entry, signature=b"") for entry in ledgers.get(party.name, ())) for party in parties
        }
        if len(charged) > 1:
            raise ProtocolError(f"the parties of slice {number} charged the same records differently")
        slices.append(charged.pop())
    asked = {tuple((entry.kind, entry.clique, entry.delta) for entry in each) for each in slices}
    if len(asked) > 1:
        raise ProtocolError("the ledgers of different slices have different numbers or kinds of entries")
    return [
        Charged(
            each[0].kind,
            each[0].clique,
            # A slice in which several parties hold a part counts single codes.
            next((entry.groups for entry in each if entry.groups), ()),
            tuple(entry.zcdp_rho for entry in each),
            each[0].delta,
        )
        for each in zip(*slices, strict=True)
    ]


def cost_of_ledgers(charged: Iterable[Charged], terms: ReleaseTerms) -> Cost:
    """The cost of a release for any record: a record lies in one slice."""
    each = (Cost(terms.unit, max(one.costs), one.delta) for one in charged)
    return sum(each, Cost(terms.unit))


def check_charges(
    certificate: Certificate, terms: ReleaseTerms, ledgers: Sequence[Charged]
) -> Iterator[Check]:
    """Recomputes every number of the promise from the ledgers and the noise that the charges state.

    Args:
        certificate: certificate of the release.
        terms: signed terms of the release.
        ledgers: see `costs_of`.
    """
    charges = _exact_charges(certificate.charges, terms, ledgers)
    if charges is None:
        yield Check("charges", False, "differ from the ledgers, or from the cost of their noise")
        return
    yield Check("charges", True, f"all {len(charges)} are in every ledger, at the cost of their noise")
    total = cost_of_ledgers(ledgers, terms)
    accountant = Accountant(Fraction(terms.granted_rho), charges, total.zcdp_rho)
    within = total.within(terms.granted_cost)
    yield Check("budget", within, "spent within the grant" if within else "spent more than the grant")
    observers = () if terms.masked_plan is None else observers_of(terms.masked_plan)
    try:
        recomputed = promise_of(certificate.plan, accountant, observers=observers)
    except MosaicError:
        yield Check("recomputed", False, "a plan like the stated one has no costs")
        return
    same = _alike(to_json_values(certificate.promise), to_json_values(recomputed))
    same = same and dict(certificate.steps) == costs_of_steps(accountant)
    yield Check(
        "recomputed",
        same,
        "the charges give the stated costs, epsilons and observers"
        if same
        else "the charges give other costs, epsilons or observers than stated",
    )


def _exact_charges(
    stated: Sequence[StatedCharge], terms: ReleaseTerms, ledgers: Sequence[Charged]
) -> tuple[Charge, ...] | None:
    """The stated charges with exact costs; None if one differs from the ledgers or from its noise."""
    left, found = iter(ledgers), []
    for one in stated:
        priced = _cost_by_slice(one, terms)
        # Scores of many marginals are asked in several queries.
        booked = (Fraction(0),) * len(priced)
        while any(paid < price for paid, price in zip(booked, priced, strict=True)):
            entry = next(left, None)
            if entry is None or not entry.is_for(one, terms.plan.domain):
                return None
            booked = tuple(paid + more for paid, more in zip(booked, entry.costs, strict=True))
        charge = Charge(
            one.step,
            one.clique,
            max(priced, default=Fraction(0)),
            one.noise_sigmas_by_slice,
            one.kind == AnswerKind.SCORES,
            _shape(one, terms.plan.domain),
            labels=one.kind == AnswerKind.LABELS,
            groups=one.groups,
        )
        if not priced or booked != priced or float(charge.zcdp_rho) != one.zcdp_rho:
            return None
        found.append(charge)
    return tuple(found) if next(left, None) is None else None


def _cost_by_slice(stated: StatedCharge, terms: ReleaseTerms) -> Costs:
    """The cost of the stated noise for each slice; empty if it cannot be that of a query to parties."""
    unit, sigmas = terms.unit, stated.noise_sigmas_by_slice
    known = set(stated.clique) <= set(terms.plan.domain.names)
    if stated.kind == AnswerKind.OTHER or stated.steps or not known or len(sigmas) != terms.plan.slice_count:
        return ()
    if not all(each and all(0 < sigma < math.inf for sigma in each) for each in sigmas):
        return ()
    if stated.kind == AnswerKind.SCORES and any(len(set(each)) > 1 for each in sigmas):
        return ()
    sizes = terms.plan.domain.shape(stated.clique)
    if stated.groups and not (
        len(stated.groups) == len(sizes)
        and all(1 <= g <= n for g, n in zip(stated.groups, sizes, strict=True))
    ):
        return ()
    try:
        return costs_of_noise(stated, unit, terms.plan.domain)
    except BudgetError:
        # No party draws such noise.
        return ()


def costs_of_noise(stated: StatedCharge, unit: PrivacyUnit, domain: Domain) -> Costs:
    """The cost of the stated Gaussian noise in each slice.

    Args:
        stated: of attributes of the domain; all scores of a slice have the same noise.
        unit: who is protected.
        domain: of the release.
    """
    sigmas = stated.noise_sigmas_by_slice
    if stated.kind == AnswerKind.SCORES:
        return tuple(score_cost(each[0], unit, len(each)) for each in sigmas)
    shape = _shape(stated, domain)
    return tuple(sum((gaussian_cost(s, unit, shape) for s in each), Fraction(0)) for each in sigmas)


def _shape(stated: StatedCharge, domain: Domain) -> tuple[int, ...]:
    """The shape of the marginal if only its interaction was measured; else empty."""
    if stated.kind != AnswerKind.INTERACTION:
        return ()
    return stated.groups or domain.shape(stated.clique)


def _alike(stated: Any, recomputed: Any) -> bool:
    """Whether JSON values are equal up to the last digits of numbers."""
    if isinstance(stated, dict) and isinstance(recomputed, dict):
        return stated.keys() == recomputed.keys() and all(_alike(stated[k], recomputed[k]) for k in stated)
    if isinstance(stated, list) and isinstance(recomputed, list):
        return len(stated) == len(recomputed) and all(map(_alike, stated, recomputed))
    if isinstance(stated, float) and isinstance(recomputed, float):
        return math.isclose(stated, recomputed, rel_tol=_SAME)
    return type(stated) is type(recomputed) and bool(stated == recomputed)

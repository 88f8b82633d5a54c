"""Compares the charges that a certificate states with the parties' signed ledgers and with their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...common.messages import ReleaseTerms
from ...common.privacy.budget import Accountant, AnswerKind, Charge
from ...common.privacy.cost import gaussian_cost, score_cost
from ...common.protocols.registry import find_protocol
from ...common.statement import Entry
from ..measurers.masked import observers_of
from .certificate import Certificate
from .check import Check
from .issuing import costs_of_steps, promised
from .json_values import to_json_values
from .statements import StatedCharge

_SAME = 1e-6
"""Relative difference up to which two computations of a number agree."""


def costs_of(terms: ReleaseTerms, ledgers: Mapping[str, Sequence[Entry]]) -> list[Fraction]:
    """The cost of each query for the records of the slice that it cost most.

    Args:
        terms: signed terms of the release.
        ledgers: by name, the entries of each party that signed, in order.

    Raises:
        ValueError: parties of the same records charged differently, or ledgers have different numbers of
            entries.
    """
    plan, protocol = terms.plan, find_protocol(terms.protocol)
    groups = [plan.members(number) for number in range(plan.slice_count)]
    if protocol is None or protocol.charges_alike:
        groups = [tuple(range(len(plan.roster)))]
    costs = []
    for group in groups:
        names = [plan.roster[place].name for place in group]
        charged = {
            tuple((entry.query_id, entry.query, entry.zcdp_rho) for entry in ledgers[name])
            for name in names
            if name in ledgers
        }
        if len(charged) > 1:
            raise ValueError(f"the ledgers of {', '.join(names)} charged different queries or costs")
        costs += [[rho for _, _, rho in entries] for entries in charged]
    if len({len(one) for one in costs}) > 1:
        raise ValueError("the ledgers of the slices have different numbers of entries")
    return [max(rhos) for rhos in zip(*costs, strict=True)]


def check_charges(
    certificate: Certificate, terms: ReleaseTerms, costs: Sequence[Fraction]
) -> Iterator[Check]:
    """Recomputes every number of the promise from the ledgers and the noise that the charges state.

    Args:
        certificate: certificate of the release.
        terms: signed terms of the release.
        costs: see `costs_of`.
    """
    charges = _charged(certificate.charges, terms, costs)
    if charges is None:
        yield Check("charges", False, "differ from the ledgers, or from the cost of their noise")
        return
    yield Check("charges", True, f"all {len(charges)} are in every ledger, at the cost of their noise")
    accountant = Accountant(Fraction(terms.granted_rho), charges, sum(costs, Fraction(0)))
    within = accountant.spent <= accountant.granted
    yield Check("budget", within, "spent within the grant" if within else "spent more than the grant")
    observers = () if terms.masked is None else observers_of(terms.masked)
    recomputed = promised(certificate.plan, accountant, observers=observers)
    same = _alike(to_json_values(certificate.promise), to_json_values(recomputed))
    same = same and dict(certificate.steps) == costs_of_steps(accountant)
    yield Check(
        "recomputed",
        same,
        "the charges give the stated costs, epsilons and observers"
        if same
        else "the charges give other costs, epsilons or observers than stated",
    )


def _charged(
    stated: Sequence[StatedCharge], terms: ReleaseTerms, costs: Sequence[Fraction]
) -> tuple[Charge, ...] | None:
    """The stated charges with exact costs; None if one differs from the ledgers or from its noise."""
    left, found = iter(costs), []
    for one in stated:
        charge = _priced(one, terms)
        if charge is None or float(charge.zcdp_rho) != one.zcdp_rho:
            return None
        # Scores of many marginals are asked in several queries.
        booked = Fraction(0)
        while booked < charge.zcdp_rho:
            entry = next(left, None)
            if entry is None:
                return None
            booked += entry
        if booked != charge.zcdp_rho:
            return None
        found.append(charge)
    return tuple(found) if next(left, None) is None else None


def _priced(stated: StatedCharge, terms: ReleaseTerms) -> Charge | None:
    """The charge at the cost of its noise; None if it cannot be one of a release over parties."""
    adjacency, sigmas = terms.adjacency, stated.noise_sigmas_by_slice
    known = set(stated.clique) <= set(terms.plan.domain.names)
    if stated.kind == AnswerKind.OTHER or stated.steps or not known or len(sigmas) != terms.plan.slice_count:
        return None
    if not all(each and all(0 < sigma < math.inf for sigma in each) for each in sigmas):
        return None
    if stated.kind == AnswerKind.SCORES:
        cost = max(score_cost(each[0], adjacency, len(each)) for each in sigmas)
        return Charge(stated.step, stated.clique, cost, sigmas, scores=True)
    shape = terms.plan.domain.shape(stated.clique) if stated.kind == AnswerKind.INTERACTION else ()
    cost = max(sum((gaussian_cost(s, adjacency, shape) for s in each), Fraction(0)) for each in sigmas)
    return Charge(stated.step, stated.clique, cost, sigmas, interaction=shape)


def _alike(stated: Any, recomputed: Any) -> bool:
    """Whether JSON values are equal up to the last digits of numbers."""
    if isinstance(stated, dict) and isinstance(recomputed, dict):
        return stated.keys() == recomputed.keys() and all(_alike(stated[k], recomputed[k]) for k in stated)
    if isinstance(stated, list) and isinstance(recomputed, list):
        return len(stated) == len(recomputed) and all(map(_alike, stated, recomputed))
    if isinstance(stated, float) and isinstance(recomputed, float):
        return math.isclose(stated, recomputed, rel_tol=_SAME)
    return type(stated) is type(recomputed) and bool(stated == recomputed)

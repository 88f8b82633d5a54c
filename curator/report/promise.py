"""A release's promise in plain words: what was promised, to whom, who trusted whom, where the budget went."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...common.privacy.conversion import zcdp_epsilon
from ...common.protocols.registry import find_protocol
from ..certificates.certificate import Certificate

_DELTA = 1e-9
"""At which a promise in zCDP is put into words."""

_UNKNOWN = "No protocol by this name is known to the program that made this page."

_ADJACENCY: Mapping[str, str] = {
    "zero-out": (
        "Compared are the table as it is, and the table with one record replaced by one that counts nowhere. "
        "How many records there are is public."
    ),
    "replace-one": (
        "Compared are the table as it is, and the table with one record replaced by any other. How many "
        "records there are is public."
    ),
}


@dataclass(frozen=True)
class Spending:
    """One step of the budget.

    Attributes:
        step: its title.
        zcdp_rho: what it cost.
        share: of what was granted, in 0..1.
    """

    step: str
    zcdp_rho: float
    share: float


@dataclass(frozen=True)
class PlainPromise:
    """What a reader without training should understand.

    Attributes:
        epsilon: in the words below.
        delta: in the words below.
        converted: the promise was in zCDP, and epsilon is what it implies at delta.
        odds: factor by which what one may conclude about a record changes at most.
        guess: largest probability of guessing right whether a record counted, from even odds.
        adjacency: which tables are compared.
        trust: who trusted whom.
        spending: by step, and what is left.
    """

    epsilon: float
    delta: float
    converted: bool
    odds: float
    guess: float
    adjacency: str
    trust: str
    spending: tuple[Spending, ...]


def promise_of(certificate: Certificate) -> PlainPromise:
    """The promise of a certificate.

    From even odds a guess is right with probability (e^epsilon + delta) / (1 + e^epsilon) at most (Wasserman
    and Zhou 2010; Kairouz, Oh and Viswanath 2015).
    """
    promise, plan = certificate.promise, certificate.plan
    delta = promise.delta or _DELTA
    epsilon = promise.epsilon
    if epsilon is None:
        epsilon = zcdp_epsilon(promise.zcdp_rho_granted, delta)
    odds = math.exp(min(epsilon, 700.0))
    protocol = find_protocol(plan.protocol)
    return PlainPromise(
        epsilon,
        delta,
        promise.epsilon is None,
        odds,
        min(1.0, odds / (1 + odds) + delta / (1 + odds)),
        _ADJACENCY.get(plan.adjacency, plan.adjacency),
        _UNKNOWN if protocol is None else protocol.explanation,
        _spending(certificate),
    )


def _spending(certificate: Certificate) -> tuple[Spending, ...]:
    promise, titles = certificate.promise, certificate.titles
    granted = promise.zcdp_rho_granted
    steps = [Spending(titles[name], rho, rho / granted) for name, rho in certificate.steps.items()]
    left = granted - promise.zcdp_rho_spent
    if left > 1e-6 * granted:
        steps.append(Spending("Not spent", left, left / granted))
    return tuple(steps)

"""A release's promise in plain words: what was promised, to whom, who trusted whom, where the budget went."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...common.privacy.conversion import zcdp_epsilon
from ..certificates.facts import Facts

_DELTA = 1e-9
"""At which a promise in zCDP is put into words."""

_PAPER = (
    "This protocol exists on paper alone: it shows what an error would be, and protects nobody's records."
)
_UNKNOWN = "No protocol by this name is known to the program that made this page."

_TRUST: Mapping[str, str] = {
    "masked": (
        "No party showed its records to another one or to the curator. The parties turned every count into "
        "random-looking shares, and the curator saw sums with noise in them, nothing else. For that the "
        "curator is trusted not to pool what it knows with a party, and the parties not to pool what they "
        "know beyond what stands in the table below."
    ),
    "trusted": (
        "One place saw the whole table and added the noise. Everybody whose record is in the table trusted "
        "that place with it; readers of the release need not be trusted."
    ),
    "indicator": (
        "Nobody was trusted: every party added noise to its own records before anything left it. The price "
        "is accuracy: what joins attributes of different parties drowns in that noise."
    ),
    "theorem": _PAPER,
    "indicator-mle": _PAPER,
}

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

_STEPS: Mapping[str, str] = {
    "one-way": "Each attribute by itself",
    "candidates": "A first look at candidates",
    "scores": "Scores: what is worth measuring",
    "round": "Measurements, round by round",
    "last round": "The last measurements, with what was left",
    "tree": "Pairs of a tree",
    "batch": "Measurements, all at once",
    "tables": "Tables of the network",
    "records": "The number of records",
    "dp-gan": "Training the generator",
    "selection": "Selecting records",
}


@dataclass(frozen=True)
class Spending:
    """One step of the budget.

    Attributes:
        step: in plain words.
        zcdp_rho: what it cost.
        share: of what was granted, in 0..1.
    """

    step: str
    zcdp_rho: float
    share: float


@dataclass(frozen=True)
class Promise:
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


def promise_of(facts: Facts) -> Promise:
    """The promise of a certificate.

    From even odds a guess is right with probability (e^epsilon + delta) / (1 + e^epsilon) at most (Wasserman
    and Zhou 2010; Kairouz, Oh and Viswanath 2015).
    """
    delta = facts.delta or _DELTA
    epsilon = facts.epsilon
    if epsilon is None:
        epsilon = zcdp_epsilon(facts.granted_rho, delta)
    odds = math.exp(min(epsilon, 700.0))
    return Promise(
        epsilon,
        delta,
        facts.epsilon is None,
        odds,
        min(1.0, odds / (1 + odds) + delta / (1 + odds)),
        _ADJACENCY.get(facts.adjacency, facts.adjacency),
        _TRUST.get(facts.protocol, _UNKNOWN),
        _spending(facts),
    )


def _spending(facts: Facts) -> tuple[Spending, ...]:
    steps = [
        Spending(_STEPS.get(step, step), rho, rho / facts.granted_rho) for step, rho in facts.steps.items()
    ]
    left = facts.granted_rho - facts.spent_rho
    if left > 1e-6 * facts.granted_rho:
        steps.append(Spending("Not spent", left, left / facts.granted_rho))
    return tuple(steps)

"""A release's promise in plain words: its meaning, who trusted whom, and how the budget was spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...common.privacy.budget import AnswerKind
from ...common.privacy.conversion import best_guess, zcdp_epsilon
from ...common.protocols.aligned import Population
from ...common.protocols.masked.trust import DEALT_BY_CURATOR
from ...common.protocols.registry import find_protocol
from ..certificates.certificate import Certificate

_DELTA = 1e-9
"""Delta at which a promise in zCDP is explained."""

_UNKNOWN = "The program that made this page has no protocol of this name."

_ADJACENCY: Mapping[str, str] = {
    "zero-out": (
        "The real table is compared with a table in which one record is replaced by one that counts in no "
        "cell. The number of records is public."
    ),
    "replace-one": (
        "The real table is compared with a table in which one record is replaced by any other record. The "
        "number of records is public."
    ),
    "add-remove": (
        "The real table is compared with a table in which one record is added or removed. The number of "
        "records is not public."
    ),
}

_POPULATIONS: Mapping[Population, str] = {
    Population.EVERYWHERE: "the people whom every party of their slice knows",
    Population.ANYWHERE: (
        "the people whom any party of their slice knows; what the parties that do not know a person hold has "
        "the value “absent”"
    ),
}

_BINS = "Choice of bins, in a release before"

_ANSWERS: Mapping[AnswerKind, str] = {
    AnswerKind.MARGINAL: "marginals",
    AnswerKind.INTERACTION: "interactions of marginals",
    AnswerKind.SCORES: "scores (distances of marginals)",
    AnswerKind.LABELS: "numbers of rows of labels",
    AnswerKind.OTHER: "other",
}


@dataclass(frozen=True)
class Spending:
    """One step of the budget.

    Attributes:
        step: title of the step.
        zcdp_rho: cost of the step, zCDP.
        share: share of the grant, in 0..1.
        answers: what its noise was added to, as words; empty for what was not spent.
    """

    step: str
    zcdp_rho: float
    share: float
    answers: str = ""


@dataclass(frozen=True)
class PlainAlignment:
    """The alignment of the parties' rows for a reader.

    Attributes:
        population: whose records the release is about, as words.
        records: noisy number of them.
        sigma: least standard deviation of a noisy number of people.
        zcdp_rho: what the alignment cost, zCDP.
        epsilon: what release and alignment cost together, at the delta of the promise.
        given_links: whether the promise is for linked records, given the links.
    """

    population: str
    records: int
    sigma: float
    zcdp_rho: float
    epsilon: float
    given_links: bool


@dataclass(frozen=True)
class PlainPromise:
    """The promise for a reader without training in privacy.

    Attributes:
        epsilon: epsilon of the promise.
        delta: delta of the promise.
        converted: whether the promise was in zCDP, and epsilon is what it implies at delta.
        odds: largest factor by which odds about a record change.
        guess: largest probability of a correct guess whether a record was in the table, from even odds.
        adjacency: which tables are compared, as a sentence.
        trust: who trusted whom, as sentences.
        collusion: who would have to collude to read what, as a sentence; empty if nobody stated it.
        label: that the curator dealt; empty if it did not.
        spending: cost of each step, and the rest.
        alignment: how the parties' rows were aligned; None if they hold the same records.
    """

    epsilon: float
    delta: float
    converted: bool
    odds: float
    guess: float
    adjacency: str
    trust: str
    collusion: str
    label: str
    spending: tuple[Spending, ...]
    alignment: PlainAlignment | None


def adjacency_in_words(name: str) -> str:
    """Which tables a promise under the adjacency of this name compares, as a sentence."""
    return _ADJACENCY.get(name, name)


def promise_of(certificate: Certificate) -> PlainPromise:
    """The promise of a certificate."""
    promise, plan = certificate.promise, certificate.plan
    delta = promise.delta or _DELTA
    noise = plan.noise_budget.delta or _DELTA
    epsilon = promise.epsilon
    if epsilon is None:
        chosen = 0.0 if plan.bins is None else plan.bins.zcdp_rho
        epsilon = zcdp_epsilon(promise.zcdp_rho_granted + chosen, noise)
    odds = math.exp(min(epsilon, 700.0))
    protocol = find_protocol(plan.spec.protocol)
    return PlainPromise(
        epsilon,
        delta,
        promise.epsilon is None,
        odds,
        best_guess(epsilon, delta),
        adjacency_in_words(plan.spec.adjacency),
        _UNKNOWN if protocol is None else protocol.explanation,
        plan.collusion,
        f"{DEALT_BY_CURATOR[0].upper()}{DEALT_BY_CURATOR[1:]}." if plan.dealt_by_curator else "",
        _spending(certificate),
        _alignment(certificate, noise),
    )


def _alignment(certificate: Certificate, delta: float) -> PlainAlignment | None:
    stated, both = certificate.plan.alignment, certificate.promise.zcdp_rho_with_alignment
    if stated is None or both is None:
        return None
    return PlainAlignment(
        _POPULATIONS[stated.alignment.population],
        certificate.records,
        stated.sigma,
        float(stated.zcdp_rho),
        zcdp_epsilon(both, delta),
        stated.match_keys > 1,
    )


def _spending(certificate: Certificate) -> tuple[Spending, ...]:
    promise, titles, bins = certificate.promise, certificate.titles, certificate.plan.bins
    chosen = 0.0 if bins is None else bins.zcdp_rho
    granted = promise.zcdp_rho_granted + chosen
    kinds: dict[str, list[str]] = {}
    for charge in certificate.charges:
        kinds.setdefault(charge.step, []).append(_ANSWERS[AnswerKind(charge.kind)])
    answers = _ANSWERS[AnswerKind.MARGINAL]
    steps = [] if bins is None else [Spending(_BINS, chosen, chosen / granted, answers)]
    steps += [
        Spending(titles[name], rho, rho / granted, ", ".join(dict.fromkeys(kinds.get(name, ()))))
        for name, rho in certificate.steps.items()
    ]
    left = promise.zcdp_rho_granted - promise.zcdp_rho_spent
    if left > 1e-6 * granted:
        steps.append(Spending("Not spent", left, left / granted))
    return tuple(steps)

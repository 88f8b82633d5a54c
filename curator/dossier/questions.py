"""Answers to what NIST SP 800-226 (2025) asks of a claim of differential privacy, from its pyramid down.

Source: Near, Darais, Lefkovitz, Howarth, "Guidelines for Evaluating Differential Privacy Guarantees", NIST SP
800-226: section 2 (guarantee, parameters, unit), 3 (algorithms, utility, bias), 4 (deployment).
"""

from __future__ import annotations

from ...common.privacy.rounding import text_above
from .card import more_releases, promise_in_words, purpose_of
from .document import Document, Section, from_certificate, from_institution, from_program
from .institution import Institution
from .subject import Subject


def nist_answers(subject: Subject, institution: Institution) -> Document:
    """The answers for a release."""
    return Document(
        "nist-sp-800-226",
        "Answers to NIST SP 800-226",
        "What the guidelines for evaluating claims of differential privacy ask, from the top of the "
        "pyramid down.",
        (
            _guarantee(subject),
            _algorithms(subject, institution),
            _deployment(subject, institution),
        ),
    )


def _guarantee(subject: Subject) -> Section:
    variant = "(epsilon, delta), accounted in zCDP and Gaussian differential privacy"
    if subject.zcdp_rho is not None:
        variant = "zCDP; epsilon is what it implies at delta"
    bounded = "number of records private" if subject.adjacency == "add-remove" else "number of records public"
    return Section(
        "The guarantee (section 2)",
        (
            from_certificate("Epsilon and delta", promise_in_words(subject)),
            from_certificate("Variant of differential privacy", variant),
            from_certificate(
                "Bounded or unbounded", f"{subject.adjacency}: {bounded}. {subject.adjacency_in_words}"
            ),
            from_certificate("Unit of privacy", subject.unit),
            from_program(
                "Is epsilon comparable with that of other releases?",
                "Only for the same unit and the same neighbouring tables: against replacing a record "
                "the same "
                "noise has about twice the epsilon of zero-out.",
            ),
            more_releases("What of several releases of the same records?", subject),
        ),
    )


def _algorithms(subject: Subject, institution: Institution) -> Section:
    measured = "; ".join(f"{title}: rho {rho:.3g}" for title, rho in subject.steps)
    return Section(
        "Algorithms, utility and bias (section 3)",
        (
            from_certificate("What was measured, at what cost?", measured),
            from_program(
                "Which mechanism adds noise?",
                "The discrete Gaussian, drawn exactly on a grid, with bounded sensitivity: a record lies in "
                "one cell of a marginal. Costs are computed as exact fractions and rounded up.",
            ),
            from_program(
                "Are bounds or categories read from the data?",
                "Never without a charge: they come from a public domain file, or the release learns "
                "them from "
                "noisy counts that it pays for. One that nobody reviewed is labelled as not private.",
            ),
            from_certificate("Is it labelled as not private?", "; ".join(subject.labels) or "No"),
            from_certificate(
                "Bounds on errors",
                "; ".join(f"{pair}: {distance:.3f}" for pair, distance in subject.worst)
                or "the certificate states none",
            ),
            from_program(
                "Can small groups be wrong?",
                "Yes: noise of the same size is added to large and small counts, so the share of a small "
                "group is less certain. Zeros may become positive.",
            ),
            from_institution(
                "Systematic and human bias of the real table", institution.says("dataset", "biases")
            ),
            purpose_of(subject, institution),
            from_program(
                "Is the synthetic table post-processing?",
                "Yes: rows are drawn from a model that was fitted to noisy answers alone.",
            ),
        ),
    )


def _deployment(subject: Subject, institution: Institution) -> Section:
    members = ", ".join(member.name for member in subject.members) or "one place"
    against = "; ".join(
        f"{who}: epsilon {'not computed' if epsilon is None else text_above(epsilon)}, if {assumes}"
        for who, assumes, epsilon in subject.observers
    )
    return Section(
        "Deployment (section 4)",
        (
            from_program(
                "Query model", "Not interactive: the release is made once; all answers come from it."
            ),
            from_certificate("Trust model", subject.trust),
            from_certificate("Who held the rows?", members),
            *(
                [from_certificate("Who could read more together?", subject.collusion)]
                if subject.collusion
                else []
            ),
            *([from_certificate("Epsilon against each observer", against)] if against else []),
            from_program(
                "Floating-point arithmetic and randomness",
                "Noise is whole multiples of a grid, from AES-256 in counter mode under keys of the "
                "operating "
                "system; no floating-point value of noise is released.",
            ),
            from_program(
                "Side channels",
                "Messages have sizes that do not depend on rows. The times of computation are not "
                "hidden from "
                "who watches a party's machine or network.",
            ),
            from_program(
                "How is the implementation tested?",
                "By an audit of lower bounds on epsilon, adversaries that deviate in every message, "
                "vectors of "
                "a second implementation, and two verifiers of certificates that share no code.",
            ),
            from_certificate("Can a reader verify the accounting?", _verifiable(subject)),
            from_program(
                "Data security and access control",
                "Rows stay at their institution. Only noisy answers leave it; logs and errors hold no value, "
                "count or key.",
            ),
            from_institution("Exposure at collection", institution.says("dataset", "collected")),
        ),
    )


def _verifiable(subject: Subject) -> str:
    if subject.signed:
        return "Yes: from the signed ledgers of all parties, offline; verify.html does it in a browser."
    return "In part: all numbers follow from the charges that it states, which nobody else signed."

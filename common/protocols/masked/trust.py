"""Whom a release by the protocol `masked` takes trusting, in words that follow from its plan."""

from __future__ import annotations

from collections.abc import Sequence

from .dealers import CURATOR_DEALS
from .plan import MaskedPlan

DEALT_BY_CURATOR = "dealt by the curator: for trials"
"""Label of a release of which the curator alone deals masks, or evaluates scores."""


def who_must_collude(plan: MaskedPlan) -> str:
    """Who would have to collude to read what, in one sentence.

    Args:
        plan: plan of the release.
    """
    dealers, clauses = _dealers(plan), []
    if dealers:
        some = f"two of {_all(dealers)}" if _several(plan) else " or ".join(dealers)
        deals = ", which deals itself, for trials," if curator_deals(plan) else ""
        clauses.append(
            f"{some}{deals} together with a party of a slice could read the records of its other parties"
        )
    if plan.evaluators:
        evaluators = _all([_name_in_text(name) for name in plan.evaluator_names])
        clauses.append(
            f"two of the evaluators {evaluators} together could read every marginal that is scored"
        )
    if not clauses:
        return "Nobody deals masks or evaluates scores: those who collude see only answers with noise."
    sentence = "; ".join(clauses)
    return f"{sentence[0].upper()}{sentence[1:]}."


def trust_assumption(plan: MaskedPlan) -> str:
    """What has to hold of dealers and evaluators for the promise; empty if there are none."""
    dealers, clauses = _dealers(plan), []
    outside = _name_in_text(plan.evaluator_names[0]) if _evaluates(plan) else ""
    if dealers and _several(plan):
        clauses.append(f"of {_all(dealers)}, who deal, no two collude with a party of the record's slice")
        if outside:
            clauses.append(f"{outside} does not collude with an evaluator of scores")
    elif dealers or outside:
        one = " or ".join(dealers or [outside])
        nor = ", nor with an evaluator of scores" if outside else ""
        clauses.append(f"{one} does not collude with a party of the record's slice{nor}")
    return "; ".join(clauses)


def curator_deals(plan: MaskedPlan) -> bool:
    """Whether the curator is the only dealer."""
    return [dealer.name for dealer in plan.dealers] == [CURATOR_DEALS]


def _evaluates(plan: MaskedPlan) -> bool:
    """Whether a dealer that is no party evaluates scores."""
    return bool(plan.evaluators) and plan.evaluators[0] >= len(plan.roster)


def _several(plan: MaskedPlan) -> bool:
    return len(plan.dealers) > 1


def _dealers(plan: MaskedPlan) -> list[str]:
    """Names of those who deal masks of a slice, in the plan's order."""
    dealing = {
        place
        for number in range(plan.slice_count)
        if len(plan.members(number)) > 1
        for place in plan.dealers_of(number)
    }
    return [_name_in_text(plan.participants[place].name) for place in sorted(dealing)]


def _name_in_text(name: str) -> str:
    return "the curator" if name == CURATOR_DEALS else name


def _all(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]

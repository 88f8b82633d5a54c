"""All that concerns the decision on a requested release, as JSON values."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ...common.bounded import json_of
from ...common.canonical.terms import encode_terms
from ...common.data.domain import Clique
from ...common.data.related.joint import joint_name
from ...common.errors import BudgetError
from ...common.privacy.conversion import gaussian_epsilon, zcdp_epsilon
from ...common.protocols.alignment.plan import ALIGNMENT
from ...common.protocols.registry import find_protocol
from ...common.queries import alignment_query
from ...common.terms import ReleaseTerms
from ..accounts.ledger import Ledger
from ..approving.approvals import Request
from ..home.home import PartyHome
from ..institution.institution import caught, is_signed
from ..policies.file import Settings
from ..policies.policy import Policy
from ..policies.quotas import Asking, Taken

_USUAL_DELTA = 1e-9
"""Delta at which a promise in rho is shown as an epsilon as well."""


_MATCHER = "the curator, to match tokens as written and not to collude with a party"


def explain(request: Request, home: PartyHome, settings: Settings, ledger: Ledger) -> dict[str, Any]:
    """All that concerns a decision, as JSON values.

    Args:
        request: the requested release.
        home: folder of the party.
        settings: what its policy file says now.
        ledger: ledger of the party.
    """
    terms, policy = request.terms, settings.policy
    unreviewed = settings.domain.unreviewed
    own, taken, asking = home.keyring.identities, ledger.list_taken(), _asking(request, home)
    entry = next((e for e in ledger.summaries() if e.release_id == terms.release_id), None)
    return {
        "release": terms.release_id,
        "requested_at": request.at,
        "state": request.state,
        "curator": {
            "name": asking.name or None,
            "identity": asking.identity.hex(),
            "signed": is_signed(request.curator, encode_terms(terms), request.signature),
        },
        "about": asdict(terms.spec.about),
        "max_cells": terms.purpose.max_cells,
        "protocol": {"name": terms.spec.protocol, "trusted": _trust_assumption(terms.spec.protocol)},
        **terms.unit.values(),
        "promise": _promise(terms),
        "rows_used": policy.max_rows_per_person if settings.key is not None else None,
        "charge": _charge(terms),
        "attributes": {name: terms.plan.domain[name].size for name in terms.plan.domain},
        "domain_digest": terms.purpose.domain_digest,
        "max_attributes": terms.purpose.max_attributes,
        "unreviewed": [
            *(name for name in terms.plan.domain if name in {*unreviewed, *terms.purpose.unreviewed}),
            *(name for name in _of_tables(terms, settings) if name in unreviewed),
        ],
        "records": terms.plan.record_count,
        "parties": _parties(terms, home),
        "workload": {"words": terms.purpose.workload, "digest": terms.purpose.workload_digest},
        "mechanism": _mechanism(terms.purpose.mechanism),
        "masked": _masked_form(terms, home.keyring.name),
        "alignment": _alignment(terms, home.keyring.name),
        "labels": _labels(terms, home.keyring.name),
        "bins": _bins(terms),
        "related": _related(terms, settings),
        "lifetime": _lifetime(terms, policy, taken, new=entry is None),
        "quotas": _quotas(terms, policy, taken, asking, new=entry is None),
        "refused_by_policy": _refusal_by_policy(terms, policy, home, taken, asking)
        if entry is None
        else None,
        "ledger": None
        if entry is None
        else {"spent_rho": float(entry.spent), "queries": entry.queries, "state": entry.state},
        "decisions": [
            {
                "verdict": decision.verdict,
                "by": decision.by,
                "at": decision.at,
                "reason": decision.reason,
                "signature": decision.signature.hex(),
                "signed_by_this_party": any(request.is_signed(number, public) for public in own),
            }
            for number, decision in enumerate(request.decisions)
        ],
        "approvers": {
            "may": list(request.approvers.names),
            "needed": request.approvers.needed,
            "approved": list(request.approvers.approving(request.decisions)),
        },
    }


def _asking(request: Request, home: PartyHome) -> Asking:
    names = [curator.name for curator in home.curators() if curator.identity == request.curator]
    return Asking(request.curator, names[0] if names else "")


def _trust_assumption(protocol: str) -> str:
    if protocol == ALIGNMENT:
        return _MATCHER
    found = find_protocol(protocol)
    return "not known to this software" if found is None else found.trust


def _promise(terms: ReleaseTerms) -> dict[str, float | None]:
    """The promise; of a part of a release of related tables, that of all parts."""
    budget, part = terms.spec.budget, terms.plan.related
    rho = budget.zcdp_rho if part is None else part.zcdp_rho
    return {"epsilon": budget.epsilon, "delta": budget.delta, "zcdp_rho": rho}


def _of_tables(terms: ReleaseTerms, settings: Settings) -> Clique:
    """This party's columns of the tables of a release of related ones, which any of its parts may use."""
    part = terms.plan.related
    if part is None:
        return ()
    return tuple(
        joint_name(one.name, column)
        for one in settings.tables
        if one.domain is not None and one.name in part.parents
        for column in one.domain.names
    )


def _charge(terms: ReleaseTerms) -> dict[str, float]:
    try:
        promised = terms.noise_budget
    except BudgetError:
        promised = terms.spec.budget
    delta, rho = promised.delta or _USUAL_DELTA, float(terms.decided_cost.zcdp_rho)
    # An alignment is charged in zCDP alone (`counting_cost`).
    epsilon = zcdp_epsilon(rho, delta) if terms.aligning else gaussian_epsilon(math.sqrt(2 * rho), delta)
    return {"zcdp_rho": rho, "epsilon": epsilon, "delta": delta}


def _parties(terms: ReleaseTerms, home: PartyHome) -> list[dict[str, Any]]:
    pinned = home.pinned_identities()
    return [
        {
            "name": entry.name,
            "slice": entry.slice + 1,
            "attributes": list(entry.attributes),
            "records": entry.record_count,
            "identity": entry.identity.hex(),
            "this_party": entry.name == home.keyring.name,
            "pinned": pinned.get(entry.name) == entry.identity,
        }
        for entry in terms.plan.roster
    ]


def _mechanism(text: str) -> Any:
    """The mechanism's JSON values, or the text itself if it is not JSON."""
    try:
        return json_of(text)
    except ValueError:
        return text


def _masked_form(terms: ReleaseTerms, own: str) -> dict[str, Any] | None:
    plan = terms.masked_plan
    if plan is None:
        return None
    evaluators = list(plan.evaluator_names)
    return {
        "tolerated": plan.tolerated,
        "others": len(plan.roster) - 1,
        "dealers": [dealer.name for dealer in plan.dealers],
        "evaluators": evaluators,
        "this_party_evaluates": own in evaluators,
        "sample": plan.sample,
        "may_drop_out": len(plan.roster) - plan.fewest_parties,
        "parties": len(plan.roster),
    }


def _bins(terms: ReleaseTerms) -> dict[str, Any] | None:
    chosen = terms.plan.chosen
    if chosen is None:
        return None
    names = sorted((*chosen.coding.runs, *chosen.coding.labels))
    return {
        "attributes": names,
        "release": chosen.release_id,
        "zcdp_rho": chosen.zcdp_rho,
        "labels_delta": chosen.labels_delta,
    }


def _related(terms: ReleaseTerms, settings: Settings) -> dict[str, Any] | None:
    part = terms.plan.related
    if part is None:
        return None
    return {
        "release": part.whole,
        "table": part.table,
        "tables": [{"name": one.table, "belongs_to": one.parent} for one in part.relations],
        "columns": list(_of_tables(terms, settings)),
        "zcdp_rho": part.zcdp_rho,
        "left_rho": part.left_rho,
    }


def _alignment(terms: ReleaseTerms, own: str) -> dict[str, Any] | None:
    plan = terms.aligning
    if plan is None:
        return None
    slices = [entry.slice for entry in plan.roster if entry.name == own]
    compared = [entry for entry in plan.roster if plan.across_slices or entry.slice in slices]
    return {
        "with": [entry.name for entry in compared if entry.name != own],
        "match": [list(key) for key in plan.match],
        "keying": plan.keying,
        "duplicates": plan.duplicates,
        "across_slices": plan.across_slices,
        "sigma": alignment_query(terms).sigma,
    }


def _labels(terms: ReleaseTerms, own: str) -> dict[str, Any] | None:
    search = terms.purpose.labels
    if search is None:
        return None
    held = [name for entry in terms.plan.roster if entry.name == own for name in entry.attributes]
    return {
        "attributes": list(search.attributes),
        "of_this_party": [name for name in search.attributes if name in held],
        "delta": search.delta,
    }


def _lifetime(terms: ReleaseTerms, policy: Policy, taken: list[Taken], *, new: bool) -> dict[str, float]:
    costs = [one.cost for one in taken]
    total = policy.total([*costs, terms.decided_cost] if new else costs)
    return {
        "rho": float(policy.lifetime_rho),
        "left_rho": float(policy.lifetime_rho - total.zcdp_rho),
        "labels_delta": policy.most_labels_delta,
        "left_labels_delta": float(Fraction(policy.most_labels_delta) - total.delta),
    }


def _quotas(
    terms: ReleaseTerms, policy: Policy, taken: list[Taken], asking: Asking, *, new: bool
) -> list[dict[str, Any]]:
    cost = terms.decided_cost
    after = [*taken, Taken(cost, cost.zcdp_rho, asking.identity)] if new else taken
    return [
        {"key": one.key, "rho": float(one.rho), "left_rho": float(one.left_rho), "words": one.words}
        for one in policy.quotas.list_left(after, policy.max_rows_per_person, asking)
    ]


def _refusal_by_policy(
    terms: ReleaseTerms, policy: Policy, home: PartyHome, taken: list[Taken], asking: Asking
) -> str | None:
    own = next((entry for entry in terms.plan.roster if entry.name == home.keyring.name), None)
    if own is None:
        return "the plan does not name this party"
    # Nobody states the number of rows of aligned parties; the party counts them when it accepts.
    hidden = terms.aligning is not None or terms.plan.alignment is not None
    found = (
        *policy.refusals(terms, policy.min_records if hidden else own.record_count, taken, asking),
        *caught(lambda: policy.records.check_plan(terms.plan, own, home.pinned_identities())),
    )
    return ". ".join(map(str, found)) or None

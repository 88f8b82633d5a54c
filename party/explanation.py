"""A requested release in plain sentences: what an operator reads before deciding on it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..common.canonical.terms import encode_terms
from ..common.crypto.certificates import shown
from ..common.errors import BudgetError
from ..common.messages import ReleaseTerms, alignment_query
from ..common.privacy.conversion import gaussian_epsilon, zcdp_epsilon
from ..common.privacy.cost import Adjacency
from ..common.protocols.alignment.plan import ALIGNMENT, DDH, FIRST, HMAC, REFUSE
from ..common.protocols.chosen import CHOICE
from ..common.protocols.masked.dealers import CURATOR_DEALS, REPLICATED
from ..common.protocols.registry import find_protocol
from .approvals import Request
from .home import PartyHome
from .institution import caught, is_signed
from .ledger import Ledger
from .ledger_rows import OPEN
from .policy import Policy

_USUAL_DELTA = 1e-9
"""Delta at which a promise in rho is shown as an epsilon as well."""

_NEIGHBOURS = {
    Adjacency.ZERO_OUT: "protected is the difference between a record and an empty one; the number of "
    "records is public",
    Adjacency.REPLACE_ONE: "protected is the difference between a record and any other one",
    Adjacency.ADD_REMOVE: "protected is whether a record is there; the number of records is not public",
}


_MATCHER = "the curator, to match tokens as written and not to collude with a party"
_KEYINGS = {
    HMAC: "identifiers are hidden from the curator under one key that the parties share",
    DDH: "identifiers are hidden under a key of each party; the curator and a party together can only try "
    "those that the party submits as rows",
}
_DUPLICATES = {
    FIRST: "of several rows of one person, this party uses the first",
    REFUSE: "with several rows of one person, this party does not take part",
}


def explain(request: Request, home: PartyHome, policy: Policy, ledger: Ledger) -> dict[str, Any]:
    """All that concerns a decision, as JSON values.

    Args:
        request: the requested release.
        home: folder of the party.
        policy: limits of the party, as its file states them now.
        ledger: ledger of the party.
    """
    terms = request.terms
    unreviewed = home.domain().unreviewed
    public = home.keyring.identity.public
    entry = next((e for e in ledger.summaries() if e.release_id == terms.release_id), None)
    return {
        "release": terms.release_id,
        "requested_at": request.at,
        "state": request.state,
        "curator": _curator(request, home),
        "protocol": {"name": terms.protocol, "trusted": _trusted(terms.protocol)},
        "adjacency": terms.adjacency.value,
        "promise": {
            "epsilon": terms.purpose.budget.epsilon,
            "delta": terms.purpose.budget.delta,
            "zcdp_rho": terms.purpose.budget.zcdp_rho,
        },
        "rows_per_person": terms.purpose.rows_per_person,
        "charge": _charge(terms),
        "attributes": {name: terms.plan.domain[name].size for name in terms.plan.domain},
        "domain_digest": terms.purpose.domain_digest,
        "unreviewed": [name for name in terms.plan.domain if name in unreviewed],
        "records": terms.plan.record_count,
        "parties": _parties(terms, home),
        "workload": {"words": terms.purpose.workload, "digest": terms.purpose.workload_digest},
        "mechanism": _mechanism(terms.purpose.mechanism),
        "masked": _masked(terms, home.keyring.name),
        "alignment": _alignment(terms, home.keyring.name),
        "labels": _labels(terms, home.keyring.name),
        "bins": _bins(terms),
        "lifetime": _lifetime(terms, policy, ledger.reserved(), new=entry is None),
        "refused_by_policy": _refused(terms, policy, home, ledger.reserved()) if entry is None else None,
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
                "signed_by_this_party": request.is_signed(number, public),
            }
            for number, decision in enumerate(request.decisions)
        ],
    }


def in_words(form: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Labels and sentences of an explanation, in the order in which they are shown.

    A sentence may contain any text that a curator or another party chose; print it by `print_entries`.

    Args:
        form: as `explain` returns it.
    """
    yield "release", f"{form['release']}, {form['state']}; requested {form['requested_at']}"
    curator, charge, masked, aligning = (form[key] for key in ("curator", "charge", "masked", "alignment"))
    named = f"{curator['name']}, pinned here" if curator["name"] else "NOT PINNED here any more"
    yield "curator", f"{named}, identity {shown(curator['identity'])}"
    if not curator["signed"]:
        yield "", "its signature of these terms does NOT verify: deny this release"
    records = "" if aligning is not None else f"{form['records']} records, "
    yield "table", f"{records}attributes {_sizes(form['attributes'])}"
    if form["unreviewed"]:
        yield (
            "domain",
            "NOT REVIEWED: this party's domain file has bounds or categories that were read from its rows, "
            f"of {', '.join(form['unreviewed'])}",
        )
    for party in form["parties"]:
        yield f"slice {party['slice']}", _party(party, counted=aligning is None)
    if aligning is None:
        yield "workload", form["workload"]["words"]
        yield "mechanism", _mechanism_in_words(form["mechanism"])
        if form["bins"] is not None:
            yield "bins", _bins_in_words(form["bins"])
        yield "protocol", f"{form['protocol']['name']}. Trusted: {form['protocol']['trusted']}"
    else:
        yield from _alignment_in_words(aligning, form["protocol"]["trusted"])
    yield "adjacency", f"{form['adjacency']}: {_NEIGHBOURS[Adjacency.named(form['adjacency'])]}"
    yield "promise", f"{_promise(form['promise'])} for {_protected(form['rows_per_person'])}"
    yield (
        "charge",
        f"up to rho {charge['zcdp_rho']:.6g} at this party, which is epsilon {charge['epsilon']:.6g} at "
        f"delta {charge['delta']:.3g}",
    )
    if form["labels"] is not None:
        yield "labels", _labels_in_words(form["labels"])
    if masked is not None:
        yield (
            "collusions",
            f"{masked['tolerated']} of the {masked['others']} other parties may collude without weakening "
            "the promise",
        )
        yield "dealers", _dealers(masked["dealers"])
        yield "evaluators", _evaluators(masked)
    yield "left", _left(form["lifetime"])
    yield "policy", _verdict_of_policy(form)
    if form["ledger"] is not None:
        state = form["ledger"]["state"]
        closed = "" if state == OPEN else f"; it is {state}, and answers nothing more"
        yield "ledger", f"accepted; rho {form['ledger']['spent_rho']:.6g} is spent{closed}"
    for decision in form["decisions"]:
        yield "decision", _decision(decision)


def _curator(request: Request, home: PartyHome) -> dict[str, Any]:
    names = [known.curator.name for known in home.trusted() if known.curator.identity == request.curator]
    return {
        "name": names[0] if names else None,
        "identity": request.curator.hex(),
        "signed": is_signed(request.curator, encode_terms(request.terms), request.signature),
    }


def _trusted(protocol: str) -> str:
    if protocol == ALIGNMENT:
        return _MATCHER
    found = find_protocol(protocol)
    return "not known to this software" if found is None else found.trust


def _charge(terms: ReleaseTerms) -> dict[str, float]:
    try:
        promised = terms.noise_budget
    except BudgetError:
        promised = terms.purpose.budget
    delta, rho = promised.delta or _USUAL_DELTA, terms.granted_rho
    # An alignment is charged in zCDP alone (`counting_cost`).
    epsilon = zcdp_epsilon(rho, delta) if terms.aligning else gaussian_epsilon(math.sqrt(2 * rho), delta)
    return {"zcdp_rho": rho, "epsilon": epsilon, "delta": delta}


def _parties(terms: ReleaseTerms, home: PartyHome) -> list[dict[str, Any]]:
    pinned = home.pinned()
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
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _dealers(names: list[str]) -> str:
    if not names:
        return "none: no product of several parties is computed"
    if names == [CURATOR_DEALS]:
        return "the curator, trusted to deal as written and not to collude with a party; for trials"
    if len(names) >= REPLICATED:
        return f"{', '.join(names)}; no two of them may collude with a party of a slice that they deal for"
    return f"{', '.join(names)}, trusted not to collude with a party of a slice that it deals for"


def _masked(terms: ReleaseTerms, own: str) -> dict[str, Any] | None:
    plan = terms.masked
    if plan is None:
        return None
    evaluators = list(plan.evaluator_names)
    return {
        "tolerated": plan.tolerated,
        "others": len(plan.roster) - 1,
        "dealers": [dealer.name for dealer in plan.dealers],
        "evaluators": evaluators,
        "this_party_evaluates": own in evaluators,
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


def _bins_in_words(bins: dict[str, Any]) -> str:
    delta = f" and delta {bins['labels_delta']:.3g}" if bins["labels_delta"] else ""
    return (
        f"of {', '.join(bins['attributes'])} as the release {bins['release']} chose them, for up to rho "
        f"{bins['zcdp_rho']:.6g}{delta} at this party, an entry of its own in the ledger; the promise "
        "covers both releases"
    )


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


def _labels_in_words(labels: dict[str, Any]) -> str:
    own = ", ".join(labels["of_this_party"]) or "none"
    return (
        f"states the frequent texts of {', '.join(labels['attributes'])} (of this party: {own}); a text that "
        f"one person alone has is stated with probability at most {labels['delta']:.3g}, a part of delta"
    )


def _lifetime(terms: ReleaseTerms, policy: Policy, reserved: Fraction, *, new: bool) -> dict[str, float]:
    left = policy.lifetime_rho - reserved - (Fraction(terms.granted_rho) if new else 0)
    return {"rho": float(policy.lifetime_rho), "left_rho": float(left)}


def _refused(terms: ReleaseTerms, policy: Policy, home: PartyHome, reserved: Fraction) -> str | None:
    own = next((entry for entry in terms.plan.roster if entry.name == home.keyring.name), None)
    if own is None:
        return "the plan does not name this party"
    # Nobody states the number of rows of aligned parties; the party counts them when it accepts.
    hidden = terms.aligning is not None or terms.plan.alignment is not None
    found = (
        *policy.refusals(terms, policy.min_records if hidden else own.record_count, reserved),
        *caught(lambda: policy.records.check_plan(terms.plan, own, home.pinned())),
    )
    return ". ".join(map(str, found)) or None


def _sizes(attributes: dict[str, int]) -> str:
    return ", ".join(f"{name} ({size} values)" for name, size in attributes.items())


def _alignment_in_words(aligning: dict[str, Any], trusted: str) -> Iterator[tuple[str, str]]:
    others = ", ".join(aligning["with"]) or "no other party: only the number of rows is hidden"
    yield "alignment", f"gives every person one position in the rows of this party and of {others}"
    keys = "; else ".join(" and ".join(key) for key in aligning["match"])
    yield "match", f"rows are of one person if they are equal in {keys}"
    yield "duplicates", _DUPLICATES[aligning["duplicates"]]
    if aligning["across_slices"]:
        yield "slices", "a person counts only in the first slice that has the person"
    yield "keying", _KEYINGS[aligning["keying"]]
    yield "trusted", trusted
    yield (
        "learnt",
        "the curator and the other parties learn how many people are in which parties, up to noise of "
        f"standard deviation {aligning['sigma']:.3g} or more, and nobody learns who",
    )
    if len(aligning["match"]) > 1:
        yield "", "with several match keys the curator also sees how many rows agree in which of them"


def _party(party: dict[str, Any], *, counted: bool) -> str:
    pinned = "pinned here" if party["pinned"] else "NOT PINNED here"
    who = "this party" if party["this_party"] else pinned
    held = ", ".join(party["attributes"]) or "no attribute"
    of = f" of {party['records']} records" if counted else ""
    return f"{party['name']} ({who}) holds {held}{of}"


def _mechanism_in_words(mechanism: Any) -> str:
    if not isinstance(mechanism, dict):
        return str(mechanism)
    if mechanism.get("name") == CHOICE:
        return "bins: measures single attributes, to choose the bins of a release that will follow"
    parameters = (f"{key} = {json.dumps(value)}" for key, value in mechanism.items() if key != "name")
    return ", ".join((str(mechanism.get("name", "without a name")), *parameters))


def _promise(promise: dict[str, float | None]) -> str:
    if promise["epsilon"] is None:
        return f"rho {promise['zcdp_rho']:.6g}"
    return f"epsilon {promise['epsilon']:.6g} at delta {promise['delta']:.3g}"


def _protected(rows_per_person: int) -> str:
    if rows_per_person == 1:
        return "each record, which is one row of one slice"
    return f"each person with up to {rows_per_person} rows of one slice"


def _evaluators(masked: dict[str, Any]) -> str:
    if not masked["evaluators"]:
        return "none; no scores are computed"
    own = (
        "; this party is one of them" if masked["this_party_evaluates"] else "; this party is not one of them"
    )
    return f"{', '.join(masked['evaluators'])}, of whom any two together could see every scored marginal{own}"


def _left(lifetime: dict[str, float]) -> str:
    if lifetime["left_rho"] < 0:
        return f"NOTHING: lifetime_rho {lifetime['rho']:.6g} does not suffice for this release"
    return f"rho {lifetime['left_rho']:.6g} of lifetime_rho {lifetime['rho']:.6g} after this release"


def _verdict_of_policy(form: dict[str, Any]) -> str:
    if form["ledger"] is not None:
        return "allowed it"
    return f"REFUSES it: {form['refused_by_policy']}" if form["refused_by_policy"] else "allows it"


def _decision(decision: dict[str, Any]) -> str:
    because = f": {decision['reason']}" if decision["reason"] else ""
    signed = (
        "" if decision["signed_by_this_party"] else " (NOT SIGNED by this party: somebody altered the file)"
    )
    return f"{decision['verdict']} by {decision['by']} at {decision['at']}{because}{signed}"

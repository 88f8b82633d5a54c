"""A requested release in plain sentences: what an operator reads before deciding on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...common.crypto.certificates import fingerprint_text
from ...common.privacy.cost import ALL_ROWS, ROWS_PER_PERSON, Adjacency
from ...common.privacy.rounding import text_above
from ...common.protocols.alignment.plan import DDH, FIRST, HMAC, REFUSE
from ...common.protocols.chosen import CHOICE
from ...common.protocols.masked.dealers import CURATOR_DEALS, REPLICATED
from ..accounts.rows import OPEN
from ..approving.decisions import PENDING

_NEIGHBOURS = {
    Adjacency.ZERO_OUT: "protected is the difference between a record and an empty one; the number of "
    "records is public",
    Adjacency.REPLACE_ONE: "protected is the difference between a record and any other one",
    Adjacency.ADD_REMOVE: "protected is whether a record is there; the number of records is not public",
}
_KEYINGS = {
    HMAC: "identifiers are hidden from the curator under one key that the parties share",
    DDH: "identifiers are hidden under a key of each party; the curator and a party together can only try "
    "those that the party submits as rows",
}
_DUPLICATES = {
    FIRST: "of several rows of one person, this party uses the first",
    REFUSE: "with several rows of one person, this party does not take part",
}


def missing_approvals(form: dict[str, Any]) -> str:
    """Who else has to approve a release that somebody approved; empty if nobody has.

    Args:
        form: as `explain` returns it.
    """
    asked = form["approvers"]
    missing = asked["needed"] - len(asked["approved"])
    if form["state"] != PENDING or not asked["approved"]:
        return ""
    others = [name for name in asked["may"] if name not in asked["approved"]]
    among = f" of {', '.join(others)}" if others else ""
    return f"{missing} more{among} {'has' if missing == 1 else 'have'} to approve before it goes on"


def in_words(form: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Labels and sentences of an explanation, in the order in which they are shown.

    A sentence may contain any text that a curator or another party chose; print it by `print_entries`.

    Args:
        form: as `explain` returns it.
    """
    yield "release", f"{form['release']}, {form['state']}; requested {form['requested_at']}"
    curator, charge, masked, aligning = (form[key] for key in ("curator", "charge", "masked", "alignment"))
    named = f"{curator['name']}, pinned here" if curator["name"] else "NOT PINNED here any more"
    yield "curator", f"{named}, identity {fingerprint_text(curator['identity'])}"
    if not curator["signed"]:
        yield "", "its signature of these terms does NOT verify: deny this release"
    yield from _about(form["about"])
    records = "" if aligning is not None else f"{form['records']} records, "
    yield "table", f"{records}attributes {_sizes(form['attributes'])}"
    if form["related"] is not None:
        yield "part", _related_in_words(form["related"])
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
        limits = (("max_attributes", "attributes"), ("max_cells", "cells"))
        for key, what in limits:
            if form[key] is not None:
                yield "largest", f"no marginal of more than {form[key]:,} {what} is measured"
        yield "mechanism", _mechanism_in_words(form["mechanism"])
        if form["bins"] is not None:
            yield "bins", _bins_in_words(form["bins"])
        yield "protocol", f"{form['protocol']['name']}. Trusted: {form['protocol']['trusted']}"
    else:
        yield from _alignment_in_words(aligning, form["protocol"]["trusted"])
    yield "adjacency", f"{form['adjacency']}: {_NEIGHBOURS[Adjacency.named(form['adjacency'])]}"
    yield "promise", f"{_promise(form['promise'])} for {_protected_unit(form)}"
    if form["rows_used"]:
        yield "rows", _rows_used(form["rows_used"])
    yield (
        "charge",
        f"up to rho {charge['zcdp_rho']:.6g} at this party, which is epsilon "
        f"{text_above(charge['epsilon'], 6)} at delta {text_above(charge['delta'], 3)}",
    )
    if form["labels"] is not None:
        yield "labels", _labels_in_words(form["labels"], form["lifetime"])
    if masked is not None:
        yield (
            "collusions",
            f"{masked['tolerated']} of the {masked['others']} other parties may collude without weakening "
            "the promise",
        )
        yield "dealers", _dealers(masked["dealers"])
        yield "evaluators", _evaluators(masked)
        if masked["may_drop_out"]:
            yield "dropouts", _dropouts(masked["may_drop_out"], masked["parties"])
        if masked["sample"]:
            yield (
                "sample",
                f"marginals across parties are counted on {masked['sample']:,} rows of the largest slice, "
                "drawn at random; the promise and its cost are the same as for all rows",
            )
    yield "left", _budget_left(form["lifetime"])
    for quota in form["quotas"]:
        yield "quota", quota["words"] + ("" if quota["left_rho"] < 0 else " after this release")
    yield "policy", _verdict_of_policy(form)
    if form["ledger"] is not None:
        state = form["ledger"]["state"]
        closed = "" if state == OPEN else f"; it is {state}, and answers nothing more"
        yield "ledger", f"accepted; rho {form['ledger']['spent_rho']:.6g} is spent{closed}"
    for decision in form["decisions"]:
        yield "decision", _decision(decision)
    if missing := missing_approvals(form):
        yield "waits", missing


def _dropouts(most: int, parties: int) -> str:
    return (
        f"up to {most} of the {parties} parties may drop out for good, and the release ends without them; "
        "each adds more noise, so that the promise holds for the records of all. If this party does not "
        "answer for too long, what it charged stays charged"
    )


def _dealers(names: list[str]) -> str:
    if not names:
        return "none: no product of several parties is computed"
    if names == [CURATOR_DEALS]:
        return "the curator, trusted to deal as written and not to collude with a party; for trials"
    if len(names) >= REPLICATED:
        return f"{', '.join(names)}; no two of them may collude with a party of a slice that they deal for"
    return f"{', '.join(names)}, trusted not to collude with a party of a slice that it deals for"


def _bins_in_words(bins: dict[str, Any]) -> str:
    delta = f" and delta {bins['labels_delta']:.3g}" if bins["labels_delta"] else ""
    return (
        f"of {', '.join(bins['attributes'])} as the release {bins['release']} chose them, for up to rho "
        f"{bins['zcdp_rho']:.6g}{delta} at this party, an entry of its own in the ledger; the promise "
        "covers both releases"
    )


def _labels_in_words(labels: dict[str, Any], lifetime: dict[str, float]) -> str:
    own = ", ".join(labels["of_this_party"]) or "none"
    return (
        f"states the frequent texts of {', '.join(labels['attributes'])} (of this party: {own}); a text that "
        f"one person alone has is stated with probability at most {labels['delta']:.3g}, a part of delta; "
        f"{max(0.0, lifetime['left_labels_delta']):.3g} of lifetime_labels_delta "
        f"{lifetime['labels_delta']:.3g} is left after this release"
    )


def _about(about: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield "purpose", about["purpose"] or "NOT STATED; ask the curator what the release is for"
    yield "contact", about["contact"] or "not stated"
    until = f"; it can be accepted until {about['until']}" if about["until"] else ""
    yield "dates", f"asked on {about['asked'] or 'a day that is not stated'}{until}"


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
    return f"epsilon {text_above(promise['epsilon'], 6)} at delta {text_above(promise['delta'] or 0.0, 3)}"


def _related_in_words(related: dict[str, Any]) -> str:
    tables = ", ".join(
        f"{one['name']} (of {one['belongs_to']})" if one["belongs_to"] else one["name"]
        for one in related["tables"]
    )
    return (
        f"of the release {related['release']} of the related tables {tables}: the records of "
        f"{related['table']}, in which a person counts as one with all rows; all its parts cost up to rho "
        f"{related['zcdp_rho']:.6g} at this party, this and those after it up to {related['left_rho']:.6g}. "
        "Who approves the first part approves the others, within this cost"
    )


def _protected_unit(form: dict[str, Any]) -> str:
    rows = form[ROWS_PER_PERSON]
    if form["related"] is not None:
        return "each person with all rows in all tables, whatever their number"
    if rows == 1:
        return "each record, which is one row of one slice"
    if rows == ALL_ROWS:
        return "each person with all rows of one slice, whatever their number"
    return f"each person with up to {rows} rows of one slice"


def _rows_used(most: int) -> str:
    first = "row" if most == 1 else f"{most} rows"
    return (
        f"of each person this party uses the first {first}, since its policy says so, and leaves the others "
        "out of every release; `dpmosaic party check` tells the owner of the rows how many these are"
    )


def _evaluators(masked: dict[str, Any]) -> str:
    if not masked["evaluators"]:
        return "none; no scores are computed"
    own = (
        "; this party is one of them" if masked["this_party_evaluates"] else "; this party is not one of them"
    )
    return f"{', '.join(masked['evaluators'])}, of whom any two together could see every scored marginal{own}"


def _budget_left(lifetime: dict[str, float]) -> str:
    if lifetime["left_rho"] < 0:
        return f"NOTHING: lifetime_rho {lifetime['rho']:.6g} does not suffice for this release"
    share = lifetime["left_rho"] / lifetime["rho"] if lifetime["rho"] else 0.0
    left = f"rho {lifetime['left_rho']:.6g} of lifetime_rho {lifetime['rho']:.6g}"
    return f"{left} after this release, {share:.0%}"


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

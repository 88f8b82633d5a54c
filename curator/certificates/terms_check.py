"""Compares what a certificate states with the terms that the curator and all parties signed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace

from ...common.canonical.terms import decode_terms
from ...common.data.workload import Workload
from ...common.errors import BudgetError, MosaicError
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import ALL_ROWS, WORDS_OF_PARTS
from ...common.privacy.rounding import text_above
from ...common.privacy.spending import Cost
from ...common.protocols.partition import Partition
from ...common.terms import ReleaseTerms
from .certificate import Certificate
from .check import Check
from .statements import stated_alignment, stated_bins, stated_parties


def check_terms(certificate: Certificate, terms: ReleaseTerms, spent: Cost) -> Iterator[Check]:
    """Compares promise, record, table, purpose and trust with the signed terms.

    Args:
        certificate: certificate of the release.
        terms: terms that its signatures are for.
        spent: cost of the release according to the parties' signed ledgers.
    """
    yield _check_promise(certificate, terms, spent)
    yield _check_record(certificate, terms)
    yield _check_table(certificate, terms.plan)
    if certificate.plan.alignment is not None or terms.plan.alignment is not None:
        yield _check_alignment(certificate, terms)
    if certificate.plan.bins is not None or terms.plan.chosen is not None:
        yield _check_bins(certificate, terms)
    yield _check_purpose(certificate, terms)
    yield _check_trust(certificate, terms)


def _check_promise(certificate: Certificate, terms: ReleaseTerms, charged: Cost) -> Check:
    promise, signed = certificate.promise, terms.spec.budget
    stated = (certificate.plan.spec.budget, promise.epsilon, promise.delta, promise.zcdp_rho_granted)
    if stated != (signed, signed.epsilon, signed.delta, terms.granted_rho):
        return Check("promise", False, "another epsilon, delta or rho than in the signed terms")
    granted, spent = (terms.before + terms.granted_cost).zcdp_rho, (terms.before + charged).zcdp_rho
    try:
        noise = terms.noise_budget
    except BudgetError:
        return Check("promise", False, "labels of open categories need more than the stated delta")
    if not noise.allows(granted) or not noise.allows(spent):
        return Check("promise", False, "the rho of the ledgers does not keep the stated epsilon and delta")
    if signed.delta is None or noise.delta is None:
        return Check("promise", True, f"rho {signed.zcdp_rho:.6g}; spent {float(spent):.6g}")
    reached = gaussian_epsilon(math.sqrt(2 * spent), noise.delta) if spent else 0.0
    promised = (
        f"rho {signed.zcdp_rho:.6g}" if signed.epsilon is None else f"epsilon {text_above(signed.epsilon, 6)}"
    )
    labels = "" if noise == signed else f", of which labels take {signed.delta - noise.delta:.3g}"
    return Check(
        "promise",
        True,
        f"{promised}; the ledgers give epsilon {text_above(reached, 6)} at delta "
        f"{text_above(signed.delta, 3)}{labels}",
    )


def _check_record(certificate: Certificate, terms: ReleaseTerms) -> Check:
    plan, signed = certificate.plan, terms.unit
    in_words = signed.over_slices(len(plan.record_counts))
    said = (in_words, in_words.replace(*WORDS_OF_PARTS))
    if replace(plan.spec.unit, adjacency=signed.adjacency) != signed or plan.privacy_unit not in said:
        return Check("record", False, "protects another number of rows of a person than the signed terms")
    return Check("record", True, in_words)


def _check_table(certificate: Certificate, signed: Partition) -> Check:
    plan, stated = certificate.plan, stated_parties(signed)
    same = (
        list(plan.attributes.items()) == [(name, signed.domain[name].size) for name in signed.domain]
        and all(getattr(plan, name) == stated[name] for name in ("record_counts", "parties", "names"))
        # What no party signs: numbers that a step before counted with noise, and a prior.
        and not (plan.records_sigma or plan.unseen or plan.prior)
    )
    if not same:
        return Check(
            "table", False, "other parties, attributes or numbers of records than in the signed terms"
        )
    what = "records" if signed.alignment is None else "positions"
    return Check("table", True, f"{len(signed.roster)} parties, {signed.record_count} {what}, as signed")


def _check_alignment(certificate: Certificate, terms: ReleaseTerms) -> Check:
    stated = certificate.plan.alignment
    if stated is None or stated != stated_alignment(terms.plan.alignment, terms.unit):
        return Check("alignment", False, "another alignment, number of people or cost of it than signed")
    links = "; the promise is for linked records, given the links" if stated.match_keys > 1 else ""
    return Check(
        "alignment",
        True,
        f"about {certificate.records} people {stated.population}, at rho {float(stated.zcdp_rho):.6g}; every "
        f"party compared this with its ledger before it accepted{links}",
    )


def _check_bins(certificate: Certificate, terms: ReleaseTerms) -> Check:
    stated = certificate.plan.bins
    if stated is None or stated != stated_bins(terms.plan.chosen):
        return Check("bins", False, "another release that chose codes, or another cost of it, than signed")
    return Check(
        "bins",
        True,
        f"of {', '.join(stated.attributes)}, chosen by the release {stated.release_id} at rho "
        f"{stated.zcdp_rho:.6g}, which the promise covers; every party compared this with its ledger before "
        "it accepted",
    )


def _check_purpose(certificate: Certificate, terms: ReleaseTerms) -> Check:
    plan, signed = certificate.plan, terms.purpose
    try:
        workload = Workload(
            tuple(one.clique for one in plan.workload), tuple(one.weight for one in plan.workload)
        )
    except (MosaicError, ValueError):
        return Check("purpose", False, "the workload is damaged")
    same = (
        plan.domain_digest == signed.domain_digest
        and json.dumps(plan.mechanism, sort_keys=True) == signed.mechanism
        and (workload.in_words, workload.digest()) == (signed.workload, signed.workload_digest)
        and plan.labels == signed.labels
        and (plan.spec.about, plan.spec.rows) == (terms.spec.about, terms.spec.rows)
        and plan.unreviewed == signed.unreviewed
    )
    if not same:
        return Check(
            "purpose",
            False,
            "another domain, mechanism, workload, labels, reason, number of synthetic rows or unreviewed "
            "attributes than signed",
        )
    return Check("purpose", True, f"{plan.mechanism['name']} for {signed.workload}, as signed")


def _check_trust(certificate: Certificate, terms: ReleaseTerms) -> Check:
    plan, masked = certificate.plan, terms.masked_plan
    stated = stated_parties(terms.plan)
    same = all(getattr(plan, name) == stated[name] for name in ("dealers", "evaluators", "collusion"))
    # Other checks say of which other part of the description differs.
    options = replace(plan.spec, budget=terms.spec.budget, about=terms.spec.about, rows=terms.spec.rows)
    if not same or options.covering(ALL_ROWS) != terms.spec.covering(ALL_ROWS):
        return Check(
            "trust",
            False,
            "another protocol, adjacency, dealers, evaluators, collusions, check or sample than signed",
        )
    roles = "" if masked is None else f", at most {masked.tolerated} of the parties may collude"
    if terms.spec.may_drop_out:
        roles += f", {terms.spec.may_drop_out} may drop out"
    who = f". {plan.collusion}" if plan.collusion else ""
    return Check("trust", True, f"{terms.spec.protocol}, {terms.spec.adjacency.value}{roles}, as signed{who}")


def fault_of_choice(chose: Certificate, terms: ReleaseTerms) -> str:
    """What is wrong with the certificate of the release that chose codes; empty if nothing is.

    Args:
        chose: that certificate.
        terms: signed terms of the release that uses the codes.
    """
    chosen, signed = terms.plan.chosen, chose.signed
    if chosen is None or signed is None or chose.digest().hex() != chosen.certificate:
        return "not the certificate that the plan names"
    made = decode_terms(signed.terms)
    if (made.release_id, made.granted_cost) != (chosen.release_id, terms.before):
        return "charged for another unit, or at another cost, than the plan states"
    return ""

"""Compares which parties a certificate says dropped out with what the others signed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...common.canonical.terms import terms_digest
from ...common.errors import MosaicError
from ...common.messages import Remaining
from ...common.promises.dropout import Dropout
from ...common.promises.remaining import check_agreed
from ...common.promises.statement import Entry
from ...common.protocols.dropouts.plan import DropoutPlan
from ...common.terms import ReleaseTerms
from .certificate import Certificate
from .check import Check


def missing_parties(terms: ReleaseTerms, signing: Mapping[str, object]) -> frozenset[str]:
    """Names of the parties that may be missing among those that signed: they dropped out, as the terms allow.

    Args:
        terms: signed terms of the release.
        signing: what each party signed, by its name.

    Returns:
        None of them if more are missing.
    """
    plan = terms.plan
    missing = frozenset(entry.name for entry in plan.roster) - set(signing)
    return missing if isinstance(plan, DropoutPlan) and len(missing) <= plan.may_drop_out else frozenset()


def check_dropouts(
    certificate: Certificate, terms: ReleaseTerms, ledgers: Mapping[str, Sequence[Entry]]
) -> Iterator[Check]:
    """Checks of every party that dropped out which answers it is in, by the signatures of the others.

    Args:
        certificate: certificate of the release.
        terms: signed terms of the release.
        ledgers: signed entries of each party that remained, by its name.
    """
    plan, stated = terms.plan, certificate.dropouts
    if not isinstance(plan, DropoutPlan):
        if stated:
            yield Check("dropouts", False, "parties dropped out, and the signed terms allow none to")
        return
    places = {entry.name: place for place, entry in enumerate(plan.roster)}
    missing = places.keys() - ledgers.keys()
    named = [one.party for one in stated]
    if not missing.issuperset(named) or len(set(named)) < len(named) or len(missing) > plan.may_drop_out:
        yield Check("dropouts", False, "other parties dropped out, or more, than the signed terms allow")
        return
    yield Check(
        "dropouts",
        True,
        f"{len(missing)} of the {len(plan.roster)} parties, of which {plan.may_drop_out} may; what they "
        "charged themselves is not in the certificate",
    )
    entries = next(iter(ledgers.values()), ())
    for one in stated:
        fault = _fault(one, places[one.party], plan, terms, entries)
        yield Check(f"party {one.party}", not fault, fault or _finding(one, len(entries)))
    for name in sorted(missing - set(named)):
        yield Check(f"party {name}", True, "is in all answers; dropped out before it signed the certificate")


def _finding(one: Dropout, queries: int) -> str:
    return f"dropped out; it is in the first {one.answers} of {queries} answers, as the others signed"


def _fault(one: Dropout, place: int, plan: DropoutPlan, terms: ReleaseTerms, entries: Sequence[Entry]) -> str:
    """What is wrong with what is stated of a party; empty if nothing is."""
    # The one after its last answer; or that one, if it dropped out before that was opened.
    at = one.answers - (place in one.lost)
    if not 0 <= at < len(entries) or entries[at].query.hex() != one.query:
        return "dropped out at another query than the ledgers have"
    if place not in (*one.absent, *one.lost):
        return "the others did not sign that it dropped out"
    remaining = Remaining(terms.release_id, one.query, one.before, one.absent, one.lost)
    try:
        check_agreed(plan, terms_digest(terms), remaining, one.signatures)
    except MosaicError:
        return "too few parties signed that it is in no later answer"
    return ""

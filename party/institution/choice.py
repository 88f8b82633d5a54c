"""Whether codes were chosen by the release that a plan names, at the cost that it states."""

from __future__ import annotations

from fractions import Fraction

from ...common.bounded import json_of
from ...common.canonical.terms import decode_terms
from ...common.errors import PolicyError, ProtocolError
from ...common.privacy.cost import ROWS_PER_PERSON
from ...common.privacy.spending import Cost
from ...common.protocols.chosen import CHOICE, Chosen
from ...common.terms import ReleaseTerms
from ..accounts.rows import CertifiedRelease


def check_choice(terms: ReleaseTerms, chosen: Chosen, kept: CertifiedRelease | None) -> None:
    """Refuses chosen codes of a release that this party knows otherwise than the plan states it.

    What the choice cost is a part of the promise of every release that uses it, so its noise has to be priced
    for the same unit, and the same parties have to have charged it.

    Args:
        terms: terms of the release that uses the codes.
        chosen: the codes, and the release that chose them.
        kept: that release in this party's ledger; None if it was not certified here.

    Raises:
        ProtocolError: the ledger has no such release, or with other parties, another certificate or cost.
        PolicyError: it was charged for another unit.
    """
    made = None if kept is None else decode_terms(kept.terms)
    if (
        made is None
        or kept is None
        or kept.certificate.hex() != chosen.certificate
        or not _chooses(made)
        or [(e.slice, e.identity) for e in made.plan.roster]
        != [(e.slice, e.identity) for e in terms.plan.roster]
    ):
        raise ProtocolError(
            "the plan names a release that chose its codes, and this party's ledger does not have it as a "
            "certified choice with this certificate; choose the codes again with these parties"
        )
    if made.unit != terms.unit:
        raise PolicyError(
            f"the codes were chosen by a release that was charged under {made.unit.phrase}, and would have "
            f"cost otherwise under {terms.unit.phrase}; plan both with one adjacency and {ROWS_PER_PERSON}"
        )
    stated = Cost(terms.unit, Fraction(chosen.zcdp_rho), Fraction(chosen.labels_delta))
    if made.granted_cost != stated:
        raise ProtocolError(
            "the plan names a release that chose its codes, and this party's ledger does not have it at that "
            "cost; choose the codes again with these parties"
        )


def _chooses(made: ReleaseTerms) -> bool:
    """Whether a release was one that chooses codes."""
    try:
        mechanism = json_of(made.purpose.mechanism)
    except (ValueError, RecursionError):
        return False
    return isinstance(mechanism, dict) and mechanism.get("name") == CHOICE

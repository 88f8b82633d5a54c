"""Decisions of operators are signed with everything that they state."""

from dataclasses import replace

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.party.approving.decisions import APPROVED, DENIED, PENDING, Decision

PARTY, OTHER = (Identity.from_seed(bytes([n]) * 32) for n in (1, 2))
TERMS = b"encoded terms"
DECISION = Decision(APPROVED, "alice", "2026-01-02T03:04:05+00:00", "as discussed").sign(PARTY, TERMS, 1)


def test_a_decision_is_signed_by_the_party():
    assert DECISION.is_signed(PARTY.public, TERMS, 1)
    assert not DECISION.is_signed(OTHER.public, TERMS, 1)


@pytest.mark.parametrize(
    "change", [{"verdict": DENIED}, {"by": "bob"}, {"at": "2026-01-02T03:04:06+00:00"}, {"reason": ""}]
)
def test_every_field_is_signed(change):
    assert not replace(DECISION, **change).is_signed(PARTY.public, TERMS, 1)


def test_a_signature_is_of_one_release_and_of_one_place_among_its_decisions():
    assert not DECISION.is_signed(PARTY.public, b"other terms", 1)
    assert not DECISION.is_signed(PARTY.public, TERMS, 0)


def test_a_decision_approves_or_denies():
    with pytest.raises(ValueError, match="approves or denies"):
        replace(DECISION, verdict=PENDING)

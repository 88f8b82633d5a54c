"""Who is in the answer to a query: the parties sign it before any of them tells a mask."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ...crypto.identity import verify
from ...errors import ProtocolError
from ...messages import Remaining
from .plan import DropoutPlan

REMAINING = "parties in an answer"
"""Purpose of the signature."""


def signed_bytes(terms: bytes, remaining: Remaining) -> bytes:
    """What a party signs.

    Args:
        terms: SHA-256 of the encoded terms.
        remaining: who is in the answer.
    """
    stated = [remaining.query, remaining.before, remaining.absent]
    return terms + json.dumps(stated, separators=(",", ":")).encode()


def check_remaining(plan: DropoutPlan, remaining: Remaining) -> None:
    """Refuses sets of parties that no release has.

    Raises:
        ProtocolError: places are no parties of the plan in order, those that had dropped out before are not
            all absent, or more are absent than may drop out.
    """
    before, absent = remaining.before, remaining.absent
    for places in (before, absent):
        if list(places) != sorted(set(places)) or not set(places) <= set(range(len(plan.roster))):
            raise ProtocolError("expected places of parties of the plan, each once, in order; compare the plan")
    if not set(before) <= set(absent):
        raise ProtocolError("expected a party that has dropped out to be absent for good, got it back")
    if len(absent) > plan.may_drop_out:
        raise ProtocolError(
            f"expected at most {plan.may_drop_out} parties to drop out, as the terms say, got "
            f"{len(absent)}; start a new release"
        )


def check_agreed(plan: DropoutPlan, terms: bytes, remaining: Remaining, signatures: Sequence[bytes]) -> None:
    """Returns only if so many parties signed who is in an answer that no other set can be signed too.

    Two sets that are signed by all parties but those that may drop out have more signers in common than
    collude, and an honest party signs one set for each query.

    Run by: each party before it tells a mask, the curator, and readers of the certificate.

    Args:
        plan: plan of the release.
        terms: SHA-256 of the encoded terms.
        remaining: who is in the answer.
        signatures: of each party of the roster, empty of those that did not sign.

    Raises:
        ProtocolError: too few parties signed, or a signature does not verify.
    """
    check_remaining(plan, remaining)
    if len(signatures) != len(plan.roster) or len(list(_signed(remaining, signatures))) < plan.fewest_parties:
        raise ProtocolError(
            f"expected the signatures of {plan.fewest_parties} parties over who is in an answer, got fewer; "
            "ask all of them"
        )
    message = signed_bytes(terms, remaining)
    for place in _signed(remaining, signatures):
        verify(plan.roster[place].identity, REMAINING, message, signatures[place])


def _signed(remaining: Remaining, signatures: Sequence[bytes]) -> Iterator[int]:
    """Places of those that signed and are in the answer."""
    return (place for place, said in enumerate(signatures) if said and place not in remaining.absent)

"""Who is in the answer to a query, and who dropped out: the parties sign it before any of them tells a mask.

Of each query an honest party signs one set of parties that are absent, and all that it signs as dropped out
grows. Two statements that are signed by all parties but those that may drop out have an honest signer in
common, if there are more parties than twice those and the colluding ones. So there is one sum for each query,
and in the whole release no more parties drop out than may.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..crypto.identity import verify
from ..errors import ProtocolError
from ..messages import Remaining
from ..protocols.dropouts.plan import DropoutPlan

REMAINING = "parties in an answer"
"""Purpose of the signature."""


def signed_bytes(terms: bytes, remaining: Remaining) -> bytes:
    """What a party signs.

    Args:
        terms: SHA-256 of the encoded terms.
        remaining: who is in the answer.
    """
    stated = [remaining.query, remaining.before, remaining.absent, remaining.lost]
    return terms + json.dumps(stated, separators=(",", ":")).encode()


def check_remaining(plan: DropoutPlan, remaining: Remaining) -> None:
    """Refuses sets of parties that no release has.

    Raises:
        ProtocolError: places are no parties of the plan in order, those that had dropped out before are not
            all absent, lost ones are absent, or more dropped out than may.
    """
    before, absent, lost = remaining.before, remaining.absent, remaining.lost
    gone = {*absent, *lost}
    ordered = all(list(places) == sorted(set(places)) for places in (before, absent, lost))
    if not ordered or not gone <= set(range(len(plan.roster))) or len(gone) < len(absent) + len(lost):
        raise ProtocolError("expected places of parties of the plan, each once, in order; compare the plan")
    if not set(before) <= set(absent):
        raise ProtocolError("expected a party that has dropped out to be absent for good, got it back")
    if len(gone) > plan.may_drop_out:
        raise ProtocolError(
            f"expected at most {plan.may_drop_out} parties to drop out, as the terms say, got {len(gone)}; "
            "start a new release"
        )


def check_agreed(plan: DropoutPlan, terms: bytes, remaining: Remaining, signatures: Sequence[bytes]) -> None:
    """Returns only if all parties signed this but at most as many as may drop out.

    Run by: each party before it tells a mask, the curator, and readers of the certificate.

    Args:
        plan: plan of the release.
        terms: SHA-256 of the encoded terms.
        remaining: who is in the answer, and who dropped out.
        signatures: of each party of the roster, empty of those that did not sign.

    Raises:
        ProtocolError: too few parties signed, or a signature does not verify.
    """
    check_remaining(plan, remaining)
    gone = {*remaining.absent, *remaining.lost}
    signing = [place for place, said in enumerate(signatures) if said and place not in gone]
    if len(signatures) != len(plan.roster) or len(signing) < plan.fewest_parties:
        raise ProtocolError(
            f"expected the signatures of {plan.fewest_parties} parties over who is in an answer, got fewer; "
            "ask all of them"
        )
    message = signed_bytes(terms, remaining)
    for place in signing:
        verify(plan.roster[place].identity, REMAINING, message, signatures[place])

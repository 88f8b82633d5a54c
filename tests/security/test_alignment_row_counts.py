"""A party that hides how many rows it has answers every guess of their number alike."""

from dataclasses import replace

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import MosaicError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.party import Party
from support.aligning import POLICY, Aligning
from support.terms import alone, terms_of

ROWS = 9


def refusal(protocol, stated):
    """What a curator is told that proposes a release over so many rows, to a party of `ROWS` rows."""
    parties = Aligning([[[str(row) for row in range(ROWS)]]])
    institution = parties.institutions[0][0]
    policy = replace(POLICY, protocols=frozenset({"masked", "indicator", "trusted"}), min_tolerated=0)
    institution = replace(institution, rules=replace(institution.rules, policy=policy))
    plan = alone(parties.domain, stated, institution.name, institution.identity.public)
    if protocol == "masked":
        plan = MaskedPlan(plan.domain, plan.roster, 0, Ring(32))
    terms = terms_of(protocol=protocol, plan=plan)
    with pytest.raises(MosaicError) as raised:
        Party(institution, Ledger(), lambda: bytes(32)).accept(encode_terms(terms), b"")
    return type(raised.value), str(raised.value)


@pytest.mark.parametrize("protocol", ["masked", "indicator", "trusted"])
def test_a_right_guess_of_the_number_of_rows_is_refused_like_a_wrong_one(protocol):
    assert refusal(protocol, ROWS) == refusal(protocol, ROWS + 1) == refusal(protocol, 0)

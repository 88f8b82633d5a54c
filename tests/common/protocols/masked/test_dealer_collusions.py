"""Parties that may collude never include a party of a slice and enough of its dealers to read it."""

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry

DOMAIN = Domain.coded({"a": 2, "b": 3})
SLICES = [["ab"], ["a", "b"], ["ab"], ["ab"], ["ab"]]
PLACES = [(number, held) for number, parties in enumerate(SLICES) for held in parties]
ROSTER = tuple(RosterEntry(f"p{i}", n, tuple(held), 7, bytes(32)) for i, (n, held) in enumerate(PLACES))


def plan_of(tolerated, dealers):
    entries = tuple(DealerEntry(name, bytes(32)) for name in dealers)
    return MaskedPlan(DOMAIN, ROSTER, tolerated, Ring(32), dealers=entries)


@pytest.mark.parametrize(
    ("dealers", "most"),
    [(["p0"], 1), (["p0", "p3", "p4"], 2), (["p1", "p0", "d", "p4", "e"], 2)],
    ids=["one party", "three parties", "two parties and a dealer; p1 does not deal for itself"],
)
def test_so_many_collusions_that_parties_could_be_dealers_of_a_slice_and_its_party_are_refused(dealers, most):
    assert plan_of(most, dealers).dealers_of(1)
    with pytest.raises(DataError, match=f"slice 2: expected at most {most} tolerated collusions"):
        plan_of(most + 1, dealers)


@pytest.mark.parametrize("dealers", [["d"], ["d", "p0", "e", "p3", "p4"]], ids=["one", "three"])
def test_dealers_that_are_no_parties_do_not_limit_tolerated_collusions(dealers):
    assert plan_of(len(ROSTER) - 1, dealers).tolerated == len(ROSTER) - 1

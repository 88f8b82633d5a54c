from fractions import Fraction

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.protocols.registry import BUILT_IN, Users
from dpmosaic.curator.measurers.catalogue import MEASURERS, measuring
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect
from support.parties import cut, dealers_for, policy_for, random_table, started
from support.terms import terms_of

TABLE = random_table(Domain.coded({"a": 2, "b": 3}), records=30)


def test_the_curator_has_a_measurer_for_every_protocol_of_daemons_and_no_other():
    assert set(MEASURERS) == {p.name for p in BUILT_IN.values() if p.users is Users.DAEMONS}


@pytest.mark.parametrize("protocol", MEASURERS)
def test_each_protocol_has_its_terms_and_measurer(protocol):
    """The noise of so large a budget ends below half a count."""
    granted = Fraction(10**7)
    pieces = cut(TABLE, "1x1" if BUILT_IN[protocol].one_party else "2x1")
    policy = policy_for(protocol, granted_rho=float(granted))
    keys = RandomStream.from_seed(1)
    links = started(pieces, policy, keys)
    federation = connect(TABLE.domain, links, dealers=dealers_for(links, keys))
    by = measuring(protocol)
    plan = by.plan(federation, granted, PrivacyUnit(Adjacency.ZERO_OUT), None)
    terms = terms_of(protocol=protocol, granted=float(granted), plan=plan)
    acceptances = federation.accept(terms)
    measurer = by.begin(federation, terms, acceptances, granted, None)
    (found,) = measurer.measure([Query(View(("a", "b")), granted, "test")])
    assert found.values.round().tolist() == TABLE.marginal(("a", "b")).tolist()
    assert measurer.accountant.spent <= granted


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle", "Masked"])
def test_refuses_an_unknown_protocol_and_lists_the_known(protocol):
    with pytest.raises(DataError, match="masked, trusted, indicator"):
        measuring(protocol)

import pytest

from dpmosaic.common.errors import PolicyError
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT
from dpmosaic.common.protocols.registry import BUILT_IN, Users
from dpmosaic.party.answerers.catalogue import ANSWERERS, answerer_of


def test_parties_have_an_answerer_for_every_protocol_of_daemons_and_for_no_other():
    assert set(ANSWERERS) == {p.name for p in BUILT_IN.values() if p.users is Users.DAEMONS}
    for name, answerer in ANSWERERS.items():
        assert answerer_of(name) is answerer
        assert answerer.forms
    assert not answerer_of(ALIGNMENT).forms


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle", "", "Masked"])
def test_another_protocol_is_refused_with_those_that_there_are(protocol):
    with pytest.raises(PolicyError, match=r"no party takes part .*'indicator', 'masked', 'trusted'"):
        answerer_of(protocol)

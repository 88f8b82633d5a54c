from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dpmosaic.common.card import PARTY, Card
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.domain import Domain
from dpmosaic.common.messages import PROTOCOL_VERSION, PartyDescription
from dpmosaic.curator.home import CuratorHome
from dpmosaic.curator.plan_file import ReleasePlan
from dpmosaic.curator.preflight import compared, preflight

DOMAIN = Domain.coded({"a": 2})
IDENTITY = Identity.from_seed(bytes(32))
CARD = Card.issue(PARTY, "clinic", IDENTITY, self_signed("clinic", new_tls_key(), datetime.now(UTC)), DOMAIN)
SAID = PartyDescription("clinic", PROTOCOL_VERSION, "0", DOMAIN, 9, ("masked",), IDENTITY.public)


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "d.json").write_text('{"a": 2}')
    (tmp_path / "plan.toml").write_text(
        '[release]\ndomain = "d.json"\nrho = 1\n[[slice]]\nparties = ["clinic"]\n'
    )
    return ReleasePlan.load(tmp_path / "plan.toml")


def failed(lines):
    return {line.what: line.said for line in lines if not line.passed}


def test_a_party_that_is_as_on_its_card_passes(plan):
    assert failed(compared(SAID, CARD, plan)) == {}


@pytest.mark.parametrize(
    ("change", "what", "said"),
    [
        ({"name": "other"}, "name", "enroll it anew"),
        ({"identity": bytes(32)}, "identity", "get a new card"),
        ({"protocol_version": 1}, "protocol version", "bring both to one release"),
        ({"domain": Domain.coded({"a": 3})}, "domain", "get a new card"),
        ({"protocols": ()}, "protocol masked", "its policy allows no protocol"),
    ],
)
def test_what_is_not_as_it_has_to_be_says_how_to_mend_it(plan, change, what, said):
    found = failed(compared(replace(SAID, **change), CARD, plan))
    assert list(found) == [what]
    assert said in found[what]


def test_a_party_that_is_not_enrolled_is_named(plan, tmp_path):
    home = CuratorHome.create(tmp_path / "home", "curator")
    lines = list(preflight(home, plan))
    assert failed(lines) == {"card": "not enrolled; get its card and run dpmosaic curator enroll"}


@pytest.mark.parametrize(("days", "said"), [(-1, "compare the clocks"), (800, "expired on"), (720, "soon")])
def test_certificates_that_are_not_valid_or_not_for_long_are_named(plan, tmp_path, days, said):
    home = CuratorHome.create(tmp_path / "home", "curator")
    line = next(iter(preflight(home, plan, datetime.now(UTC) + timedelta(days=days))))
    assert line.passed == (said == "soon")
    assert said in line.said

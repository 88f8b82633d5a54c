import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dpmosaic.common.card import PARTY, Card
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import PROTOCOL_VERSION, PartyDescription
from dpmosaic.common.wire import probes
from dpmosaic.curator.home import CuratorHome
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.releasing.plan import ReleasePlan
from dpmosaic.curator.releasing.preflight import check_description, check_link, preflight

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
    return {line.what: line.finding for line in lines if not line.passed}


def test_a_party_that_is_as_on_its_card_passes(plan):
    assert failed(check_description(SAID, CARD, plan)) == {}


@pytest.mark.parametrize(
    ("change", "what", "said"),
    [
        ({"name": "other"}, "name", "enroll it again"),
        ({"identity": bytes(32)}, "identity", "get a new card"),
        ({"protocol_version": 1}, "protocol version", "install the same version"),
        ({"domain": Domain.coded({"a": 3})}, "domain", "get a new card"),
        ({"protocols": ()}, "protocol masked", "its policy allows no protocol"),
    ],
)
def test_what_is_not_as_it_has_to_be_says_how_to_mend_it(plan, change, what, said):
    found = failed(check_description(replace(SAID, **change), CARD, plan))
    assert list(found) == [what]
    assert said in found[what]


def test_a_party_that_is_not_enrolled_is_named(plan, tmp_path):
    home = CuratorHome.create(tmp_path / "home", "curator")
    lines = list(preflight(home, plan))
    assert failed(lines) == {"card": "not enrolled; get its card and run dpmosaic curator enroll"}


@pytest.mark.parametrize(
    ("days", "said"), [(-1, "compare the clocks"), (800, "expired on"), (720, "which is soon")]
)
def test_certificates_that_are_not_valid_or_not_for_long_are_named(plan, tmp_path, days, said):
    home = CuratorHome.create(tmp_path / "home", "curator")
    line = next(iter(preflight(home, plan, datetime.now(UTC) + timedelta(days=days))))
    assert line.passed == (said == "which is soon")
    assert said in line.finding


class Party:
    """A party with a clock of its own, which answers probes and nothing else."""

    def __init__(self, ahead=0.0, waits=0.0, lost=0):
        self.ahead, self.waits, self.lost = ahead, waits, lost

    def call(self, method, requests):
        wanted = probes.decode_asked(requests)
        for reply in probes.encode_replies(1000.0 + self.ahead, max(0, wanted - self.lost)):
            time.sleep(self.waits)
            yield reply


def probe(party):
    return list(check_link(PartyClient(party), "clinic", now=lambda: 1000.0))


def test_clock_and_link_that_are_as_they_have_to_be_pass():
    clock, throughput = probe(Party(ahead=59.0))
    assert clock.passed
    assert "+59.000 s from the curator's, 60 s allowed" in clock.finding
    assert throughput.passed
    assert "upload" in throughput.finding


@pytest.mark.parametrize("ahead", [-62.0, 62.0])
def test_a_clock_that_is_off_by_more_than_a_minute_is_to_be_mended(ahead):
    assert "NTP" in failed(probe(Party(ahead=ahead)))["clock"]


def test_a_link_that_is_too_slow_is_to_be_mended():
    lines = list(check_link(PartyClient(Party(waits=0.02)), "clinic", lambda: 1000.0, least_mib_s=1000.0))
    assert "raise call_seconds" in failed(lines)["throughput"]


def test_a_probe_that_does_not_come_back_whole_is_to_be_mended():
    assert "expected as many frames" in failed(probe(Party(lost=1)))["clock, throughput"]


@pytest.mark.parametrize(
    "sent",
    [
        [probes.pb.ProbeFrame(wanted=9).SerializeToString()],
        [b""] * 10,
        [b"", probes.pb.ProbeFrame(payload=bytes(probes.FRAME_BYTES + 1)).SerializeToString()],
    ],
)
def test_a_probe_past_its_bounds_is_refused_by_the_party(sent):
    with pytest.raises(ProtocolError, match="at most 8 frames"):
        probes.decode_asked(sent)


def test_bytes_that_are_no_probe_are_refused():
    with pytest.raises(ProtocolError, match="do not parse"):
        probes.decode_asked([b"\xff"])

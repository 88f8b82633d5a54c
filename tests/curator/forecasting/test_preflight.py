import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, PartyUnavailable, PolicyError, ProtocolError
from dpmosaic.common.federation.card import DEALER, PARTY, Card
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.messages import PartyDescription, Verdict
from dpmosaic.common.wire import probes
from dpmosaic.curator.forecasting.preflight import check_description, check_link, check_verdict, preflight
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.clocks import check_times
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.releasing.planning.plan import ReleasePlan

DOMAIN = Domain.coded({"a": 2})
IDENTITY = Identity.from_seed(bytes(32))
CARD = Card.issue(PARTY, "clinic", IDENTITY, self_signed("clinic", new_tls_key(), datetime.now(UTC)), DOMAIN)
SAID = PartyDescription("clinic", NEWEST, "0", DOMAIN, 9, ("masked",), IDENTITY.public)


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "d.json").write_text('{"a": 2}')
    (tmp_path / "plan.toml").write_text(
        '[release]\ndomain = "d.json"\nrho = 1\n[[slice]]\nparties = ["clinic"]\n'
    )
    return ReleasePlan.load(tmp_path / "plan.toml")


def failed(lines):
    return {line.what: line.finding for line in lines if not line.passed}


def test_passes_a_party_that_matches_its_card(plan):
    assert failed(check_description(SAID, CARD, plan)) == {}


@pytest.mark.parametrize(
    ("change", "what", "finding"),
    [
        ({"name": "other"}, "name", "enroll it again"),
        ({"identity": bytes(32)}, "identity", "get a new card"),
        ({"protocol_version": 9}, "protocol version", "upgrade dpmosaic where it is older"),
        ({"domain": Domain.coded({"a": 3})}, "domain", "get a new card"),
        ({"protocols": ()}, "protocol masked", "its policy allows no protocol"),
    ],
)
def test_each_failed_check_states_the_fix(plan, change, what, finding):
    found = failed(check_description(replace(SAID, **change), CARD, plan))
    assert list(found) == [what]
    assert finding in found[what]


def test_a_dealer_needs_no_domain_and_no_protocol_but_the_right_version(plan):
    card = Card.issue(DEALER, "bank", IDENTITY, CARD.certificate)
    said = PartyDescription("bank", NEWEST, "0", None, None, (), IDENTITY.public)
    dealt = replace(plan, dealers=("bank",))
    assert failed(check_description(said, card, dealt)) == {}
    other = replace(said, protocol_version=9)
    assert list(failed(check_description(other, card, dealt))) == ["protocol version"]


def test_names_a_dealer_that_is_not_enrolled(plan, tmp_path):
    home = CuratorHome.create(tmp_path / "home", "curator")
    lines = preflight(home, replace(plan, dealers=("bank",)))
    assert [line.about for line in lines if line.what == "card"] == ["clinic", "bank"]


def test_names_a_party_that_is_not_enrolled(plan, tmp_path):
    home = CuratorHome.create(tmp_path / "home", "curator")
    lines = list(preflight(home, plan))
    assert failed(lines) == {"card": "not enrolled; get its card and run dpmosaic curator enroll"}


@pytest.mark.parametrize(
    ("days", "finding"), [(-1, "synchronise both clocks by NTP"), (800, "expired on"), (701, "which is soon")]
)
def test_reports_certificates_that_are_invalid_or_expire_soon(plan, tmp_path, days, finding):
    home = CuratorHome.create(tmp_path / "home", "curator")
    line = next(iter(preflight(home, plan, datetime.now(UTC) + timedelta(days=days))))
    assert line.passed == (finding == "which is soon")
    assert finding in line.finding


class Party:
    """A party with its own clock that answers only probes."""

    def __init__(self, ahead=0.0, waits=0.0, lost=0):
        self.ahead, self.waits, self.lost = ahead, waits, lost

    def call(self, method, requests):
        wanted = probes.decode_asked(requests)
        for reply in probes.encode_replies(1000.0 + self.ahead, max(0, wanted - self.lost)):
            time.sleep(self.waits)
            yield reply


def probe(party):
    return list(check_link(PartyClient(party), "clinic", now=lambda: 1000.0))


def test_passes_a_correct_clock_and_a_fast_link():
    clock, throughput = probe(Party(ahead=59.0))
    assert clock.passed
    assert "+59.000 s from the curator's, 60 s allowed" in clock.finding
    assert throughput.passed
    assert "upload" in throughput.finding


@pytest.mark.parametrize("ahead", [-62.0, 62.0])
def test_fails_a_clock_that_is_off_by_more_than_a_minute(ahead):
    assert "NTP" in failed(probe(Party(ahead=ahead)))["clock"]


def test_fails_a_link_that_is_too_slow():
    lines = list(check_link(PartyClient(Party(waits=0.02)), "clinic", lambda: 1000.0, least_mib_s=1000.0))
    assert "raise call_seconds" in failed(lines)["throughput"]


def test_fails_a_probe_with_lost_frames():
    assert "expected the requested number of frames" in failed(probe(Party(lost=1)))["clock, throughput"]


@pytest.mark.parametrize(
    "sent",
    [
        [probes.pb.ProbeFrame(wanted=9).SerializeToString()],
        [b""] * 10,
        [b"", probes.pb.ProbeFrame(payload=bytes(probes.FRAME_BYTES + 1)).SerializeToString()],
    ],
)
def test_a_party_refuses_a_probe_that_exceeds_its_limits(sent):
    with pytest.raises(ProtocolError, match="at most 8 frames"):
        probes.decode_asked(sent)


def test_a_party_refuses_bytes_that_are_not_a_probe():
    with pytest.raises(ProtocolError, match="do not parse"):
        probes.decode_asked([b"\xff"])


def test_every_reason_of_a_verdict_is_a_line_of_its_own():
    said = Verdict((PolicyError("no rho"), DataError("no rows")))
    lines = list(check_verdict("clinic", "the release", said))
    assert [(line.about, line.passed, line.finding) for line in lines] == [
        ("clinic", False, "no rho"),
        ("clinic", False, "no rows"),
    ]


@pytest.mark.parametrize(("by_hand", "finding"), [(True, "its operator decides"), (False, "allowed")])
def test_a_party_that_allows_the_release_says_who_decides(by_hand, finding):
    (line,) = check_verdict("clinic", "the release", Verdict(by_hand=by_hand))
    assert line.passed
    assert finding in line.finding


def test_a_party_that_does_not_look_at_the_terms_fails_with_its_reason():
    (line,) = check_verdict("clinic", "the release", ProtocolError("not a pinned curator"))
    assert (line.passed, line.finding) == (False, "not a pinned curator")


@pytest.mark.parametrize("ahead", [61.0, -86400.0, 30 * 86400.0])
def test_a_release_refuses_the_clock_that_a_preflight_refuses_in_the_same_sentence(ahead):
    clock, _ = probe(Party(ahead=ahead))
    assert not clock.passed
    with pytest.raises(DataError, match="clinic") as refused:
        check_times({}, {"clinic": Party(ahead=ahead)}, now=lambda: 1000.0)
    assert str(refused.value) == f"'clinic': {clock.finding}; nothing was charged now"


def test_a_release_passes_the_clock_that_a_preflight_passes():
    check_times({}, {"clinic": Party(ahead=59.0)}, now=lambda: 1000.0)


def test_a_release_names_whose_certificate_is_not_valid_yet_at_this_clock():
    yesterday = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(DataError, match="'clinic': the certificate is valid from") as refused:
        check_times({"clinic": CARD.certificate}, {}, now=yesterday.timestamp)
    assert "synchronise both clocks by NTP" in str(refused.value)


def test_a_participant_that_does_not_answer_is_left_to_those_who_wait_for_it():
    class Away:
        def call(self, method, requests):
            raise PartyUnavailable("party 'clinic' does not answer")

    check_times({}, {"clinic": Away()}, now=lambda: 1000.0)
